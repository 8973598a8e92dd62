import { ask, count, el } from "/assets/ui.js";
import { tables } from "/assets/table.js";
import { timeline } from "/assets/timeline.js";

/* The token is in a cookie now: without it the address can be shown. */
history.replaceState(null, "", location.pathname + location.hash);

const POLL = 2000, RELOAD = 10_000;
const by = (id) => document.getElementById(id);
const info = await ask("api/info");
by("kind").textContent = info.kind;
by("name").textContent = info.name;
by("name").title = info.folder;
document.title = `${info.name} · Paceline`;

const names = ["report", "tables", "timeline"].filter((name) => name !== "timeline" || info.runs.length);
by("tab-timeline").hidden = !info.runs.length;
const frame = by("frame");
const views = { tables: tables(by("tables"), info), timeline: info.runs.length ? timeline(by("timeline"), info) : null };
const show = (chosen) => {
  for (const name of names) {
    const own = name === chosen;
    by(name).hidden = !own;
    by(`tab-${name}`).setAttribute("aria-selected", own);
    by(`tab-${name}`).tabIndex = own ? 0 : -1;
  }
  if (chosen === "report" && !frame.src) frame.src = `/${info.page}`;
  views[chosen]?.show();
};
const chosen = () => names.find((name) => location.hash === `#${name}`) ?? "report";
for (const name of names) by(`tab-${name}`).addEventListener("click", () => (location.hash = name));
/* From a run's report, to which that of a comparison leads, a second click comes back. */
by("tab-report").addEventListener("click", () => {
  if (!by("report").hidden && frame.src) frame.src = `/${info.page}`;
});
by("tabs").addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  const next = names[(names.indexOf(chosen()) + step + names.length) % names.length];
  location.hash = next;
  by(`tab-${next}`).focus();
});
addEventListener("hashchange", () => show(chosen()));

/* The folder is looked at again and again: a sweep grows, and a run may be replaced. */
let stamp = null, reloaded = Date.now(), waits = false;
const state = by("state");
const told = (status) => {
  if (status.planned === null) return "";
  if (!status.under_way) return `${count(status.done)} runs`;
  return `Under way or interrupted: ${count(status.done)} of ${count(status.planned)} runs are finished`;
};
const look = async () => {
  try {
    const status = await ask("api/status");
    state.replaceChildren(el("span", { class: status.under_way ? "under-way" : "" }, told(status)));
    const changed = stamp !== null && stamp !== status.stamp;
    if (stamp !== status.stamp) views.tables.list(status);
    if (changed) views.timeline?.changed();
    waits ||= changed;
    if (waits && frame.src && Date.now() - reloaded > RELOAD) {
      [waits, reloaded] = [false, Date.now()];
      frame.src = `/${info.page}`;
    }
    stamp = status.stamp;
  } catch (error) {
    state.textContent = `No answer: ${error.message === "Failed to fetch" ? "the command has ended" : error.message}`;
  }
  setTimeout(look, POLL);
};
await look();
show(chosen());
