// Delivers updates: of all open pages, one has a stream of server-sent events, the others poll, and hidden ones do nothing.
// A browser shares six connections to a server among its tabs, so a stream in each would leave none for anything else.
import { tell } from "./connection.js";
import { refused } from "./notice.js";

const RETRY_MILLISECONDS = 3000;
const PATIENCE_MILLISECONDS = 1500;
const REST_MILLISECONDS = 500;
const POLL_MILLISECONDS = 2500;
const ANSWER_MILLISECONDS = 4000;
const HELLO_MILLISECONDS = 1500;
const SILENT_MILLISECONDS = 10000;
const LOCK = "fanfold:stream";
const DATABASE = "fanfold:database";

/** A stream does not say why it was refused, so find out: the database is lost, or the reader is logged out. */
async function askWhy() {
  const health = await fetch("/health", { signal: AbortSignal.timeout(ANSWER_MILLISECONDS) }).catch(() => null);
  if (!health) return "offline";
  if (health.status === 503) return "database";
  const known = await fetch("/pill", { headers: { Accept: "*/*" } }).catch(() => null);
  if (known?.status === 401) refused(401, "");
  return "offline";
}

/** The messages in the text of an ended stream. */
function messagesIn(text) {
  return text.split(/\r?\n\r?\n/).map((block) => {
    const message = { event: "message", data: [], lastEventId: "" };
    for (const line of block.split(/\r?\n/)) {
      const [, name, value] = /^([a-z]+): ?(.*)$/.exec(line) ?? [];
      if (name === "data") message.data.push(value);
      else if (name === "event") message.event = value;
      else if (name === "id") message.lastEventId = value;
    }
    return message;
  }).filter(({ data }) => data.length);
}

/** Updates of one page: by a stream while it holds the lock shared by all pages, otherwise by polling. */
class News {
  constructor(url, handlers, onreconnect) {
    this.url = url;
    this.handlers = { ...handlers, database: (since) => this.passOn(since), lock: (since) => this.heardLock(since) };
    // The page with the stream learns first that the database is lost, and tells the others, which poll only later.
    this.pages = new BroadcastChannel(DATABASE);
    this.pages.addEventListener("message", ({ data }) => { if (this.awake && !this.source) this.heard(data); });
    this.onreconnect = onreconnect;
    this.source = null;
    this.isHeard = false;
    this.isHeldBack = false;
    this.missed = false;
    this.closed = false;
    // A page opened in the background is hidden from the start, without an event.
    document.addEventListener("visibilitychange", () => (document.hidden ? this.restSoon() : this.wake()));
    window.addEventListener("pagehide", () => this.rest());
    window.addEventListener("pageshow", (event) => { if (event.persisted) this.wake(); });
    this.wake();
  }

  wake() {
    clearTimeout(this.resting);
    if (this.closed || document.hidden || this.awake) return;
    this.awake = new AbortController();
    const { signal } = this.awake;
    // Without the Web Locks API (plain HTTP to another machine), pages do not know of each other, so all of them poll.
    const streams = navigator.locks && !this.isHeldBack;
    if (streams) navigator.locks.request(LOCK, { signal }, () => this.stream(signal)).catch(() => {});
    // A page that gets the lock at once need not poll.
    this.polling = setTimeout(() => this.poll(signal), streams ? 50 : 0);
  }

  restSoon() {
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.rest(), REST_MILLISECONDS);
  }

  rest() {
    if (!this.awake) return;
    this.awake.abort();
    this.awake = null;
    clearTimeout(this.polling);
    this.end();
    this.missed = true;
  }

  close() {
    this.closed = true;
    this.rest();
  }

  /** Start again with the current URL. */
  restart() {
    if (this.source) this.open();
  }

  /** Stream until the page rests, holding the lock. */
  stream(signal) {
    if (signal.aborted) return undefined;
    clearTimeout(this.polling);
    this.open();
    // A stream says hello at once. Until it does, the page polls: a proxy may hold everything back until the stream ends.
    this.polling = setTimeout(() => this.poll(signal), HELLO_MILLISECONDS);
    return new Promise((resolve) => { signal.addEventListener("abort", resolve); });
  }

  address(once) {
    const url = typeof this.url === "function" ? this.url() : this.url;
    return once ? `${url}${url.includes("?") ? "&" : "?"}once=true` : url;
  }

  open() {
    this.end();
    this.source = new EventSource(this.address(false));
    this.isHeard = false;
    this.source.addEventListener("hello", () => this.heardHello());
    this.silence = setTimeout(() => this.giveUpStream(), SILENT_MILLISECONDS);
    this.source.addEventListener("open", () => this.opened());
    this.source.addEventListener("error", () => this.failed());
    for (const [name, handler] of Object.entries(this.handlers)) {
      this.source.addEventListener(name, (event) => handler(event.data, event));
    }
  }

  heardHello() {
    this.isHeard = true;
    clearTimeout(this.silence);
    clearTimeout(this.polling);
  }

  /** Something between holds the stream back: poll from now on, and leave the connection to others. */
  giveUpStream() {
    this.isHeldBack = true;
    this.end();
  }

  end() {
    clearTimeout(this.silence);
    clearTimeout(this.again);
    clearTimeout(this.complaint);
    this.complaint = null;
    this.source?.close();
    this.source = null;
    this.isHeard = false;
  }

  opened() {
    clearTimeout(this.complaint);
    this.complaint = null;
    this.failedAt = null;
    tell("news", "");
    tell("lock", "");
    if (this.missed) this.onreconnect();
    this.missed = false;
  }

  failed() {
    const { source } = this;
    clearTimeout(this.silence);
    this.missed = true;
    this.failedAt ??= new Date();
    this.complaint ??= setTimeout(async () => {
      const why = await askWhy();
      if (this.complaint && this.source) tell("news", why, this.failedAt);
    }, PATIENCE_MILLISECONDS);
    // The browser reconnects automatically after a lost connection, but not after an error response.
    if (source?.readyState === EventSource.CLOSED) this.again = setTimeout(() => this.open(), RETRY_MILLISECONDS);
  }

  passOn(said) {
    this.heard(said);
    if (this.source) this.pages.postMessage(said);
  }

  /** Handle the server's report on whether it can read the database. */
  heard(said) {
    const isLost = said !== "ok";
    tell("news", isLost ? "database" : "", isLost ? new Date(said) : null);
    if (!isLost && this.wasLost) this.onreconnect();
    this.wasLost = isLost;
  }

  /** Handle the server's report on whether the database is locked. */
  heardLock(said) {
    const isHeld = said !== "ok";
    tell("lock", isHeld ? "locked" : "", isHeld ? new Date(said) : null);
  }

  async poll(signal) {
    if (signal.aborted || this.isHeard) return;
    const wait = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MILLISECONDS)]);
    try {
      const answer = await fetch(this.address(true), { headers: { Accept: "text/event-stream" }, signal: wait });
      const text = await answer.text();
      if (signal.aborted || this.isHeard) return;
      if (answer.status === 404) this.handlers.gone?.("");
      else if (answer.status === 401) refused(401, "");
      else this.take(answer, text);
    } catch {
      if (signal.aborted || this.isHeard) return;
      this.missed = true;
      tell("news", await askWhy());
    }
    if (!signal.aborted && !this.isHeard) this.polling = setTimeout(() => this.poll(signal), POLL_MILLISECONDS);
  }

  take(answer, text) {
    if (!answer.ok) {
      this.missed = true;
      tell("news", answer.status === 503 ? "database" : "offline");
      return;
    }
    tell("news", "");
    if (this.missed) this.onreconnect();
    this.missed = false;
    for (const { event, data, lastEventId } of messagesIn(text)) this.handlers[event]?.(data.join("\n"), { lastEventId });
  }
}

/**
 * Follow updates. `handlers` has a function (data, event) per event name; `onreconnect` is called when updates resume after a
 * lost connection or a rest, so that the page can fetch what it missed. `url` may be a function, called at each attempt.
 * Returns an object with close() and restart().
 */
export function connect(url, handlers, onreconnect = () => {}) {
  return new News(url, handlers, onreconnect);
}

/** Replace an element with HTML, changing only what differs, so that focus, selection, scrolling and open menus survive. */
export function morph(element, html) {
  return window.htmx.swap({ text: html, target: element, sourceElement: element, swap: "outerMorph" });
}
