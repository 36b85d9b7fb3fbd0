// Draws the grid of items: one canvas with a cell per item, coded by colour and shape. Only changed cells are redrawn.
import { positionsIn, STATES, unpacked } from "./cells.js";

const SIZES = [18, 16, 14, 12, 10, 9, 8, 7, 6, 5];
const MOST_HEIGHT = 480;
const DRAWN = ["done", "running", "retrying", "waiting", "pending", "failed", "degraded", "paper", "ink", "accent"];

/** Paints cells on a canvas, maps points to cells, and shows a cursor and a selection. */
export class Grid {
  constructor(canvas) {
    this.canvas = canvas;
    this.pen = canvas.getContext("2d");
    this.stage = canvas.dataset.stage;
    this.width = Number(canvas.dataset.width);
    this.letters = unpacked(canvas.dataset.all);
    this.selected = new Set();
    this.cursor = null;
    new ResizeObserver(() => this.layOut()).observe(canvas.parentElement);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.layOut());
    this.layOut();
  }

  get count() { return this.letters.length; }

  stateAt(position) { return STATES[this.letters[position]] ?? "pending"; }

  /** Apply a stream message: all cells, or the changed ones. Returns whether the stage or its size changed. */
  take(message) {
    const start = performance.now();
    const isNew = message.all !== undefined && this.takeAll(message);
    if (message.c) {
      for (const [letter, ranges] of Object.entries(message.c)) {
        for (const at of positionsIn(ranges)) this.change(at, letter);
      }
    }
    // Keep only the latest measurement: it shows the cost of an update in the browser's developer tools.
    performance.clearMeasures("fanfold:cells");
    performance.measure("fanfold:cells", { start });
    return isNew;
  }

  takeAll(message) {
    const letters = unpacked(message.all);
    if (message.stage !== this.stage || message.width !== this.width || letters.length !== this.count) return true;
    letters.forEach((letter, at) => this.change(at, letter));
    return false;
  }

  change(at, letter) {
    if (this.letters[at] === letter) return;
    this.letters[at] = letter;
    this.draw(at);
  }

  layOut() {
    const room = this.canvas.parentElement.clientWidth;
    if (!room) return;
    const heightWith = (size) => Math.ceil(this.count / Math.max(1, Math.floor(room / size))) * size;
    this.size = SIZES.find((size) => heightWith(size) <= MOST_HEIGHT) ?? SIZES.at(-1);
    this.columns = Math.max(1, Math.min(this.count, Math.floor(room / this.size)));
    const rows = Math.ceil(this.count / this.columns);
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [this.columns * this.size, rows * this.size];
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    this.pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    const style = getComputedStyle(document.documentElement);
    this.colours = Object.fromEntries(DRAWN.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
    for (let at = 0; at < this.count; at++) this.draw(at);
  }

  /** The position at a point of the page, or null. */
  at(event) {
    const box = this.canvas.getBoundingClientRect();
    const [column, row] = [event.clientX - box.left, event.clientY - box.top].map((pixels) => Math.floor(pixels / this.size));
    const position = row * this.columns + column;
    const isInside = column >= 0 && column < this.columns && row >= 0 && position < this.count;
    return isInside ? position : null;
  }

  /** Position of a cell, in pixels from the canvas's corner. */
  corner(at) { return [(at % this.columns) * this.size, Math.floor(at / this.columns) * this.size]; }

  draw(at) {
    const { pen, size, colours } = this;
    const [x, y] = this.corner(at);
    const state = this.stateAt(at);
    const isSelected = this.selected.has(at);
    pen.fillStyle = isSelected ? colours.ink : colours.paper;
    pen.fillRect(x, y, size, size);
    const gap = isSelected ? Math.max(2, Math.round(size * 0.4)) : size > 9 ? 2 : 1;
    pen.fillStyle = colours[state];
    pen.strokeStyle = colours[state];
    SHAPES[state](pen, x + gap / 2, y + gap / 2, size - gap, colours);
    if (at === this.cursor) {
      pen.lineWidth = 2;
      pen.strokeStyle = colours.ink;
      pen.strokeRect(x + 1, y + 1, size - 2, size - 2);
    }
  }

  moveCursor(to) {
    const from = this.cursor;
    this.cursor = to;
    if (from !== null) this.draw(from);
    if (to !== null) this.draw(to);
  }

  /** Select exactly these positions. */
  select(positions) {
    const before = this.selected;
    this.selected = new Set(positions);
    for (const at of before) if (!this.selected.has(at)) this.draw(at);
    for (const at of this.selected) if (!before.has(at)) this.draw(at);
  }
}

const SHAPES = {
  done: (pen, x, y, side) => pen.fillRect(x, y, side, side),
  // Degraded, so only partly as requested: a frame with one filled corner.
  degraded(pen, x, y, side) {
    const line = side > 8 ? 2 : 1;
    pen.lineWidth = line;
    pen.strokeRect(x + line / 2, y + line / 2, side - line, side - line);
    pen.beginPath();
    pen.moveTo(x, y);
    pen.lineTo(x + side, y);
    pen.lineTo(x, y + side);
    pen.fill();
  },
  failed(pen, x, y, side, colours) {
    pen.fillRect(x, y, side, side);
    pen.strokeStyle = colours.paper;
    pen.lineWidth = side > 8 ? 2 : 1.4;
    const inner = side > 8 ? side * 0.25 : 1;
    pen.beginPath();
    pen.moveTo(x + inner, y + inner);
    pen.lineTo(x + side - inner, y + side - inner);
    pen.moveTo(x + side - inner, y + inner);
    pen.lineTo(x + inner, y + side - inner);
    pen.stroke();
  },
  running(pen, x, y, side) {
    pen.beginPath();
    pen.moveTo(x, y);
    pen.lineTo(x + side, y + side / 2);
    pen.lineTo(x, y + side);
    pen.fill();
  },
  retrying(pen, x, y, side) {
    const line = side > 8 ? 2.5 : 1.5;
    pen.lineWidth = line;
    pen.beginPath();
    pen.arc(x + side / 2, y + side / 2, (side - line) / 2, 0, 2 * Math.PI);
    pen.stroke();
  },
  waiting(pen, x, y, side) {
    pen.lineWidth = 1;
    pen.strokeRect(x + 0.5, y + 0.5, side - 1, side - 1);
    pen.fillRect(x, y + side / 2, side, side / 2);
  },
  pending(pen, x, y, side) {
    const dot = Math.max(2, Math.round(side / 4));
    pen.fillRect(x + (side - dot) / 2, y + (side - dot) / 2, dot, dot);
  },
};
