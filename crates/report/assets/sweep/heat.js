/* The grid in colours. */
(() => {
  const { axes, measures, order, state, set, panels, pointAt, cell, fair, unitFor, value, onChange } = Sweep;
  const { css, el, onTheme } = Paceline;
  const host = document.getElementById("sweep-heat");
  if (!host) return;
  const tip = document.getElementById("sweep-tip");
  const DENSE = 14;

  /* Colours */
  const parse = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
  const ramp = () => css("--heat").split(/\s+/).map(parse);
  const mix = (stops, share) => {
    const at = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
    const i = Math.min(Math.floor(at), stops.length - 2);
    return stops[i].map((c, k) => Math.round(c + (stops[i + 1][k] - c) * (at - i)));
  };
  const light = ([r, g, b]) => {
    const linear = [r, g, b].map((c) => ((c / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] > 0.2;
  };

  /* From a value to a share of the ramp: 0 is the best, 1 the worst. */
  const scaleOf = (cells, measure) => {
    const values = cells.map((c) => c.mean);
    const low = Paceline.least(values), high = Paceline.most(values);
    const log = low > 0 && high / low > 30;
    const f = log ? Math.log : (v) => v;
    const share = (v) => high > low ? (f(v) - f(low)) / (f(high) - f(low)) : 0;
    return { low, high, log, share: (v) => measure.cost < 0 ? 1 - share(v) : share(v) };
  };

  const select = (label, options, chosen, change) => {
    const box = el("select", {}, ...options.map(([v, text]) => el("option", { value: v }, text)));
    box.value = String(chosen);
    box.addEventListener("change", () => change(Number(box.value)));
    return [el("label", {}, label, box), box];
  };
  const controls = () => {
    const bar = document.getElementById("sweep-controls");
    const names = axes.map((axis, i) => [i, axis.name]);
    const parts = [["measure", select("Show", measures.map((m, i) => [i, m.name]), state.measure, (v) => set("measure", v))]];
    if (axes.length > 1) {
      parts.push(["x", select("across", names, state.x, (v) => set("x", v))]);
      parts.push(["y", select("down", names, state.y, (v) => set("y", v))]);
    }
    axes.forEach((axis, i) => {
      if (i === state.x || i === state.y) return;
      const options = [[-1, "side by side"], ...order[i].map((v) => [v, axis.values[v]])];
      parts.push([axis.key, select(axis.name, options, state.held[i], (v) => set(i, v))]);
    });
    const focused = document.activeElement?.dataset?.what;
    bar.replaceChildren(...parts.map(([what, [label, box]]) => {
      box.dataset.what = what;
      return label;
    }));
    if (focused) bar.querySelector(`[data-what="${CSS.escape(focused)}"]`)?.focus();
  };

  const legend = (scale, unit, measure, stops) => {
    const host = document.getElementById("sweep-legend");
    if (!scale) {
      host.replaceChildren("No run has this measure.");
      return;
    }
    const colours = stops.map((c) => `rgb(${c})`);
    if (measure.cost < 0) colours.reverse();
    const bar = el("span", { class: "heat-ramp", style: `background:linear-gradient(to right,${colours})` });
    const words = { 1: "lower is better", "-1": "higher is better", 0: "" }[measure.cost];
    const notes = [words, scale.log ? "logarithmic colours" : ""].filter(Boolean).join(", ");
    const title = unit.unit && unit.unit !== "×" ? `${measure.name} (${unit.unit})` : measure.name;
    host.replaceChildren(el("b", {}, title), unit.text(scale.low), bar, unit.text(scale.high), ...(notes ? [el("span", {}, `· ${notes}`)] : []));
  };

  const show = (event, point, panel, x, y) => {
    const measure = measures[state.measure];
    const found = cell(point, state.measure);
    const rows = axes.map((axis, i) => [axis.name, axis.values[i === state.x ? x : i === state.y ? y : panel.at[i]]]);
    const lines = rows.map(([name, text]) => el("div", { class: "tip-row" }, el("span", { class: "tip-x" }, name), el("b", {}, text)));
    if (found) lines.push(el("div", { class: "tip-row tip-value" }, measure.name, el("b", {}, value(found.mean, measure))));
    if (found?.lo !== undefined) lines.push(el("div", { class: "tip-x" }, `95 %: ${value(found.lo, measure)} to ${value(found.hi, measure)}`));
    if (point) lines.push(el("div", { class: "tip-x" }, point.fixed ? "1 run: the seed changes nothing" : `${point.n - point.failed} of ${Sweep.data.repeats} runs`));
    if (point?.failed) lines.push(el("div", {}, `! ${point.failed} failed`));
    if (point?.open) lines.push(el("div", {}, `! ${point.open} left flows unfinished`));
    tip.replaceChildren(...lines);
    tip.hidden = false;
    const box = event.target.closest("td").getBoundingClientRect();
    const right = box.right + 12 + tip.offsetWidth < innerWidth;
    tip.style.left = (right ? box.right + 12 : box.left - 12 - tip.offsetWidth) + "px";
    tip.style.top = Math.max(4, Math.min(box.top, innerHeight - tip.offsetHeight - 4)) + "px";
  };

  /* The cells of a panel, row by row. */
  const gridOf = (panel) => (state.y < 0 ? [0] : order[state.y]).map((y) => order[state.x].map((x) => {
    const point = pointAt(panel, x, y);
    return { x, y, point, found: cell(point, state.measure) };
  }));
  const inWords = (found, unit) => found.lo === undefined ? ""
    : `± ${unit.text(Math.max(found.hi - found.mean, found.mean - found.lo), found.mean)}`;

  /* All that the page has of a panel: the values as they are, not as they are shown. */
  const csv = (panel, measure) => {
    const name = measure.unit ? `${measure.name} (${measure.unit})` : measure.name;
    const rows = [[...axes.map((axis) => axis.key), name, "low", "high", "runs", "failed"]];
    for (const { x, y, point, found } of gridOf(panel).flat()) {
      const values = axes.map((axis, i) => axis.values[i === state.x ? x : i === state.y ? y : panel.at[i]]);
      rows.push([...values, found?.mean ?? "", found?.lo ?? "", found?.hi ?? "", point?.n ?? 0, point?.failed ?? 0]);
    }
    return Paceline.files.table(rows);
  };

  /* What is shown of a panel. */
  const svg = (panel, scale, unit, measure, stops) => {
    const WIDE = 92, HIGH = 40, LETTER = 6.6, TOP = 58, PAD = 10;
    const { escaped, picture } = Paceline.files;
    const grid = gridOf(panel), [ax, ay] = [axes[state.x], axes[state.y]];
    const left = PAD + LETTER * Paceline.most((ay ? [ay.name, ...ay.values] : [""]).map((text) => text.length));
    const parts = [];
    const text = (x, y, words, more = "") => parts.push(`<text x="${x}" y="${y}" text-anchor="middle" ${more}>${escaped(words)}</text>`);
    const title = [measure.name + (unit.unit && unit.unit !== "×" ? ` (${unit.unit})` : ""), panel.title].filter(Boolean).join(", ");
    text(PAD, 16, title, 'style="text-anchor:start" font-weight="bold"');
    text(left + WIDE * grid[0].length / 2, 34, ax.name);
    if (ay) text(left - 6, TOP - 8, ay.name, 'style="text-anchor:end"');
    grid[0].forEach(({ x }, i) => text(left + WIDE * (i + 0.5), TOP - 8, ax.values[x]));
    grid.forEach((row, k) => {
      const top = TOP + k * HIGH;
      if (ay) text(left - 6, top + HIGH / 2 + 4, ay.values[row[0].y], 'style="text-anchor:end"');
      row.forEach(({ point, found }, i) => {
        const colour = found ? mix(stops, scale.share(found.mean)) : null;
        const fill = found ? `rgb(${colour})` : css("--void");
        const ink = !found ? css("--soft") : light(colour) ? "#1c1a17" : "#fdf8ef";
        const at = left + i * WIDE, small = found ? inWords(found, unit) : "";
        parts.push(`<rect x="${at + 1}" y="${top + 1}" width="${WIDE - 2}" height="${HIGH - 2}" rx="3" fill="${fill}"/>`);
        const words = found ? unit.text(found.mean) + (fair(point) ? "" : " !") : point?.failed ? "failed" : "–";
        text(at + WIDE / 2, top + HIGH / 2 + (small ? -2 : 4), words, `fill="${ink}"`);
        if (small) text(at + WIDE / 2, top + HIGH / 2 + 12, small, `fill="${ink}" font-size="10"`);
      });
    });
    return picture(Math.ceil(left + WIDE * grid[0].length + PAD), TOP + HIGH * grid.length + PAD, parts);
  };

  const table = (panel, scale, unit, measure, stops) => {
    const across = order[state.x], down = state.y < 0 ? [0] : order[state.y];
    const grid = gridOf(panel);
    const best = across.map((_, i) => {
      const values = grid.map((row) => row[i]).filter(({ point, found }) => found && fair(point)).map(({ found }) => found.mean * measure.cost);
      return new Set(values).size > 1 ? Paceline.least(values) : null;
    });
    const one = ({ x, y, point, found }, i) => {
      const box = el("td", { tabindex: "0" });
      if (!found) {
        box.className = "void";
        box.append(point?.failed ? "failed" : "–");
      } else {
        const colour = mix(stops, scale.share(found.mean));
        box.style.background = `rgb(${colour})`;
        box.style.color = light(colour) ? "#1c1a17" : "#fdf8ef";
        if (measure.cost && fair(point) && found.mean * measure.cost === best[i]) box.className = "best";
        box.append(unit.text(found.mean) + (fair(point) ? "" : " !"));
        if (found.lo !== undefined) box.append(el("small", {}, inWords(found, unit)));
      }
      box.addEventListener("pointerenter", (event) => show(event, point, panel, x, y));
      box.addEventListener("focus", (event) => show(event, point, panel, x, y));
      box.addEventListener("pointerleave", () => { tip.hidden = true; });
      box.addEventListener("blur", () => { tip.hidden = true; });
      return box;
    };
    const [ax, ay] = [axes[state.x], axes[state.y]];
    const head = el("thead", {},
      el("tr", {}, el("th"), el("th", { class: "axis-name", colspan: across.length, title: ax.key }, ax.name)),
      el("tr", {}, el("th", { class: "axis-name", title: ay?.key ?? "" }, ay?.name ?? ""), ...across.map((x) => el("th", { scope: "col" }, ax.values[x]))));
    const body = el("tbody", {}, ...grid.map((row, k) => {
      const name = el("th", { scope: "row" });
      if (ay?.scheme) name.append(el("i", { class: "chip", style: `background:var(--c${ay.styles[down[k]][0]})` }));
      name.append(ay ? ay.values[down[k]] : "");
      return el("tr", {}, name, ...row.map(one));
    }));
    const dense = across.length > DENSE;
    const saving = Paceline.files.saving([measure.name, panel.title].join(" "),
      () => csv(panel, measure), () => svg(panel, scale, unit, measure, stops));
    return el("div", { class: "panel" }, ...saving, ...(panel.title ? [el("h3", {}, panel.title)] : []),
      el("table", { class: dense ? "heat dense" : "heat" }, head, body));
  };

  const draw = () => {
    const measure = measures[state.measure], stops = ramp(), all = panels();
    const cells = all.flatMap((panel) => gridOf(panel).flat()).map(({ found }) => found).filter(Boolean);
    const scale = cells.length && measure ? scaleOf(cells, measure) : null;
    const unit = measure && unitFor(measure, scale ? Math.max(Math.abs(scale.high), Math.abs(scale.low)) : 0);
    controls();
    legend(scale, unit, measure, stops);
    tip.hidden = true;
    host.replaceChildren(...(scale ? all.map((panel) => table(panel, scale, unit, measure, stops)) : []));
  };
  /* For whoever looks from outside. */
  Sweep.files = {
    csv: (panel) => csv(panel, measures[state.measure]),
    svg: (panel) => {
      const measure = measures[state.measure];
      const scale = scaleOf(gridOf(panel).flat().map(({ found }) => found).filter(Boolean), measure);
      return svg(panel, scale, unitFor(measure, Math.max(Math.abs(scale.high), Math.abs(scale.low))), measure, ramp());
    },
  };
  onChange(draw);
  onTheme(draw);
})();
