/* Every point, in any order. */
(() => {
  const { data, axes, measures, points, unitFor } = Sweep;
  const { el } = Paceline;
  const table = document.getElementById("sweep-table");
  const more = document.getElementById("sweep-more");
  const ROWS = 200;
  let shown = ROWS, sorted = null, direction = 1;

  const links = (point) => {
    const all = point.runs.map((id, i) => el("a", { href: `runs/${encodeURIComponent(id)}/report.html` }, String(i + 1)));
    return all.flatMap((a, i) => i ? [" ", a] : [a]);
  };
  const half = (m) => m.length === 3 ? Math.max(m[2] - m[0], m[0] - m[1]) : null;
  const linked = points.some((point) => point.runs.length);
  const columns = [
    ...axes.map((axis, i) => ({
      name: axis.name, title: axis.key, word: true,
      key: (p) => axis.numbers ? axis.numbers[p.v[i]] : p.v[i],
      cell: (p) => [...(axis.scheme ? [el("i", { class: "chip", style: `background:var(--c${axis.styles[p.v[i]][0]})` })] : []), axis.values[p.v[i]]],
    })),
    {
      name: "runs", title: "runs that are there; 1 where the seed changes nothing", key: (p) => p.n - p.failed,
      cell: (p) => [(p.fixed ? "1" : p.n === data.repeats && !p.failed ? String(p.n) : `${p.n - p.failed}/${data.repeats}`) + (p.failed || p.open ? " !" : "")],
    },
    ...measures.map((measure, i) => {
      const unit = unitFor(measure, Paceline.most(points.map((p) => Math.abs(p.m[i][0] ?? 0))));
      return {
        name: unit.unit && unit.unit !== "×" ? `${measure.name} (${unit.unit})` : measure.name, title: "", key: (p) => p.m[i][0],
        cell: (p) => {
          if (!p.m[i].length) return ["–"];
          const h = half(p.m[i]);
          return [unit.text(p.m[i][0]), ...(h ? [" ", el("small", {}, `± ${unit.text(h, p.m[i][0])}`)] : [])];
        },
      };
    }),
    ...(linked ? [{ name: "reports", title: "of each seed", key: (p) => p.runs.length, cell: links }] : []),
  ];

  const draw = () => {
    const rows = points.slice();
    if (sorted !== null) {
      const key = columns[sorted].key;
      /* What has no value comes last, whatever the order. */
      rows.sort((a, b) => {
        const [x, y] = [key(a), key(b)];
        if (x === undefined || y === undefined) return (x === undefined) - (y === undefined);
        return (x - y) * direction;
      });
    }
    const head = columns.map((column, i) => {
      const button = el("button", { type: "button", title: column.title, ...(sorted === i ? { "data-order": direction } : {}) }, column.name);
      button.addEventListener("click", () => {
        direction = sorted === i ? -direction : 1;
        sorted = i;
        draw();
      });
      const order = sorted === i ? (direction > 0 ? "ascending" : "descending") : "none";
      return el("th", { scope: "col", class: column.word ? "word" : "", "aria-sort": order }, button);
    });
    const body = rows.slice(0, shown).map((point) => el("tr", {}, ...columns.map((column) =>
      el("td", { class: column.word ? "word" : "" }, ...column.cell(point)))));
    table.replaceChildren(el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...body));
    more.hidden = rows.length <= shown;
    if (!more.hidden) {
      const button = el("button", { type: "button" }, "Show all");
      button.addEventListener("click", () => {
        shown = Infinity;
        draw();
      });
      more.replaceChildren(`${shown} of ${rows.length} points. `, button);
    }
  };
  draw();
})();
