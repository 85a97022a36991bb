  // The market beside a company's window.
  function marketParts(view) {
    return [companies(view), prices(view), events(view), signals(view)];
  }

  function part(title, ...children) {
    return make("section", { class: "panel" }, make("h2", { text: title }), ...children);
  }

  function companies(view) {
    const rows = view.run.lineup.map((name, place) => {
      const seat = place + 1, week = view.market.weeks[seat];
      const left = view.exits.get(seat);
      const status = view.statuses.get(`${view.version}.${seat}`);
      const go = make("button", { type: "button", class: "pick", "aria-current": seat === view.seat ? "true" : "false", onclick: () => view.jump(view.version, seat) },
        swatch(look(name).colour), look(name).label);
      const settled = view.version < week.revenue.length;
      const change = cashAt(view, seat, lastDay(view)) - cashAt(view, seat);
      return [go, short(cashAt(view, seat)), settled ? (change > 0 ? "+" : "") + short(change) : "–", settled ? count(week.orders[view.version]) : "–",
        settled ? count(week.units[view.version]) : "–", left !== undefined && left <= dayOf(view) ? `left, day ${left}` : words(status ?? "–")];
    });
    const made = table(["company", "cash", "week", "orders", "units", "window"], rows);
    return part(`All companies, day ${dayOf(view)}`, make("div", { class: "scroll" }, made),
      make("p", { class: "caption", text: "Cash when the window opens; what it changes by, consumer orders and units delivered in the window." }));
  }

  function prices(view) {
    const seen = view.market.prices[view.version], set = view.market.prices[view.version + 1];
    if (!seen) return null;
    // The effective price (market.md section 3): list price less promotion.
    const paid = ([list, promotion]) => list - promotion;
    const told = (offer) => offer[1] ? `list ${dollars(offer[0])}, promotion ${dollars(offer[1])}` : "";
    const rows = view.run.lineup.map((name, place) => [
      make("span", {}, swatch(look(name).colour), look(name).label),
      ...view.campaign.products.map((_, product) => {
        const before = seen[place]?.[product], after = set?.[place]?.[product];
        if (!before) return "–";
        if (!after || paid(before) === paid(after)) return make("span", { title: told(after ?? before) }, dollars(paid(after ?? before)));
        const up = paid(after) > paid(before);
        const title = [`was ${dollars(paid(before))}`, told(after)].filter(Boolean).join("; ");
        return make("span", { class: up ? "up" : "down", title }, `${up ? "▲" : "▼"} ${dollars(paid(after))}`);
      }),
    ]);
    return part("Prices", make("div", { class: "scroll" }, table(["company", ...view.campaign.products], rows)),
      make("p", { class: "caption", text: "What is paid in this window: list price less promotion; ▲▼ where it changed at its opening." }));
  }

  function events(view) {
    const name = (seat) => look(view.run.lineup[seat - 1]).label;
    const told = { exit: (each) => `${name(each.seat)} left the market`,
      tender: (each) => `tender ${each.tender}: ${count(each.units)} of ${each.product}, at most ${dollars(each.unit_price_cents)}`,
      award: (each) => `${each.tender} goes to ${name(each.seat)}: ${count(each.units)} of ${each.product} at ${dollars(each.unit_price_cents)}`,
      unfilled: (each) => `${each.tender} found no bid that qualified` };
    const found = view.market.events.filter((each) => each.day > dayOf(view) && each.day <= lastDay(view));
    const list = found.map((each) => make("li", { class: each.kind }, make("span", { class: "when", text: `day ${each.day}` }), told[each.kind](each)));
    return part("What happened", found.length ? make("ul", { class: "events" }, ...list) : make("p", { class: "none", text: "No exit, tender or award." }));
  }

  function signals(view) {
    const rows = view.market.signals.slice(dayOf(view), lastDay(view)).map(([day, macro, demand, quality]) =>
      [`day ${day}`, macro.toFixed(3), demand.toFixed(3), quality.toFixed(3)]);
    if (!rows.length) return null;
    return part("Public signals", table(["of", "macro", "demand", "quality"], rows),
      make("p", { class: "caption", text: "Published in this window; they are of earlier days." }));
  }
