// The changes of a task: a list of paragraphs before and after, filtered, stepped through and decided about by keyboard and
// by mouse. It polls every few seconds and needs no stream, so that any number of tabs work.
import { tell } from "./connection.js";
import { ask as confirm } from "./confirm.js";
import { Blocks } from "./changes_blocks.js";
import { named, RowDrawing } from "./changes_row.js";
import { notify, refused, unreachable } from "./notice.js";

const POLL_MILLISECONDS = 2500;
const TYPING_MILLISECONDS = 250;
const VERDICTS = { a: "accept", r: "reject", u: "undo" };
const place = document.getElementById("changes");
const filters = document.getElementById("filters");
const { task, stage } = place.dataset;
const decides = place.dataset.decides === "yes";
const words = JSON.parse(place.dataset.words);
const address = `/tasks/${task}/changes`;
const count = new Intl.NumberFormat(document.documentElement.lang, { useGrouping: true });
const drawing = new RowDrawing(words, task, stage, decides);
let filtering = null;
let asOf = null;
let known = { version: 0, decision: 0 };
let current = null;

/** The filter as query parameters, the same in the page's address and for the server. */
function wanted() {
  const found = new URLSearchParams();
  for (const [name, value] of new FormData(filters)) if (value.trim()) found.append(name, value.trim());
  return found;
}

async function ask(more) {
  const query = wanted();
  for (const [name, value] of Object.entries(more)) query.set(name, value);
  try {
    const answer = await fetch(`${address}/window?${query}`, { headers: { Accept: "application/json" } });
    tell("changes", answer.status === 503 ? "database" : "");
    return answer.ok ? await answer.json() : null;
  } catch {
    tell("changes", "offline");
    return null;
  }
}

/** Send JSON; resolves to the answer, or null if it was refused. */
async function send(address, value) {
  const headers = { "Content-Type": "application/json", Accept: "application/json" };
  const answer = await fetch(address, { method: "POST", headers, body: JSON.stringify(value) }).catch(() => null);
  if (!answer) unreachable();
  else if (!answer.ok) refused(answer.status, await answer.text(), address);
  return answer?.ok ? answer.json() : null;
}

const blocks = new Blocks(document.getElementById("pairs"), async (offset, limit) => {
  const asked = filtering;
  const found = await ask({ offset, limit, ...(asOf === null ? {} : { as_of: asOf }) });
  if (!found || asked !== filtering) return null;
  asOf ??= found.as_of;
  known = { version: found.version, decision: Math.max(known.decision, found.as_of) };
  showFigures(found);
  return found;
}, (row) => drawing.draw(row));

/** The progress, counts beside the states, and the values to filter by. */
function showFigures(found) {
  const counts = { ...found.states, "": found.changes };
  for (const one of filters.querySelectorAll("[data-count]")) one.textContent = count.format(counts[one.dataset.count] ?? 0);
  say("progress", words.progress.replace("{done}", count.format(found.decided)).replace("{total}", count.format(found.changes)));
  document.getElementById("progress-bar").setAttribute("width", `${found.changes ? (100 * found.decided) / found.changes : 0}%`);
  showChoices("kind", Object.keys(found.kinds));
  showChoices("topic", Object.keys(found.topics));
  const origins = Object.keys(found.origins);
  showChoices("origin", [...new Set(origins.map((name) => name.split(":")[0]))].filter((kind) => !origins.includes(kind)).concat(origins.sort()));
  if (!found.offset) showChoices("chapter", found.chapters);
  const parts = [words.fitting.replace("{count}", count.format(found.fitting)), words.paragraphs.replace("{count}", count.format(found.total))];
  if (found.unread) parts.push(words.unread.replace("{count}", count.format(found.unread)));
  if (found.is_cut) parts.push(words.cut);
  say("note", parts.join(" · "));
  const all = document.getElementById("all");
  if (all) all.hidden = !found.fitting;
  const empty = document.getElementById("empty");
  empty.hidden = found.total > 0;
  empty.textContent = wanted().size ? empty.dataset.filtered : empty.dataset.none;
}

function say(id, text) {
  const element = document.getElementById(id);
  if (element.textContent !== text) element.textContent = text;
}

function showChoices(name, values) {
  const select = filters.elements[name];
  const chosen = select.value || new URLSearchParams(location.search).get(name) || "";
  const shown = chosen && !values.includes(chosen) ? [...values, chosen] : values;
  if (shown.join("\n") === [...select.options].slice(1).map((option) => option.value).join("\n")) return;
  const said = (value) => (name === "chapter" ? value : named(value, words));
  select.replaceChildren(select.options[0], ...shown.map((value) => new Option(said(value), value, false, value === chosen)));
}

async function filter() {
  filtering = Symbol("filter");
  asOf = null;
  current = null;
  const query = wanted();
  history.replaceState(null, "", query.size ? `?${query}` : location.pathname);
  await blocks.restart();
}

/** Set the filter from the page's address. */
function recall() {
  const asked = new URLSearchParams(location.search);
  for (const box of filters.querySelectorAll("[name=state]")) box.checked = box.value === (asked.get("state") ?? "");
  filters.elements.text.value = asked.get("text") ?? "";
  filters.elements.whole.checked = asked.has("whole");
  for (const name of ["kind", "topic", "origin", "chapter"]) if (asked.get(name)) showChoices(name, [asked.get(name)]);
}

/** Make a change the current one: its marks stand out in the text. */
function choose(stop) {
  for (const one of place.querySelectorAll(".is-current")) one.classList.remove("is-current");
  current = stop;
  stop.classList.add("is-current");
  for (const mark of stop.closest(".pair").querySelectorAll("[data-mark]")) mark.classList.toggle("is-current", mark.dataset.mark === stop.dataset.change);
}

async function step(direction) {
  const from = here();
  const next = await blocks.next(from, direction);
  next?.focus({ preventScroll: true });
  next?.closest(".pair").scrollIntoView({ block: "nearest" });
  next?.scrollIntoView({ block: "nearest" });
}

const here = () => document.activeElement?.closest?.("[data-stop]") ?? (current?.isConnected ? current : null);

/** Decide about the change that an element shows, and show the decision at once. */
async function decide(stop, verdict, value = null) {
  const found = blocks.find(stop);
  if (!found || !decides) return;
  const { block, row, change } = found;
  if (verdict === "undo" && !change.decision) return;
  const wish = { item: row.item, part: change.key, verdict, ...(verdict === "replace" ? { value } : {}) };
  if (!(await send(`/api/v1/tasks/${task}/decisions`, { decisions: [wish], stage }))) return;
  stop.querySelector(".change-edit")?.remove();
  await block.loading;
  await blocks.request(block);
}

function edit(stop) {
  const found = blocks.find(stop);
  if (!found || !decides || stop.querySelector(".change-edit")) return;
  stop.append(drawing.editing(found.change));
  const field = stop.querySelector("textarea");
  field.focus();
  field.select();
}

function closeEdit(stop) {
  stop.querySelector(".change-edit")?.remove();
  stop.focus({ preventScroll: true });
}

function press(key, stop) {
  if (key === "e") edit(stop);
  else if (key === "Escape") closeEdit(stop);
  else decide(stop, VERDICTS[key]);
}

async function decideAll(verdict) {
  const found = await ask({ offset: 1_000_000, limit: 1 });
  if (!found || !(await confirm(words.sure[verdict].replace("{count}", count.format(found.fitting))))) return;
  const wish = Object.fromEntries([...wanted()].filter(([name]) => name !== "whole"));
  const done = await send(`${address}/decide`, { ...wish, verdict });
  if (!done) return;
  notify(words.many.replace("{count}", count.format(done.decided)));
  await blocks.refresh();
}

async function poll() {
  if (!document.hidden) {
    const asked = filtering;
    const found = await ask({ offset: Math.max(1, blocks.total), limit: 1 });
    if (found && asked === filtering) {
      const isNew = found.version !== known.version || found.as_of !== known.decision;
      known = { version: found.version, decision: found.as_of };
      if (isNew) await blocks.refresh();
    }
  }
  setTimeout(poll, POLL_MILLISECONDS);
}

let typing = 0;
filters.addEventListener("submit", (event) => { event.preventDefault(); filter(); });
filters.addEventListener("change", filter);
filters.elements.text.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(filter, TYPING_MILLISECONDS);
});
document.getElementById("all")?.addEventListener("click", (event) => {
  const verdict = event.target.closest("[data-all]")?.dataset.all;
  if (verdict) decideAll(verdict);
});
document.getElementById("marks").addEventListener("click", ({ currentTarget }) => {
  const isOff = place.classList.toggle("without-marks");
  currentTarget.setAttribute("aria-pressed", String(!isOff));
});
place.addEventListener("focusin", ({ target }) => {
  const stop = target.closest("[data-stop]");
  if (stop) choose(stop);
});
place.addEventListener("click", ({ target }) => {
  const button = target.closest("[data-press]");
  if (button) return press(button.dataset.press, button.closest("[data-stop]"));
  const mark = target.closest("[data-mark]");
  const stops = mark ? [...mark.closest(".pair").querySelectorAll("[data-change]")] : [];
  stops.find((one) => one.dataset.change === mark.dataset.mark)?.focus();
});
place.addEventListener("submit", (event) => {
  event.preventDefault();
  const stop = event.target.closest("[data-stop]");
  const value = event.target.elements.value.value;
  stop.focus({ preventScroll: true });
  decide(stop, "replace", value);
});
// Before the keys of all pages, which would move between the rows of a list.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing || document.querySelector("dialog[open]")) return;
  const stop = event.target.closest("[data-stop]");
  if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) {
    if (!stop) return;
    if (event.key === "Escape") closeEdit(stop);
    else if (event.key === "Enter" && !event.shiftKey) event.target.form.requestSubmit();
    else return;
  } else if (event.key === "j" || event.key === "k") step(event.key === "j" ? 1 : -1);
  else if ("areu".includes(event.key) && here()) {
    if (stop) press(event.key, stop);
    else here().focus();
  } else return;
  event.preventDefault();
  event.stopImmediatePropagation();
}, { capture: true });

recall();
filtering = Symbol("filter");
await blocks.restart();
place.dataset.ready = "yes";
setTimeout(poll, POLL_MILLISECONDS);
