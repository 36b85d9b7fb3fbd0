// What went wrong, or well? Short notices in a corner, read out by screen readers; errors of requests come here by themselves.
import { tell } from "./connection.js";

const region = document.getElementById("notice");
const KEPT_MILLISECONDS = { info: 6000, error: 20000 };

/** Show a sentence; kind is "info" or "error". `about` is the address that it came from: the next try there makes it old. */
export function notify(text, kind = "info", about = "") {
  if ([...region.children].some((shown) => shown.dataset.text === text)) return;
  const notice = document.createElement("div");
  notice.className = `notice notice-${kind}`;
  notice.dataset.text = text;
  notice.dataset.about = about;
  const sentence = document.createElement("p");
  sentence.textContent = text;
  const close = document.createElement("button");
  close.type = "button";
  close.className = "button quiet";
  close.textContent = "✕";
  close.setAttribute("aria-label", region.dataset.close);
  close.addEventListener("click", () => notice.remove());
  notice.append(sentence, close);
  region.append(notice);
  while (region.children.length > 4) region.firstElementChild.remove();
  setTimeout(() => notice.remove(), KEPT_MILLISECONDS[kind]);
}

/** The sentence of a problem document, or a general one. */
export function sentenceOf(text) {
  try {
    const problem = JSON.parse(text);
    return problem.shown || problem.detail || region.dataset.failed;
  } catch {
    return region.dataset.failed;
  }
}

/** What was said about an address is no longer true, or is being put right. */
function withdraw(about) {
  for (const notice of [...region.children]) if (about && notice.dataset.about === about) notice.remove();
}

/** A request that the server refused: say why; who is no longer known logs in again. */
export function refused(status, text, about = "") {
  if (status === 401) location.assign(`/login?next=${encodeURIComponent(location.pathname + location.search)}`);
  else notify(sentenceOf(text), "error", about);
}

/** The server could not be reached at all. */
export function unreachable() {
  notify(region.dataset.offline, "error");
}

// Without text/html among the accepted, the server tells errors as documents with one sentence.
document.addEventListener("htmx:config:request", ({ detail }) => {
  detail.ctx.request.headers.Accept = "*/*";
});
const isPoll = (ctx) => ctx?.sourceElement?.getAttribute?.("hx-trigger")?.startsWith("every");
const addressOf = (element) => element?.closest?.("[hx-post]")?.getAttribute("hx-post") ?? "";
// A page that nobody sees asks for nothing. A new try, or a change of what was refused, ends the complaint about the last one.
document.addEventListener("htmx:before:request", (event) => {
  const { ctx } = event.detail;
  if (document.hidden && isPoll(ctx)) event.preventDefault();
  if (!isPoll(ctx)) withdraw(addressOf(ctx.sourceElement));
});
document.addEventListener("input", ({ target }) => withdraw(addressOf(target)));
document.addEventListener("htmx:after:request", ({ detail }) => {
  if (isPoll(detail.ctx) && detail.ctx.response?.raw?.ok) tell("poll", "");
});
document.addEventListener("htmx:response:error", ({ detail }) => {
  const { status } = detail.ctx.response.raw;
  if (!isPoll(detail.ctx)) refused(status, detail.ctx.text, addressOf(detail.ctx.sourceElement));
  else tell("poll", status === 503 ? "database" : "");
});
document.addEventListener("htmx:error", ({ detail }) => {
  if (detail.error?.name === "AbortError") return;
  if (isPoll(detail.ctx)) tell("poll", "offline");
  else unreachable();
});
