// The table of a task: a grid that draws only visible rows and loads them in windows. Cells are opened, approved and
// edited by keyboard and by mouse. It polls every few seconds and needs no stream, so that any number of tabs work.
import { tell } from "./connection.js";
import { Rows } from "./table_rows.js";
import { Panel } from "./record.js";

const POLL_MILLISECONDS = 2500;
const TYPING_MILLISECONDS = 250;
const TOP_MILLISECONDS = 10_000;
const table = document.getElementById("table");
const filters = document.getElementById("filters");
const words = JSON.parse(table.dataset.words);
const address = `/api/v1/tasks/${table.dataset.task}/table`;
const count = new Intl.NumberFormat(document.documentElement.lang, { useGrouping: true });
let filtering = null;

/** The filter as query parameters, the same in the page's address and for the server. */
function wanted() {
  const found = new URLSearchParams();
  for (const [name, value] of new FormData(filters)) if (value.trim()) found.append(name, value.trim());
  return found;
}

async function ask(query) {
  try {
    const answer = await fetch(`${address}?${query}`, { headers: { Accept: "application/json" } });
    tell("table", answer.status === 503 ? "database" : "");
    return answer.ok ? await answer.json() : null;
  } catch {
    tell("table", "offline");
    return null;
  }
}

const rows = new Rows(table, words, async (offset, limit) => {
  const query = wanted();
  query.set("offset", offset);
  query.set("limit", limit);
  query.set("brief", "true");
  const asked = filtering;
  const found = await ask(query);
  if (!found || asked !== filtering) return null;
  showFigures(found);
  refreshTop(found);
  return found;
});
const panel = new Panel(document.getElementById("panel"), table.dataset.task, {
  changed: () => rows.refresh(),
  closed: () => { keepAddress(); rows.focus(); },
});

let top = { state: table.dataset.state, documents: "", at: 0 };

/** Draw the state of the task and its downloads again: at once if the state changed, otherwise now and then. */
async function refreshTop(found) {
  const now = { state: found.state, documents: JSON.stringify(found.documents), at: Date.now() };
  const isNew = now.state !== top.state || (now.documents !== top.documents && now.at - top.at > TOP_MILLISECONDS);
  if (!top.documents) top = { ...now, state: top.state };
  if (!isNew) return;
  top = now;
  const answer = await fetch(location.pathname).catch(() => null);
  if (!answer?.ok) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const place of [".table-top h1", "#downloads:not(:has([open]))"]) {
    const drawn = document.querySelector(place);
    const made = fresh.querySelector(place);
    if (drawn && made) drawn.replaceWith(made);
  }
}

/** Counts beside the states, the progress, and the columns to filter by. */
function showFigures(found) {
  const cells = { ...found.cells, failed: found.documents.failed, open: found.documents.open };
  for (const place of filters.querySelectorAll("[data-count]")) {
    const number = cells[place.dataset.count] ?? 0;
    place.textContent = count.format(number);
    place.closest("label").classList.toggle("chip-none", !number);
  }
  const total = Object.values(found.cells).reduce((sum, one) => sum + one, 0);
  const progress = document.getElementById("progress");
  const said = progress.dataset.said.replace("{done}", count.format(found.reviewed)).replace("{total}", count.format(total));
  if (progress.textContent !== said) progress.textContent = said;
  document.getElementById("progress-bar").setAttribute("width", `${total ? (100 * found.reviewed) / total : 0}%`);
  showColumns(found.columns);
  showNote(found);
}

function showColumns(columns) {
  const select = filters.elements.column;
  if (select.options.length === columns.length + 1) return;
  const chosen = select.value || new URLSearchParams(location.search).get("column") || "";
  select.replaceChildren(select.options[0], ...columns.map((name) => new Option(name, name, false, name === chosen)));
}

function showNote(found) {
  const note = document.getElementById("table-note");
  const parts = [note.dataset.rows.replace("{count}", count.format(found.total))];
  if (found.unread) parts.push(note.dataset.unread.replace("{count}", count.format(found.unread)));
  const documents = Object.values(found.documents).reduce((sum, one) => sum + one, 0);
  if (found.is_cut) parts.push(note.dataset.cut.replace("{count}", count.format(documents)));
  const said = parts.join(" · ");
  if (note.textContent !== said) note.textContent = said;
  const empty = document.getElementById("table-empty");
  empty.hidden = found.total > 0;
  empty.textContent = wanted().size ? empty.dataset.filtered : empty.dataset.none;
}

/** Put the filter and the open cell into the URL, so that it can be shared. */
function keepAddress(cell = null) {
  const query = wanted();
  if (cell) for (const [name, value] of Object.entries({ key: cell.key, row: cell.row, cell: cell.column })) query.set(name, value);
  history.replaceState(null, "", query.size ? `?${query}` : location.pathname);
}

async function open(cell) {
  if (!cell?.column) return false;
  keepAddress(cell);
  return panel.show(cell);
}

function filter() {
  filtering = Symbol("filter");
  keepAddress();
  rows.restart();
}

function recall() {
  const asked = new URLSearchParams(location.search);
  for (const box of filters.querySelectorAll("[name=state]")) box.checked = asked.getAll("state").includes(box.value);
  filters.elements.document.value = asked.get("document") ?? "";
  if (asked.get("column")) filters.elements.column.append(new Option(asked.get("column"), asked.get("column"), true, true));
}

let typing = 0;
filters.addEventListener("submit", (event) => { event.preventDefault(); filter(); });
filters.addEventListener("change", filter);
filters.elements.document.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(filter, TYPING_MILLISECONDS);
});
table.addEventListener("click", (event) => {
  const cell = event.target.closest("[role=gridcell]");
  if (!cell) return;
  rows.moveTo(cell);
  open(rows.current());
});
table.addEventListener("keydown", async (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  if (rows.press(event.key)) {
    event.preventDefault();
    event.stopPropagation();
    if (panel.isOpen) panel.showSoon(rows.current());
    return;
  }
  if (event.key !== "Enter" && !"aenru".includes(event.key)) return;
  event.preventDefault();
  event.stopPropagation();
  const cell = rows.current();
  // A cell that is already shown reacts at once, so that nothing typed after the key is lost.
  if (!cell?.column || (!panel.shows(cell) && !(await open(cell)))) return;
  if (event.key === "Enter") panel.focus();
  else panel.press(event.key);
});

async function poll() {
  if (!document.hidden) await rows.refresh();
  setTimeout(poll, POLL_MILLISECONDS);
}

recall();
filtering = Symbol("filter");
const asked = new URLSearchParams(location.search);
await rows.restart();
if (asked.get("key") && asked.get("cell")) {
  await open({ key: asked.get("key"), row: Number(asked.get("row") ?? 1), column: asked.get("cell") });
}
table.dataset.ready = "yes";
setTimeout(poll, POLL_MILLISECONDS);
