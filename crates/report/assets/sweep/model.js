/* What is looked at: a measure, two axes, and what the other axes are held at. */
const Sweep = (() => {
  const { scaled, digits, BYTES, MICROSECONDS } = Paceline;
  const data = JSON.parse(document.getElementById("sweep-data").textContent);
  const { axes, measures, points } = data;
  const PANELS_MAX = 12;
  const listeners = [];

  /* Values of an axis in the order of their numbers. */
  const order = axes.map((axis) => {
    const indices = axis.values.map((_, i) => i);
    return axis.numbers ? indices.sort((a, b) => axis.numbers[a] - axis.numbers[b]) : indices;
  });
  const key = (values) => values.join(",");
  const byValues = new Map(points.map((point) => [key(point.v), point]));

  const state = { measure: 0, x: 0, y: -1, held: [] };
  const start = () => {
    const scheme = axes.findIndex((axis) => axis.scheme);
    const others = axes.map((_, i) => i).filter((i) => i !== scheme);
    const numeric = others.filter((i) => axes[i].numbers);
    if (axes.length === 1) return;
    state.x = numeric[0] ?? others[0];
    state.y = scheme >= 0 ? scheme : others.find((i) => i !== state.x);
  };
  /* The other axes: side by side as long as there is room, at their first value from there on. */
  const hold = () => {
    let panels = 1;
    axes.forEach((axis, i) => {
      if (i === state.x || i === state.y) {
        state.held[i] = undefined;
        return;
      }
      if (state.held[i] === undefined) state.held[i] = panels * axis.values.length <= PANELS_MAX ? -1 : order[i][0];
      if (state.held[i] === -1) panels *= axis.values.length;
    });
  };
  start();
  hold();

  const set = (what, value) => {
    if (what === "x" && value === state.y) state.y = state.x;
    if (what === "y" && value === state.x) state.x = state.y;
    if (typeof what === "number") state.held[what] = value; else state[what] = value;
    hold();
    for (const draw of listeners) draw();
  };

  /* Combinations of the axes that stand side by side: values by axis, and a title. */
  const panels = () => {
    let found = [{ at: [], title: [] }];
    axes.forEach((axis, i) => {
      if (i === state.x || i === state.y) return;
      const side = state.held[i] === -1;
      const chosen = side ? order[i] : [state.held[i]];
      found = found.flatMap((panel) => chosen.map((value) => {
        const at = panel.at.slice();
        at[i] = value;
        return { at, title: [...panel.title, `${axis.name} ${axis.values[value]}`] };
      }));
    });
    return found.map(({ at, title }) => ({ at, title: title.join(", ") }));
  };
  const pointAt = (panel, x, y) => {
    const values = axes.map((_, i) => i === state.x ? x : i === state.y ? y : panel.at[i]);
    return byValues.get(key(values));
  };
  /* Mean of a measure, and the ends of its interval. */
  const cell = (point, measure) => {
    const [mean, lo, hi] = point?.m[measure] ?? [];
    return mean === undefined ? null : { mean, lo, hi };
  };
  /* Whether a point's values can be compared: everything ran to its end. */
  const fair = (point) => point.open === 0 && point.failed === 0;

  /* The multiple of a unit in which values up to `most` read best. */
  const unitFor = (measure, most) => {
    const steps = { "B": BYTES, "µs": MICROSECONDS }[measure.unit];
    const [size, unit] = steps ? steps.find(([s]) => Math.abs(most) >= s) ?? steps[steps.length - 1] : [1, measure.unit];
    /* Three digits that count; what goes with it (half an interval) has as many places. */
    const places = (v) => v === 0 ? 0 : Math.min(6, Math.max(0, 2 - Math.floor(Math.log10(Math.abs(v / size)))));
    const text = (v, like = v) => {
      const most = Math.abs(v / size);
      return most >= 1e4 ? Math.round(v / size).toLocaleString("en") : (v / size).toFixed(places(like));
    };
    return { size, unit, text };
  };
  const value = (v, measure) => {
    const steps = { "B": BYTES, "µs": MICROSECONDS }[measure.unit];
    if (steps) return scaled(v, steps);
    return measure.unit === "×" || measure.unit === "%" ? digits(v) + measure.unit : (digits(v) + " " + measure.unit).trim();
  };
  const onChange = (draw) => listeners.push(draw);

  return { data, axes, measures, points, order, state, set, panels, pointAt, cell, fair, unitFor, value, onChange };
})();
window.paceline = { ...window.paceline, sweep: Sweep };
