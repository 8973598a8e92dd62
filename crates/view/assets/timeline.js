/* Time line of a run: jobs, incidents, flows, queues and pauses over the same axis. */
import { ask, bytes, command, count, css, el, onTheme, time, timesOn, word } from "/assets/ui.js";

const GUTTER = 150, AXIS = 26, LANE = 17, QUEUE = 38, HEAD = 20, FLOWS_MIN = 150, ROW = 16, PAUSE_MS = 80, NEAR = 3;
const KINDS = [["jobs", "Jobs", "--c6"], ["incidents", "Incidents", "--warn-line"], ["flows", "Flows"], ["queues", "Longest queues", "--c0"], ["pauses", "Paused ports", "--c1"]];

export const timeline = (place, info) => {
  let run = info.runs[0], about = null, by = "scheme", from = 0, to = 1, data = null;
  let boxes = [], picked = null, dragged = null, request = null, timer = 0, failed = "";

  const canvas = el("canvas", { tabindex: 0, role: "img", "aria-label": "Time line. Arrow keys move, + and - zoom, 0 shows the whole run. The search box finds flows, ports, labels and jobs." });
  const tip = el("div", { class: "tip", hidden: true });
  const stage = el("div", { class: "stage" }, canvas, tip);
  const legend = el("ul", { class: "legend" });
  const note = el("span", { role: "status" });
  const item = el("div", { class: "item", hidden: true, "aria-live": "polite" });
  const runs = el("select", { "aria-label": "Run", onchange: () => open(runs.value) }, ...info.runs.map((one) => el("option", { value: one }, one)));
  const colors = el("select", { "aria-label": "Colour of flows", onchange: () => { by = colors.value; named(); load(); } },
    el("option", { value: "scheme" }, "scheme"), el("option", { value: "label" }, "label"));
  const hits = el("ul", { class: "hits", hidden: true });
  const search = el("input", { type: "search", placeholder: "Flow number, 3->7, label, port, job", "aria-label": "Search the time line", oninput: () => find() });
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === "ArrowDown") hits.querySelector("button")?.[event.key === "Enter" ? "click" : "focus"]();
    if (event.key === "Escape") hits.hidden = true;
  });
  const button = (label, text, act) => el("button", { type: "button", class: "small", "aria-label": label, title: label, onclick: act }, text);
  place.append(
    el("div", { class: "controls" }, ...(info.runs.length > 1 ? [el("label", {}, "Run", runs)] : []), el("div", { class: "search" }, search, hits),
      button("Zoom in", "+", () => zoom(0.5)), button("Zoom out", "−", () => zoom(2)), button("Show the whole run", "Whole run", () => move(0, about?.end ?? 1)),
      el("label", {}, "Colour by", colors), note),
    legend, stage, item);

  const query = (what, more = {}, signal) => ask(`timeline/${what}`, { run, ...more }, signal);
  const folder = () => [info.folder.replace(/\/$/, ""), run].filter(Boolean).join("/");
  const width = () => Math.max(200, stage.clientWidth - GUTTER - 10);
  const x = (at) => GUTTER + ((at - from) / (to - from)) * width();
  const at = (px) => from + ((px - GUTTER) / width()) * (to - from);

  const fail = (error) => {
    if (error.name === "AbortError") return;
    failed = error.message;
    note.replaceChildren(el("span", { class: "failed" }, failed));
  };

  const open = async (next) => {
    run = next;
    [about, data, picked, failed] = [null, null, null, ""];
    item.hidden = true;
    note.textContent = "Reading the flows…";
    draw();
    try {
      about = await query("about");
      if (about.legends.scheme.length < 2 && about.legends.label.length > 1) by = colors.value = "label";
      named();
      move(0, about.busy * 1.02);
    } catch (error) {
      fail(error);
    }
  };
  const named = () => legend.replaceChildren(...(about?.legends[by] ?? []).map(({ name, color, flows }) => {
    const chip = el("span", { class: "chip" });
    chip.style.background = `var(--c${color})`;
    return el("li", {}, chip, `${name} (${count(flows)})`);
  }));

  const move = (a, b) => {
    if (!about) return;
    const length = Math.max(1000, Math.min(Math.round(b - a), about.end));
    from = Math.max(0, Math.min(Math.round(a), about.end - length));
    to = from + length;
    draw();
    clearTimeout(timer);
    timer = setTimeout(load, PAUSE_MS);
  };
  const zoom = (factor, middle = (from + to) / 2) => move(middle - (middle - from) * factor, middle + (to - middle) * factor);

  const load = async () => {
    if (!about) return;
    request?.abort();
    request = new AbortController();
    try {
      data = await query("window", { from, to, columns: Math.round(width() / 2), by }, request.signal);
      const { flows } = data;
      const absent = about.absent ? `; ${count(about.absent)} never started` : "";
      note.textContent = flows.bars ? `${count(flows.count)} of ${count(about.flows)} flows${absent}`
        : `${count(flows.count)} of ${count(about.flows)} flows, too many for bars: the height is the number of active flows${absent}`;
      draw();
    } catch (error) {
      fail(error);
    }
  };

  const cutText = (pen, text, room) => {
    if (pen.measureText(text).width <= room) return text;
    let end = text.length;
    while (end > 1 && pen.measureText(`${text.slice(0, end)}…`).width > room) end--;
    return room > 12 ? `${text.slice(0, end)}…` : "";
  };

  /* Lanes that this window has, with their heights. */
  const groups = () => {
    const height = (key) => (key === "flows" ? 0 : data[key].length * (key === "queues" ? QUEUE : LANE));
    const shown = KINDS.filter(([key]) => key === "flows" || data[key].length);
    const others = shown.reduce((sum, [key]) => sum + height(key) + HEAD, AXIS + 8);
    const room = Math.max(FLOWS_MIN, Math.min(stage.clientHeight - others - 2, 420));
    const flows = data.flows.bars ? Math.min(room, data.flows.rows * ROW + 10) : room;
    return { shown, height: (key) => height(key) || flows, total: others + flows };
  };

  const draw = () => {
    const ratio = devicePixelRatio, pen = canvas.getContext("2d");
    const layout = data ? groups() : { total: stage.clientHeight - 4 };
    const [w, h] = [stage.clientWidth - 2, Math.max(layout.total, stage.clientHeight - 4)];
    canvas.style.width = `${w}px`;
    canvas.style.height = `${h}px`;
    canvas.width = w * ratio;
    canvas.height = h * ratio;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    boxes = [];
    if (!data || !about) return;
    const [ink, soft, line, grid, card] = ["--ink", "--soft", "--line", "--grid", "--card"].map(css);
    const font = getComputedStyle(document.body).fontFamily;
    pen.font = `12px ${font}`;
    pen.textBaseline = "middle";
    /* The axis: round times, some 90 pixels apart. */
    const rough = ((to - from) / width()) * 110, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].find((k) => k * power >= rough) * power, told = timesOn(step, to);
    for (let tick = Math.ceil(from / step) * step; tick <= to; tick += step) {
      pen.fillStyle = grid;
      pen.fillRect(Math.round(x(tick)), AXIS, 1, h);
      pen.fillStyle = soft;
      pen.textAlign = x(tick) > w - 50 ? "right" : x(tick) < GUTTER + 30 ? "left" : "center";
      pen.fillText(told(tick), x(tick), AXIS / 2);
    }
    pen.textAlign = "left";
    let y = AXIS;
    for (const [key, title, color] of layout.shown) {
      pen.fillStyle = line;
      pen.fillRect(0, y, w, 1);
      pen.fillStyle = ink;
      pen.font = `600 12px ${font}`;
      pen.fillText(title, 10, y + HEAD / 2 + 1);
      pen.font = `12px ${font}`;
      y += HEAD;
      if (key === "flows") drawFlows(pen, y, layout.height(key), card);
      else data[key].forEach((lane, k) => {
        const high = key === "queues" ? QUEUE : LANE, top = y + k * high;
        pen.fillStyle = soft;
        const two = key === "queues" ? 8 : 0;
        pen.fillText(cutText(pen, lane.name.replace(/^port /, ""), GUTTER - 24), 16, top + high / 2 - two);
        if (two) pen.fillText(`up to ${bytes(lane.max)}`, 16, top + high / 2 + two);
        pen.save();
        pen.beginPath();
        pen.rect(GUTTER, top, width(), high);
        pen.clip();
        if (key === "queues") drawQueue(pen, lane, top, css(color), soft);
        else drawLane(pen, lane, key, top, css(color));
        pen.restore();
      });
      y += layout.height(key);
    }
    /* What is selected, and what the mouse marks. */
    const mark = (a, b, fill) => {
      pen.fillStyle = fill;
      pen.globalAlpha = 0.13;
      const [left, right] = [Math.max(GUTTER, x(a)), Math.min(GUTTER + width(), x(b))];
      if (right > left) pen.fillRect(left, AXIS, Math.max(1, right - left), h);
      pen.globalAlpha = 1;
    };
    if (picked) mark(picked.from, picked.to, ink);
    if (dragged && !dragged.pans) mark(at(Math.min(dragged.start, dragged.end)), at(Math.max(dragged.start, dragged.end)), css("--c0"));
  };

  const drawFlows = (pen, top, height) => {
    const { flows, bins } = data, palette = Array.from({ length: 8 }, (_, k) => css(`--c${k}`));
    pen.save();
    pen.beginPath();
    pen.rect(GUTTER, top, width(), height);
    pen.clip();
    if (flows.bars) {
      const row = Math.min(ROW, (height - 6) / Math.max(1, flows.rows)), gap = row > 4 ? 1 : 0;
      for (const [id, start, end, lane, color] of flows.bars) {
        if (end < from || start > to) continue;
        const left = Math.max(GUTTER - 2, x(start)), right = Math.max(left + 1, Math.min(x(end), GUTTER + width() + 2)), up = top + lane * row;
        pen.fillStyle = palette[color];
        const roomy = right - left > 3 ? 1 : 0;
        pen.fillRect(left, up, right - left - roomy, row - gap);
        boxes.push({ left, right, top: up, bottom: up + row, from: start, to: end, flow: id });
        if (picked?.flow === id) {
          pen.strokeStyle = css("--ink");
          pen.lineWidth = 2;
          pen.strokeRect(left + 1, up + 1, Math.max(1, right - left - 2), Math.max(1, row - gap - 2));
        }
        if (row >= 13 && right - left > 50) {
          pen.fillStyle = css("--paper");
          pen.fillText(cutText(pen, `flow ${id}`, right - left - 8), left + 4, up + (row - gap) / 2 + 1);
        }
      }
    } else {
      const sums = Array(bins).fill(0);
      for (const color of flows.density) color.forEach((n, k) => (sums[k] += n));
      const most = sums.reduce((most, n) => (n > most ? n : most), 1), room = height - 8;
      const done = Array(bins).fill(0), span = (data.to - data.from) / bins;
      flows.density.forEach((active, color) => {
        pen.fillStyle = palette[color];
        active.forEach((n, k) => {
          if (!n) return;
          const left = x(data.from + k * span), high = (n / most) * room;
          pen.fillRect(left, top + room - done[k] - high + 4, x(data.from + (k + 1) * span) - left + 0.4, high);
          done[k] += high;
        });
      });
      sums.forEach((n, k) => {
        const start = data.from + k * span;
        boxes.push({ left: x(start), right: x(start + span), top, bottom: top + height, from: start, to: start + span, text: `${count(n)} active flows` });
      });
      pen.restore();
      pen.save();
      pen.fillStyle = css("--soft");
      pen.fillText(`up to ${count(most)} active`, 16, top + 10);
    }
    pen.restore();
  };
  const drawQueue = (pen, lane, top, color, soft) => {
    const span = (data.to - data.from) / data.bins, room = QUEUE - 5;
    pen.fillStyle = color;
    lane.values.forEach((value, k) => {
      const left = x(data.from + k * span), high = (value / lane.max) * room;
      if (value) pen.fillRect(left, top + QUEUE - 2 - high, x(data.from + (k + 1) * span) - left + 0.4, high);
    });
    boxes.push({
      left: GUTTER, right: GUTTER + width(), top, bottom: top + QUEUE, at: (px) => {
        const k = Math.max(0, Math.min(data.bins - 1, Math.floor((at(px) - data.from) / span)));
        return { from: data.from + k * span, to: data.from + (k + 1) * span, text: `${lane.name}: ${bytes(lane.values[k])} of at most ${bytes(lane.max)}` };
      },
    });
    pen.fillStyle = soft;
    pen.fillRect(GUTTER, top + QUEUE - 2, width(), 0.5);
  };
  const drawLane = (pen, lane, key, top, color) => {
    for (const [start, end, bars, text] of lane.bars) {
      if (end < from || start > to) continue;
      const left = Math.max(GUTTER - 2, x(start)), right = Math.max(left + 1, Math.min(x(end), GUTTER + width() + 2));
      pen.fillStyle = color;
      pen.globalAlpha = bars > 1 ? 0.7 : 1;
      pen.fillRect(left, top + 2, Math.max(1, right - left - (right - left > 3 ? 1 : 0)), LANE - 4);
      pen.globalAlpha = 1;
      const told = bars > 1 ? `${count(bars)} together` : text;
      boxes.push({ left, right, top, bottom: top + LANE, from: start, to: end, text: `${lane.name}: ${told}` });
      if (key !== "pauses" && right - left > 60) {
        pen.fillStyle = key === "incidents" ? "#1c2024" : css("--paper");
        pen.fillText(cutText(pen, told, right - left - 10), left + 5, top + LANE / 2 + 0.5);
      }
    }
  };

  /* What lies under the mouse, or next to it: bars may be one pixel wide. */
  const under = (px, py) => {
    const apart = (box) => Math.max(box.left - px, px - box.right, 0);
    let found = null;
    for (const box of boxes) {
      if (py < box.top || py >= box.bottom || apart(box) > NEAR) continue;
      if (!found || apart(box) < apart(found)) found = box;
    }
    return found?.at ? found.at(px) : found;
  };

  const show = async (question, known) => {
    picked = known;
    draw();
    try {
      const found = await question;
      picked = { ...known, from: found.from, to: found.to };
      item.hidden = false;
      item.replaceChildren(...described(found, known.text));
      draw();
    } catch (error) {
      fail(error);
    }
  };
  const pickFlow = (id, span = {}) => show(query("flow", { id }), { flow: id, ...span });
  const pickTime = (a, b, text) => show(query("overlaps", { from: Math.floor(a), to: Math.max(Math.ceil(b), Math.floor(a) + 1) }), { from: a, to: b, text });

  const fact = (name, value) => el("span", {}, `${name} `, el("b", {}, value));
  const described = (found, text) => {
    const { is, flows, lanes } = found, parts = [];
    parts.push(el("h2", {}, is ? `Flow ${is.flow}` : text ?? "Selected time"));
    const facts = [fact("from", time(found.from)), fact("to", time(found.to))];
    if (is) {
      facts.unshift(fact("label", is.label), fact("scheme", is.scheme), fact("hosts", `${is.src} to ${is.dst}`), fact("size", bytes(is.size_bytes)));
      facts.push(fact("time", time(found.to - found.from)), fact("slowdown", is.slowdown === null ? "–" : `${Number(is.slowdown.toPrecision(4))} ×`),
        fact("alone", time(is.ideal_ps)), fact("sent again", bytes(is.retransmitted_bytes)), fact("status", is.status));
    }
    parts.push(el("p", { class: "facts" }, ...facts));
    if (is) parts.push(command(`paceline why ${word(folder())} ${is.flow}`));
    const others = is ? `${count(found.count)} other flows overlap with it, ${count(found.to_receiver)} of them to the same receiver` : `${count(found.count)} flows are active then`;
    parts.push(el("p", { class: "note" }, others + (flows.length < (is ? found.to_receiver : found.count) ? `; the ${flows.length} that overlap the longest:` : flows.length ? ":" : ".")));
    const list = flows.map((one) => el("button", { type: "button", class: "pick", title: `${one.src} to ${one.dst}, ${bytes(one.size_bytes)}, ${one.label}`, onclick: () => { pickFlow(one.flow); reveal(one.from, one.to); } }, `${one.flow}`));
    if (list.length) parts.push(el("p", { class: "facts picks" }, ...list));
    if (lanes.length) {
      const row = (one) => el("tr", {}, el("td", {}, `${one.kind} ${one.name}`), el("td", {}, count(one.bars)), el("td", {}, time(one.time)), el("td", { class: "what" }, one.text));
      parts.push(el("table", {}, el("thead", {}, el("tr", {}, el("th", {}, "at the same time"), el("th", {}, "bars"), el("th", {}, "time"), el("th", { class: "what" }, "longest"))), el("tbody", {}, ...lanes.map(row))));
    }
    return parts;
  };
  /* Shows an item with its surroundings, unless it can be seen well already. */
  const reveal = (a, b) => {
    const room = b - a;
    if (a < from || b > to || room < (to - from) * 0.02) move(a - 4 * room, b + 4 * room);
  };

  let searched = 0;
  const find = async () => {
    const mine = ++searched;
    await new Promise((resolve) => setTimeout(resolve, 150));
    if (mine !== searched) return;
    try {
      const found = search.value.trim() ? await query("find", { q: search.value }) : [];
      if (mine !== searched) return;
      const choose = (hit) => {
        hits.hidden = true;
        reveal(hit.from, hit.to);
        if (hit.flow === undefined) pickTime(hit.from, hit.to, hit.text);
        else pickFlow(hit.flow, hit);
      };
      hits.replaceChildren(...found.map((hit) => el("li", {}, el("button", { type: "button", onclick: () => choose(hit) }, hit.text))));
      if (!found.length && search.value.trim()) hits.append(el("li", { class: "note" }, "Nothing found"));
      hits.hidden = !search.value.trim();
    } catch (error) {
      fail(error);
    }
  };
  document.addEventListener("pointerdown", (event) => {
    if (!event.target.closest(".search")) hits.hidden = true;
  });

  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const { offsetX, deltaX, deltaY, shiftKey } = event, part = (to - from) / width();
    if (shiftKey || Math.abs(deltaX) > Math.abs(deltaY)) move(from + (deltaX || deltaY) * part, to + (deltaX || deltaY) * part);
    else zoom(1.0015 ** deltaY, at(Math.max(GUTTER, offsetX)));
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    dragged = { start: event.offsetX, end: event.offsetX, pans: event.shiftKey || event.offsetY < AXIS, from, to };
  });
  canvas.addEventListener("pointermove", (event) => {
    if (dragged) {
      dragged.end = event.offsetX;
      const shift = ((dragged.end - dragged.start) / width()) * (to - from);
      if (dragged.pans) move(dragged.from - shift, dragged.to - shift);
      else draw();
      tip.hidden = true;
      return;
    }
    const found = under(event.offsetX, event.offsetY);
    tip.hidden = !found;
    if (!found) return;
    tip.replaceChildren(el("div", {}, found.text ?? `flow ${found.flow}`), el("div", { class: "tip-x" }, `${time(found.from)} to ${time(found.to)}`));
    tip.style.left = `${Math.max(0, Math.min(event.offsetX + 14, stage.clientWidth - tip.offsetWidth - 8))}px`;
    tip.style.top = `${event.offsetY + 16}px`;
  });
  canvas.addEventListener("pointerleave", () => (tip.hidden = true));
  canvas.addEventListener("pointerup", (event) => {
    const { start, end, pans } = dragged ?? {};
    dragged = null;
    if (Math.abs(end - start) > NEAR) {
      if (!pans) move(at(Math.max(GUTTER, Math.min(start, end))), at(Math.max(start, end)));
      return;
    }
    const found = under(event.offsetX, event.offsetY);
    if (!found) [picked, item.hidden] = [null, true];
    else if (found.flow !== undefined) pickFlow(found.flow, found);
    else pickTime(found.from, found.to, found.text);
    draw();
  });
  canvas.addEventListener("dblclick", () => move(0, about?.end ?? 1));
  canvas.addEventListener("keydown", (event) => {
    const part = (to - from) * 0.2;
    const acts = { ArrowLeft: () => move(from - part, to - part), ArrowRight: () => move(from + part, to + part), "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), 0: () => move(0, about.end), Escape: () => { picked = null; item.hidden = true; draw(); } };
    if (!acts[event.key] || !about) return;
    event.preventDefault();
    acts[event.key]();
  });
  new ResizeObserver(() => { if (!place.hidden) { draw(); clearTimeout(timer); timer = setTimeout(load, PAUSE_MS); } }).observe(stage);
  onTheme(() => draw());

  let opened = false;
  return {
    show() {
      if (opened) return;
      opened = true;
      open(run);
    },
    /* A run of this name may have been replaced. */
    changed() {
      if (opened) open(run);
    },
  };
};
