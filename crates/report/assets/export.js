/* A chart as a file: what it shows now as SVG, all that the page has of it as CSV. */
Paceline.files = (() => {
  const { el, css, track: T } = Paceline;
  const SIZE = 12, ROW = 18, GAP = 16, SAMPLE = 20;

  const escaped = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const quoted = (text) => /[",\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
  const table = (rows) => rows.map((row) => row.map((cell) => quoted(String(cell))).join(",") + "\n").join("");
  const shown = ({ chart, hidden }) => chart.lines.map((line, i) => ({ line, i })).filter(({ i }) => !hidden.has(i));

  /* Rows of all points of the lines that are not hidden. */
  const csv = (view, label) => {
    const { chart, tracks } = view;
    const rows = [["line", label(chart.x), label(chart.y), "low", "high"]];
    for (const { line, i } of shown(view)) {
      if (tracks) {
        const track = tracks[i];
        const points = T.points(track, track.begin, track.origin + track.end * track.width, 1);
        for (const { from, mean, min, max } of points) rows.push([line.name, from, mean, ...(max > min ? [min, max] : ["", ""])]);
      } else {
        line.x.forEach((x, k) => rows.push([line.name, x, line.y[k], "", ""]));
      }
    }
    return table(rows);
  };

  /* Straight pieces from place to place, as the canvas has them. */
  const path = (view, i, x, y) => {
    const { chart, tracks } = view, line = chart.lines[i];
    let text = "", last = null;
    if (tracks) {
      for (const { from, to, mean } of view.shown[i].points) {
        text += `${from === last ? "L" : "M"}${x(from)} ${y(mean)}H${x(to)}`;
        last = to;
      }
      return text;
    }
    line.x.forEach((at, k) => {
      if (!k) text += `M${x(at)} ${y(line.y[k])}`;
      else text += chart.kind === "step" ? `H${x(at)}V${y(line.y[k])}` : `L${x(at)} ${y(line.y[k])}`;
    });
    return text;
  };

  /* A file of parts, in the page's colours. */
  const picture = (width, height, parts) =>
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" ` +
    `font-family="Helvetica, Arial, sans-serif" font-size="${SIZE}" fill="${css("--ink")}">` +
    `<rect width="100%" height="100%" fill="${css("--card")}"/>\n${parts.join("\n")}\n</svg>\n`;

  const svg = (view, label, dashes) => {
    const { u, chart, tracks } = view;
    const ratio = devicePixelRatio, box = Object.fromEntries(Object.entries(u.bbox).map(([k, v]) => [k, v / ratio]));
    const all = shown(view), named = all.filter(({ line }) => !line.guide);
    const floor = u.scales.y.min;
    const place = (v, axis) => u.valToPos(v, axis);
    const x = (v) => (box.left + place(v, "x")).toFixed(2);
    const y = (v) => (box.top + place(u.scales.y.distr === 3 ? Math.max(v, floor) : v, "y")).toFixed(2);
    const parts = [];
    const text = (px, py, anchor, words, more = "") =>
      parts.push(`<text x="${px}" y="${py}" text-anchor="${anchor}" ${more}>${escaped(words)}</text>`);
    const [across, up] = u.axes.map((axis) => axis._splits.map((v, i) => [v, axis._values[i]]));
    for (const [v, words] of up) {
      if (v < u.scales.y.min || v > u.scales.y.max) continue;
      parts.push(`<path d="M${box.left} ${y(v)}h${box.width}" stroke="#dddddd" fill="none"/>`);
      text(box.left - 6, Number(y(v)) + 4, "end", words ?? "");
    }
    for (const [v, words] of across) {
      if (v >= u.scales.x.min && v <= u.scales.x.max) text(x(v), box.top + box.height + 16, "middle", words ?? "");
    }
    text(box.left + box.width / 2, u.height - 4, "middle", label(chart.x));
    text(0, 0, "middle", label(chart.y), `transform="translate(12 ${box.top + box.height / 2}) rotate(-90)"`);
    /* A picture of its own cuts off what is beyond the axes. */
    const at = `${box.left} ${box.top} ${box.width} ${box.height}`;
    parts.push(`<svg x="${box.left}" y="${box.top}" width="${box.width}" height="${box.height}" viewBox="${at}">`);
    for (const { line, i } of all) {
      const color = css(`--c${line.color}`);
      if (tracks) {
        for (const { from, to, min, max } of view.shown[i].points) {
          if (max > min) parts.push(`<path d="M${x(from)} ${y(max)}H${x(to)}V${y(min)}H${x(from)}Z" fill="${color}" fill-opacity="0.28"/>`);
        }
      }
      if (chart.kind === "dots" && !line.guide) {
        line.x.forEach((v, k) => parts.push(`<circle cx="${x(v)}" cy="${y(line.y[k])}" r="${line.x.length === 1 ? 4.5 : 1.5}" fill="${color}"/>`));
        continue;
      }
      parts.push(`<path d="${path(view, i, x, y)}" fill="none" stroke="${color}" stroke-width="${line.guide ? 1 : 1.75}" stroke-dasharray="${dashes[line.dash % 4].join(" ")}"/>`);
    }
    parts.push("</svg>");
    /* Names below, as many in a row as there is room for. */
    let px = 8, py = u.height + ROW;
    for (const { line } of named.length > 1 ? named : []) {
      const width = SAMPLE + 6 + line.name.length * SIZE * 0.55 + GAP;
      if (px > 8 && px + width > u.width) [px, py] = [8, py + ROW];
      parts.push(`<path d="M${px} ${py - 4}h${SAMPLE}" stroke="${css(`--c${line.color}`)}" stroke-width="2" fill="none" stroke-dasharray="${dashes[line.dash % 4].join(" ")}"/>`);
      text(px + SAMPLE + 6, py, "start", line.name);
      px += width;
    }
    const height = named.length > 1 ? py + 8 : u.height;
    return picture(u.width, height, parts);
  };

  const save = (name, type, text) => {
    const link = el("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
    link.click();
    URL.revokeObjectURL(link.href);
  };
  const named = (title) => title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");

  /* The buttons of what has this title, with what gives its table and its picture. */
  const saving = (title, asTable, asPicture) => {
    const make = (kind, type, text) => {
      const button = el("button", { type: "button", class: "save screen", title: `Save this chart as ${kind}` }, kind);
      button.addEventListener("click", () => save(`${named(title)}.${kind.toLowerCase()}`, type, text()));
      return button;
    };
    return [make("CSV", "text/csv", asTable), make("SVG", "image/svg+xml", asPicture)];
  };
  const buttons = (view, label, dashes) =>
    saving(view.chart.title, () => csv(view, label), () => svg(view, label, dashes));

  return { csv, svg, buttons, table, picture, escaped, saving };
})();
