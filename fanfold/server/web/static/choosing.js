// Selects items on the grid by pointer and keys; the selection can be retried together.
import { inRanges } from "./cells.js";

const POINTED_MILLISECONDS = 120;
const MOST_SELECTED = 10000;

const filled = (pattern, values) => pattern.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);

/** The tooltip of a grid: describes a cell, fetched from the server after a short hover. */
class Tip {
  constructor(grid, address) {
    this.grid = grid;
    this.address = address;
    this.element = document.getElementById("tip");
    this.said = document.getElementById("cell-said");
    this.shown = null;
  }

  point(position, aloud = false) {
    if (position === this.shown) return;
    this.hide();
    if (position === null) return;
    this.shown = position;
    this.timer = setTimeout(() => this.fetch(position, aloud), POINTED_MILLISECONDS);
  }

  async fetch(position, aloud) {
    const { grid } = this;
    const wanted = new URLSearchParams({ position, stage: grid.stage, width: grid.width });
    const answer = await fetch(`${this.address}/cell?${wanted}`).catch(() => null);
    if (!answer?.ok || this.shown !== position) return;
    this.element.innerHTML = await answer.text();
    if (this.shown !== position) return;
    if (aloud) this.said.textContent = this.element.textContent.replace(/\s+/g, " ");
    this.place(position);
  }

  place(position) {
    const { element, grid } = this;
    const [x, y] = grid.corner(position);
    element.hidden = false;
    const room = grid.canvas.parentElement.clientWidth - element.offsetWidth;
    element.style.left = `${Math.max(0, Math.min(x, room))}px`;
    element.style.top = `${grid.canvas.offsetTop + y + grid.size + 4}px`;
  }

  hide() {
    clearTimeout(this.timer);
    this.shown = null;
    this.element.hidden = true;
  }
}

/** Lets a person point at, open and select the cells of a grid. */
export class Choosing {
  constructor(grid, address) {
    this.grid = grid;
    this.address = address;
    this.tip = new Tip(grid, address);
    this.form = document.getElementById("chosen");
    this.anchor = null;
    this.dragged = false;
    const { canvas } = grid;
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", (event) => this.release(event));
    canvas.addEventListener("pointercancel", () => { this.anchor = null; });
    canvas.addEventListener("pointerleave", () => this.tip.hide());
    canvas.addEventListener("keydown", (event) => this.key(event));
    canvas.addEventListener("focus", () => { if (grid.cursor === null && canvas.matches(":focus-visible")) this.go(0); });
    canvas.addEventListener("blur", () => { grid.moveCursor(null); this.tip.hide(); });
    document.getElementById("chosen-none")?.addEventListener("click", () => this.select([]));
    this.form?.addEventListener("htmx:after:request", ({ detail }) => {
      if (detail.ctx.response?.raw?.ok) this.select([]);
    });
  }

  press(event) {
    if (event.button !== 0 || event.pointerType === "touch") return;
    this.anchor = this.grid.at(event);
    this.dragged = false;
    if (this.anchor !== null) this.grid.canvas.setPointerCapture(event.pointerId);
  }

  move(event) {
    const here = this.grid.at(event);
    if (this.anchor === null || !this.form || this.grid.width > 1) {
      this.tip.point(here);
      return;
    }
    if (here !== null && (this.dragged || here !== this.anchor)) {
      this.dragged = true;
      this.tip.hide();
      this.select(between(this.anchor, here));
    }
  }

  release(event) {
    const here = this.grid.at(event);
    const wasDragged = this.dragged;
    this.anchor = null;
    this.dragged = false;
    if (here === null || wasDragged) return;
    if (event.shiftKey || event.ctrlKey || event.metaKey) this.toggle(here);
    else this.open(here);
  }

  key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const { grid } = this;
    const here = grid.cursor ?? 0;
    const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: grid.columns, ArrowUp: -grid.columns };
    if (event.key in steps) this.go(here + steps[event.key], event.shiftKey);
    else if (event.key === "Home") this.go(0, event.shiftKey);
    else if (event.key === "End") this.go(grid.count - 1, event.shiftKey);
    else if (event.key === "Enter") this.open(here);
    else if (event.key === " ") this.toggle(here);
    else if (event.key === "Escape" && grid.selected.size) this.select([]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  go(wanted, selecting = false) {
    const { grid } = this;
    const from = grid.cursor ?? 0;
    const to = Math.max(0, Math.min(grid.count - 1, wanted));
    if (selecting && this.form && grid.width === 1) {
      this.start ??= from;
      this.select(between(this.start, to));
    } else {
      this.start = null;
    }
    grid.moveCursor(to);
    this.tip.point(to, true);
  }

  toggle(at) {
    if (!this.form || this.grid.width > 1) return;
    const chosen = new Set(this.grid.selected);
    if (!chosen.delete(at)) chosen.add(at);
    this.select([...chosen].sort((a, b) => a - b));
  }

  open(at) {
    const { stage, width } = this.grid;
    const wanted = new URLSearchParams({ stage, position: at * width });
    location.assign(`${this.address}/${width > 1 ? "items" : "item"}?${wanted}`);
  }

  select(positions) {
    this.grid.select(positions.slice(0, MOST_SELECTED));
    if (!positions.length) this.start = null;
    this.tell();
  }

  /** Show the selection and its commands. */
  tell() {
    if (!this.form) return;
    const { grid, form } = this;
    const chosen = [...grid.selected];
    form.hidden = !chosen.length;
    if (!chosen.length) return;
    const failed = chosen.filter((at) => grid.letters[at] === "f").length;
    const [retry, again] = form.querySelectorAll("[name=which]");
    form.elements.positions.value = inRanges(chosen);
    document.getElementById("chosen-said").textContent = filled(form.dataset.said, { count: chosen.length, failed });
    retry.textContent = filled(form.dataset.retry, { count: failed });
    retry.hidden = !failed;
    again.textContent = chosen.length === 1 ? form.dataset.againOne : filled(form.dataset.again, { count: chosen.length });
    again.dataset.confirm = filled(form.dataset.ask, { count: chosen.length });
  }
}

const between = (one, other) => {
  const [first, last] = one < other ? [one, other] : [other, one];
  return Array.from({ length: last - first + 1 }, (_, at) => first + at);
};
