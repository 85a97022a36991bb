  // What changed between two texts, line by line: [mark, line] with mark " ", "+" or "-".
  const MOST_CELLS = 4_000_000;

  function difference(before, after) {
    const old = before === "" ? [] : before.split("\n");
    const now = after === "" ? [] : after.split("\n");
    let start = 0;
    while (start < old.length && start < now.length && old[start] === now[start]) start++;
    let end = 0;
    while (end < old.length - start && end < now.length - start && old.at(-1 - end) === now.at(-1 - end)) end++;
    return [
      ...now.slice(0, start).map((line) => [" ", line]),
      ...changed(old.slice(start, old.length - end), now.slice(start, now.length - end)),
      ...now.slice(now.length - end).map((line) => [" ", line]),
    ];
  }

  function changed(old, now) {
    const all = [...old.map((line) => ["-", line]), ...now.map((line) => ["+", line])];
    if (!old.length || !now.length || old.length * now.length > MOST_CELLS) return all;
    // The longest common subsequence, from the end to the beginning.
    const width = now.length + 1;
    const longest = new Uint16Array((old.length + 1) * width);
    for (let i = old.length - 1; i >= 0; i--)
      for (let j = now.length - 1; j >= 0; j--)
        longest[i * width + j] = old[i] === now[j]
          ? longest[(i + 1) * width + j + 1] + 1
          : Math.max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
    const lines = [];
    let i = 0, j = 0;
    while (i < old.length || j < now.length) {
      if (i < old.length && j < now.length && old[i] === now[j]) { lines.push([" ", now[j]]); i++; j++; }
      else if (j >= now.length || (i < old.length && longest[(i + 1) * width + j] >= longest[i * width + j + 1])) lines.push(["-", old[i++]]);
      else lines.push(["+", now[j++]]);
    }
    return lines;
  }
