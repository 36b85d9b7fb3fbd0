// What is new? A stream of server-sent events that says when it is lost, comes back by itself, and rests while nobody looks.
import { refused } from "./notice.js";

const RETRY_MILLISECONDS = 3000;
const PATIENCE_MILLISECONDS = 1500;
const REST_MILLISECONDS = 10000;
const sign = document.getElementById("connection");

/** Say whether what the page shows is how things are. */
function tell(connected) {
  sign.hidden = connected;
  document.body.classList.toggle("offline", !connected);
}

/** A stream does not tell why it was refused: whoever is no longer known is asked for a token. */
function askWhy() {
  fetch("/pill", { headers: { Accept: "*/*" } }).then((answer) => { if (answer.status === 401) refused(401, ""); }, () => {});
}

/**
 * Follow a stream. `handlers` has a function (data, event) for each name of an event; `onreconnect` is called when the stream
 * came back after a loss or a rest, so that the page can fetch what it has missed. `url` may be a function, asked at each try.
 * Returns an object with close() and restart().
 */
export function connect(url, handlers, onreconnect = () => {}) {
  let source = null;
  let again = null;
  let complaint = null;
  let missed = false;

  const open = () => {
    clearTimeout(again);
    source?.close();
    source = new EventSource(typeof url === "function" ? url() : url);
    source.addEventListener("open", opened);
    source.addEventListener("error", failed);
    for (const [name, handler] of Object.entries(handlers)) {
      source.addEventListener(name, (event) => handler(event.data, event));
    }
  };
  const opened = () => {
    clearTimeout(complaint);
    complaint = null;
    tell(true);
    if (missed) onreconnect();
    missed = false;
  };
  const failed = () => {
    missed = true;
    complaint ??= setTimeout(() => tell(false), PATIENCE_MILLISECONDS);
    // The browser tries again by itself after a broken connection, but not after an answer that was an error.
    if (source.readyState !== EventSource.CLOSED) return;
    again = setTimeout(open, RETRY_MILLISECONDS);
    askWhy();
  };
  const rest = () => {
    clearTimeout(again);
    clearTimeout(complaint);
    complaint = null;
    source?.close();
    source = null;
  };

  // A browser has six connections to a server for all its tabs: a tab that nobody sees gives its one back.
  let resting = null;
  document.addEventListener("visibilitychange", () => {
    clearTimeout(resting);
    if (document.hidden) {
      resting = setTimeout(() => { rest(); missed = true; }, REST_MILLISECONDS);
    } else if (!source && !closed) {
      open();
    }
  });
  window.addEventListener("pagehide", () => { rest(); missed = true; });
  window.addEventListener("pageshow", (event) => { if (event.persisted && !closed) open(); });

  let closed = false;
  open();
  return {
    close() { closed = true; rest(); },
    restart() { if (!document.hidden) open(); },
  };
}

/** Put HTML in the place of an element, changing only what differs: focus, selection, scrolling and open menus survive. */
export function morph(element, html) {
  return window.htmx.swap({ text: html, target: element, sourceElement: element, swap: "outerMorph" });
}
