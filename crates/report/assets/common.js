"use strict";
/* What the parts of the page share: elements, colours, numbers. */
const Paceline = (() => {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const themed = [];

  const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const el = (tag, attributes = {}, ...children) => {
    const node = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    for (const child of children) node.append(child);
    return node;
  };

  /* Text in which `this` is code, as nodes. */
  const prose = (text) => text.split(/`([^`]*)`/).map((part, i) => i % 2 ? el("code", {}, part) : part);

  /* The largest and the smallest of a list, however long: calls take some 100,000 arguments. */
  const most = (list, floor = -Infinity) => list.reduce((found, v) => v > found ? v : found, floor);
  const least = (list, ceiling = Infinity) => list.reduce((found, v) => v < found ? v : found, ceiling);

  const digits = (v) => {
    if (v === 0) return "0";
    const size = Math.abs(v);
    if (size >= 1e5) return Math.round(v).toLocaleString("en");
    if (size < 1e-3) return v.toExponential(1);
    return String(Number(v.toPrecision(4)));
  };
  const scaled = (v, steps) => {
    const [size, unit] = steps.find(([s]) => Math.abs(v) >= s) ?? steps[steps.length - 1];
    return digits(v / size) + " " + unit;
  };
  const BYTES = [[1e9, "GB"], [1e6, "MB"], [1e3, "KB"], [1, "B"]];
  const MICROSECONDS = [[1e6, "s"], [1e3, "ms"], [1, "µs"], [1e-3, "ns"]];

  /* `draw` is called now, and whenever colours change: with the theme, and for paper. */
  const paint = (isDark) => {
    root.classList.toggle("dark", isDark);
    for (const draw of themed) draw();
  };
  const onTheme = (draw) => {
    themed.push(draw);
    draw();
  };
  paint(dark.matches);
  dark.addEventListener("change", () => paint(dark.matches));
  addEventListener("beforeprint", () => paint(false));
  addEventListener("afterprint", () => paint(dark.matches));

  /* Commands name the folder that the page lies in, where it is one of this machine. */
  const folder = location.protocol === "file:" ? decodeURIComponent(location.pathname).replace(/\/[^/]*$/, "") : "RUN";
  const quoted = /^[\w@%+=:,./-]*$/.test(folder) ? folder : `'${folder.replace(/'/g, "'\\''")}'`;
  const whyCommand = (flow) => `paceline why ${quoted} ${flow}`;
  for (const code of document.querySelectorAll("code.why")) code.textContent = whyCommand(code.dataset.flow);

  return { whyCommand, css, el, prose, most, least, digits, scaled, BYTES, MICROSECONDS, onTheme };
})();
