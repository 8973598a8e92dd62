/* Beside the topology view: what a port did over time, where a flow's time went, the list of flows. */
Paceline.detail = Paceline.topology && (() => {
  const model = Paceline.topology;
  const { css, el, digits, scaled, BYTES } = Paceline;
  const host = document.getElementById("topology-detail");
  const rows = document.getElementById("flow-rows");
  const count = document.getElementById("flow-count");
  const find = document.getElementById("flow-find");
  const LISTED = 200;
  const TITLES = { state: "state", utilisation: "utilisation", queue: "longest queue", paused: model.credits ? "time without credits" : "time paused", marks: "ECN marks" };
  let plots = [];
  let frame = 0;
  let actions = {};

  const bytes = (v) => scaled(v, BYTES);
  const rate = (bps) => `${digits(bps / 1e9)} Gbit/s`;
  const portText = (port) => `${model.nodeName(port.from)} → ${model.nodeName(port.to)}`;
  const swatch = (color) => el("i", { class: "chip", style: `background:var(--c${color})` });
  const room = () => Math.max(180, host.clientWidth - 2);
  const clear = () => {
    for (const { u } of plots) u.destroy();
    plots = [];
    host.replaceChildren();
  };

  /* Series of both directions of a link, a chart for each quantity, with the slider's time. */
  const chart = (quantity, pair, last) => {
    const frameBox = el("div", { class: "plot" });
    host.append(el("div", { class: "mini-title" }, TITLES[quantity.name]), frameBox);
    const times = Array.from({ length: model.frames + 1 }, (_, i) => model.timeOf(i));
    const span = times[times.length - 1] - times[0];
    const [unit, name] = span >= 2e6 ? [1e6, "s"] : span >= 2e3 ? [1e3, "ms"] : [1, "µs"];
    const line = (id, color) => ({
      label: id, stroke: css(`--c${color}`), width: 1.5, paths: uPlot.paths.stepped({ align: 1 }), points: { show: false },
    });
    const highest = Paceline.most(pair.flatMap((port) => quantity.row(port.id)));
    const top = quantity.name === "state" ? 3.15 : quantity.text(1) === "100 %" ? 1.02 : highest * 1.05 || 1;
    const axis = { stroke: css("--soft"), font: "11px system-ui, sans-serif", grid: { stroke: css("--grid"), width: 1 }, ticks: { show: false }, gap: 5 };
    const marker = (u) => {
      const x = Math.round(u.valToPos(model.timeOf(frame + 0.5) / unit, "x", true));
      u.ctx.fillStyle = css("--ink");
      u.ctx.fillRect(x, u.bbox.top, Math.max(1, devicePixelRatio), u.bbox.height);
    };
    const readout = el("span", { class: "readout" });
    host.lastChild.previousSibling.append(readout);
    const show = (u) => {
      const inside = u.cursor.left >= 0 && u.cursor.idx !== null;
      const at = inside ? Math.min(model.frames - 1, u.cursor.idx) : frame;
      readout.replaceChildren(...pair.flatMap((port, i) => [swatch(i), `${quantity.text(quantity.of(port.id, at))}  `]));
    };
    const u = new uPlot({
      width: room(), height: last ? 114 : 98, padding: [6, 8, 0, 0],
      legend: { show: false },
      cursor: { y: false, points: { show: false }, drag: { x: false, y: false }, sync: { key: "port" } },
      scales: { x: { time: false }, y: { range: [0, top] } },
      axes: [
        { ...axis, size: 20, values: (_, v) => v.map(digits), ...(last ? { label: `time (${name})`, labelFont: axis.font, labelSize: 16, labelGap: 0 } : {}) },
        quantity.name === "state"
          ? { ...axis, size: 84, splits: () => [0, 1, 2, 3], values: (_, v) => v.map(quantity.text) }
          : { ...axis, size: 56, space: 24, values: (_, v) => v.map(quantity.text) },
      ],
      series: [{}, ...pair.map((port, i) => line(port.name, i))],
      hooks: { draw: [marker], setCursor: [show] },
    }, [times.map((t) => t / unit), ...pair.map((port) => [...quantity.row(port.id), null])], frameBox);
    u.over.addEventListener("click", () => actions.seek(model.frameAt(u.posToVal(u.cursor.left, "x") * unit)));
    show(u);
    plots.push({ u, show });
  };

  const close = () => {
    const button = el("button", { type: "button", class: "close", "aria-label": "Close" }, "×");
    button.addEventListener("click", () => actions.choose(null));
    return button;
  };

  const showPort = (port) => {
    clear();
    const pair = [port, model.ports[port.back]];
    const { bps, delay_ps: delay } = port.link;
    host.append(
      el("h3", {}, `${model.nodeName(port.from)} ⇄ ${model.nodeName(port.to)}`, close()),
      el("p", { class: "note" }, `${rate(bps)}, ${model.duration(delay / 1e6)} each way. Click in a chart to go to that time.`),
      el("p", { class: "pair" }, ...pair.flatMap((one, i) => [swatch(i), portText(one), " ", el("code", {}, one.name), el("br")])));
    const any = (quantity) => pair.some(({ id }) => quantity.row(id).some((v) => v > 0));
    const found = Object.keys(TITLES).map((name) => model.quantities[name]).filter((quantity) => quantity && any(quantity));
    found.forEach((quantity, i) => chart(quantity, pair, i === found.length - 1));
  };

  const facts = (list) => el("dl", { class: "facts" }, ...list.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
  const nameOf = (i) => model.flows.names[i] ?? "";
  const ended = (flow) => flow.fct_ps === null ? flow.status.replace("-", " ") : model.duration(flow.fct_ps / 1e6);

  const showFlow = (flow) => {
    clear();
    const began = model.micros(flow.start_ps);
    host.append(
      el("h3", {}, `Flow ${flow.id}: host ${flow.src} → host ${flow.dst}`, close()),
      facts([
        ["workload", nameOf(flow.label)],
        ["scheme", nameOf(flow.scheme)],
        ["size", bytes(flow.size)],
        ["started", model.duration(began)],
        ["took", ended(flow)],
        ["slowdown", flow.slowdown === null ? "–" : `${digits(flow.slowdown)}×`],
      ]));
    host.append(el("p", { class: "note" }, "More: ", el("code", { class: "why" }, Paceline.whyCommand(flow.id))));
    if (flow.time) account(flow.time);
    else host.append(el("p", { class: "note" }, "This run did not account for the time of this flow."));
  };

  /* Where a flow's time went: a bar of all parts, then the parts, and the ways port by port. */
  const SENDER = {
    sending: ["sending", 0], resending: ["sending again", 3], window: ["window full", 6], pacing: ["pacing", 4], grants: ["waiting for grants", 4],
    paused: ["paused (PFC)", 1], credit: ["waiting for credit", 1], nic: ["NIC busy", 7], recovery: ["waiting for ACKs", 3], unreachable: ["no path", 7],
  };
  const held = model.credits ? "waiting for credit" : "paused (PFC)";
  const account = ({ sender, data, host: inside = 0, ack }) => {
    const sum = (way, ...parts) => way.reduce((all, hop) => all + parts.reduce((s, i) => s + hop.ps[i], 0), 0);
    const parts = [
      ...sender.map(([part, ps]) => ["sender", ...(SENDER[part] ?? [part, 7]), ps]),
      ["way", "wires", 2, sum(data, 0, 1)], ["way", "queues", 5, sum(data, 2)], ["way", held, 1, sum(data, 3)], ["way", "link retry", 3, sum(data, 4)],
      ["receiver", "its host", 4, inside],
      ["ACK back", "wires", 2, sum(ack, 0, 1)], ["ACK back", "queues", 5, sum(ack, 2)], ["ACK back", held, 1, sum(ack, 3)], ["ACK back", "link retry", 3, sum(ack, 4)],
    ].filter(([, , , ps]) => ps > 0);
    const total = parts.reduce((all, part) => all + part[3], 0);
    const time = (ps) => model.duration(ps / 1e6);
    const percent = (ps) => `${digits(Number((ps / total * 100).toPrecision(3)))} %`;
    host.append(el("div", { class: "mini-title" }, "Where its time went"),
      el("div", { class: "stack" }, ...parts.map(([where, what, color, ps]) => el("i", {
        style: `flex:${ps / total} 0 0;background:var(--c${color})`, title: `${where}: ${what}, ${time(ps)}, ${percent(ps)}` }))),
      el("table", { class: "parts" }, el("tbody", {}, ...parts.map(([where, what, color, ps], i) => el("tr", {},
        el("th", { scope: "row" }, i && parts[i - 1][0] === where ? "" : where), el("td", {}, swatch(color), what), el("td", {}, time(ps)), el("td", {}, percent(ps)))))));
    const hops = [...data.map((hop) => ["", hop]), ...ack.filter((hop) => hop.ps[2] + hop.ps[3] + hop.ps[4] + hop.max_ps > 0).map((hop) => ["ACK ", hop])];
    if (!hops.length) return;
    const retries = hops.some(([, hop]) => hop.ps[4] > 0);
    const row = ([kind, hop]) => {
      const button = el("button", { type: "button" }, kind + portText(model.ports[hop.port]));
      button.addEventListener("click", () => actions.choose({ port: model.ports[hop.port] }));
      return el("tr", {}, el("td", {}, button), el("td", {}, time(hop.ps[2])), el("td", {}, time(hop.ps[3])), ...(retries ? [el("td", {}, time(hop.ps[4]))] : []), el("td", {}, time(hop.mean_ps)), el("td", {}, time(hop.max_ps)));
    };
    host.append(el("div", { class: "scroll" }, el("table", { class: "hops" },
      el("thead", {}, el("tr", {}, ...["port", "queue", model.credits ? "no credit" : "pause", ...(retries ? ["link retry"] : []), "mean", "longest"].map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", {}, ...hops.map(row)))),
    el("p", { class: "note" }, "The way is that of the packet whose ACK was the last. Mean and longest are the waits of all the flow's packets at the port."));
  };

  const showNothing = () => {
    clear();
    host.append(el("p", { class: "note" }, model.frames
      ? "Click a link for what it did over time, in both directions. Click a flow for its way and where its time went."
      : "Click a flow for its ends."));
  };

  /* Flows: the slowest first, as the page has them. */
  const all = model.flows.flows;
  const texts = all.map((flow) => `${flow.id} ${nameOf(flow.label)} ${nameOf(flow.scheme)} ${flow.status}`.toLowerCase());
  /* Words must all be found: `12` a number of flow or host, `12>` a source, `>12` a destination. */
  const matches = (flow, text, word) => {
    if (/^\d+>$/.test(word)) return flow.src === Number.parseInt(word, 10);
    if (/^>\d+$/.test(word)) return flow.dst === Number(word.slice(1));
    if (/^\d+>\d+$/.test(word)) return word === `${flow.src}>${flow.dst}`;
    if (/^\d+$/.test(word)) return [flow.id, flow.src, flow.dst].includes(Number(word)) || text.includes(word) && !/^\d/.test(text.slice(text.indexOf(word)));
    return text.includes(word);
  };
  const list = (chosen) => {
    const words = find.value.toLowerCase().replace(/\s*(->|→|>)\s*/g, ">").split(/\s+/).filter(Boolean);
    const found = all.filter((flow, i) => words.every((word) => matches(flow, texts[i], word)));
    rows.replaceChildren(...found.slice(0, LISTED).map((flow) => {
      const link = el("button", { type: "button" }, String(flow.id));
      const row = el("tr", { "data-flow": flow.id, ...(flow.id === chosen ? { "aria-selected": "true" } : {}) },
        el("td", {}, link), el("td", { class: "name" }, nameOf(flow.label)), el("td", {}, `${flow.src} → ${flow.dst}`),
        el("td", {}, bytes(flow.size)), el("td", {}, ended(flow)), el("td", {}, flow.slowdown === null ? "–" : `${digits(flow.slowdown)}×`));
      row.addEventListener("click", () => actions.choose({ flow }));
      return row;
    }));
    const { total } = model.flows;
    const shown = Math.min(LISTED, found.length);
    count.textContent = words.length ? `${shown} of ${found.length} that match`
      : total > all.length ? `the slowest of ${total}; ${all.length} can be searched` : shown < total ? `the slowest ${shown} of ${total}` : "slowest first";
  };
  find.addEventListener("input", () => list(null));

  return {
    start: (given) => { actions = given; showNothing(); list(null); },
    show: ({ port, flow }) => {
      if (port) showPort(port); else if (flow) showFlow(flow); else showNothing();
      for (const row of rows.children) {
        if (flow && row.dataset.flow === String(flow.id)) row.setAttribute("aria-selected", "true");
        else row.removeAttribute("aria-selected");
      }
    },
    fit: () => {
      for (const { u } of plots) if (u.width !== room()) u.setSize({ width: room(), height: u.height });
    },
    setFrame: (now) => {
      frame = now;
      for (const { u, show } of plots) { u.redraw(false, false); show(u); }
    },
  };
})();
