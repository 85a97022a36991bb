  // One company-window: what the CEO read, did and wrote.
  const LONG = 1400;

  function storyParts(view) {
    const window = view.window;
    if (!window) return [part("Nothing here", make("p", { class: "none", text: absence(view) }))];
    return [heading(view, window), untold(view, window), read(view, window), did(window), wrote(view, window), late(window)];
  }

  function absence(view) {
    const left = view.exits.get(view.seat);
    return left === undefined ? "This window has not opened." : `The company left the market on day ${left}.`;
  }

  function heading(view, window) {
    const name = view.run.lineup[view.seat - 1];
    const replies = window.steps.filter((step) => step.kind === "reply");
    const sum = (field) => replies.reduce((total, step) => total + (step[field] ?? 0), 0);
    const facts = [`days ${dayOf(view) + 1} to ${lastDay(view)}`, `seat ${view.seat}`];
    if (replies.length) facts.push(plural(replies.length, "reply", "replies"), `${count(sum("input_tokens"))} tokens in, ${count(sum("output_tokens"))} out`);
    const seconds = window.steps.at(-1)?.seconds;
    if (seconds !== undefined && seconds !== null) facts.push(`${seconds} s`);
    if (window.attempts > 1) facts.push(`attempt ${window.attempts}, the last`);
    return make("header", { class: "head" },
      make("h2", {}, swatch(look(name).colour), look(name).label, " ", make("span", { class: `badge ${(MARKS[window.status] ?? ["", "bad"])[1]}`, text: words(window.status) })),
      make("p", { class: "facts", text: facts.join(" · ") }),
      window.reason ? make("p", { class: "reason", text: window.reason }) : null);
  }

  // A bundle may have been exported without conversations: then there are numbers instead of texts.
  function untold(view, window) {
    return view.campaign.told || !window.steps.length ? null
      : make("p", { class: "notice", text: "This bundle was exported without conversations: what the CEO was told, said, asked and wrote is not in it, only how much of it." });
  }

  const plural = (number, one, many) => `${count(number)} ${number === 1 ? one : many}`;

  function read(view, window) {
    if (!view.campaign.told && window.steps.length) {
      const asked = window.steps.filter((step) => step.tool === "query_company"), refused = asked.filter((step) => step.refused).length;
      return part("Read", make("p", { class: "none", text: `A briefing, and ${plural(asked.length, "query", "queries")} of its books${refused ? `, ${count(refused)} of them refused` : ""}.` }));
    }
    const found = window.steps.filter((step) => step.kind === "briefing" || (step.kind === "call" && READS.has(step.tool)));
    if (!found.length) return part("Read", make("p", { class: "none", text: "A company without a model: its policy decides at once." }));
    return part("Read", ...found.map((step) => step.kind === "briefing"
      ? folded("Briefing", step.text, step, false)
      : called(step)));
  }

  const READS = new Set(["query_company", "read_file", "search_files", "glob_files"]);

  function did(window) {
    const told = window.steps.filter((step) => !["briefing", "file"].includes(step.kind) && !(step.kind === "call" && READS.has(step.tool)));
    const steps = told.map((step) => step.kind === "call" ? called(step) : remark(step));
    return part("Did", ...steps.filter(Boolean), decided(window), receipts(window));
  }

  function remark(step) {
    if (step.kind === "reply" && !step.text) return null;
    if (step.kind === "closed" || step.kind === "resumed") return null;
    const names = { reply: "said", correction: "corrected", notice: "told", fault: "fault", wait: "waited", halted: "halted" };
    return make("div", { class: `step ${step.kind}` }, time(step), make("span", { class: "kind", text: names[step.kind] }), ...text(step.text, step));
  }

  const time = (step) => make("span", { class: "time", text: typeof step.seconds === "number" ? `${step.seconds.toFixed(1)} s` : "" });

  function text(value, step) {
    const left = step.left_out ? [make("span", { class: "left", text: `… ${count(step.left_out)} characters more; ceo-arena show has them` })] : [];
    if (value.length <= LONG) return [make("pre", { text: value }), ...left];
    const more = make("details", {}, make("summary", { text: `all ${count(value.length)} characters` }), make("pre", { text: value }));
    return [make("pre", { text: `${value.slice(0, LONG)} …` }), more, ...left];
  }

  function folded(title, value, step, open) {
    return make("details", { class: "folded", open }, make("summary", { text: `${title}, ${count(value.length)} characters` }), make("pre", { text: value }),
      ...(step.left_out ? [make("span", { class: "left", text: `… ${count(step.left_out)} characters more` })] : []));
  }

  function called(step) {
    const given = parsed(step.arguments);
    const line = make("div", { class: `step call${step.refused ? " refused" : ""}` }, time(step), make("span", { class: "kind", text: step.tool }));
    if (step.tool === "query_company" && typeof given?.sql === "string") line.append(make("pre", { class: "sql", text: given.sql }));
    else if (step.arguments && step.arguments !== "{}") line.append(make("code", { text: given ? shownArguments(given) : step.arguments }));
    if (step.refused) line.append(make("span", { class: "badge odd", text: "refused" }));
    else line.append(...staged(parsed(step.text)));
    line.append(make("details", {}, make("summary", { text: step.left_out ? "result, cut" : "result" }), result(step),
      ...(step.left_out ? [make("span", { class: "left", text: `… ${count(step.left_out)} characters more; ceo-arena show has them` })] : [])));
    return line;
  }

  // What a change of the draft amounts to, and what it would cost at once.
  function staged(answer) {
    if (!Array.isArray(answer?.effect)) return [];
    const changes = answer.effect.filter((each) => each.from !== each.to)
      .map((each) => `${named(each.field)} ${shownValue(each.field, each.from)} → ${shownValue(each.field, each.to)}`);
    if (answer.quote?.charge_cents) changes.push(`costs ${dollars(answer.quote.charge_cents)}, effective on day ${answer.quote.effective_day}`);
    return [make("div", { class: "effect", text: changes.length ? changes.join(" · ") : "as it stood" })];
  }

  const named = (name) => words(name.replace(/_cents$/, "")).replaceAll(".", " ");
  const shownValue = (name, value) => name.endsWith("_cents") && Number.isInteger(value) ? dollars(value)
    : value === null ? "none" : typeof value === "string" ? value : JSON.stringify(value);
  const shownArguments = (given) => Object.entries(given).map(([name, value]) => `${named(name)} ${shownValue(name, value)}`).join(", ");

  function parsed(value) {
    try {
      const found = JSON.parse(value);
      return found && typeof found === "object" && !Array.isArray(found) ? found : null;
    } catch { return null; }
  }

  function result(step) {
    const found = parsed(step.text);
    if (!found || !Array.isArray(found.columns) || !Array.isArray(found.rows) || !found.rows.every(Array.isArray))
      return make("pre", { text: found ? JSON.stringify(found, null, 1) : step.text });
    const isNumber = (place) => found.rows.every((row) => row[place] === null || typeof row[place] === "number");
    return make("div", { class: "scroll" }, table(found.columns.map(String), found.rows.map((row) => row.map((cell) => cell === null ? "–" : String(cell))), isNumber));
  }

  function decided(window) {
    const made = make("div", { class: "decision" }, make("h3", { text: "Sealed decision" }));
    const lines = window.decision ? decisionLines(window.decision) : null;
    if (!lines) made.append(make("p", { class: "none", text: window.settled ? "None: standing policies go on." : "Not settled yet." }));
    else if (!lines.length) made.append(make("p", { class: "none", text: "A hold: nothing changes." }));
    else made.append(make("dl", {}, ...lines.flatMap(([name, value]) => [make("dt", { text: name }), make("dd", { text: value })])));
    return made;
  }

  function decisionLines(decision) {
    return Object.entries(decision).flatMap(([name, value]) => {
      if (name === "products") return Object.entries(value).map(([product, own]) => [product, shownArguments(own)]);
      if (name === "marketing") return Object.entries(value).map(([segment, own]) => [`marketing, ${segment}`, Object.entries(own).map(([channel, each]) => `${channel} ${dollars(each)}`).join(", ")]);
      if (name === "bids") return Object.entries(value).map(([tender, each]) => [`bid on ${tender}`, dollars(each)]);
      if (Array.isArray(value)) return value.map((each) => [words(name), shownArguments(each)]);
      if (typeof value === "object") return [[words(name), shownArguments(value)]];
      return [[named(name), shownValue(name, value)]];
    });
  }

  function receipts(window) {
    if (!window.receipts.length) return null;
    return make("div", { class: "decision" }, make("h3", { text: "Came of it" }), make("div", { class: "scroll" },
      table(["action", "charge", "refund", "effective"], window.receipts.map((each) =>
        [`${words(each.kind)} ${each.subject}`, dollars(each.charge_cents), dollars(each.refund_cents), `day ${each.effective_day}`]))));
  }

  function wrote(view, window) {
    const files = window.steps.filter((step) => step.kind === "file");
    if (!files.length) return window.steps.length ? part("Wrote", make("p", { class: "none", text: "No file." })) : null;
    if (!view.campaign.told) return part("Wrote", make("ul", { class: "events" }, ...files.map((step) =>
      make("li", {}, make("code", { text: step.path }), make("span", { class: "facts", text: ` version ${step.version} · ${count(step.left_out)} bytes` })))));
    return part("Wrote", ...files.map((step) => {
      const before = earlier(view, window, step);
      const lines = difference(before, step.content);
      const changes = make("div", { class: "diff", tabIndex: 0, role: "group", "aria-label": `What changed in ${step.path}` }, ...hunks(lines));
      const added = lines.filter(([mark]) => mark === "+").length, gone = lines.filter(([mark]) => mark === "-").length;
      return make("div", { class: "file" }, make("h3", {}, make("code", { text: step.path }), make("span", { class: "facts", text: ` version ${step.version} · +${added} −${gone} lines · ${count(step.content.length)} characters` })),
        changes, folded("The whole text", step.content, step, false));
    }));
  }

  // The text of a file before a write: the latest of the earlier writes in this company's windows.
  function earlier(view, window, step) {
    let text = "";
    for (const each of view.windows) {
      if (each.world_version > window.world_version) break;
      for (const other of each.steps) {
        if (other === step) return text;
        if (other.kind === "file" && other.path === step.path) text = other.content;
      }
    }
    return text;
  }

  const AROUND = 2;

  function hunks(lines) {
    const near = lines.map(([mark], place) => lines.slice(Math.max(0, place - AROUND), place + AROUND + 1).some(([each]) => each !== " ") || mark !== " ");
    const made = [];
    let hidden = 0;
    const gap = () => { if (hidden) made.push(make("div", { class: "gap", text: `${hidden} lines as before` })); hidden = 0; };
    lines.forEach(([mark, line], place) => {
      if (!near[place]) { hidden++; return; }
      gap();
      made.push(make("div", { class: mark === "+" ? "added" : mark === "-" ? "gone" : "same" }, make("span", { class: "mark", text: mark }), line));
    });
    gap();
    return made;
  }

  function late(window) {
    return window.attempts > 1 ? make("p", { class: "caption", text: `${window.attempts} attempts; what is shown is the last. ceo-arena failures tells of the others.` }) : null;
  }
