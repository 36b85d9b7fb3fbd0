// An item's page: watches the task and reloads the item when it has been redone.
import { positionsIn, STATES, unpacked } from "./cells.js";
import { connect, morph } from "./live.js";
import { notify } from "./notice.js";
import "./copying.js";
import "./models.js";
import "./picture.js";

const PAUSE_MILLISECONDS = 250;
const SETTLED = ["done", "failed"];
const item = () => document.getElementById("item");
const stream = connect(`/live/tasks/${item().dataset.task}?show=item`, { cells, moved, gone }, () => load(location.href));
let isInCells = false;
let loading = null;

/** Show another tab, or the current state of the item; the picture stays in place. */
async function load(address) {
  const before = { ...item().dataset };
  const answer = await fetch(address, { headers: { Accept: "text/html" } }).catch(() => null);
  if (!answer?.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  await morph(item(), page.getElementById("item").outerHTML);
  const { made, state } = item().dataset;
  if (before.made !== made && state === "done" && document.getElementById("tab-changes")) notify(item().dataset.new);
}

/** Reload soon, at most once per moment. */
function loadSoon() {
  loading ??= setTimeout(async () => {
    await load(location.href);
    loading = null;
  }, PAUSE_MILLISECONDS);
}

/** The state of an item by its letter; a degraded result counts as done. */
const stateOf = (letter) => (letter === "g" ? "done" : STATES[letter]);

function cells(data) {
  const message = JSON.parse(data);
  const { stage, position, state } = item().dataset;
  const at = Number(position);
  if (message.all !== undefined) {
    isInCells = message.stage === stage && message.width === 1;
    if (isInCells && stateOf(unpacked(message.all)[at]) !== state) loadSoon();
  } else if (isInCells) {
    for (const ranges of Object.values(message.c)) {
      for (const changed of positionsIn(ranges)) if (changed === at) loadSoon();
    }
  }
}

function moved() {
  if (!isInCells && !SETTLED.includes(item().dataset.state)) loadSoon();
}

// A command may not change the cell: an accepted result stays degraded.
document.addEventListener("fanfold:changed", loadSoon);

function gone() {
  stream.close();
  notify(item().dataset.gone, "error");
}

document.addEventListener("click", (event) => {
  const tab = event.target.closest?.("[data-tab]");
  if (!tab || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  history.replaceState(null, "", tab.href);
  load(tab.href);
});
