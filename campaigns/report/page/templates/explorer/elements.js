  // Elements. All text goes through textContent: what models wrote is never read as markup.
  const SVG = "http://www.w3.org/2000/svg";
  const at = (id) => document.getElementById(id);

  function make(kind, values = {}, ...children) {
    const made = document.createElement(kind);
    for (const [name, value] of Object.entries(values)) {
      if (name === "text") made.textContent = value;
      else if (name === "class") made.className = value;
      else if (name in made) made[name] = value;
      else made.setAttribute(name, value);
    }
    made.append(...children.filter((child) => child !== null));
    return made;
  }

  function draw(kind, values = {}, ...children) {
    const made = document.createElementNS(SVG, kind);
    for (const [name, value] of Object.entries(values)) {
      if (name === "text") made.textContent = value; else made.setAttribute(name, value);
    }
    made.append(...children);
    return made;
  }

  const LONG_CELL = 48;
  const words = (name) => name.replaceAll("_", " ");
  const count = (value) => value.toLocaleString("en-US");
  const dollars = (cents, digits = 2) => (cents / 100).toLocaleString("en-US",
    { style: "currency", currency: "USD", minimumFractionDigits: digits, maximumFractionDigits: digits });
  const swatch = (colour) => make("span", { class: "swatch", style: `background:${colour}` });

  // The first column names the rows; `isNumber` says which of the others are aligned as numbers.
  function table(headings, rows, isNumber = (place) => place > 0) {
    const made = make("table");
    const head = made.createTHead().insertRow();
    headings.forEach((heading, place) => head.append(make("th", { text: heading, scope: "col", class: isNumber(place) ? "number" : "" })));
    const body = made.createTBody();
    for (const cells of rows) {
      const row = body.insertRow();
      cells.forEach((cell, place) => {
        const made = make(place ? "td" : "th", { class: isNumber(place) ? "number" : typeof cell === "string" && cell.length > LONG_CELL ? "long" : "" });
        if (!place) made.scope = "row";
        made.append(cell);
        row.append(made);
      });
    }
    return made;
  }
