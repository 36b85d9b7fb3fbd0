// Shows short notices in a corner, announced by screen readers; request errors appear here automatically.
import { tell } from "./connection.js";

const region = document.getElementById("notice");
const KEPT_MILLISECONDS = { info: 6000, error: 20000 };

/** Show a message; kind is "info" or "error". `about` is the URL it came from: the next attempt there removes it. */
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

/** The message of a problem document, or a general one. */
export function sentenceOf(text) {
  try {
    const problem = JSON.parse(text);
    return problem.shown || problem.detail || region.dataset.failed;
  } catch {
    return region.dataset.failed;
  }
}

/** Remove notices about a URL, because they are outdated or being fixed. */
function withdraw(about) {
  for (const notice of [...region.children]) if (about && notice.dataset.about === about) notice.remove();
}

/** Show why the server refused a request; a reader who is logged out goes to the login page. */
export function refused(status, text, about = "") {
  if (status === 401) location.assign(`/login?next=${encodeURIComponent(location.pathname + location.search)}`);
  else notify(sentenceOf(text), "error", about);
}

/** Show that the server could not be reached. */
export function unreachable() {
  notify(region.dataset.offline, "error");
}

// If text/html is not accepted, the server sends errors as problem documents with one message.
document.addEventListener("htmx:config:request", ({ detail }) => {
  detail.ctx.request.headers.Accept = "*/*";
});
const isPoll = (ctx) => ctx?.sourceElement?.getAttribute?.("hx-trigger")?.startsWith("every");
const addressOf = (element) => element?.closest?.("[hx-post]")?.getAttribute("hx-post") ?? "";
// A hidden page does not poll. A new attempt, or a change to the refused input, removes the last error.
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
