// Behaviour of every page: shows errors, confirms dangerous commands, handles keys, and shows times in the reader's zone.
import "./notice.js";
import "./confirm.js";
import "./copying.js";
import "./keys.js";
import { localise } from "./times.js";

document.documentElement.classList.add("scripted");
localise(document);
document.addEventListener("htmx:after:swap", () => localise(document));
// Update ages regularly.
if (document.querySelector("[data-age]")) setInterval(() => localise(document), 15000);

// Close a menu on a click or focus elsewhere.
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
