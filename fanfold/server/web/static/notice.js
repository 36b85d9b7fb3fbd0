// What went wrong, or well? Short notices in a corner, read out by screen readers; errors of requests come here by themselves.
import { tell } from "./connection.js";

const region = document.getElementById("notice");
const KEPT_MILLISECONDS = { info: 6000, error: 20000 };

/** Show a sentence; kind is "info" or "error". */
export function notify(text, kind = "info") {
  if ([...region.children].some((shown) => shown.dataset.text === text)) return;
  const notice = document.createElement("div");
  notice.className = `notice notice-${kind}`;
  notice.dataset.text = text;
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
    return JSON.parse(text).detail || region.dataset.failed;
  } catch {
    return region.dataset.failed;
  }
}

/** A request that the server refused: say why; who is no longer known logs in again. */
export function refused(status, text) {
  if (status === 401) location.assign(`/login?next=${encodeURIComponent(location.pathname + location.search)}`);
  else notify(sentenceOf(text), "error");
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
// A page that nobody sees asks for nothing.
document.addEventListener("htmx:before:request", (event) => {
  if (document.hidden && isPoll(event.detail.ctx)) event.preventDefault();
});
document.addEventListener("htmx:after:request", ({ detail }) => {
  if (isPoll(detail.ctx) && detail.ctx.response?.raw?.ok) tell("poll", "");
});
document.addEventListener("htmx:response:error", ({ detail }) => {
  const { status } = detail.ctx.response.raw;
  if (!isPoll(detail.ctx)) refused(status, detail.ctx.text);
  else tell("poll", status === 503 ? "database" : "");
});
document.addEventListener("htmx:error", ({ detail }) => {
  if (detail.error?.name === "AbortError") return;
  if (isPoll(detail.ctx)) tell("poll", "offline");
  else unreachable();
});
