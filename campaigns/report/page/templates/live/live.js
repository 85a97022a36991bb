  // The campaign as it stands, asked for again and again; nothing is ever sent but questions.
  const SECONDS = 2, HISTORY_EVERY = 5;
  let state = null, chosen = null, curve = null, looks = 0, answeredAt = null;
  const look = (name) => state.candidates[name] ?? { label: name, colour: "#7d838c" };

  async function ask(path) {
    const answer = await fetch(path, { cache: "no-store" });
    const found = await answer.json();
    if (!answer.ok) throw new Error(found.trouble ?? `The server answers ${answer.status}.`);
    return found;
  }

  function duration(seconds) {
    const minutes = Math.floor(seconds / 60), hours = Math.floor(minutes / 60);
    if (hours) return `${hours} h ${minutes % 60} min`;
    return minutes ? `${minutes} min ${Math.round(seconds % 60)} s` : `${Math.round(seconds)} s`;
  }

  const money = (micros) => micros === null ? "–" : dollars(micros / 10_000);

  function tiles() {
    const { runs, windows, days } = state;
    const found = [
      [`${runs.completed} of ${runs.total}`, "runs completed"], [runs.running, "running"],
      [`${count(windows.settled)} of ${count(windows.total)}`, "windows settled"], [count(state.bankruptcies), "bankruptcies"],
      [money(state.spent_microdollars), "spent"], [money(state.projected_microdollars), "in all, about"],
      [state.owner === null || state.seconds_left === null ? "–" : duration(state.seconds_left), "left, about"],
    ];
    at("tiles").replaceChildren(...found.map(([value, name]) => make("div", { class: "tile" }, make("b", { text: String(value) }), make("span", { text: name }))));
    const wanted = state.finished ? "Completed." : state.desired !== "running" ? `It is ${state.desired}${state.reason ? `: ${state.reason}` : ""}.`
      : state.owner === null ? "Nobody carries it out now." : `Carried out by ${state.owner}.`;
    at("lead").textContent = `${wanted} ${count(days.settled)} of ${count(days.total)} days. Plan ${state.plan_hash.slice(0, 19)}…`;
  }

  // Kept as they are while nothing changes, so that the focus stays where it is.
  function unchanged(place, value) {
    const text = JSON.stringify(value);
    if (place.dataset.shown === text) return true;
    place.dataset.shown = text;
    return false;
  }

  const world = (run) => `${run.group === state.campaign ? "" : `${run.group}, `}seed ${run.seed}${run.repeat > 1 ? `, repeat ${run.repeat}` : ""}`;

  function matrix() {
    const place = at("matrix");
    const shown = state.matrix.map((run) => [run.run, run.state, run.windows, run.run === chosen, run.exits, run.barrier.map((seat) => seat.status)]);
    if (unchanged(place, shown)) return;
    const focused = document.activeElement?.dataset?.run;
    const rows = new Map();
    for (const run of state.matrix) {
      const row = world(run);
      rows.set(row, [...(rows.get(row) ?? []), run]);
    }
    const windows = Math.ceil(state.horizon_days / state.window_days);
    const cell = (run) => {
      const exits = Object.keys(run.exits).length;
      const made = make("button", { type: "button", class: `run ${run.state}`, "data-run": run.run, "aria-pressed": String(run.run === chosen), title: run.reason || run.run, onclick: () => choose(run.run) },
        run.lineup, make("small", { text: `${run.state}, ${run.windows}/${windows}${exits ? `, ${exits} left` : ""}` }), pips(run),
        make("span", { class: "done", style: `width:${100 * run.windows / windows}%` }));
      made.setAttribute("data-run", run.run);
      return made;
    };
    const grid = make("div", { class: "matrix" });
    grid.style.setProperty("--columns", Math.max(...[...rows.values()].map((runs) => runs.length)));
    for (const [name, runs] of rows) grid.append(make("span", { text: name }), make("div", {}, ...runs.map(cell)));
    place.replaceChildren(grid);
    if (focused) place.querySelector(`[data-run="${CSS.escape(focused)}"]`)?.focus();
    at("states").replaceChildren(...Object.entries(state.runs).filter(([name, value]) => name !== "total" && value)
      .map(([name, value]) => make("li", {}, make("span", { class: `key ${name}` }), `${name} ${value}`)));
  }

  // What stands still until somebody acts, and how many runs go on by themselves.
  // One mark a company at the barrier: filled when its window has closed.
  function pips(run) {
    if (run.state !== "running" || !run.barrier.length) return null;
    const closed = run.barrier.filter((seat) => seat.status !== "open").length;
    return make("span", { class: "pips", title: `${closed} of ${run.barrier.length} windows closed` }, ...run.barrier.map((seat) => {
      const [, kind] = MARKS[seat.status] ?? ["?", "bad"];
      return make("i", { class: kind === "sealed" || kind === "open" ? "" : kind, style: `--own:${look(seat.candidate).colour}`, "data-open": String(seat.status === "open") });
    }));
  }

  const BY_THEMSELVES = { provider: "for replies of their models", seal: "for their last companies", settlement: "for their settlement",
    "back-off": "for the end of a back-off", slot: "for a slot", runs: "for other runs" };

  function needs() {
    const place = at("needs");
    const runs = state.answers.filter((each) => each.subject.startsWith("run ") && each.waits_for in BY_THEMSELVES);
    const stuck = alike(state.answers.filter((each) => ["person", "command", "space"].includes(each.waits_for)));
    const counts = Object.entries(BY_THEMSELVES).map(([kind, told]) => [runs.filter((each) => each.waits_for === kind).length, told]).filter(([number]) => number);
    if (unchanged(place, [stuck, counts])) return;
    const many = stuck.slice(0, MOST_ROWS), more = stuck.length - many.length;
    place.replaceChildren(
      stuck.length ? table(["what", "waits for", "because"], many.map((each) => [each.subject, each.waits_for, each.reason]), () => false) : make("p", { class: "none", text: "Nothing." }),
      ...(more ? [make("p", { class: "caption", text: `and ${count(more)} more` })] : []),
      ...(counts.length ? [make("p", { class: "caption", text: `Runs that wait by themselves: ${counts.map(([number, told]) => `${number} ${told}`).join(", ")}.` })] : []));
  }

  // One row for all that wait for the same and for the same reason.
  function alike(answers) {
    const rows = new Map();
    for (const each of answers) {
      const key = JSON.stringify([each.waits_for, each.reason]);
      rows.set(key, [...(rows.get(key) ?? []), each]);
    }
    return [...rows.values()].map((own) => own.length === 1 ? own[0] : { ...own[0], subject: `${own.length} runs` });
  }

  // The windows that hold their barriers the longest, of all runs.
  const MOST_ROWS = 12;

  function stragglers() {
    const open = state.matrix.filter((run) => run.state === "running")
      .flatMap((run) => run.barrier.filter((seat) => seat.status === "open").map((seat) => ({ run, seat })));
    open.sort((one, other) => other.seat.open_seconds - one.seat.open_seconds);
    at("open-windows").textContent = !open.length ? "" : `${count(open.length)} open ${open.length === 1 ? "window" : "windows"}, the longest first`;
    if (!open.length) { at("slow").replaceChildren(make("p", { class: "none", text: "No window of a model is open." })); return; }
    const focused = at("slow").contains(document.activeElement) ? document.activeElement.hash : null;
    at("slow").replaceChildren(table(["company", "run", "doing", "open for"], open.slice(0, MOST_ROWS).map(({ run, seat }) => [
      candidate(seat.candidate), make("a", { href: `#${encodeURIComponent(run.run)}`, title: run.run, text: `${world(run)}, ${run.lineup}` }), doing(seat), duration(seat.open_seconds)]), (column) => column === 3));
    if (focused) [...at("slow").querySelectorAll("a")].find((link) => link.hash === focused)?.focus();
  }

  const candidate = (name) => make("span", {}, swatch(look(name).colour), look(name).label);
  const doing = (seat) => seat.attempt ? `attempt ${seat.attempt + 1}: ${seat.doing}` : seat.doing;

  function barrier(run) {
    const place = at("barrier");
    if (!run.barrier.length) { place.replaceChildren(); return; }
    const rows = run.barrier.map((seat) => [candidate(seat.candidate), words(seat.status), seat.status === "open" ? doing(seat) : "", duration(seat.open_seconds)]);
    place.replaceChildren(make("h3", { text: `At the barrier of day ${run.windows * state.window_days}` }),
      make("div", { class: "scroll" }, table(["company", "window", "doing", "open for"], rows, (column) => column === 3)));
  }

  async function cash() {
    const run = state.matrix.find((each) => each.run === chosen);
    barrier(run);
    if (curve?.run !== chosen) curve = { run: chosen, series: {}, day: 0 };
    if (run.days > curve.day || !curve.drawn) {
      const mine = curve;
      const found = await ask(`cash.json?run=${encodeURIComponent(chosen)}&after=${curve.day}`);
      if (mine !== curve) return;
      for (const [day, seat, cents] of found.cash) { (curve.series[seat] ??= [])[day] = cents; curve.day = Math.max(curve.day, day); }
      curve.drawn = true;
    }
    chart(run);
  }

  function chart(run) {
    const lineup = state.lineups[run.run];
    const series = Object.fromEntries(lineup.map((_, place) => [place + 1, [state.initial_cash_cents, ...(curve.series[place + 1] ?? []).slice(1)]]));
    const size = [at("chart").clientWidth, curve.day, run.run, run.state, run.windows];
    at("about-run").textContent = `of ${run.run} · ${run.state} · day ${run.days}`;
    if (unchanged(at("chart"), size)) return;
    const exits = new Map(Object.entries(run.exits).map(([seat, day]) => [Number(seat), day]));
    cashChart(at("chart"), { market: { cash: series }, run: { lineup }, seat: 0, version: run.windows, exits,
      campaign: { days: state.window_days, horizon: state.horizon_days } }, () => {});
    at("names").replaceChildren(...lineup.map((name, place) => make("li", {}, swatch(look(name).colour), look(name).label,
      series[place + 1].length ? ` ${short(series[place + 1].at(-1))}` : "")));
  }

  async function told() {
    const { history } = await ask("history.json");
    if (unchanged(at("history"), history)) return;
    at("history").replaceChildren(history.length ? make("ul", { class: "events" }, ...history.map((each) => make("li", {},
      make("span", { class: "when", text: each.at.slice(11, 19) }),
      `${each.run}${each.seat ? `, seat ${each.seat}` : ""}: ${words(each.status || each.kind)}${each.reason ? `, ${each.reason}` : ""}${each.followed_by ? `; ${each.followed_by}` : ""}`)))
      : make("p", { class: "none", text: "None." }));
  }

  function choose(run) {
    chosen = run;
    history.replaceState(null, "", `#${encodeURIComponent(run)}`);
    matrix();
    cash().catch(trouble);
  }

  function trouble(error) {
    const away = error instanceof TypeError;
    at("trouble").textContent = `${away ? "The server of this page does not answer." : error.message} Trying again.`;
    at("trouble").hidden = false;
  }

  async function lookAgain() {
    try {
      state = await ask("state.json");
      if (!state.matrix.some((run) => run.run === chosen))
        chosen = (state.matrix.find((run) => run.run === decodeURIComponent(location.hash.slice(1))) ?? state.matrix.find((run) => run.state === "running") ?? state.matrix[0]).run;
      tiles(); matrix(); needs(); stragglers();
      await cash();
      if (looks++ % HISTORY_EVERY === 0) await told();
      answeredAt = Date.now();
      at("trouble").hidden = true;
      document.title = `${state.runs.completed}/${state.runs.total} ${state.campaign}`;
    } catch (error) { trouble(error); }
    at("pulse").textContent = answeredAt === null ? "" : `as of ${new Date(answeredAt).toLocaleTimeString("en-GB")}`;
    setTimeout(lookAgain, SECONDS * 1000);
  }

  addEventListener("hashchange", () => {
    const run = decodeURIComponent(location.hash.slice(1));
    if (state?.matrix.some((each) => each.run === run) && run !== chosen) choose(run);
  });
  addEventListener("resize", () => { if (state && curve) chart(state.matrix.find((each) => each.run === chosen)); });
  lookAgain();
