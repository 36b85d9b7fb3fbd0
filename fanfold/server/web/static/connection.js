// Says whether what the page shows is how things are: the server can be reached, and the server can read its database.

const sign = document.getElementById("connection");
const troubles = new Map();
const time = new Intl.DateTimeFormat(document.documentElement.lang, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
let goodAt = new Date();

/** What a source of news found: "" when all is well, "offline" or "database"; `since` is when the figures were true. */
export function tell(source, trouble, since = null) {
  if (trouble) troubles.set(source, { trouble, since: troubles.get(source)?.since ?? since ?? goodAt });
  else troubles.delete(source);
  if (!troubles.size) goodAt = new Date();
  show();
}

function show() {
  const worst = [...troubles.values()].sort((one, other) => one.trouble.localeCompare(other.trouble))[0];
  document.body.classList.toggle("offline", Boolean(worst));
  document.getElementById("main").toggleAttribute("aria-busy", Boolean(worst));
  sign.hidden = !worst;
  const text = worst ? sign.dataset[worst.trouble].replace("{time}", time.format(worst.since)) : "";
  // Only what is new is read out.
  if (sign.textContent !== text) sign.textContent = text;
}
