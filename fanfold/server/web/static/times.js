// Writes every <time datetime> in the reader's zone and language; its title keeps UTC.

const language = document.documentElement.lang;
const sameDay = new Intl.DateTimeFormat(language, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const otherDay = new Intl.DateTimeFormat(language, {
  year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", hourCycle: "h23",
});

const ages = new Intl.RelativeTimeFormat(language, { style: "narrow" });
const UNITS = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];

/** Age of a moment, in its largest unit. */
function ageOf(moment) {
  const seconds = Math.max(0, (Date.now() - moment) / 1000);
  const [unit, length] = UNITS.find(([, one]) => seconds >= one) ?? UNITS.at(-1);
  return ages.format(-Math.floor(seconds / length), unit);
}

/** Format the times inside an element for the reader. */
export function localise(root) {
  const today = new Date().toDateString();
  for (const element of root.querySelectorAll("time[datetime]")) {
    const moment = new Date(element.dateTime);
    if (Number.isNaN(moment.getTime())) continue;
    const text = "age" in element.dataset ? ageOf(moment) : (moment.toDateString() === today ? sameDay : otherDay).format(moment);
    if (element.textContent !== text) element.textContent = text;
    element.title = moment.toISOString().replace("T", " ").slice(0, 19) + " UTC";
  }
}
