// Keyboard shortcuts: j k move between rows, x selects, / searches, ? shows help, g t and g w navigate; p clicks data-key="p".

const help = document.getElementById("help");
const GO = { t: "/", w: "/workers" };
let goUntil = 0;

const isTyping = (element) => element.isContentEditable || /^(INPUT|SELECT|TEXTAREA)$/.test(element.tagName) && element.type !== "checkbox";
const rows = () => [...document.querySelectorAll("[data-row]")];

function move(step) {
  const all = rows();
  const here = all.findIndex((row) => row.contains(document.activeElement));
  const row = all[here < 0 ? (step > 0 ? 0 : all.length - 1) : here + step];
  const target = row?.querySelector("[data-open]") ?? row?.querySelector("a[href]") ?? row;
  target?.focus();
  row?.scrollIntoView({ block: "nearest" });
}

function select() {
  const row = document.activeElement?.closest("[data-row]");
  row?.querySelector("input[type=checkbox]")?.click();
}

function declared(key) {
  const row = document.activeElement?.closest("[data-row]");
  const within = [row, document].filter(Boolean);
  for (const place of within) {
    const found = [...place.querySelectorAll("[data-key]")].find(
      (element) => element.dataset.key === key && !element.disabled && (row?.contains(element) || !element.closest("[data-row]")));
    if (found) return found;
  }
  return null;
}

const ALWAYS = {
  j: () => move(1),
  k: () => move(-1),
  x: select,
  "/": () => document.getElementById("search")?.select(),
  "?": () => help.showModal(),
  g: () => { goUntil = Date.now() + 1500; },
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
  if (event.key === "Escape" && event.target.id === "search") event.target.blur();
  if (document.querySelector("dialog[open]") || isTyping(event.target)) return;
  if (Date.now() < goUntil && GO[event.key]) {
    location.assign(GO[event.key]);
    return;
  }
  goUntil = 0;
  const element = declared(event.key);
  // In browsers, Escape also stops loading, so start the navigation after that. The element may have been drawn again by then.
  if (element && event.key === "Escape") setTimeout(() => (element.isConnected ? element : declared("Escape"))?.click(), 50);
  else if (element) element.click();
  else if (ALWAYS[event.key]) ALWAYS[event.key]();
  else return;
  event.preventDefault();
});
