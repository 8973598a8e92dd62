/* The topology view's picture: where things are on the canvas, and painting them. */
Paceline.picture = Paceline.topology && (() => {
  const model = Paceline.topology;
  const { css, most, least } = Paceline;
  const canvas = document.getElementById("topology-canvas");
  const pen = canvas.getContext("2d");
  const SHADES = 32;
  const FONT = { host: "10.5px system-ui, sans-serif", switch: "11px system-ui, sans-serif" };
  const tiers = 1 + most(model.nodes.map((node) => node.tier), 0);
  /* Over the highest switches is room for links that go around what stands between them. */
  const around = model.links.some(({ bent, nodes }) => bent && nodes.some((id) => model.nodes[id].tier === tiers - 1));
  const ARC = 96;
  const MARGIN = { left: 16, right: 16, top: 34 + (around ? ARC : 0), bottom: 34 };
  const fastest = most(model.links.map((link) => link.bps), 1);
  /* How far apart the closest hosts are, in parts of the width: links are no wider. */
  const rowX = model.nodes.filter((node) => node.host).map((node) => node.x).sort((a, b) => a - b);
  const pitch = least(rowX.slice(1).map((x, i) => x - rowX[i]).filter((gap) => gap > 0), 1);
  const hosts = model.nodes.filter((node) => node.host).sort((a, b) => a.x - b.x);
  const zoom = { k: 1, x: 0, y: 0 };
  let size = { width: 0, height: 0 };
  let colors = {};

  /* From parts of the picture to points of the canvas. */
  const inner = () => ({ w: size.width - MARGIN.left - MARGIN.right, h: size.height - MARGIN.top - MARGIN.bottom });
  const X = (x) => (MARGIN.left + x * inner().w) * zoom.k + zoom.x;
  const Y = (tier) => (MARGIN.top + (1 - tier / Math.max(1, tiers - 1)) * inner().h) * zoom.k + zoom.y;
  const grow = () => Math.sqrt(zoom.k);

  const box = (node) => {
    const half = node.half * inner().w * zoom.k;
    if (node.host) {
      const side = Math.min(Math.max(half, 1.2), 8 * grow());
      return { x: X(node.x), y: Y(0), w: side, h: side };
    }
    return { x: X(node.x), y: Y(node.tier), w: Math.max(half, 3), h: 9 * grow() };
  };

  /* The middle of a link, as a line of points: straight, or around what stands between. */
  const spine = (link) => {
    const [a, b] = link.nodes.map((id) => model.nodes[id]);
    const edge = (node, other, x) => {
      const { y, h } = box(node);
      if (node.tier === other.tier) return { x: X(x), y: link.bent ? y - h : y };
      return { x: X(x), y: y + (other.tier > node.tier ? -h : h) };
    };
    const [from, to] = [edge(a, b, link.x[0]), edge(b, a, link.x[1])];
    if (!link.bent) return [from, to];
    const room = around ? ARC * zoom.k : inner().h * zoom.k / Math.max(1, tiers - 1) * 0.7;
    const rise = Math.min(Math.abs(to.x - from.x) * 0.3, room);
    return Array.from({ length: 13 }, (_, i) => {
      const t = i / 12;
      return { x: from.x + (to.x - from.x) * t, y: from.y + (to.y - from.y) * t - rise * 4 * t * (1 - t) };
    });
  };

  /* Links between the same tiers share the width of the picture. */
  const layer = (link) => link.nodes.map((id) => model.nodes[id].tier).sort().join();
  const crowd = new Map();
  for (const link of model.links) crowd.set(layer(link), (crowd.get(layer(link)) ?? 0) + 1);
  const widthOf = (link) => {
    const host = link.nodes.some((id) => model.nodes[id].host);
    const room = host ? pitch * inner().w * zoom.k * 0.36 : 0.14 * inner().w / crowd.get(layer(link)) * zoom.k;
    return Math.max(0.9, Math.min(room, 4.5 * grow() * Math.sqrt(link.bps / fastest)));
  };
  /* What carries more is thicker too. */
  const THIN = 0.45;
  const thickness = (width, shade, shades) => Math.max(0.7, width * (shade < 0 ? THIN : 0.6 + 0.7 * shade / (shades - 1)));

  /* The line of each port: beside the middle, on the right of who drives from its node. */
  let lines = [];
  const arrange = () => {
    lines = model.ports.map((port) => {
      const width = widthOf(port.link);
      const middle = spine(port.link);
      if (port.id % 2) middle.reverse();
      const points = middle.map((p, i) => {
        const [before, after] = [middle[Math.max(0, i - 1)], middle[Math.min(middle.length - 1, i + 1)]];
        const length = Math.hypot(after.x - before.x, after.y - before.y) || 1;
        const shift = (width + Math.min(1, width * 0.3)) / 2 / length;
        return { x: p.x - (after.y - before.y) * shift, y: p.y + (after.x - before.x) * shift };
      });
      return { points, width };
    });
  };

  const trace = (points) => {
    points.forEach((p, i) => i ? pen.lineTo(p.x, p.y) : pen.moveTo(p.x, p.y));
  };

  /* Colour: dark to bright, or bright to dark, which every eye can order. */
  const readColors = () => {
    const stops = css("--ramp").split(/\s+/).map((hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)));
    const shade = (t) => {
      const at = t * (stops.length - 1), i = Math.min(stops.length - 2, Math.floor(at)), f = at - i;
      return `rgb(${stops[i].map((c, k) => Math.round(c + (stops[i + 1][k] - c) * f)).join(" ")})`;
    };
    colors = {
      ramp: Array.from({ length: SHADES }, (_, i) => shade(i / (SHADES - 1))),
      ...Object.fromEntries(["ink", "soft", "card", "idle", "node", "pause", "pick"].map((name) => [name, css(`--${name}`)])),
      states: ["idle", "checking", "undetermined", "congested"].map((name) => css(`--${name}`)),
    };
  };
  /* Queues spread over orders of magnitude: their scale goes with the square root. */
  const scaleOf = (quantity) => ["queue", "buffer", "marks"].includes(quantity.name)
    ? { to: (v) => Math.sqrt(v / (quantity.top || 1)), from: (t) => quantity.top * t * t }
    : { to: (v) => v / quantity.top, from: (t) => quantity.top * t };
  const shadeOf = (quantity, v) => quantity.name === "state" ? Math.round(v) - 1 : v > 0 ? Math.min(SHADES - 1, Math.floor(scaleOf(quantity).to(v) * SHADES)) : -1;

  const paintLinks = (state) => {
    const quantity = model.quantities[state.metric];
    /* States are three colours beside the one of what is not congested. */
    const shades = quantity?.name === "state" ? colors.states.slice(1) : colors.ramp;
    /* One path for each colour and width; cold first, so that what is hot lies above. */
    const batches = new Map();
    model.ports.forEach((port, id) => {
      const shade = quantity ? shadeOf(quantity, quantity.of(id, state.frame)) : -1;
      const width = lines[id].width;
      const key = `${shade} ${width}`;
      if (!batches.has(key)) batches.set(key, { shade, width, ids: [] });
      batches.get(key).ids.push(id);
    });
    for (const { shade, width, ids } of [...batches.values()].sort((a, b) => a.shade - b.shade)) {
      pen.beginPath();
      for (const id of ids) trace(lines[id].points);
      pen.strokeStyle = shade < 0 ? colors.idle : shades[shade];
      pen.lineWidth = thickness(width, shade, shades.length);
      pen.stroke();
    }
  };

  /* The congestion tree's edges: from the port behind which traffic stands to each that is held back for it, whose packets
     come to the same node. */
  const paintCauses = (state) => {
    if (state.metric !== "state" && !(model.credits && state.metric === "paused")) return;
    pen.strokeStyle = pen.fillStyle = colors.pause;
    pen.lineWidth = 1.5 * grow();
    for (const port of model.ports) {
      const cause = model.causeOf(port, state.frame);
      if (!cause) continue;
      const [from, to] = [lines[cause.id].points[0], lines[port.id].points.at(-1)];
      const { x, y } = box(model.nodes[port.to]);
      pen.beginPath();
      pen.moveTo(from.x, from.y);
      pen.quadraticCurveTo(x, y, to.x, to.y);
      pen.stroke();
      const angle = Math.atan2(to.y - y, to.x - x), head = 5 * grow();
      pen.beginPath();
      pen.moveTo(to.x, to.y);
      for (const side of [-0.5, 0.5]) pen.lineTo(to.x - head * Math.cos(angle + side), to.y - head * Math.sin(angle + side));
      pen.fill();
    }
  };

  /* A bar across the sending end of each port that is held back. */
  const paintPauses = (state) => {
    const paused = model.quantities.paused;
    if (!paused) return;
    pen.strokeStyle = colors.pause;
    model.ports.forEach((port, id) => {
      const share = paused.of(id, state.frame);
      if (!(share > 0)) return;
      const [{ x, y }, q] = lines[id].points, width = lines[id].width;
      const length = Math.hypot(q.x - x, q.y - y) || 1;
      const [ux, uy] = [(q.x - x) / length, (q.y - y) / length];
      const half = Math.max(width * 1.5, 2), along = Math.min(6 * grow(), length / 4);
      const [cx, cy] = [x + ux * along, y + uy * along];
      pen.globalAlpha = 0.35 + 0.65 * share;
      pen.lineWidth = Math.max(1.6, Math.min(width, 4) * Math.sqrt(share));
      pen.beginPath();
      pen.moveTo(cx - uy * half, cy + ux * half);
      pen.lineTo(cx + uy * half, cy - ux * half);
      pen.stroke();
    });
    pen.globalAlpha = 1;
  };

  /* Hosts from left to right, but for those whose names would lie on that of the one before. */
  const namedHosts = () => {
    const found = new Set();
    let free = -Infinity;
    for (const node of hosts) {
      const half = pen.measureText(String(node.id)).width / 2, { x } = box(node);
      if (x - half < free) continue;
      found.add(node.id);
      free = x + half + 4;
    }
    return found;
  };

  const paintNodes = (state) => {
    const buffer = model.quantities.buffer;
    const label = (text, x, y, color) => {
      pen.fillStyle = color;
      pen.fillText(text, x, y);
    };
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.font = FONT.host;
    const named = namedHosts();
    for (const node of model.nodes) {
      const { x, y, w, h } = box(node);
      if (x + w < 0 || x - w > size.width || y + h < 0 || y - h > size.height) continue;
      pen.fillStyle = colors.node;
      pen.beginPath();
      if (node.host) pen.arc(x, y, w, 0, 2 * Math.PI);
      else pen.roundRect(x - w, y - h, 2 * w, 2 * h, Math.min(4, w / 2));
      pen.fill();
      const held = buffer && !node.host ? buffer.of(node.id, state.frame) : 0;
      if (held > 0 && state.metric === "queue") {
        pen.fillStyle = colors.ramp[shadeOf(buffer, held)];
        pen.fillRect(x - w + 2, y + h - 5, (2 * w - 4) * held / buffer.top, 3);
      }
      pen.font = node.host ? FONT.host : FONT.switch;
      const fits = (text) => 2 * w > pen.measureText(text).width + 4;
      /* A switch without room for its name has its number. */
      const text = [model.nodeName(node.id), String(node.id)].find((text) => !node.host && fits(text)) ?? String(node.id);
      if (!node.host && fits(text)) label(text, x, y - (held > 0 ? 1.5 : 0), colors.ink);
      if (node.host && named.has(node.id)) label(text, x, y + w + 9, colors.soft);
    }
  };

  /* A halo around a port's line. */
  const outline = (id, color, extra) => {
    pen.globalAlpha = 0.55;
    pen.beginPath();
    trace(lines[id].points);
    pen.strokeStyle = color;
    pen.lineWidth = lines[id].width + extra;
    pen.stroke();
    pen.globalAlpha = 1;
  };

  /* The link whose pause closed a cycle: outlined, and named. */
  const paintClosing = (id) => {
    outline(id, colors.pick, 9);
    const { x, y } = middle(id), words = "closes the cycle";
    pen.font = "600 11px system-ui, sans-serif";
    const half = pen.measureText(words).width / 2 + 5;
    const at = { x: Math.min(Math.max(x, half), size.width - half), y: Math.max(y - 14, 10) };
    pen.fillStyle = colors.card;
    pen.beginPath();
    pen.roundRect(at.x - half, at.y - 9, 2 * half, 18, 4);
    pen.fill();
    pen.fillStyle = colors.pick;
    pen.fillText(words, at.x, at.y);
  };

  /* `state`: frame, metric, port under the pointer, chosen port, chosen flow. */
  const paint = (state) => {
    const ratio = window.devicePixelRatio || 1;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, size.width, size.height);
    pen.lineCap = "butt";
    pen.lineJoin = "round";
    if (state.hover !== null) outline(state.hover, colors.soft, 5);
    for (const id of state.path) outline(id, colors.pick, 7);
    if (state.port !== null) outline(state.port, colors.pick, 7);
    for (const { ports } of model.deadlocks) for (const id of ports) outline(id, colors.pause, 5);
    paintLinks(state);
    paintPauses(state);
    paintNodes(state);
    paintCauses(state);
    for (const { closing } of model.deadlocks) paintClosing(closing);
    if (state.flow) {
      pen.strokeStyle = colors.pick;
      pen.lineWidth = 2.5;
      pen.font = "600 11px system-ui, sans-serif";
      for (const [id, text] of [[state.flow.src, "from"], [state.flow.dst, "to"]]) {
        const { x, y, w } = box(model.nodes[id]);
        pen.beginPath();
        pen.arc(x, y, w + 4, 0, 2 * Math.PI);
        pen.stroke();
        pen.fillStyle = colors.pick;
        pen.fillText(text, x, y + w + 21);
      }
    }
  };

  const resize = () => {
    const ratio = window.devicePixelRatio || 1;
    const width = Math.max(260, canvas.parentNode.clientWidth);
    size = { width, height: Math.min(560, 170 + 110 * tiers) + (around ? ARC : 0) };
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(size.height * ratio);
    canvas.style.height = size.height + "px";
    arrange();
  };

  /* What is at a point: a node, else the nearest port within a few points. */
  const hit = (x, y) => {
    for (const node of model.nodes) {
      const b = box(node), slack = node.host ? 2 : 0;
      if (Math.abs(x - b.x) <= b.w + slack && Math.abs(y - b.y) <= b.h + slack) return { node };
    }
    let best = null, least = 6;
    lines.forEach(({ points, width }, id) => {
      for (let i = 1; i < points.length; i++) {
        const [p, q] = [points[i - 1], points[i]];
        const [dx, dy] = [q.x - p.x, q.y - p.y];
        const t = Math.min(1, Math.max(0, ((x - p.x) * dx + (y - p.y) * dy) / (dx * dx + dy * dy || 1)));
        const distance = Math.max(0, Math.hypot(x - p.x - t * dx, y - p.y - t * dy) - width / 2);
        if (distance < least) [least, best] = [distance, id];
      }
    });
    return best === null ? null : { port: model.ports[best] };
  };

  /* Where a port is on the canvas: the middle of its line. */
  const middle = (id) => {
    const { points } = lines[id], half = (points.length - 1) / 2;
    const [p, q] = [points[Math.floor(half)], points[Math.ceil(half)]];
    return { x: (p.x + q.x) / 2, y: (p.y + q.y) / 2 };
  };

  /* Magnifies by `factor` about a point, at most so that the whole is seen or a host fills it. */
  const magnify = (factor, x, y) => {
    const k = Math.min(Math.max(8, 0.05 / pitch), Math.max(1, zoom.k * factor));
    zoom.x = x - (x - zoom.x) * k / zoom.k;
    zoom.y = y - (y - zoom.y) * k / zoom.k;
    zoom.k = k;
    pan(0, 0);
  };
  const pan = (dx, dy) => {
    const clamp = (v, span) => Math.min(0, Math.max(span * (1 - zoom.k), v));
    zoom.x = clamp(zoom.x + dx, size.width);
    zoom.y = clamp(zoom.y + dy, size.height);
    arrange();
  };
  const whole = () => {
    Object.assign(zoom, { k: 1, x: 0, y: 0 });
    arrange();
  };

  return { canvas, paint, resize, readColors, hit, middle, magnify, pan, whole, scaleOf, zoom, colors: () => colors, size: () => size };
})();
