  // What is shown, and how one moves: state lives in the address.
  let index, view = null, wanted = null;
  const look = (name) => index.candidates[name] ?? { label: name, colour: "#7d838c" };

  function address(campaign, run, seat, version) {
    return "#" + [campaign.campaign, run.id, seat, version * campaign.days].map(encodeURIComponent).join("/");
  }

  function asked() {
    const [name, id, seat, day] = location.hash.slice(1).split("/").map((each) => { try { return decodeURIComponent(each); } catch { return ""; } });
    const campaign = index.campaigns.find((each) => each.campaign === name && each.runs.length) ?? index.campaigns.find((each) => each.runs.length);
    const run = campaign.runs.find((each) => each.id === id) ?? campaign.runs[0];
    const known = run.id === id;
    const within = (value, low, high) => Math.min(Math.max(Number.isInteger(value) ? value : low, low), high);
    return { campaign, run, seat: within(Number(seat), 1, run.lineup.length),
      version: within(Math.floor(Number(day) / campaign.days), 0, lastVersion(campaign, run)),
      unknown: Boolean(name) && !known };
  }

  const lastVersion = (campaign, run) => Math.max(0, Math.ceil(Math.min(run.day + 1, campaign.horizon) / campaign.days) - 1);

  function go(campaign, run, seat, version) {
    const next = address(campaign, run, seat, version);
    if (next !== location.hash) { history.pushState(null, "", next); show(); }
  }

  // Who moves on before the last move is shown, or the first moment, starts from there all the same:
  // from the address.
  const jump = (version, seat) => {
    const { campaign, run } = asked();
    go(campaign, run, seat, Math.min(Math.max(version, 0), lastVersion(campaign, run)));
  };

  async function show() {
    const place = asked(), mine = wanted = {};
    fillControls(place);
    at("said").textContent = place.unknown ? "The address names a run that is not in this report; this is the first." : "";
    try {
      const [market, windows] = await Promise.all([chunk(index.folder, place.run.chunk), chunk(index.folder, `${place.run.chunk}s${place.seat}`)]);
      if (mine !== wanted) return;
      view = { ...place, market, windows, jump, status: at("status").value,
        window: windows.find((each) => each.world_version === place.version),
        exits: new Map(market.events.filter((each) => each.kind === "exit").map((each) => [each.seat, each.day])),
        statuses: new Map(market.windows.map(([version, seat, status]) => [`${version}.${seat}`, status])) };
      render();
    } catch (error) {
      if (mine === wanted) at("said").textContent = error.message;
    }
  }

  function render() {
    drawCharts();
    at("about-run").textContent = `of all companies · seed ${view.run.seed} · ${view.run.lineup_label}${view.run.status === "completed" ? "" : ` · ${view.run.status}, day ${view.run.day}`}`;
    at("story").replaceChildren(...storyParts(view).filter(Boolean));
    at("market").replaceChildren(...marketParts(view).filter(Boolean));
    at("moment").textContent = `day ${dayOf(view)}`;
    at("moment").title = `window ${view.version + 1} of ${Math.ceil(view.campaign.horizon / view.campaign.days)}`;
    at("back").disabled = stepped(-1) === null;
    at("forth").disabled = stepped(1) === null;
    document.title = `${look(view.run.lineup[view.seat - 1]).label}, day ${dayOf(view)}, ${view.run.id}`;
  }

  function drawCharts() {
    if (!view) return;
    cashChart(at("chart"), view, jump);
    strip(at("strip"), view, jump);
    legend(at("legend"), view);
  }

  // The next window of a company that the filter lets through, or null.
  function stepped(by, place = view) {
    const last = lastVersion(place.campaign, place.run);
    for (let version = place.version + by; version >= 0 && version <= last; version += by)
      if (!view.status || view.statuses.get(`${version}.${place.seat}`) === view.status) return version;
    return null;
  }

  function step(by) {
    if (!view) return;
    const place = asked(), version = stepped(by, place);
    if (version !== null) jump(version, place.seat);
  }

  function shownRuns(candidate, status) {
    return index.campaigns.flatMap((campaign) => campaign.runs
      .filter((run) => (!candidate || run.lineup.includes(candidate)) && (!status || run.statuses[status]))
      .map((run) => ({ campaign, run })));
  }

  function fillControls(place) {
    const status = at("status").value;
    const runs = shownRuns(at("candidate").value, status);
    if (!runs.some(({ run }) => run === place.run)) runs.unshift({ campaign: place.campaign, run: place.run });
    const several = index.campaigns.length > 1;
    at("run").replaceChildren(...runs.map(({ campaign, run }) => make("option", {
      value: address(campaign, run, place.seat, place.version), selected: run === place.run && campaign === place.campaign,
      text: `${several ? `${campaign.campaign}: ` : ""}${run.id}${status ? ` (${run.statuses[status] ?? 0})` : ""}` })));
    at("company").replaceChildren(...place.run.lineup.map((name, row) => make("option", { value: row + 1, selected: row + 1 === place.seat, text: `${row + 1} ${look(name).label}` })));
  }

  function moveTo({ campaign, run }, candidate) {
    // Whoever is looked at stays in sight where it has a seat.
    const from = asked(), name = candidate || from.run.lineup[from.seat - 1];
    const seat = run.lineup.includes(name) ? run.lineup.indexOf(name) + 1 : Math.min(from.seat, run.lineup.length);
    go(campaign, run, seat, Math.min(from.version, lastVersion(campaign, run)));
  }

  function turned(by) {
    const from = asked(), runs = shownRuns(at("candidate").value, at("status").value);
    const place = runs.findIndex(({ run, campaign }) => run === from.run && campaign === from.campaign) + by;
    if (runs[place]) moveTo(runs[place], at("candidate").value);
  }

  function filtered() {
    const candidate = at("candidate").value, runs = shownRuns(candidate, at("status").value);
    if (!runs.length) { fillControls(asked()); at("said").textContent = "No run has such a window."; return; }
    at("said").textContent = "";
    const { run: from } = asked();
    moveTo(runs.find(({ run }) => run === from) ?? runs[0], candidate);
    fillControls(asked());
    if (!view) return;
    view.status = at("status").value;
    render();
  }

  function turnCompany(by) {
    const { run, seat, version } = asked();
    jump(version, (seat - 1 + by + run.lineup.length) % run.lineup.length + 1);
  }

  const KEYS = {
    ArrowRight: () => step(1), n: () => step(1), ArrowLeft: () => step(-1), p: () => step(-1),
    Home: () => jump(0, asked().seat), End: () => jump(Infinity, asked().seat),
    j: () => turnCompany(1), k: () => turnCompany(-1), "]": () => turned(1), "[": () => turned(-1),
    "?": () => at("help").showModal(),
  };

  function pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || at("help").open) return;
    if (event.target.closest?.("select, input, textarea, .diff, .scroll")) return;
    const act = KEYS[event.key];
    if (act) { event.preventDefault(); act(); }
  }

  async function begin() {
    index = await unpacked(at("index").textContent);
    const option = (value, text) => make("option", { value, text });
    at("candidate").replaceChildren(option("", "all"), ...Object.entries(index.candidates).map(([name, each]) => option(name, each.label)));
    const statuses = new Set(index.campaigns.flatMap((campaign) => campaign.runs.flatMap((run) => Object.keys(run.statuses))));
    at("status").replaceChildren(option("", "all"), ...[...statuses].sort().map((each) => option(each, words(each))));
    at("controls").addEventListener("submit", (event) => event.preventDefault());
    at("candidate").addEventListener("change", filtered);
    at("status").addEventListener("change", filtered);
    at("run").addEventListener("change", (event) => {
      const { seat, version } = asked();
      const chosen = shownRuns("", "").find(({ campaign, run }) => address(campaign, run, seat, version) === event.target.value);
      if (chosen) moveTo(chosen, "");
    });
    at("company").addEventListener("change", (event) => jump(asked().version, Number(event.target.value)));
    at("back").addEventListener("click", () => step(-1));
    at("forth").addEventListener("click", () => step(1));
    at("keys").addEventListener("click", KEYS["?"]);
    addEventListener("keydown", pressed);
    addEventListener("popstate", show);
    addEventListener("hashchange", show);
    new ResizeObserver(drawCharts).observe(at("chart"));
    await show();
  }

  begin();
