// Keeps the list up to date: rows change in place; the list is fetched again when tasks are added, removed or change groups.
import { connect, morph } from "./live.js";
import { refused } from "./notice.js";

const REFRESH_MILLISECONDS = 1500;
const list = () => document.getElementById("list");
const dialog = document.getElementById("bulk-dialog");
let followed = null;
let refreshing = false;
let wanted = false;
let timer = null;

const idsShown = () => list().dataset.ids;
const address = () => {
  followed = idsShown();
  return `/live/tasks?${list().dataset.query}&ids=${followed}`;
};

async function refresh() {
  clearTimeout(timer);
  timer = null;
  if (refreshing) {
    wanted = true;
    return;
  }
  refreshing = true;
  try {
    const answer = await fetch(location.href, { headers: { "HX-Request": "true", Accept: "*/*" } });
    const text = await answer.text();
    if (answer.ok) await morph(list(), text);
    else refused(answer.status, text);
  } catch {
    // The stream reports that the server is unreachable, and requests a refresh when it is back.
  } finally {
    refreshing = false;
  }
  picked();
  if (idsShown() !== followed) stream.restart();
  if (wanted) {
    wanted = false;
    soon();
  }
}

function soon() {
  timer ??= setTimeout(refresh, REFRESH_MILLISECONDS);
}

const stream = connect(address, {
  row(html) {
    const id = /id="(task-[^"]+)"/.exec(html)?.[1];
    const row = id && document.getElementById(id);
    if (row) morph(row, html);
  },
  gone(id) {
    document.getElementById(id)?.remove();
    picked();
  },
  refresh: soon,
}, refresh);

document.addEventListener("fanfold:changed", () => {
  clearTimeout(timer);
  timer = setTimeout(refresh, 100);
});

// Choosing a filter submits it; the button is for browsers without scripts.
document.addEventListener("change", (event) => {
  if (event.target.closest(".filter-fields")) event.target.form.requestSubmit();
});
document.addEventListener("submit", (event) => {
  if (!event.target.matches(".filter-fields, .search")) return;
  for (const field of event.target.elements) if (field.name && !field.value) field.disabled = true;
});

const boxes = () => [...document.querySelectorAll("input[name=task]")];
let chosen = null;
let everywhere = null;

/** Number of selected tasks for which each command is possible. */
function possible() {
  const counts = {};
  for (const box of boxes().filter((one) => one.checked)) {
    for (const command of box.closest("[data-commands]").dataset.commands.split(" ")) counts[command] = (counts[command] ?? 0) + 1;
  }
  return counts;
}

/** Offer only the commands possible for the selection, and preselect the first unless the reader has chosen another. */
function offer(counts) {
  const select = document.getElementById("bulk-command");
  for (const option of select.options) {
    const many = counts[option.value];
    option.hidden = option.disabled = !many;
    option.textContent = many ? `${option.dataset.label} (${many})` : option.dataset.label;
  }
  const fits = [...select.options].filter((option) => !option.disabled);
  select.value = (fits.find((option) => option.value === chosen) ?? fits[0])?.value ?? "";
  select.form.querySelector("button").disabled = !fits.length;
}

/** Ask the server what is possible for all matches, including other pages. */
async function askEverywhere() {
  const query = new URLSearchParams(list().dataset.query);
  query.delete("after");
  const answer = await fetch(`/bulk/possible?${query}`).catch(() => null);
  everywhere = answer?.ok ? await answer.json() : null;
  picked();
}

function picked() {
  const form = document.getElementById("bulk");
  if (!form) return;
  const count = boxes().filter((box) => box.checked).length;
  const every = document.getElementById("pick-every")?.checked;
  const all = document.getElementById("pick-all");
  all.checked = count > 0 && count === boxes().length;
  all.indeterminate = count > 0 && count < boxes().length;
  form.classList.toggle("has-picked", count > 0 || Boolean(every));
  const shown = document.getElementById("picked");
  shown.textContent = every || !count ? "" : shown.dataset.text.replace("{count}", count);
  if (every && !everywhere) return;
  if (every || count) offer(every ? everywhere : possible());
}

document.addEventListener("change", (event) => {
  if (event.target.id === "pick-all") for (const box of boxes()) box.checked = event.target.checked;
  if (event.target.id === "bulk-command") chosen = event.target.value;
  everywhere = null;
  if (event.target.matches("#pick-all, #pick-every, input[name=task]")) picked();
  if (document.getElementById("pick-every")?.checked) askEverywhere();
});

document.addEventListener("htmx:after:swap", (event) => {
  if (event.detail.ctx.target?.id !== "bulk-body" && event.detail.ctx.target !== "#bulk-body") return;
  if (!dialog.open) dialog.showModal();
});
dialog?.addEventListener("click", (event) => {
  if (event.target.closest("[data-close]")) dialog.close();
});
dialog?.addEventListener("fanfold:changed", () => {
  for (const box of boxes()) box.checked = false;
  const every = document.getElementById("pick-every");
  if (every) every.checked = false;
  chosen = everywhere = null;
  picked();
});
picked();

// On a phone the groups are in a strip wider than the screen.
// scrollIntoView() would move the start of the Tab order there and skip everything before.
const current = document.querySelector(".filters [aria-current]");
if (current) current.parentElement.scrollLeft = current.offsetLeft - current.parentElement.offsetLeft - 16;
