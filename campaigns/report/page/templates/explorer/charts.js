  // Cash of all companies, and how their windows closed: one time axis for both.
  const LEFT = 96, RIGHT = 14, HEIGHT = 210, ROW = 15;
  const MARKS = {
    sealed: ["·", "sealed"], budget_exhausted: ["b", "odd"], timeout: ["t", "odd"],
    protocol_error: ["p", "odd"], provider_error: ["!", "bad"], integrity_error: ["!", "bad"],
    paused: ["z", "odd"], open: ["…", "open"],
  };

  const dayOf = (view) => view.version * view.campaign.days;
  const lastDay = (view) => Math.min(dayOf(view) + view.campaign.days, view.campaign.horizon);

  function cashAt(view, seat, day = dayOf(view)) {
    const series = view.market.cash[seat];
    return series.length ? series[Math.min(day, series.length - 1)] : 0;
  }

  function ticks(low, high) {
    const rough = (high - low) / 4 || 1;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough);
    const found = [];
    for (let value = Math.ceil(low / step) * step; value <= high; value += step) found.push(value);
    return found;
  }

  const short = (cents) => {
    const value = cents / 100, size = Math.abs(value);
    const [by, unit, digits] = size >= 1e6 ? [1e6, "M", 2] : size >= 1e4 ? [1e3, "k", 1] : [1, "", 0];
    return `${value < 0 && Number(size.toFixed(0)) ? "−" : ""}$${Number((size / by).toFixed(digits)).toLocaleString("en-US")}${unit}`;
  };

  function cashChart(place, view, jump) {
    const width = Math.max(300, place.clientWidth);
    const { market, run, campaign, seat, version } = view;
    const x = (day) => LEFT + (width - LEFT - RIGHT) * day / campaign.horizon;
    const all = Object.values(market.cash).flat();
    const [low, high] = shownRange(all);
    const y = (cents) => HEIGHT - 22 - (HEIGHT - 32) * (cents - low) / (high - low);
    const made = draw("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, role: "img",
      "aria-label": `Cash of every company${seat ? `; ${look(run.lineup[seat - 1]).label} in seat ${seat} has ${dollars(cashAt(view, seat))} on day ${dayOf(view)}` : ""}` });
    for (const tick of ticks(low, high)) {
      made.append(draw("line", { x1: LEFT, x2: width - RIGHT, y1: y(tick), y2: y(tick), class: tick === 0 ? "zero" : "grid" }),
        draw("text", { x: LEFT - 8, y: y(tick) + 4, class: "end", text: short(tick) }));
    }
    const days = width < 600 ? 100 : 50;
    for (let day = 0; day <= campaign.horizon; day += campaign.horizon > days ? days : campaign.days)
      made.append(draw("text", { x: x(day), y: HEIGHT - 4, class: "middle", text: day }));
    const from = x(version * campaign.days), to = x(Math.min((version + 1) * campaign.days, campaign.horizon));
    made.append(draw("rect", { x: from, width: Math.max(2, to - from), y: 4, height: HEIGHT - 26, class: "now" }));
    const seats = run.lineup.map((_, place) => place + 1).filter((each) => each !== seat);
    for (const each of seat ? [...seats, seat] : seats) {
      const series = market.cash[each];
      if (!series.length) continue;
      const points = series.map((cents, day) => [day, cents]).filter(([day]) => day % campaign.days === 0 || day === series.length - 1);
      const line = points.map(([day, cents]) => `${x(day).toFixed(1)},${y(cents).toFixed(1)}`).join(" ");
      made.append(draw("polyline", { points: line, class: each === seat ? "own" : "rival", stroke: look(run.lineup[each - 1]).colour },
        draw("title", { text: look(run.lineup[each - 1]).label })));
      const exit = view.exits.get(each);
      if (exit !== undefined) made.append(draw("text", { x: x(exit), y: y(series.at(-1)) + 4, class: "exit middle", fill: look(run.lineup[each - 1]).colour, text: "×" },
        draw("title", { text: `${look(run.lineup[each - 1]).label} left on day ${exit}` })));
    }
    made.addEventListener("click", (event) => {
      const day = (event.clientX - made.getBoundingClientRect().left - LEFT) / (width - LEFT - RIGHT) * campaign.horizon;
      jump(Math.floor(day / campaign.days), seat);
    });
    place.replaceChildren(made);
  }

  // From the least to the most, with some room; down to zero where that is not far, and never so
  // close that neighbouring amounts on the axis read the same.
  function shownRange(values) {
    let low = Infinity, high = -Infinity;
    for (const value of values) { if (value < low) low = value; if (value > high) high = value; }
    if (!values.length) return [0, 1];
    if (low > 0 && low < high / 2) low = 0;
    const room = Math.max(100, (high - low) * .06, Math.abs(high) * .01);
    return [low && low - room, high + room];
  }

  function strip(place, view, jump) {
    const width = Math.max(300, place.clientWidth);
    const { market, run, campaign, seat, version } = view;
    const step = (width - LEFT - RIGHT) * campaign.days / campaign.horizon;
    const made = draw("svg", { viewBox: `0 0 ${width} ${run.lineup.length * ROW + 4}`, width, height: run.lineup.length * ROW + 4,
      role: "img", "aria-label": "How every window closed, by company" });
    run.lineup.forEach((name, row) => made.append(
      draw("text", { x: LEFT - 8, y: row * ROW + 12, class: row + 1 === seat ? "end strong" : "end", text: clipped(look(name).label) },
        draw("title", { text: look(name).label }))));
    for (const [at, of, status] of market.windows) {
      const [, kind] = MARKS[status] ?? ["?", "bad"];
      const dim = view.status && status !== view.status ? " dim" : "";
      made.append(draw("rect", { x: LEFT + at * step, y: (of - 1) * ROW + 2, width: Math.max(1, Math.min(step, width - RIGHT - LEFT - at * step) - 1), height: ROW - 3,
        class: `cell ${kind}${dim}`, ...(kind === "sealed" ? { fill: look(run.lineup[of - 1]).colour } : {}) },
        draw("title", { text: `${look(run.lineup[of - 1]).label}, day ${at * campaign.days}: ${words(status)}` })));
    }
    made.append(draw("rect", { x: LEFT + version * step - 1, y: (seat - 1) * ROW + 1, width: Math.max(3, step + 1), height: ROW - 1, class: "here" }));
    made.addEventListener("click", (event) => {
      const box = made.getBoundingClientRect();
      const of = Math.floor((event.clientY - box.top - 2) / ROW) + 1;
      jump(Math.floor((event.clientX - box.left - LEFT) / step), Math.min(Math.max(of, 1), run.lineup.length));
    });
    place.replaceChildren(made);
  }

  const clipped = (label) => label.length > 14 ? `${label.slice(0, 13)}…` : label;

  function legend(place, view) {
    const found = new Set(view.market.windows.map(([, , status]) => status));
    place.replaceChildren(...[...found].map((status) => {
      const [, kind] = MARKS[status] ?? ["?", "bad"];
      return make("li", {}, make("span", { class: `key ${kind}` }), words(status));
    }));
  }
