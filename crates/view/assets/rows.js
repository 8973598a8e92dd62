/* Rows of a table, in a worker: read in pieces, filtered, sorted and grouped. A piece of a column has either numbers
   (NaN where there is none) or codes into a list of texts (-1 where there is none). */
import { asyncBufferFromUrl, parquetMetadataAsync, parquetRead } from "/assets/hyparquet.js";

const PIECE = 1 << 17, PIECES_MAX = 400, GROUPS_MAX = 20_000, WHOLE_MAX = 1 << 20;

const loaded = async (url) => {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer;
};
const whole = async (url) => (await loaded(url)).arrayBuffer();

/* A piece that is being filled: of numbers until a text comes. */
class Filling {
  constructor(rows, isText, texts) {
    this.texts = texts;
    this.count = 0;
    /* Whole numbers that a double cannot hold keep their digits. */
    this.exact = null;
    if (isText) this.codes = new Int32Array(rows).fill(-1);
    else this.numbers = new Float64Array(rows).fill(NaN);
  }
  put(row, value) {
    if (value === null || value === undefined) return;
    if (this.codes) {
      this.codes[row] = this.texts.code(String(value));
    } else {
      this.numbers[row] = Number(value);
      const isLong = typeof value === "bigint" || (value.length > 15 && /^-?\d+$/.test(value));
      if (isLong && !Number.isSafeInteger(this.numbers[row])) (this.exact ??= new Map()).set(row, String(value));
    }
  }
  number(row) {
    return this.numbers ? this.numbers[row] : NaN;
  }
  text(row) {
    if (this.codes) return this.codes[row] < 0 ? null : this.texts.all[this.codes[row]];
    if (this.exact?.has(row)) return this.exact.get(row);
    return Number.isNaN(this.numbers[row]) ? null : String(this.numbers[row]);
  }
}

class Texts {
  all = [];
  codes = new Map();
  code(text) {
    let code = this.codes.get(text);
    if (code === undefined) {
      code = this.all.push(text) - 1;
      this.codes.set(text, code);
    }
    return code;
  }
}

/* A Parquet file, of which only the pieces that are needed are loaded, by ranges. */
class Parquet {
  kept = new Map();
  async open(url, size) {
    /* One request for a small file; a table so far has no size yet. */
    this.file = size > WHOLE_MAX ? await asyncBufferFromUrl({ url, byteLength: size }) : await whole(url);
    this.metadata = await parquetMetadataAsync(this.file);
    const leaves = this.metadata.schema.filter((one) => one.type);
    this.columns = leaves.map(({ name, type }) => ({ name, isText: type === "BYTE_ARRAY" || type === "FIXED_LEN_BYTE_ARRAY" }));
    this.texts = this.columns.map(() => new Texts());
    this.starts = [0];
    for (const group of this.metadata.row_groups) this.starts.push(this.starts.at(-1) + Number(group.num_rows));
    this.rows = this.starts.at(-1);
    return this;
  }
  async piece(index, column) {
    const key = `${index} ${column}`, known = this.kept.get(key);
    if (known) return known;
    const [from, to] = [this.starts[index], this.starts[index + 1]];
    const { name, isText } = this.columns[column];
    const piece = new Filling(to - from, isText, this.texts[column]);
    await parquetRead({
      file: this.file, metadata: this.metadata, columns: [name], rowStart: from, rowEnd: to,
      onChunk: ({ columnData, rowStart }) => {
        for (let k = 0; k < columnData.length; k++) {
          const row = rowStart + k - from;
          if (row >= 0 && row < to - from) piece.put(row, columnData[k]);
        }
      },
    });
    if (this.kept.size >= PIECES_MAX) this.kept.delete(this.kept.keys().next().value);
    this.kept.set(key, piece);
    return piece;
  }
}

/* Cells of a line in which some stand in quotes. */
const cut = (line) => {
  const cells = [];
  for (let at = 0; ; at++) {
    let end = line.indexOf(",", at);
    if (line[at] === '"') {
      for (end = at + 1; end < line.length && !(line[end] === '"' && line[end + 1] !== '"'); ) end += line[end] === '"' ? 2 : 1;
      cells.push(line.slice(at + 1, end).replaceAll('""', '"'));
      end++;
    } else {
      if (end < 0) end = line.length;
      cells.push(line.slice(at, end));
    }
    if (line[end] !== ",") return cells;
    at = end;
  }
};

/* Cells of a CSV file as it arrives, row by row. */
async function* csvRows(url) {
  const reader = (await loaded(url)).body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "", ended = false;
  while (!ended) {
    const { value, done } = await reader.read();
    ended = done;
    rest += value ?? "";
    /* Rows end at line ends outside quotes. */
    let at = 0;
    const rows = [];
    for (;;) {
      let end = rest.indexOf("\n", at);
      if (end < 0 && ended && at < rest.length) end = rest.length;
      if (end < 0) break;
      let line = rest.slice(at, end);
      if (line.includes('"')) {
        let quotes = line.split('"').length - 1;
        while (quotes % 2) {
          const next = rest.indexOf("\n", end + 1);
          if (next < 0 && !ended) break;
          const until = next < 0 ? rest.length : next;
          quotes += rest.slice(end, until).split('"').length - 1;
          end = until;
          if (next < 0) break;
        }
        if (quotes % 2 && !ended) break;
        line = rest.slice(at, end);
        rows.push(cut(line.replace(/\r$/, "")));
      } else if (line && line !== "\r") {
        rows.push(line.replace(/\r$/, "").split(","));
      }
      at = end + 1;
    }
    rest = rest.slice(at);
    yield rows;
  }
}

/* A text of a CSV file without the quote that keeps spreadsheets from computing it. */
const plain = (text) => (/^'+\s*[=+\-@\t\r]/.test(text) ? text.slice(1) : text);
/* Of what `Number` takes, only decimal digits are numbers in a file. */
const isNumber = (text) => {
  const first = text.charCodeAt(0);
  return first > 42 && first < 58 && text.charCodeAt(1) !== 120 && Number.isFinite(Number(text));
};

/* A CSV file, of which all columns are in memory, without its text. */
class Csv {
  async open(url) {
    let columns = null;
    this.rows = 0;
    for await (const rows of csvRows(url)) {
      for (const cells of rows) {
        if (!columns) {
          columns = cells.map((name) => ({ name, isText: false, texts: new Texts(), pieces: [] }));
          continue;
        }
        const row = this.rows++ % PIECE;
        columns.forEach((column, k) => {
          if (row === 0) column.pieces.push(new Filling(PIECE, column.isText, column.texts));
          const cell = cells[k] ?? "";
          if (cell === "") return;
          if (!column.isText && !isNumber(cell)) this.toText(column);
          column.pieces.at(-1).put(row, column.isText ? plain(cell) : cell);
        });
      }
    }
    this.all = columns ?? [];
    this.columns = this.all.map(({ name, isText }) => ({ name, isText }));
    this.starts = Array.from({ length: Math.ceil(this.rows / PIECE) + 1 }, (_, k) => Math.min(k * PIECE, this.rows));
    return this;
  }
  /* The first text of a column makes texts of the numbers before it. */
  toText(column) {
    column.isText = true;
    column.pieces = column.pieces.map((old) => {
      const piece = new Filling(PIECE, true, column.texts);
      for (let row = 0; row < PIECE; row++) piece.put(row, old.text(row));
      return piece;
    });
  }
  async piece(index, column) {
    return this.all[column].pieces[index];
  }
}

/* A test of a cell by what stands in a filter: `>10`, `10..20`, a number; of texts a part, `=all of it`, `!not this`. */
const test = (text, isText, name) => {
  const wrong = (what) => new Error(`${name}: expected ${what}, found \`${text}\``);
  if (isText) {
    const [, sign, rest] = /^([=!]?)(.*)$/s.exec(text);
    const wanted = rest.toLowerCase();
    if (sign === "=") return (cell) => cell.text === rest;
    if (sign === "!") return (cell) => !(cell.text ?? "").toLowerCase().includes(wanted);
    return (cell) => (cell.text ?? "").toLowerCase().includes(wanted);
  }
  const number = (part) => {
    const value = Number(part);
    if (part.trim() === "" || Number.isNaN(value)) throw wrong("a number, `>10`, `<=10`, `!=10` or `10..20`");
    return value;
  };
  const range = /^(.*?)\.\.(.*)$/.exec(text);
  if (range) {
    const low = range[1].trim() ? number(range[1]) : -Infinity, high = range[2].trim() ? number(range[2]) : Infinity;
    return ({ number: v }) => v >= low && v <= high;
  }
  const [, sign, rest] = /^\s*(>=|<=|!=|>|<|=)?(.*)$/s.exec(text);
  const than = number(rest);
  return {
    ">": ({ number: v }) => v > than, "<": ({ number: v }) => v < than, ">=": ({ number: v }) => v >= than,
    "<=": ({ number: v }) => v <= than, "!=": ({ number: v }) => v !== than,
  }[sign] ?? (({ number: v }) => v === than);
};

let source = null;
/* Rows that pass the filters, in the order of the sort; `null` for all of them as they are. */
let order = null;
/* Rows of groups, if there are any. */
let groups = null;

const column = (name) => {
  const index = source.columns.findIndex((one) => one.name === name);
  if (index < 0) throw new Error(`there is no column ${name}`);
  return index;
};

const filtered = async (filters) => {
  let kept = null;
  for (const [name, text] of Object.entries(filters)) {
    const index = column(name), { isText } = source.columns[index];
    const passes = test(text, isText, name);
    const next = new Uint32Array(kept ? kept.length : source.rows);
    let count = 0, at = 0;
    for (let p = 0; p + 1 < source.starts.length; p++) {
      const [from, to] = [source.starts[p], source.starts[p + 1]];
      if (kept && !(kept[at] < to)) continue;
      const piece = await source.piece(p, index);
      const cell = { text: null, number: NaN };
      const see = (row) => {
        if (isText) cell.text = piece.text(row - from);
        else cell.number = piece.number(row - from);
        if (passes(cell)) next[count++] = row;
      };
      if (kept) for (; kept[at] < to; at++) see(kept[at]);
      else for (let row = from; row < to; row++) see(row);
    }
    kept = next.slice(0, count);
  }
  return kept;
};

/* The values of a column at these rows (all, if `null`), as numbers or as places of texts in their order. */
const keys = async (index, rows) => {
  const { isText } = source.columns[index];
  const values = new Float64Array(rows ? rows.length : source.rows);
  const find = new Map();
  let at = 0;
  for (let p = 0; p + 1 < source.starts.length; p++) {
    const [from, to] = [source.starts[p], source.starts[p + 1]];
    if (rows && !(rows[at] < to)) continue;
    const piece = await source.piece(p, index);
    const value = (row) => (isText ? (piece.codes[row - from] < 0 ? NaN : piece.codes[row - from]) : piece.number(row - from));
    if (rows) for (; rows[at] < to; at++) values[at] = value(rows[at]);
    else for (let row = from; row < to; row++) values[row] = value(row);
  }
  if (isText && source.rows) {
    const { all } = (await source.piece(0, index)).texts;
    const places = all.map((_, code) => code).sort((a, b) => (all[a] < all[b] ? -1 : 1));
    places.forEach((code, place) => find.set(code, place));
    for (let k = 0; k < values.length; k++) if (!Number.isNaN(values[k])) values[k] = find.get(values[k]);
  }
  return values;
};

/* Rows without a value come last in both directions. */
const sorted = (values, down) => {
  const places = Uint32Array.from(values, (_, k) => k);
  const sign = down ? -1 : 1;
  return places.sort((a, b) => {
    const [x, y] = [values[a], values[b]];
    if (x === y) return a - b;
    if (Number.isNaN(x)) return Number.isNaN(y) ? a - b : 1;
    if (Number.isNaN(y)) return -1;
    return sign * (x - y);
  });
};

/* Linear interpolation between the values around a share of the ranks, as in the summaries of runs. */
const percentile = (ascending, share) => {
  const at = (ascending.length - 1) * share, low = Math.floor(at);
  const high = Math.min(low + 1, ascending.length - 1);
  return ascending[low] + (ascending[high] - ascending[low]) * (at - low);
};

const grouped = async (name, measured, rows) => {
  const by = column(name), total = rows ? rows.length : source.rows;
  const of = new Map(), member = new Uint32Array(total);
  let at = 0;
  for (let p = 0; p + 1 < source.starts.length; p++) {
    const [from, to] = [source.starts[p], source.starts[p + 1]];
    if (rows && !(rows[at] < to)) continue;
    const piece = await source.piece(p, by);
    for (; rows ? rows[at] < to : at < to; at++) {
      const value = piece.text((rows ? rows[at] : at) - from);
      if (!of.has(value)) {
        if (of.size >= GROUPS_MAX) throw new Error(`${name} has more than ${GROUPS_MAX} values: filter rows first`);
        of.set(value, of.size);
      }
      member[at] = of.get(value);
    }
  }
  const counts = new Uint32Array(of.size);
  for (const group of member) counts[group]++;
  const table = [], labels = [...of.keys()];
  for (const what of measured) {
    const values = await keys(column(what), rows);
    const parts = Array.from(counts, (n) => new Float64Array(n)), filled = new Uint32Array(of.size);
    for (let k = 0; k < total; k++) {
      if (!Number.isNaN(values[k])) parts[member[k]][filled[member[k]]++] = values[k];
    }
    parts.forEach((part, group) => {
      const all = part.subarray(0, filled[group]).sort();
      const sum = all.reduce((sum, v) => sum + v, 0), some = all.length > 0;
      const cells = some ? [sum, sum / all.length, all[0], all.at(-1), percentile(all, 0.5), percentile(all, 0.99)] : Array(6).fill(NaN);
      table.push({ text: [labels[group], what], numbers: [counts[group], ...cells] });
    });
  }
  if (!measured.length) counts.forEach((n, group) => table.push({ text: [labels[group], null], numbers: [n, ...Array(6).fill(NaN)] }));
  return table;
};

const GROUP_COLUMNS = ["rows", "sum", "mean", "min", "max", "p50", "p99"];

const work = {
  async open({ url, format, size }) {
    [order, groups] = [null, null];
    source = await (format === "parquet" ? new Parquet() : new Csv()).open(url, size);
    return { columns: source.columns, rows: source.rows };
  },
  async view({ filters, sort, group, measured }) {
    const rows = await filtered(filters);
    if (group) {
      groups = await grouped(group, measured, rows);
      const columns = [{ name: group, isText: true }, { name: "of", isText: true }, ...GROUP_COLUMNS.map((name) => ({ name, isText: false }))];
      if (sort) {
        const index = columns.findIndex((one) => one.name === sort.name);
        if (index >= 2) {
          const places = sorted(Float64Array.from(groups, (one) => one.numbers[index - 2]), sort.down);
          groups = Array.from(places, (k) => groups[k]);
        } else if (index >= 0) {
          const key = (one) => one.text[index] ?? "", sign = sort.down ? -1 : 1;
          const compare = (a, b) => (Number(a) - Number(b) || (a < b ? -1 : a > b ? 1 : 0));
          groups.sort((a, b) => sign * compare(key(a), key(b)));
        }
      }
      return { columns, rows: groups.length };
    }
    groups = null;
    order = rows;
    if (sort) {
      const places = sorted(await keys(column(sort.name), rows), sort.down);
      order = rows ? places.map((k) => rows[k]) : places;
    }
    return { columns: source.columns, rows: order ? order.length : source.rows };
  },
  async page({ from, to }) {
    if (groups) {
      const cells = (one) => [...one.text, ...one.numbers.map((v) => (Number.isNaN(v) ? null : String(v)))];
      return groups.slice(from, to).map(cells);
    }
    const rows = [];
    for (let k = from; k < to; k++) rows.push(order ? order[k] : k);
    const page = rows.map(() => Array(source.columns.length).fill(null));
    const piece = rows.map((row) => source.starts.findLastIndex((start) => start <= row));
    await Promise.all(source.columns.map(async (_, c) => {
      for (const p of new Set(piece)) {
        const of = await source.piece(p, c);
        rows.forEach((row, k) => {
          if (piece[k] === p) page[k][c] = of.text(row - source.starts[p]);
        });
      }
    }));
    return page;
  },
};

/* One question at a time, in their order: each changes what the next sees. */
let last = Promise.resolve();
onmessage = ({ data: { id, what, ...question } }) => {
  last = last.then(async () => {
    try {
      postMessage({ id, answer: await work[what](question) });
    } catch (error) {
      postMessage({ id, error: error.message });
    }
  });
};
