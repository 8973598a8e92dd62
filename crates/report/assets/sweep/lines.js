/* Measures against the axis that runs across: a line per value of the axis that runs down. */
(() => {
  const { axes, measures, order, state, panels, pointAt, cell, unitFor, value, onChange } = Sweep;
  const { css, el, digits, onTheme } = Paceline;
  const host = document.getElementById("sweep-lines");
  if (!host) return;
  const section = document.getElementById("sweep-lines-section");
  const names = document.getElementById("sweep-names");
  const alike = document.getElementById("sweep-alike");
  const DASHES = [[], [7, 4], [2, 3], [9, 3, 2, 3]];
  const LINES_MAX = 24;
  const SVG = "http://www.w3.org/2000/svg";
  const hidden = new Set();
  let plots = [];

  const logarithmic = (numbers) => {
    const low = Paceline.least(numbers), high = Paceline.most(numbers);
    return low > 0 && high / low > 20;
  };
  /* Places of the axis' values: numbers, or one after the other. */
  const places = () => {
    const axis = axes[state.x];
    const numbers = axis.numbers ? order[state.x].map((i) => axis.numbers[i]) : order[state.x].map((_, k) => k);
    return { axis, numbers, log: Boolean(axis.numbers) && logarithmic(numbers) };
  };
  const lines = () => {
    const axis = axes[state.y];
    if (!axis) return [{ y: 0, name: "", style: [0, 0] }];
    return order[state.y].slice(0, LINES_MAX).map((y) => ({ y, name: axis.values[y], style: axis.styles[y] }));
  };
  const alpha = (hex, share) => {
    const [r, g, b] = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
    return `rgb(${r} ${g} ${b} / ${share})`;
  };

  /* 1, 2, 5 times powers of ten, of the unit that is shown. */
  const logSplits = (low, high, size, room) => {
    const make = (steps) => {
      const found = [];
      for (let e = Math.floor(Math.log10(low / size)); e <= Math.ceil(Math.log10(high / size)); e++) {
        for (const s of steps) if (s * 10 ** e * size >= low && s * 10 ** e * size <= high) found.push(s * 10 ** e * size);
      }
      return found;
    };
    const fine = make([1, 2, 5]);
    return fine.length <= room ? fine : make([1]);
  };

  const tooltip = (tip, shown, x, measure, rows) => (u) => {
    const { left, top, idx } = u.cursor;
    const found = left >= 0 && idx !== null && idx !== undefined
      ? shown.map((line, k) => ({ line, mean: rows[k].mean[idx], lo: rows[k].lo[idx], hi: rows[k].hi[idx] }))
        .filter(({ line, mean }) => mean !== null && !hidden.has(line.name)) : [];
    tip.hidden = !found.length;
    if (!found.length) return;
    found.sort((a, b) => b.mean - a.mean);
    const row = ({ line, mean, lo, hi }) => el("div", { class: "tip-row" },
      el("i", { class: "chip", style: `background:var(--c${line.style[0]})` }), line.name,
      el("b", {}, value(mean, measure)), ...(lo === null ? [] : [el("span", { class: "tip-x" }, `${value(lo, measure)} to ${value(hi, measure)}`)]));
    tip.replaceChildren(el("div", { class: "tip-x" }, `${x.axis.name} ${x.axis.values[order[state.x][idx]]}`), ...found.map(row));
    const plot = u.over.getBoundingClientRect(), frame = tip.parentNode.getBoundingClientRect();
    tip.style.left = plot.left - frame.left + left + (left > plot.width / 2 ? -tip.offsetWidth - 14 : 14) + "px";
    tip.style.top = Math.max(0, plot.top - frame.top + top - tip.offsetHeight / 2) + "px";
  };

  const draw = ({ panel, measure: m, title, top, low, width }) => {
    const measure = measures[m], x = places(), shown = lines();
    const rows = shown.map((line) => {
      const cells = order[state.x].map((v) => cell(pointAt(panel, v, line.y), m));
      return { mean: cells.map((c) => c?.mean ?? null), lo: cells.map((c) => c?.lo ?? null), hi: cells.map((c) => c?.hi ?? null) };
    });
    const unit = unitFor(measure, top);
    const log = low > 0 && top / low > 30;
    const frame = el("div", { class: "plot" }), tip = el("div", { class: "tip", hidden: "" });
    const name = title === measure.name ? "" : measure.name;
    const note = [name, unit.unit && unit.unit !== "×" ? unit.unit : "", log ? "logarithmic" : ""].filter(Boolean).join(", ");
    host.append(el("figure", { class: width }, el("figcaption", {}, el("b", {}, title), el("span", {}, note)), frame));
    const series = [{}], bands = [], data = [x.numbers];
    rows.forEach((row, k) => {
      const colour = css(`--c${shown[k].style[0]}`), show = !hidden.has(shown[k].name);
      data.push(row.mean, row.hi, row.lo);
      series.push({ stroke: colour, width: 2, dash: DASHES[shown[k].style[1] % 4], show, points: { show: true, size: 6, fill: colour, width: 0 }, spanGaps: true });
      for (let edge = 0; edge < 2; edge++) series.push({ stroke: "transparent", width: 0, show, points: { show: false }, spanGaps: true });
      bands.push({ series: [3 * k + 2, 3 * k + 3], fill: alpha(colour, 0.16) });
    });
    const edge = x.numbers.length > 1 ? (x.numbers[x.numbers.length - 1] - x.numbers[0]) * 0.04 || 0.5 : 0.5;
    const common = { stroke: css("--soft"), font: "12px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif", labelSize: 18, labelGap: 0, gap: 4, grid: { stroke: css("--grid"), width: 1 }, ticks: { show: false } };
    const room = Math.max(1, Math.ceil(x.numbers.length * 64 / Math.max(200, frame.clientWidth)));
    const axisLabel = x.axis.unit ? `${x.axis.name} (${x.axis.unit})` : x.axis.name;
    const u = new uPlot({
      width: Math.max(200, frame.clientWidth), height: width === "third" ? 220 : 300,
      padding: [10, 14, 0, 0], legend: { show: false },
      cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
      scales: {
        x: { time: false, distr: x.log ? 3 : 1, range: (_, a, b) => x.log ? [a / 1.15, b * 1.15] : [a - edge, b + edge] },
        y: { distr: log ? 3 : 1, range: () => log ? [low / 1.2, top * 1.2] : [0, top > 0 ? top * 1.06 : 1] },
      },
      axes: [
        { ...common, label: axisLabel, size: 24, splits: () => x.numbers.filter((_, i) => i % room === 0), filter: (_, s) => s,
          values: (_, s) => s.map((v) => x.axis.numbers ? digits(v) : x.axis.values[order[state.x][x.numbers.indexOf(v)]]) },
        { ...common, size: 52, space: 34, values: (_, s) => s.map((v) => v === null ? "" : digits(v / unit.size)),
          ...(log ? { splits: () => logSplits(low / 1.2, top * 1.2, unit.size, 9), filter: (_, s) => s } : {}) },
      ],
      series, bands, hooks: { setCursor: [tooltip(tip, shown, x, measure, rows)] },
    }, data, frame);
    frame.append(tip);
    plots.push({ u, frame });
  };

  const legend = (redraw) => {
    const axis = axes[state.y];
    names.replaceChildren(...(axis ? lines() : []).map((line) => {
      const svg = document.createElementNS(SVG, "svg"), stroke = document.createElementNS(SVG, "line");
      svg.setAttribute("width", "20");
      svg.setAttribute("height", "8");
      const look = { x1: 1, x2: 19, y1: 4, y2: 4, "stroke-width": 2.5, "stroke-dasharray": DASHES[line.style[1] % 4].join(" ") };
      for (const [k, v] of Object.entries(look)) stroke.setAttribute(k, v);
      stroke.style.stroke = `var(--c${line.style[0]})`;
      svg.append(stroke);
      const button = el("button", { type: "button", "aria-pressed": String(!hidden.has(line.name)) }, svg, axis.scheme ? line.name : `${axis.name} ${line.name}`);
      button.addEventListener("click", () => {
        if (!hidden.delete(line.name)) hidden.add(line.name);
        redraw();
      });
      return el("li", {}, button);
    }));
    const more = axis ? axis.values.length - LINES_MAX : 0;
    if (more > 0) names.append(el("li", {}, `and ${more} more, without lines`));
  };

  /* The smallest and the largest end of what a chart shows. */
  const ends = (panel, m) => {
    const found = order[state.x].flatMap((x) => lines().map((line) => cell(pointAt(panel, x, line.y), m))).filter(Boolean);
    return found.flatMap((c) => [c.mean, c.lo, c.hi]).filter((v) => v !== undefined);
  };
  const draws = () => {
    for (const { u } of plots) u.destroy();
    plots = [];
    host.replaceChildren();
    const single = order[state.x].length < 2 || !measures.length;
    section.hidden = single;
    if (single) return;
    legend(draws);
    const all = panels();
    /* One panel: every measure. Several: the chosen one, on the same scale. */
    const several = all.length > 1;
    const varies = (m) => several || new Set(ends(all[0], m)).size > 1;
    const chosen = measures.map((_, m) => m).filter((m) => m === state.measure || (!several && varies(m)));
    const same = measures.map((_, m) => m).filter((m) => !varies(m) && ends(all[0], m).length);
    alike.hidden = !same.length;
    alike.textContent = `The same everywhere: ${same.map((m) => `${measures[m].name} ${value(ends(all[0], m)[0], measures[m])}`).join("; ")}.`;
    chosen.sort((a, b) => (b === state.measure) - (a === state.measure) || a - b);
    const charts = several ? all.map((panel) => ({ panel, measure: state.measure, title: panel.title }))
      : chosen.map((m) => ({ panel: all[0], measure: m, title: measures[m].name }));
    const common = several ? all.flatMap((panel) => ends(panel, state.measure)) : null;
    charts.forEach((chart, i) => {
      const values = common ?? ends(chart.panel, chart.measure);
      if (!values.length) return;
      const positive = values.filter((v) => v > 0);
      const low = values.some((v) => v <= 0) ? 0 : Paceline.least(positive);
      draw({ ...chart, top: Paceline.most(values), low, width: !several && i === 0 ? "full" : several && (all.length === 2 || all.length === 4) ? "half" : "third" });
    });
  };
  onChange(draws);
  onTheme(draws);
  addEventListener("resize", () => {
    for (const { u, frame } of plots) {
      const width = Math.max(200, frame.clientWidth);
      if (width !== u.width) u.setSize({ width, height: u.height });
    }
  });
})();
