// Keeps a task's page up to date by a stream: head, failures, cells and events change in place.
import { Choosing } from "./choosing.js";
import { Grid } from "./grid.js";
import { connect, morph } from "./live.js";
import { notify } from "./notice.js";
import { localise } from "./times.js";
import "./models.js";
import "./leaving.js";

const root = document.getElementById("task");
const address = `/tasks/${root.dataset.task}`;
let newest = Number(root.dataset.newest);
let grid = null;
let choosing = null;

function makeGrid() {
  const canvas = document.getElementById("grid");
  grid = canvas && new Grid(canvas);
  choosing = grid && new Choosing(grid, address);
  if (canvas) canvas.dataset.ready = "yes";
}

/** Replace elements that have the same ids. */
function renew(html) {
  const made = document.createElement("template");
  made.innerHTML = html;
  return Promise.all([...made.content.children].map((element) => {
    const old = document.getElementById(element.id);
    return old && morph(old, element.outerHTML);
  }));
}

/** Fetch the page again: the head and the failures change in place, the grid is rebuilt. */
async function refresh() {
  const answer = await fetch(location.href, { headers: { Accept: "text/html" } }).catch(() => null);
  if (answer?.status === 404) gone();
  if (!answer?.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  await renew(["task-head", "legend", "held", "failures", "degraded"].map((id) => page.getElementById(id)?.outerHTML ?? "").join(""));
  const place = document.getElementById("grid-place");
  place.replaceWith(document.adoptNode(page.getElementById("grid-place")));
  window.htmx.process(document.getElementById("grid-place"));
  makeGrid();
  renewFolds(page);
}

/** Update the folds after a state change: headings, a new fold, and a result that may differ. */
function renewFolds(page) {
  for (const fold of page.querySelectorAll(".fold")) {
    const old = document.getElementById(fold.id);
    const facts = fold.querySelector("#facts");
    if (old && facts) morph(document.getElementById("facts"), facts.outerHTML);
    if (old) old.querySelector("h2").textContent = fold.querySelector("h2").textContent;
    else {
      document.querySelector(".folds").append(document.adoptNode(fold));
      window.htmx.process(fold);
    }
  }
  if (!page.querySelector(".leave")) document.querySelector(".leave")?.remove();
  const asSource = document.getElementById("result-view")?.dataset.source === "true" ? "?source=true" : "";
  if (document.getElementById("fold-result")?.open) window.htmx.ajax("GET", `${address}/result${asSource}`, { target: "#result" });
}

/** Replace the head; if the state changed, update more than the head. */
async function renewHead(html) {
  const state = () => document.getElementById("task-head").dataset.state;
  const before = state();
  await renew(html);
  if (state() !== before) refresh();
}

function drawCells(data) {
  const message = JSON.parse(data);
  // Another stage is counted now, or its items changed.
  if (grid ? grid.take(message) : message.total > 1) refresh();
  else if (grid?.selected.size) choosing.tell();
}

function addEvents(html, event) {
  newest = Math.max(newest, Number(event.lastEventId) || 0);
  const rows = document.getElementById("event-rows");
  if (!rows) return;
  const made = document.createElement("template");
  made.innerHTML = `<table><tbody>${html}</tbody></table>`;
  const oldest = Math.min(...[...rows.querySelectorAll("[data-event]")].map((row) => Number(row.dataset.event)));
  const fresh = [...made.content.querySelectorAll("[data-event]")]
    .filter((row) => !document.getElementById(row.id) && Number(row.dataset.event) > oldest);
  rows.prepend(...fresh);
  localise(rows);
}

function gone() {
  stream.close();
  notify(root.dataset.gone);
  setTimeout(() => location.assign("/"), 800);
}

/** A URL may name the next step, as the buttons of the list do: open it and focus its first field. */
function unfold() {
  const place = document.getElementById(location.hash.slice(1) || "none");
  if (!place) return;
  const helping = place.querySelector(".help-with");
  const fold = place.matches("details") ? place : place.querySelector(".other-options");
  if (fold && !helping) fold.open = true;
  (helping ?? fold)?.querySelector("input:not([type=hidden]), select")?.focus();
}

/** Load the folds that were opened before htmx listened; each loads only once. */
function loadOpenFolds() {
  for (const fold of document.querySelectorAll(".fold[open]")) window.htmx.trigger(fold, "toggle");
}

addEventListener("hashchange", unfold);
document.addEventListener("click", (event) => {
  if (event.target.closest("a[href='#failures']")) setTimeout(unfold);
});
// Run after the load event: a browser that scrolls to the anchor itself would remove the focus again.
function opened() {
  unfold();
  loadOpenFolds();
}
if (document.readyState === "complete") opened();
else addEventListener("load", () => setTimeout(opened));
makeGrid();
const stream = connect(() => `/live${address}?after=${newest}`, {
  head: renewHead,
  failures: renew,
  cells: drawCells,
  event: addEvents,
  gone,
}, refresh);
