// What does every page do by itself? It tells errors, asks before dangerous commands, heeds keys, and shows times in the reader's zone.
import "./notice.js";
import "./confirm.js";
import "./copying.js";
import "./keys.js";
import { localise } from "./times.js";

document.documentElement.classList.add("scripted");
localise(document);
document.addEventListener("htmx:after:swap", () => localise(document));
// Ages grow by themselves.
if (document.querySelector("[data-age]")) setInterval(() => localise(document), 15000);

// A menu closes when the reader looks elsewhere.
document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});
document.addEventListener("keydown", (event) => {
  const menu = event.key === "Escape" && document.querySelector("details.menu[open]");
  if (menu) {
    menu.open = false;
    menu.querySelector("summary").focus();
  }
});
