"use strict";
(() => {
  const LONGEST = 500;

  async function text(name) {
    const packed = document.getElementById(`data-${name}`).textContent.trim();
    const bytes = Uint8Array.from(atob(packed), (mark) => mark.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  }

  function parsed(csv) {
    const rows = [[]];
    let cell = "", quoted = false;
    for (let at = 0; at < csv.length; at++) {
      const mark = csv[at];
      if (quoted) {
        if (mark !== '"') cell += mark;
        else if (csv[at + 1] === '"') { cell += '"'; at++; }
        else quoted = false;
      } else if (mark === '"') quoted = true;
      else if (mark === ",") { rows.at(-1).push(cell); cell = ""; }
      else if (mark === "\n") { rows.at(-1).push(cell); cell = ""; rows.push([]); }
      else cell += mark;
    }
    rows.pop();
    return rows;
  }

  function shown(name, value) {
    if (value === "") return "\u2013";
    if (!/^-?\d+(\.\d+)?(e-?\d+)?$/.test(value)) return value;
    const number = Number(value);
    if (name.endsWith("_cents") || name === "cents")
      return (number / 100).toLocaleString("en-US", { style: "currency", currency: "USD" });
    if (name.endsWith("_rate") || name === "share") return `${(100 * number).toFixed(1)}%`;
    if (name.endsWith("seed") || name.endsWith("_day")) return value;
    return number.toLocaleString("en-US", { maximumFractionDigits: 2 });
  }

  function table(rows) {
    const [names, ...body] = rows;
    const made = document.createElement("table");
    const line = (parent, cells, kind) => {
      const row = parent.insertRow();
      cells.forEach((value, place) => {
        const cell = document.createElement(kind);
        cell.textContent = kind === "th" ? value.replaceAll("_", " ").replace(/ cents$/, ", $") : shown(names[place], value);
        if (numeric[place]) cell.className = "number";
        row.append(cell);
      });
    };
    const numeric = names.map((_, place) => body.some((row) => row[place] !== "") &&
      body.every((row) => row[place] === "" || !Number.isNaN(Number(row[place]))));
    line(made.createTHead(), names, "th");
    const lines = made.createTBody();
    for (const row of body.slice(0, LONGEST)) line(lines, row, "td");
    return made;
  }

  for (const details of document.querySelectorAll("details[data-table]")) {
    const name = details.dataset.table;
    details.addEventListener("toggle", async () => {
      const place = details.querySelector(".data");
      if (!details.open || place.hasChildNodes()) return;
      const rows = parsed(await text(name));
      place.append(table(rows));
      const count = rows.length - 1;
      details.querySelector(".count").textContent = count > LONGEST
        ? `the first ${LONGEST} of ${count.toLocaleString("en-US")} rows` : `${count} rows`;
    });
    details.querySelector("button").addEventListener("click", async () => {
      const url = URL.createObjectURL(new Blob([await text(name)], { type: "text/csv" }));
      const link = Object.assign(document.createElement("a"), { href: url, download: `${name}.csv` });
      link.click();
      setTimeout(() => URL.revokeObjectURL(url), 1000);
    });
  }
})();
