// The view of one cell beside the table: loads it, sends decisions, and shows the updated cell.
import { notify, sentenceOf } from "./notice.js";
import { localise } from "./times.js";

const SOON_MILLISECONDS = 120;
const HEADERS = { "hx-request": "true", Accept: "text/html" };

export class Panel {
  constructor(place, task, { changed, closed }) {
    this.place = place;
    this.task = task;
    this.changed = changed;
    this.closed = closed;
    this.soon = 0;
    this.asked = 0;
    place.addEventListener("click", (event) => this.click(event));
    place.addEventListener("submit", (event) => this.submit(event));
    place.addEventListener("keydown", (event) => this.keydown(event));
  }

  get isOpen() { return !this.place.hidden; }

  /** Whether this cell is shown and no other is being loaded. */
  shows({ key, row, column }) {
    const shown = this.place.querySelector("#record")?.dataset;
    return Boolean(shown) && !this.soon && shown.keyOf === key && shown.rowOf === String(row) && shown.column === column;
  }

  /** Show a cell; resolves to whether it is shown. */
  async show({ key, row, column }) {
    const asked = ++this.asked;
    clearTimeout(this.soon);
    this.soon = 0;
    const answer = await fetch(`/tasks/${this.task}/record?${new URLSearchParams({ key, row, column })}`, { headers: HEADERS }).catch(() => null);
    if (asked !== this.asked) return false;
    if (!answer?.ok) {
      notify(sentenceOf(answer ? await answer.text() : ""), "error");
      return false;
    }
    this.take(await answer.text());
    return true;
  }

  /** Show a cell when the focus has rested on it for a moment. */
  showSoon(cell) {
    clearTimeout(this.soon);
    if (cell?.column) this.soon = setTimeout(() => this.show(cell), SOON_MILLISECONDS);
  }

  take(html) {
    this.place.innerHTML = html;
    this.place.hidden = false;
    document.getElementById("sides").classList.add("with-panel");
    localise(this.place);
    const edit = this.place.querySelector("#record-edit");
    if (edit) edit.hidden = true;
    for (const image of this.place.querySelectorAll(".record-sheet img")) this.watch(image);
  }

  /** Scroll to the box when the picture has loaded, or say that there is no picture. */
  watch(image) {
    const sheet = image.closest(".record-sheet");
    const arrived = () => {
      const box = sheet.querySelector("rect");
      const frame = sheet.parentElement;
      if (box) frame.scrollTop = Number(box.getAttribute("y")) * sheet.offsetHeight - frame.clientHeight / 3;
      sheet.dataset.ready = "yes";
    };
    image.addEventListener("load", arrived);
    image.addEventListener("error", () => {
      sheet.hidden = true;
      sheet.nextElementSibling.hidden = false;
    });
    if (image.complete && image.naturalWidth) arrived();
  }

  focus() { (this.place.querySelector(".record-buttons button") ?? this.place.querySelector("#record-close"))?.focus(); }

  /** Handle a shortcut key like a click on its button. */
  press(key) { this.place.querySelector(`[data-key="${key}"]`)?.click(); }

  close() {
    this.asked += 1;
    clearTimeout(this.soon);
    this.soon = 0;
    this.place.hidden = true;
    this.place.replaceChildren();
    document.getElementById("sides").classList.remove("with-panel");
    this.closed();
  }

  click(event) {
    const button = event.target.closest("[data-key]");
    if (button?.id === "record-close") this.close();
    else if (button?.dataset.key === "e") this.edit(button);
    else if (button?.tagName === "SUMMARY") setTimeout(() => button.parentElement.querySelector("input:not([type=hidden]), select, textarea, button")?.focus());
  }

  edit(button) {
    const form = this.place.querySelector("#record-edit");
    form.hidden = !form.hidden;
    button.setAttribute("aria-expanded", String(!form.hidden));
    if (form.hidden) return;
    const field = form.querySelector("[name=value]:not([type=hidden])");
    field.focus();
    field.select?.();
  }

  keydown(event) {
    const isField = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.key === "Escape" && isField) {
      event.preventDefault();
      event.stopPropagation();
      const open = event.target.closest("details");
      if (open) open.open = false;
      else this.place.querySelector("#record-edit").hidden = true;
      this.focus();
    } else if (event.key === "Enter" && event.target.tagName === "TEXTAREA" && !event.shiftKey) {
      event.preventDefault();
      event.target.form.requestSubmit();
    }
  }

  async submit(event) {
    const form = event.target;
    if (!("decide" in form.dataset) && !("redo" in form.dataset)) return;
    event.preventDefault();
    const body = new URLSearchParams(new FormData(form));
    const asked = this.asked;
    const answer = await fetch(form.action, { method: "POST", headers: HEADERS, body }).catch(() => null);
    const text = answer ? await answer.text() : "";
    if (!answer?.ok) {
      notify(sentenceOf(text), "error", form.action);
      return;
    }
    if ("decide" in form.dataset) {
      // Closed or moved on meanwhile: do not bring it back.
      if (asked === this.asked) this.take(text);
    } else form.closest("details").open = false;
    await this.changed();
    this.closedSoon();
  }

  /** Return the focus to the table after a decision, so that the next cell is one key away. */
  closedSoon() { document.getElementById("table")?.querySelector(".table-cell[tabindex='0']")?.focus({ preventScroll: true }); }
}
