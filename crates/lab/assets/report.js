/* The charts. */
(() => {
  const { css, el, digits, scaled, BYTES, MICROSECONDS, onTheme } = Paceline;
  const charts = JSON.parse(document.getElementById("chart-data").textContent);
  /* Where a chart goes: to its own place, if the page has one. */
  const place = (chart) => document.getElementById(chart.place ?? "charts");
  const DASHES = [[], [7, 4], [2, 3], [9, 3, 2, 3]];
  const HEIGHT = { full: 260, half: 260, third: 230, quarter: 200 };
  const SVG = "http://www.w3.org/2000/svg";
  const TIP_ROWS = 10;
  const LEGEND_MAX = 8;
  let plots = [];

  if (!charts.length) {
    document.getElementById("charts-section").hidden = true;
    return;
  }

  /* Numbers */
  const scales = (axis) => axis.unit === "B" ? BYTES : axis.unit === "µs" && axis.log ? MICROSECONDS : null;
  const value = (v, axis) => {
    const steps = scales(axis);
    if (steps) return scaled(v, steps);
    return axis.unit === "×" || axis.unit === "%" ? digits(v) + axis.unit : (digits(v) + " " + axis.unit).trim();
  };
  const tick = (v, axis) => scales(axis) ? scaled(v, scales(axis)) : digits(v);
  const label = (axis) => axis.unit && !scales(axis) ? `${axis.label} (${axis.unit})` : axis.label;

  /* Axes */
  const logSplits = (u, axisIndex, min, max) => {
    const make = (steps) => {
      const found = [];
      for (let e = Math.floor(Math.log10(min)); e <= Math.ceil(Math.log10(max)); e++) {
        for (const s of steps) {
          const v = s * 10 ** e;
          if (v >= min * 0.999 && v <= max * 1.001) found.push(v);
        }
      }
      return found;
    };
    const room = axisIndex === 0 ? u.width / 70 : u.height / 24;
    const fine = make([1, 2, 5]);
    if (fine.length <= room) return fine;
    const coarse = make([1]);
    return coarse.length <= room ? coarse : coarse.filter((_, i) => i % Math.ceil(coarse.length / room) === 0);
  };
  const ranges = {
    x: (axis) => (u, min, max) => {
      if (min === null) return [0, 1];
      if (axis.log) return [min / 1.12, max * 1.12];
      const all = u.data[0];
      if (axis.max && min === all[0] && max === all[all.length - 1]) return [min, axis.max];
      return min === max ? [min - 0.5, max + 0.5] : [min, max];
    },
    y: (axis) => (u, min, max) => {
      const top = axis.max ?? max;
      if (top === null) return [0, 1];
      if (axis.log) return [min > 1 && axis.unit === "×" ? 1 : min / 1.2, top * 1.15];
      if (min < 0) return [min * 1.05, Math.max(0, top) * 1.05];
      return [0, top > 0 ? (axis.max ?? top * 1.05) : 1];
    },
  };
  const axisOptions = (axis, side) => ({
    stroke: css("--soft"),
    font: "12px system-ui, sans-serif",
    labelFont: "12px system-ui, sans-serif",
    label: label(axis),
    labelSize: 18,
    labelGap: 0,
    gap: 4,
    size: side === "y" ? 52 : 24,
    space: side === "y" ? 36 : 76,
    grid: { stroke: css("--grid"), width: 1 },
    ticks: { show: false },
    values: (u, splits) => splits.map((v) => tick(v, axis)),
    ...(axis.log ? { splits: logSplits, filter: (u, splits) => splits } : {}),
  });

  /* The value of a line at x: of its last point before in steps, of its nearest point otherwise. */
  const at = (line, x, step, near) => {
    let low = 0, high = line.x.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (line.x[middle] <= x) low = middle + 1; else high = middle;
    }
    if (step) {
      if (low === 0 || (low === line.x.length && x > line.x[low - 1])) return null;
      return line.y[low - 1];
    }
    const candidates = [low - 1, low].filter((i) => i >= 0 && i < line.x.length);
    candidates.sort((a, b) => near(line.x[a], x) - near(line.x[b], x));
    return candidates.length ? { x: line.x[candidates[0]], y: line.y[candidates[0]] } : null;
  };

  const tooltip = (chart, tip) => (u) => {
    const { left, top } = u.cursor;
    if (left === undefined || left < 0) {
      tip.hidden = true;
      return;
    }
    let x = u.posToVal(left, "x");
    const step = chart.kind === "step";
    const near = chart.x.log ? (a, b) => Math.abs(Math.log(a / b)) : (a, b) => Math.abs(a - b);
    let shown = chart.lines.map((line, i) => ({ line, i })).filter(({ i }) => u.series[i + 1].show);
    if (step) {
      shown = shown.map((s) => ({ ...s, y: at(s.line, x, true) })).filter((s) => s.y !== null);
    } else {
      const points = shown.map((s) => at(s.line, x, false, near)).filter(Boolean);
      points.sort((a, b) => near(a.x, x) - near(b.x, x));
      if (points.length) x = points[0].x;
      shown = shown.map((s) => ({ ...s, y: s.line.y[s.line.x.indexOf(x)] })).filter((s) => s.y !== undefined);
    }
    if (!shown.length) {
      tip.hidden = true;
      return;
    }
    shown.sort((a, b) => b.y - a.y || a.i - b.i);
    const rows = shown.slice(0, TIP_ROWS).map(({ line, y }) => el("div", { class: "tip-row" },
      el("i", { class: "chip", style: `background:var(--c${line.color})` }), line.name, el("b", {}, value(y, chart.y))));
    const more = shown.length > TIP_ROWS ? [el("div", { class: "tip-x" }, `and ${shown.length - TIP_ROWS} more`)] : [];
    tip.replaceChildren(el("div", { class: "tip-x" }, value(x, chart.x)), ...rows, ...more);
    tip.hidden = false;
    const plot = u.over.getBoundingClientRect(), frame = tip.parentNode.getBoundingClientRect();
    const flip = left > plot.width / 2;
    tip.style.left = plot.left - frame.left + left + (flip ? -tip.offsetWidth - 14 : 14) + "px";
    tip.style.top = Math.max(0, plot.top - frame.top + top - tip.offsetHeight / 2) + "px";
  };

  const legend = (chart, u) => {
    const list = el("ul", { class: "legend" });
    /* The ends of a line's interval go with it. */
    const ends = (line) => chart.lines.filter((other) => other.guide && other.name.startsWith(`${line.name}, `));
    const beside = new Set(chart.lines.flatMap(ends));
    const folded = chart.lines.length - beside.size > LEGEND_MAX;
    if (chart.lines.length < 2 && !chart.lines.some((line) => line.name.includes("switch"))) return list;
    chart.lines.forEach((line, i) => {
      if (beside.has(line)) return;
      const svg = document.createElementNS(SVG, "svg");
      svg.setAttribute("width", "20");
      svg.setAttribute("height", "8");
      const stroke = document.createElementNS(SVG, "line");
      const look = { x1: 1, x2: 19, y1: 4, y2: 4, "stroke-width": 2.5, "stroke-dasharray": DASHES[line.dash % 4].join(" ") };
      for (const [key, v] of Object.entries(look)) stroke.setAttribute(key, v);
      stroke.style.stroke = `var(--c${line.color})`;
      svg.append(stroke);
      const button = el("button", { type: "button", "aria-pressed": "true" }, svg, line.name);
      button.addEventListener("click", () => {
        const show = button.getAttribute("aria-pressed") !== "true";
        button.setAttribute("aria-pressed", String(show));
        u.setSeries(i + 1, { show });
        for (const end of ends(line)) u.setSeries(chart.lines.indexOf(end) + 1, { show });
      });
      list.append(el("li", {}, button));
    });
    const summary = () => el("summary", {}, `${chart.lines.length - beside.size} lines`);
    return folded ? el("details", { class: "lines" }, summary(), list) : list;
  };

  const draw = (chart) => {
    const frame = el("div", { class: "plot" });
    const tip = el("div", { class: "tip", hidden: "" });
    const figure = el("figure", { class: chart.width },
      el("figcaption", {}, el("b", {}, chart.title), el("span", {}, chart.note)), frame);
    place(chart).append(figure);
    const paths = chart.kind === "step" ? uPlot.paths.stepped({ align: 1 }) : uPlot.paths.linear();
    const many = chart.lines.length > LEGEND_MAX;
    const dots = (line) => chart.kind === "dots" && !line.guide;
    const series = chart.lines.map((line) => ({
      label: line.name,
      stroke: css(`--c${line.color}`),
      width: line.guide ? 1 : many ? 1.25 : 2,
      dash: DASHES[line.dash % 4],
      paths: dots(line) ? () => null : paths,
      points: dots(line)
        ? { show: true, size: 3, fill: css(`--c${line.color}`) + "80", width: 0 }
        : { show: chart.kind === "points" && !line.guide, size: 5, fill: css(`--c${line.color}`), width: 0 },
    }));
    const tables = chart.lines.map((line) => [line.x, line.y]);
    const data = tables.length > 1 ? uPlot.join(tables) : tables[0];
    const u = new uPlot({
      width: Math.max(200, frame.clientWidth),
      height: HEIGHT[chart.width],
      padding: [10, 14, 0, 0],
      legend: { show: false },
      cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: true } },
      scales: {
        x: { time: false, distr: chart.x.log ? 3 : 1, range: ranges.x(chart.x) },
        y: { distr: chart.y.log ? 3 : 1, range: ranges.y(chart.y) },
      },
      axes: [axisOptions(chart.x, "x"), axisOptions(chart.y, "y")],
      series: [{}, ...series],
      hooks: { setCursor: [tooltip(chart, tip)] },
    }, data, frame);
    frame.append(tip);
    figure.append(legend(chart, u));
    plots.push({ u, frame, height: HEIGHT[chart.width] });
  };

  const build = () => {
    for (const { u } of plots) u.destroy();
    plots = [];
    for (const chart of charts) place(chart).replaceChildren();
    charts.forEach(draw);
  };

  const fit = () => {
    for (const { u, frame, height } of plots) {
      const width = Math.max(200, frame.clientWidth);
      if (width !== u.width) u.setSize({ width, height });
    }
  };

  onTheme(build);
  addEventListener("resize", fit);
})();
