/* The charts. */
(() => {
  const { css, el, prose, digits, scaled, BYTES, MICROSECONDS, onTheme, track: T, files } = Paceline;
  const charts = JSON.parse(document.getElementById("chart-data").textContent);
  /* What is drawn: see `draw`. Where a reader has looked outlives a change of colours. */
  const views = Paceline.views = [];
  /* Where a chart goes: to its own place, if the page has one. */
  const place = (chart) => document.getElementById(chart.place ?? "charts");
  const DASHES = [[], [7, 4], [2, 3], [9, 3, 2, 3]];
  const HEIGHT = { full: 260, half: 260, third: 230, quarter: 200 };
  const SVG = "http://www.w3.org/2000/svg";
  const TIP_ROWS = 10;
  const LEGEND_MAX = 8;

  if (!charts.length) {
    document.getElementById("charts-section").hidden = true;
    return;
  }

  const unpacked = charts.map((chart) => chart.lines.map((line) => line.track && T.unpack(line.track)));
  const tracksOf = (chart, i) => chart.lines.map(({ same }, j) => same ? unpacked[same[0]][same[1]] : unpacked[i][j]);

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
  /* What tracks are drawn as from `low` to `high`; a point is at least as wide as a pixel. */
  const look = (view, low, high) => {
    const room = Math.max(50, view.frame.clientWidth - 66), key = [low, high, room].join();
    if (view.key === key) return;
    view.key = key;
    view.shown = view.tracks.map((track) => {
      const k = T.joined(track, low, high, room);
      return { track, k, points: T.points(track, low, high, k) };
    });
  };
  /* The largest value that is drawn, and the smallest above 0. */
  const heights = (view) => {
    let top = 0, low = Infinity;
    const note = (min, max) => {
      top = Math.max(top, max);
      low = Math.min(low, min > 0 ? min : max > 0 ? max : Infinity);
    };
    const shown = (i) => !view.hidden.has(i);
    if (view.tracks) view.shown.forEach(({ points }, i) => { if (shown(i)) for (const p of points) note(p.min, p.max); });
    else view.chart.lines.forEach((line, i) => { if (shown(i)) for (const y of line.y) note(y, y); });
    return [low, top];
  };
  const ranges = {
    x: (view) => (u, min, max) => {
      const axis = view.chart.x;
      if (view.tracks) {
        look(view, min, max);
        return [min, max];
      }
      if (min === null) return [0, 1];
      if (axis.log) return [min / 1.12, max * 1.12];
      const all = u.data[0];
      if (axis.max && min === all[0] && max === all[all.length - 1]) return [min, axis.max];
      return min === max ? [min - 0.5, max + 0.5] : [min, max];
    },
    y: (view) => (u, min, max) => {
      const axis = view.chart.y, fixed = view.zoom ? null : axis.max;
      const [low, high] = view.tracks || view.log ? heights(view) : [min, max];
      const top = fixed ?? high;
      if (top === null) return [0, 1];
      if (view.log) return low < Infinity ? [low > 1 && axis.unit === "×" ? 1 : low / 1.2, top * 1.15] : [0.1, 1];
      if (min < 0) return [min * 1.05, Math.max(0, top) * 1.05];
      return [0, top > 0 ? (fixed ?? top * 1.05) : 1];
    },
  };
  const axisOptions = (axis, side, log) => ({
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
    ...(log ? { splits: logSplits, filter: (u, splits) => splits } : {}),
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

  /* What lines have at x, or near it: the place that is told, and for each a value and its text. */
  const valuesAt = ({ chart, hidden, tracks, shown }, x) => {
    const all = chart.lines.map((line, i) => ({ line, i })).filter(({ i }) => !hidden.has(i));
    if (tracks) {
      const found = all.map((one) => ({ ...one, point: T.at(shown[one.i].points, x) })).filter(({ point }) => point);
      return { x, rows: found.map((one) => ({ ...one, y: one.point.mean, text: T.told(one.point, chart.y.unit) })) };
    }
    const row = (one) => ({ ...one, text: value(one.y, chart.y) });
    if (chart.kind === "step") {
      return { x, rows: all.map((one) => ({ ...one, y: at(one.line, x, true) })).filter(({ y }) => y !== null).map(row) };
    }
    const near = chart.x.log ? (a, b) => Math.abs(Math.log(a / b)) : (a, b) => Math.abs(a - b);
    const points = all.map(({ line }) => at(line, x, false, near)).filter(Boolean);
    points.sort((a, b) => near(a.x, x) - near(b.x, x));
    const place = points.length ? points[0].x : x;
    const found = all.map((one) => ({ ...one, y: one.line.y[one.line.x.indexOf(place)] }));
    return { x: place, rows: found.filter(({ y }) => y !== undefined).map(row) };
  };

  const tooltip = (view, tip) => (u) => {
    const { left, top } = u.cursor;
    if (left === undefined || left < 0) {
      tip.hidden = true;
      return;
    }
    const { x, rows: found } = valuesAt(view, u.posToVal(left, "x"));
    if (!found.length) {
      tip.hidden = true;
      return;
    }
    found.sort((a, b) => b.y - a.y || a.i - b.i);
    const rows = found.slice(0, TIP_ROWS).map(({ line, text }) => el("div", { class: "tip-row" },
      el("i", { class: "chip", style: `background:var(--c${line.color})` }), line.name, el("b", {}, text)));
    const more = found.length > TIP_ROWS ? [el("div", { class: "tip-x" }, `and ${found.length - TIP_ROWS} more`)] : [];
    tip.replaceChildren(el("div", { class: "tip-x" }, value(x, view.chart.x)), ...rows, ...more);
    tip.hidden = false;
    const plot = u.over.getBoundingClientRect(), frame = tip.parentNode.getBoundingClientRect();
    const flip = left > plot.width / 2;
    tip.style.left = plot.left - frame.left + left + (flip ? -tip.offsetWidth - 14 : 14) + "px";
    tip.style.top = Math.max(0, plot.top - frame.top + top - tip.offsetHeight / 2) + "px";
  };

  const legend = (view) => {
    const { chart, hidden } = view;
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
      const button = el("button", { type: "button", "aria-pressed": String(!hidden.has(i)) }, svg, line.name);
      button.addEventListener("click", () => {
        const show = button.getAttribute("aria-pressed") !== "true";
        button.setAttribute("aria-pressed", String(show));
        const shown = [line, ...ends(line)].map((one) => chart.lines.indexOf(one));
        for (const k of shown) {
          if (show) hidden.delete(k); else hidden.add(k);
          view.u.setSeries(k + 1, { show });
        }
      });
      list.append(el("li", {}, button));
    });
    const summary = () => el("summary", {}, `${chart.lines.length - beside.size} lines`);
    return folded ? el("details", { class: "lines" }, summary(), list) : list;
  };

  const seriesOf = (view) => {
    const { chart, hidden } = view;
    const paths = chart.kind === "step" ? uPlot.paths.stepped({ align: 1 }) : uPlot.paths.linear();
    const many = chart.lines.length > LEGEND_MAX;
    const dots = (line) => chart.kind === "dots" && !line.guide;
    const drawn = (i) => (u) => T.paths(u, view.shown[i].points, u.scales.y.min);
    return chart.lines.map((line, i) => ({
      label: line.name,
      show: !hidden.has(i),
      stroke: css(`--c${line.color}`),
      width: line.guide ? 1 : many ? 1.25 : view.tracks ? 1.5 : 2,
      dash: DASHES[line.dash % 4],
      ...(view.tracks ? { fill: css(`--c${line.color}`) + "48" } : {}),
      paths: view.tracks ? drawn(i) : dots(line) ? () => null : paths,
      points: dots(line)
        ? line.x.length === 1
          ? { show: true, size: 9, fill: css(`--c${line.color}`), width: 0 }
          : { show: true, size: 3, fill: css(`--c${line.color}`) + "80", width: 0 }
        : { show: chart.kind === "points" && !line.guide, size: 5, fill: css(`--c${line.color}`), width: 0 },
    }));
  };

  /* The places and values that the library gets; of tracks it needs to know only where they end. */
  const dataOf = ({ chart, tracks }) => {
    if (!tracks) {
      const tables = chart.lines.map((line) => [line.x, line.y]);
      return tables.length > 1 ? uPlot.join(tables) : tables[0];
    }
    const from = Paceline.least(tracks.map((track) => track.begin));
    const to = Paceline.most(tracks.map((track) => track.origin + track.end * track.width), chart.x.max ?? 0);
    return [[from, to], ...tracks.map(() => [1, 1])];
  };

  const plot = (view) => {
    const { chart, frame, tip } = view;
    const data = dataOf(view), [first, last] = [data[0][0], data[0][data[0].length - 1]];
    view.key = null;
    /* After a zoom: how finely it is drawn now. */
    const zoomed = (u, key) => {
      if (key !== "x") return;
      const { min, max } = u.scales.x;
      view.zoom = view.tracks && (min > first || max < last) ? [min, max] : null;
      if (view.tracks) view.told.textContent = T.resolution(view.shown);
    };
    view.u?.destroy();
    view.u = new uPlot({
      width: Math.max(200, frame.clientWidth),
      height: HEIGHT[chart.width],
      padding: [10, 14, 0, 0],
      legend: { show: false },
      cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: true } },
      scales: {
        x: { time: false, distr: chart.x.log ? 3 : 1, range: ranges.x(view) },
        y: { distr: view.log ? 3 : 1, range: ranges.y(view) },
      },
      axes: [axisOptions(chart.x, "x", chart.x.log), axisOptions(chart.y, "y", view.log)],
      series: [{}, ...seriesOf(view)],
      hooks: { setCursor: [tooltip(view, tip)], setScale: [zoomed] },
    }, data, frame);
    frame.append(tip);
  };

  /* A chart: its description, its tracks if it has any, and what a reader chose. */
  const draw = (chart, i) => {
    const view = views[i] ??= { chart, tracks: chart.kind === "track" ? tracksOf(chart, i) : null, log: chart.y.log, hidden: new Set(), zoom: null };
    view.frame = el("div", { class: "plot" });
    view.tip = el("div", { class: "tip", hidden: "" });
    view.told = el("span", { class: "resolution" });
    const button = el("button", { type: "button", class: "log screen", title: "Logarithmic axis of values", "aria-pressed": String(view.log) }, "log");
    button.addEventListener("click", () => {
      view.log = !view.log;
      button.setAttribute("aria-pressed", String(view.log));
      again(view);
    });
    const figure = el("figure", { class: chart.width },
      el("figcaption", {}, button, ...files.buttons(view, label, DASHES), el("b", {}, chart.title), el("span", {}, ...prose(chart.note)), ...(view.tracks ? [view.told] : [])), view.frame);
    place(chart).append(figure);
    again(view);
    figure.append(legend(view));
  };
  /* Anew, at the same place. */
  const again = (view) => {
    const { zoom } = view;
    plot(view);
    if (zoom) view.u.setScale("x", { min: zoom[0], max: zoom[1] });
  };

  const build = () => {
    for (const view of views) {
      view.u.destroy();
      view.u = null;
    }
    for (const chart of charts) place(chart).replaceChildren();
    charts.forEach(draw);
  };

  const fit = () => {
    for (const { u, frame, chart } of views) {
      const width = Math.max(200, frame.clientWidth);
      if (width !== u.width) u.setSize({ width, height: HEIGHT[chart.width] });
    }
  };

  onTheme(build);
  addEventListener("resize", fit);
})();
