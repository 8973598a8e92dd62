/* Tracks: values over time in equal bins. What a screen has no room for is joined: a band from the
   smallest to the largest value in each point's time, and a line at the mean. A closer look shows
   narrower bins, down to those that are on the page. */
Paceline.track = (() => {
  const { digits } = Paceline;

  /* Reads what the program's `Track` wrote: runs of equal bins, by the number of their first. */
  const unpack = (track) => {
    const bytes = Uint8Array.from(atob(track.data), (c) => c.charCodeAt(0));
    const number = [], count = [], min = [], max = [], mean = [];
    let at = 0, next = 0, value = 0;
    /* Numbers may have more than 32 bits. */
    const varint = () => {
      let all = 0, size = 1, byte;
      do {
        byte = bytes[at++];
        all += (byte & 127) * size;
        size *= 128;
      } while (byte > 127);
      return all;
    };
    while (at < bytes.length) {
      const head = varint();
      if (head === 0) {
        const more = varint();
        count[count.length - 1] += more;
        next += more;
      } else if (head === 1) {
        next += varint();
      } else {
        const twice = head - 2;
        value += twice % 2 ? -(twice + 1) / 2 : twice / 2;
        const [below, above] = track.ranges ? [varint(), varint()] : [0, 0];
        number.push(next);
        count.push(1);
        min.push((value - below) * track.step);
        max.push((value + above) * track.step);
        mean.push(value * track.step);
        next++;
      }
    }
    return { ...track, number, count, min, max, mean, end: next };
  };

  const xOf = (track, number) => Math.max(track.begin, track.origin + number * track.width);

  /* The run that has bin `n`, or the first after it. */
  const find = ({ number, count }, n) => {
    let low = 0, high = number.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (number[middle] + count[middle] <= n) low = middle + 1; else high = middle;
    }
    return low;
  };

  /* How many bins make a point, so that there are at most `room` points from `low` to `high`. */
  const joined = (track, low, high, room) => {
    const bins = (high - low) / track.width;
    let k = 1;
    while (bins / k > room) k *= 2;
    return k;
  };

  /* The points from `low` to `high`, of `k` bins each: from where to where, smallest, largest, mean.
     Neighbours that are equal throughout are one. */
  const points = (track, low, high, k) => {
    const { number, count, min, max, mean, counts } = track;
    const whole = (x) => Math.floor((x - track.origin) / track.width / k + 1e-9) * k;
    const stop = Math.min(track.end, whole(high) + k);
    const found = [];
    const add = (from, to, lowest, highest, middle) =>
      found.push({ from: xOf(track, from), to: xOf(track, to), min: lowest, max: highest, mean: middle });
    let n = Math.max(0, whole(low));
    for (let i = find(track, n); i < number.length;) {
      n = Math.max(n, number[i]);
      if (n >= stop) break;
      const end = number[i] + count[i], last = Math.floor(end / k) * k;
      if (n % k === 0 && last > n && (k === 1 || !counts)) {
        add(n, last, min[i], max[i], mean[i]);
        n = last;
        if (n === end) i++;
        continue;
      }
      /* Runs that share a point. */
      const from = n, edge = (Math.floor(n / k) + 1) * k;
      let lowest = Infinity, highest = -Infinity, sum = 0, bins = 0;
      for (; i < number.length && number[i] < edge; i++) {
        n = Math.max(n, number[i]);
        const to = Math.min(edge, number[i] + count[i]);
        /* Of the last bin there may be less than all. */
        const weight = to - n - (to === track.end && !counts ? 1 - track.last : 0);
        lowest = Math.min(lowest, min[i]);
        highest = Math.max(highest, max[i]);
        sum += mean[i] * (counts ? to - n : weight);
        bins += weight;
        n = to;
        if (number[i] + count[i] > edge) break;
      }
      if (counts) add(from, n, sum, sum, sum);
      else add(from, n, lowest, highest, sum / bins);
    }
    return found;
  };

  /* The point at x, if there is one. */
  const at = (found, x) => {
    let low = 0, high = found.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (found[middle].to <= x) low = middle + 1; else high = middle;
    }
    const point = found[low];
    return point && point.from <= x ? point : null;
  };

  /* Line and band for the canvas; `floor` is the lowest value that the axis has. */
  const paths = (u, found, floor) => {
    const line = new Path2D(), band = new Path2D();
    const x = (v) => u.valToPos(v, "x", true), y = (v) => u.valToPos(Math.max(v, floor), "y", true);
    let last = null;
    for (const point of found) {
      const left = x(point.from), right = x(point.to), middle = y(point.mean);
      if (point.from === last) line.lineTo(left, middle); else line.moveTo(left, middle);
      line.lineTo(right, middle);
      if (point.max > point.min) {
        const top = y(point.max);
        band.rect(left, top, Math.max(right - left, 1), Math.max(y(point.min) - top, 1));
      }
      last = point.to;
    }
    return { stroke: line, fill: band };
  };

  /* How finely a chart shows its tracks, and how finely they were recorded. */
  const STEPS = [[1e12, "s"], [1e9, "ms"], [1e6, "µs"], [1e3, "ns"], [1, "ps"]];
  const time = (ps) => Paceline.scaled(ps, STEPS);
  const between = (values) => {
    const [low, high] = [Paceline.least(values), Paceline.most(values)];
    return low === high ? time(low) : `${time(low)} to ${time(high)}`;
  };
  const resolution = (shown) => {
    if (!shown.length) return "";
    const of = (pick) => between(shown.map(pick));
    const now = of(({ track, k }) => track.width_ps * k), page = of(({ track }) => track.width_ps);
    const kept = of(({ track }) => track.kept_ps), recorded = of(({ track }) => track.recorded_ps);
    return [
      `Each point is ${now}; recorded every ${recorded}${kept === recorded ? "" : `, kept in bins of ${kept}`}.`,
      ...(page === kept ? [] : [`This page has ${page} at the finest.`]),
    ].join(" ");
  };

  const told = (point, unit) => point.max > point.min
    ? `${digits(point.mean)} (${digits(point.min)} to ${digits(point.max)}) ${unit}`.trim()
    : `${digits(point.mean)} ${unit}`.trim();

  return { unpack, joined, points, at, paths, resolution, told };
})();
