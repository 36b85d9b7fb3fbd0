// Says whether what the page shows is how things are: the server can be reached, and the server can read its database.

const sign = document.getElementById("connection");
const troubles = new Map();
const WORST = ["database", "offline", "locked"];
const time = new Intl.DateTimeFormat(document.documentElement.lang, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
let goodAt = new Date();

/**
 * What a source of news found: "" when all is well, "offline", "database" or "locked"; `since` is when the figures were true.
 * While the database is only locked they still are.
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
  // Only what is new is read out.
  if (sign.textContent !== text) sign.textContent = text;
}
