// Shows whether the page is up to date: the server can be reached and can read its database.

const sign = document.getElementById("connection");
const troubles = new Map();
const WORST = ["database", "offline", "locked"];
const time = new Intl.DateTimeFormat(document.documentElement.lang, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
let goodAt = new Date();

/**
 * Report the state of an update source: "" if all is well, "offline", "database" or "locked"; `since` is the time of the last
 * good figures. While the database is only locked, the figures are still current.
 */
export function tell(source, trouble, since = null) {
  if (trouble) troubles.set(source, { trouble, since: troubles.get(source)?.since ?? since ?? goodAt });
  else troubles.delete(source);
  if (![...troubles.values()].some(({ trouble: one }) => one !== "locked")) goodAt = new Date();
  show();
}

function show() {
  const worst = [...troubles.values()].sort((one, other) => WORST.indexOf(one.trouble) - WORST.indexOf(other.trouble))[0];
  const isOld = Boolean(worst) && worst.trouble !== "locked";
  document.body.classList.toggle("offline", isOld);
  document.getElementById("main").toggleAttribute("aria-busy", isOld);
  sign.hidden = !worst;
  const text = worst ? sign.dataset[worst.trouble].replace("{time}", time.format(worst.since)) : "";
  // Screen readers announce only changes.
  if (sign.textContent !== text) sign.textContent = text;
}
