/* Tables of the folder: a list, and the rows of the chosen one. */
import { bytes, command, count, el, prose, word } from "/assets/ui.js";

const PAGE = 200;
/* Units that the end of a column's name says. */
const UNITS = [["_ps", "ps"], ["_ns", "ns"], ["_us", "µs"], ["_ms", "ms"], ["_s", "s"], ["_bytes", "bytes"], ["_gbps", "Gbit/s"], ["_packets", "packets"], ["slowdown", "×"]];
const unit = (name) => UNITS.find(([end]) => name.replace(/\.(mean|p\d+|max|min)$/, "").endsWith(end))?.[1] ?? "";
/* Measures that a group shows first, if the table has them. */
const TELLING = ["slowdown", "value", "fct_ps", "time_ps", "mean"];

export const tables = (place, info) => {
  const worker = new Worker("/assets/rows.js", { type: "module" });
  const waiting = new Map();
  let asked = 0;
  worker.addEventListener("message", ({ data: { id, answer, error } }) => {
    const { resolve, reject } = waiting.get(id);
    waiting.delete(id);
    if (error) reject(new Error(error));
    else resolve(answer);
  });
  const work = (what, question) => new Promise((resolve, reject) => {
    waiting.set(++asked, { resolve, reject });
    worker.postMessage({ id: asked, what, ...question });
  });

  let listed = [], cut = false, opened = null, shape = null;
  /* What is asked of the open table. */
  let ask = null;
  /* Counts changes, so that a late answer to an earlier one is not shown. */
  let turn = 0;

  const search = el("input", { type: "search", placeholder: "Filter tables", "aria-label": "Filter tables", oninput: () => fill() });
  const items = el("div");
  const list = el("nav", { class: "list", "aria-label": "Tables" }, search, items, el("p", { class: "note" }, "Parquet is read by hyparquet (MIT licence)."));
  const view = el("div", { class: "table" });
  place.append(list, view);

  const folder = (path) => path.split("/").slice(0, -1).join("/");
  const name = (path) => path.split("/").at(-1);
  const fill = () => {
    const shown = listed.filter((one) => one.path.toLowerCase().includes(search.value.toLowerCase()));
    search.hidden = listed.length < 8;
    const parts = [];
    shown.forEach((one, k) => {
      if (folder(one.path) && (k === 0 || folder(shown[k - 1].path) !== folder(one.path))) parts.push(el("h2", {}, folder(one.path)));
      const button = el("button", { type: "button", "aria-current": String(opened?.path === one.path), onclick: () => open(one) },
        el("span", {}, name(one.path)), el("span", {}, one.live ? "so far" : bytes(one.size)));
      parts.push(button);
    });
    if (cut) parts.push(el("p", { class: "note" }, "There are more tables: open the folder of a run."));
    if (!listed.length) parts.push(el("p", { class: "note" }, info.kind === "sweep" ? "There are no tables before the first run has finished." : "The folder has no tables."));
    items.replaceChildren(...parts);
  };

  const title = el("h2"), note = el("p", { class: "note" }), commands = el("div");
  const meanings = el("details", {}, el("summary", {}, "Columns"), el("dl"));
  const grouping = el("select", { "aria-label": "Group by", onchange: () => regroup() });
  const measure = el("select", { "aria-label": "Measure of groups", onchange: () => change({ measured: measure.value }) });
  const reset = el("button", { type: "button", class: "small", onclick: () => open(opened) }, "Reset");
  const rows = el("span", { id: "rows", role: "status" });
  const where = el("span");
  const step = (label, text, to) => el("button", { type: "button", class: "small", "aria-label": label, onclick: () => turnTo(to()) }, text);
  const pages = () => Math.max(1, Math.ceil((shape?.rows ?? 0) / PAGE));
  const steps = [step("First page", "«", () => 0), step("Previous page", "‹", () => ask.page - 1), step("Next page", "›", () => ask.page + 1), step("Last page", "»", () => pages() - 1)];
  const head = el("thead"), body = el("tbody");
  const cells = el("div", { class: "cells", tabindex: 0, role: "region", "aria-label": "Rows" }, el("table", {}, head, body));
  const controls = el("div", { class: "controls" }, el("label", {}, "Group by", grouping), el("label", {}, "of", measure), reset, rows,
    el("span", { class: "end" }, where), ...steps);
  const trouble = el("p", { class: "note failed", role: "alert", hidden: true });
  const empty = el("p", { class: "note" }, "Choose a table.");
  view.append(empty);

  const about = (path) => {
    const stem = name(path).replace(/\.\w+$/, "").replace(/^unique_/, "");
    return info.meanings?.[stem];
  };

  /* Opens a table as it is in the file. */
  const open = async (table, keep = null) => {
    const mine = ++turn;
    opened = table;
    ask = keep ?? { filters: {}, sort: null, group: "", measured: "", page: 0 };
    fill();
    if (!view.contains(title)) view.replaceChildren(title, note, meanings, commands, controls, trouble, cells);
    title.textContent = table.path;
    const facts = [about(table.path) && `A row is ${about(table.path).about}.`, table.live && "This is what is known so far: the sweep writes the file when it ends."];
    note.replaceChildren(...prose(facts.filter(Boolean).join(" ")));
    const file = `${info.folder.replace(/\/$/, "")}/${table.path}`;
    const sql = name(table.path).replace(/\.\w+$/, "").replace(/^unique_/, "");
    const lines = table.live ? [] : [command(`duckdb -c "select * from '${file.replace(/'/g, "''")}' limit 20"`)];
    if (info.meanings?.[sql] && info.kind !== "sweep" && info.runs.includes(folder(table.path))) {
      lines.push(command(`paceline query ${word(folder(file))} "SELECT * FROM ${sql} LIMIT 20"`));
    }
    commands.replaceChildren(...lines);
    cells.classList.add("waits");
    rows.textContent = "Reading…";
    try {
      const found = await work("open", { url: `/${table.url}`, format: table.path.endsWith(".csv") ? "csv" : "parquet", size: table.size });
      if (mine !== turn) return;
      source = found.columns;
      const named = (values, first) => [el("option", { value: "" }, first), ...values.map((one) => el("option", { value: one }, one))];
      grouping.replaceChildren(...named(source.map((one) => one.name), "nothing"));
      grouping.value = ask.group;
      measures();
      const known = about(table.path)?.columns ?? {};
      const described = source.filter((one) => known[one.name] || unit(one.name));
      meanings.hidden = !described.length;
      meanings.querySelector("dl").replaceChildren(...described.flatMap(({ name }) => [el("dt", {}, name), el("dd", {}, ...prose([known[name], unit(name) && `in ${unit(name)}`].filter(Boolean).join(", ")))]));
      await refresh(mine);
    } catch (error) {
      if (mine === turn) fail(error);
    }
  };
  let source = [];

  const measures = () => {
    const numeric = source.filter((one) => !one.isText && one.name !== ask.group).map((one) => one.name);
    measure.replaceChildren(el("option", { value: "" }, "every number"), ...numeric.map((one) => el("option", { value: one }, one)));
    measure.value = numeric.includes(ask.measured) ? ask.measured : "";
    measure.disabled = !ask.group;
  };
  const regroup = () => {
    const numeric = source.filter((one) => !one.isText && one.name !== grouping.value).map((one) => one.name);
    ask.group = grouping.value;
    ask.measured = TELLING.find((one) => numeric.includes(one)) ?? numeric[0] ?? "";
    measures();
    change({ sort: null });
  };

  const fail = (error) => {
    trouble.textContent = error.message;
    trouble.hidden = false;
    rows.textContent = "";
    cells.classList.remove("waits");
  };

  const change = (what) => {
    Object.assign(ask, what, { page: 0 });
    const mine = ++turn;
    cells.classList.add("waits");
    refresh(mine).catch((error) => mine === turn && fail(error));
  };

  const refresh = async (mine) => {
    const numeric = source.filter((one) => !one.isText && one.name !== ask.group).map((one) => one.name);
    const filters = Object.fromEntries(Object.entries(ask.filters).filter(([, text]) => text.trim()));
    const found = await work("view", { filters, sort: ask.sort, group: ask.group, measured: ask.measured ? [ask.measured] : numeric });
    if (mine !== turn) return;
    const same = shape && head.childElementCount && shape.key === `${opened.path} ${ask.group}` && shape.columns.length === found.columns.length;
    shape = { ...found, key: `${opened.path} ${ask.group}` };
    if (!same) drawHead();
    for (const cell of head.rows[0].cells) {
      const own = ask.sort?.name === cell.dataset.name;
      cell.setAttribute("aria-sort", own ? (ask.sort.down ? "descending" : "ascending") : "none");
      cell.querySelector("span").textContent = own ? (ask.sort.down ? " ↓" : " ↑") : "";
    }
    rows.textContent = `${count(found.rows)} ${ask.group ? "groups" : "rows"}`;
    await draw(mine);
  };

  const drawHead = () => {
    const known = about(opened.path)?.columns ?? {};
    const sortBy = (name) => {
      const { sort } = ask;
      const next = sort?.name !== name ? { name, down: false } : sort.down ? null : { name, down: true };
      change({ sort: next });
    };
    const heads = shape.columns.map(({ name, isText }) => el("th", { scope: "col", "data-name": name, class: isText ? "text" : null, title: known[name] },
      el("button", { type: "button", onclick: () => sortBy(name) }, name, el("span", { "aria-hidden": "true" })), el("small", {}, unit(name))));
    head.replaceChildren(el("tr", {}, ...heads));
    if (ask.group) return;
    let timer = 0;
    const filter = (name, isText) => el("input", {
      type: "text", value: ask.filters[name] ?? "", spellcheck: "false", "data-filter": name, "aria-label": `Filter ${name}`, placeholder: isText ? "contains" : ">10, 1..5",
      title: isText ? "A part of the text; =text for all of it, !text for rows without it" : "A number, >10, <=10, !=10, 10..20, 10.., ..20",
      oninput: (event) => {
        clearTimeout(timer);
        ask.filters[name] = event.target.value;
        timer = setTimeout(() => change({}), 250);
      },
    });
    head.append(el("tr", {}, ...shape.columns.map(({ name, isText }) => el("th", { class: isText ? "text" : null }, filter(name, isText)))));
  };

  const turnTo = (page) => {
    ask.page = Math.max(0, Math.min(page, pages() - 1));
    const mine = ++turn;
    draw(mine).then(() => (cells.scrollTop = 0), (error) => mine === turn && fail(error));
  };

  /* Whole numbers as they are, others with the digits that tell. */
  const shown = (text) => (text.includes(".") || text.includes("e") ? String(Number(Number(text).toPrecision(7))) : text);
  const draw = async (mine) => {
    ask.page = Math.min(ask.page, pages() - 1);
    const from = ask.page * PAGE, to = Math.min(from + PAGE, shape.rows);
    const page = await work("page", { from, to });
    if (mine !== turn) return;
    body.replaceChildren(...page.map((row) => el("tr", {}, ...row.map((text, k) => {
      if (text === null) return el("td", { class: shape.columns[k].isText ? "text none" : "none" }, "–");
      return shape.columns[k].isText ? el("td", { class: "text", title: text.length > 50 ? text : null }, text) : el("td", { title: text }, shown(text));
    }))));
    where.textContent = shape.rows ? `${count(from + 1)}–${count(to)}` : "";
    steps.forEach((button, k) => (button.disabled = k < 2 ? ask.page === 0 : ask.page >= pages() - 1));
    trouble.hidden = true;
    cells.classList.remove("waits");
  };

  return {
    show() {
      if (!opened && listed.length) open(listed.find((one) => /^(flows|unique_flows|results)\./.test(name(one.path))) ?? listed[0]);
    },
    /* Takes the folder's tables as they are now. */
    list(status) {
      const key = (one) => (one ? `${one.url} ${one.size} ${one.changed}` : "");
      const find = () => opened && listed.find((one) => one.path === opened.path);
      const before = key(find());
      [listed, cut] = [status.tables, status.cut];
      const now = find();
      fill();
      if (now && (now.live || key(now) !== before)) open(now, ask);
      else if (!opened && !place.hidden) this.show();
    },
  };
};
