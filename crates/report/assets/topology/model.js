/* The topology view's data: the network, what its ports did over time, its flows. */
Paceline.topology = (() => {
  const element = document.getElementById("topology-data");
  if (!element) return null;
  const { nodes, links, timeline, flows, deadlocks, credits = false, tiers = [] } = JSON.parse(element.textContent);
  const frames = timeline?.bins ?? 0;

  nodes.forEach((node, id) => Object.assign(node, { id, ports: [] }));
  const ports = [];
  links.forEach((link, i) => {
    for (const end of [0, 1]) {
      const [from, to] = [link.nodes[end], link.nodes[1 - end]];
      const name = `port ${from}.${link.interfaces[end]}->${to}`;
      ports.push({ id: 2 * i + end, name, from, to, link, back: 2 * i + 1 - end });
      nodes[from].ports.push(2 * i + end);
    }
  });
  const byName = new Map(ports.map((port) => [port.name, port]));
  const nodeName = (id) => nodes[id].name ?? `${nodes[id].host ? "host" : "switch"} ${id}`;

  /* What a run stands still in. */
  const note = document.getElementById("topology-deadlock");
  note.hidden = !deadlocks.length;
  note.textContent = deadlocks.map(({ ports: ids, closing, at_ps: at }) => {
    const { from, to } = ports[closing];
    return `Deadlock: each port that is outlined waits for the next one to be resumed, ${ids.length} in a cycle. ` +
      `The pause of ${nodeName(from)} by ${nodeName(to)} closed it at ${Paceline.scaled(at / 1e6, Paceline.MICROSECONDS)}.`;
  }).join(" ");

  /* Reads what the program's `Packer` wrote. */
  const unpack = ({ bytes: size, data }, rows) => {
    const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
    const values = new (size === 2 ? Uint16Array : Uint8Array)(rows * frames);
    let at = 0;
    const varint = () => {
      let number = 0, shift = 0, byte;
      do {
        byte = bytes[at++];
        number |= (byte & 127) << shift;
        shift += 7;
      } while (byte > 127);
      return number;
    };
    const value = () => {
      const low = bytes[at++];
      return size === 2 ? low | (bytes[at++] << 8) : low;
    };
    let row = 0;
    while (at < bytes.length) {
      row += varint();
      for (let frame = 0; frame < frames;) {
        const head = varint(), first = row * frames + frame, count = head >> 1;
        if (head & 1) values.fill(value(), first, first + count);
        else for (let k = 0; k < count; k++) values[first + k] = value();
        frame += count;
      }
    }
    return values;
  };

  /* A quantity: its value of a row in a frame, its largest possible value, how it is told. */
  /* Shares are stored in steps of 0.4 %. */
  const share = (v) => `${Math.round(v * 1000) / 10} %`;
  const bytes = (v) => Paceline.scaled(v, Paceline.BYTES);
  const STATES = ["not congested", "checking", "undetermined", "congested"];
  const TOLD = {
    utilisation: share, queue: bytes, paused: share, marks: (v) => `${Paceline.digits(v)} /µs`, buffer: bytes,
    state: (v) => STATES[Math.round(v)] ?? "", cause: (v) => `interface ${Math.round(v)}`,
  };
  const quantities = {};
  for (const packed of timeline?.quantities ?? []) {
    const rows = packed.name === "buffer" ? nodes.length : ports.length;
    const values = unpack(packed, rows), step = packed.top / (packed.bytes === 2 ? 65535 : 255);
    quantities[packed.name] = {
      name: packed.name,
      top: packed.top,
      text: TOLD[packed.name],
      of: (row, frame) => values[row * frames + frame] * step,
      row: (row) => Array.from(values.subarray(row * frames, (row + 1) * frames), (v) => v * step),
      totals: () => {
        const sums = new Array(frames).fill(0);
        values.forEach((v, i) => { if (v) sums[i % frames] += v * step; });
        return sums;
      },
    };
  }

  /* The port of the node at a port's other end behind which stands what it may not send; null where nothing says so. */
  const byInterface = new Map(ports.map((port) => [`${port.from}.${port.link.interfaces[port.id % 2]}`, port]));
  const causeOf = (port, frame) => {
    const cause = Math.round(quantities.cause?.of(port.id, frame) ?? 0);
    return cause > 0 ? byInterface.get(`${port.to}.${cause}`) ?? null : null;
  };

  /* Times, in µs. */
  const micros = (ps) => ps / 1e6;
  const timeOf = (frame) => micros(timeline.start_ps + frame * timeline.bin_ps);
  const frameAt = (us) => Math.min(frames - 1, Math.max(0,
    Math.floor((us * 1e6 - timeline.start_ps) / timeline.bin_ps)));
  const duration = (us) => Paceline.scaled(us, Paceline.MICROSECONDS);

  return {
    nodes, links, ports, byName, nodeName, quantities, flows, deadlocks, causeOf, states: STATES, credits, tiers,
    frames, busiest: timeline?.busiest ?? 0, bin: (timeline?.bin_ps ?? 0) / 1e6,
    timeOf, frameAt, micros, duration,
  };
})();
