/* What the parts of the page share: elements, questions to the server, numbers. */
const root = document.documentElement;
const dark = matchMedia("(prefers-color-scheme: dark)");
const themed = [];

/* `draw` is called whenever colours change. */
export const onTheme = (draw) => themed.push(draw);
const paint = () => {
  root.classList.toggle("dark", dark.matches);
  for (const draw of themed) draw();
};
paint();
dark.addEventListener("change", paint);

export const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();

/* An element with attributes and children; `onclick` and the like are listeners. */
export const el = (tag, attributes = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children);
  return node;
};

/* Text in which backquotes mark code, as nodes. */
export const prose = (text) => text.split(/`([^`]*)`/).map((part, k) => (k % 2 ? el("code", {}, part) : part));

/* The server's answer to a question, or an error with its words. */
export const ask = async (path, query = {}, signal) => {
  const address = `/${path}?${new URLSearchParams(query).toString().replace(/\+/g, "%20")}`;
  const answer = await fetch(address, { signal });
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer.json();
};

const digits = (v) => {
  if (v === 0) return "0";
  const size = Math.abs(v);
  if (size >= 1e5) return Math.round(v).toLocaleString("en");
  if (size < 1e-3) return v.toExponential(1);
  return String(Number(v.toPrecision(4)));
};
const scaled = (v, steps) => {
  const [size, unit] = steps.find(([s]) => Math.abs(v) >= s) ?? steps[steps.length - 1];
  return `${digits(v / size)} ${unit}`;
};
export const bytes = (v) => scaled(v, [[1e9, "GB"], [1e6, "MB"], [1e3, "KB"], [1, "B"]]);
const TIMES = [[1e12, "s"], [1e9, "ms"], [1e6, "µs"], [1e3, "ns"], [1, "ps"]];
export const time = (ps) => scaled(ps, TIMES);
/* Times on an axis have one unit, and as many digits as tell neighbours apart. */
export const timesOn = (step, last) => {
  const [size, unit] = TIMES.find(([s]) => last >= s) ?? TIMES[4];
  const places = Math.max(0, Math.min(6, Math.ceil(-Math.log10(step / size) - 1e-9)));
  return (ps) => `${(ps / size).toLocaleString("en", { minimumFractionDigits: places, maximumFractionDigits: places })} ${unit}`;
};
export const count = (v) => v.toLocaleString("en");

/* A word of a command, in quotes where a shell needs them. */
export const word = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`);

/* A command with a button that copies it. */
export const command = (text) => {
  const copy = el("button", { type: "button", class: "small", "aria-label": "Copy the command" }, "Copy");
  copy.addEventListener("click", async () => {
    await navigator.clipboard.writeText(text);
    copy.textContent = "Copied";
    setTimeout(() => (copy.textContent = "Copy"), 1500);
  });
  return el("p", { class: "command" }, el("code", {}, text), copy);
};
