// Draws the visible rows of the table, and moves the focus from cell to cell.

const ROW_HEIGHT = 34;
const WINDOW = 100;
const AROUND = 12;
const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

/** An element with a role, classes and text. */
function made(role, classes, text = "") {
  const element = document.createElement("div");
  if (role) element.setAttribute("role", role);
  element.className = classes;
  element.textContent = text;
  return element;
}

export class Rows {
  /** `load(offset, limit)` requests rows; it returns null if the answer is outdated. */
  constructor(table, words, load) {
    this.table = table;
    this.words = words;
    this.load = load;
    this.head = made("rowgroup", "table-head");
    this.body = made("rowgroup", "table-body");
    table.append(this.head, this.body);
    this.known = new Map();
    this.drawn = new Map();
    this.columns = [];
    this.total = 0;
    this.at = { row: 0, column: 1 };
    table.addEventListener("scroll", () => this.draw(), { passive: true });
    table.addEventListener("focusin", (event) => this.note(event.target));
    new ResizeObserver(() => this.draw()).observe(table);
  }

  /** Start over with another filter. */
  async restart() {
    this.known.clear();
    this.body.replaceChildren();
    this.drawn.clear();
    this.at = { row: 0, column: 1 };
    this.table.scrollTop = 0;
    await this.fetch(0);
  }

  /** Request the visible rows again. */
  async refresh() {
    const first = this.first();
    const windows = new Set([first, first + this.inSight()].map((row) => Math.floor(Math.max(0, row) / WINDOW)));
    for (const one of windows) await this.fetch(one * WINDOW, true);
  }

  async fetch(offset, again = false) {
    if (!again && this.known.get(offset) === "asked") return;
    if (!this.known.has(offset)) this.known.set(offset, "asked");
    const found = await this.load(offset, WINDOW);
    if (!found) {
      if (this.known.get(offset) === "asked") this.known.delete(offset);
      return;
    }
    this.known.set(offset, found.rows);
    if (this.columns.join("\n") !== found.columns.join("\n")) this.drawHead(found.columns);
    if (this.total !== found.total) this.resize(found.total);
    this.draw();
  }

  drawHead(columns) {
    this.columns = columns;
    this.table.style.setProperty("--columns", columns.length);
    this.table.setAttribute("aria-colcount", columns.length + 1);
    const row = made("row", "table-row");
    row.setAttribute("aria-rowindex", 1);
    row.append(...[this.table.dataset.document, ...columns].map((name) => Object.assign(made("columnheader", "table-cell", name), { title: name })));
    this.head.replaceChildren(row);
    for (const element of this.drawn.values()) element.remove();
    this.drawn.clear();
  }

  resize(total) {
    this.total = total;
    this.body.style.height = `${total * ROW_HEIGHT}px`;
    this.table.setAttribute("aria-rowcount", total + 1);
    for (const [number, element] of this.drawn) if (number >= total) { element.remove(); this.drawn.delete(number); }
  }

  first() { return Math.floor(this.table.scrollTop / ROW_HEIGHT); }
  inSight() { return Math.ceil(this.table.clientHeight / ROW_HEIGHT); }
  row(number) {
    const window = this.known.get(Math.floor(number / WINDOW) * WINDOW);
    return Array.isArray(window) ? window[number % WINDOW] : undefined;
  }

  /** Draw the visible rows, remove the others, and request those not loaded yet. */
  draw() {
    const first = Math.max(0, this.first() - AROUND);
    const last = Math.min(this.total, this.first() + this.inSight() + AROUND);
    const active = this.active();
    for (const [number, element] of this.drawn) {
      if ((number < first || number >= last) && !element.contains(active)) { element.remove(); this.drawn.delete(number); }
    }
    for (let number = first; number < last; number += 1) {
      const row = this.row(number);
      if (row) this.drawRow(number, row);
      else if (!this.known.has(Math.floor(number / WINDOW) * WINDOW)) this.fetch(Math.floor(number / WINDOW) * WINDOW);
    }
  }

  active() { return this.table.contains(document.activeElement) ? document.activeElement : null; }

  drawRow(number, row) {
    const text = JSON.stringify(row);
    const old = this.drawn.get(number);
    if (old?.said === text) return;
    const column = old?.contains(this.active()) ? [...old.children].indexOf(this.active()) : -1;
    const element = made("row", `table-row${row.error ? " row-failed" : ""}`);
    element.said = text;
    element.style.transform = `translateY(${number * ROW_HEIGHT}px)`;
    element.setAttribute("aria-rowindex", number + 2);
    const name = made("rowheader", "table-cell table-name", row.document);
    name.title = row.source && row.source !== row.document ? `${row.document}\n${row.source}` : row.document;
    element.append(name, ...this.cells(row));
    element.querySelectorAll(".table-cell").forEach((cell, at) => { cell.tabIndex = this.isAt(number, at) ? 0 : -1; cell.dataset.at = `${number} ${at}`; });
    if (old) old.replaceWith(element);
    else this.place(number, element);
    this.drawn.set(number, element);
    if (column >= 0) element.children[Math.min(column, element.children.length - 1)].focus({ preventScroll: true });
  }

  /** Keep rows in order in the document, for screen readers. */
  place(number, element) {
    const after = [...this.drawn.keys()].filter((one) => one > number).sort((one, other) => one - other)[0];
    if (after === undefined) this.body.append(element);
    else this.drawn.get(after).before(element);
  }

  cells(row) {
    if (row.error || !Object.keys(row.fields).length) {
      const said = row.error ? `${this.table.dataset.failed}: ${row.error}` : this.table.dataset.open;
      const cell = made("gridcell", `table-cell table-whole cell-${row.error ? "failed" : "open"}`, said);
      cell.setAttribute("aria-colspan", Math.max(1, this.columns.length));
      cell.title = said;
      return [cell];
    }
    return this.columns.map((name) => this.cell(row.fields[name]));
  }

  cell(found) {
    const state = found?.state ?? "none";
    const cell = made("gridcell", `table-cell cell-${state}`);
    const value = found?.value ?? null;
    const shown = document.createElement("span");
    shown.className = value === null ? "cell-value muted" : "cell-value";
    const { none, invalid } = this.table.dataset;
    shown.textContent = value === null ? (found ? (state === "invalid" ? invalid : none) : "") : String(value);
    const word = document.createElement("span");
    word.className = "sr";
    word.textContent = found ? ` ${this.words[state] ?? state}` : "";
    cell.title = found ? `${shown.textContent} · ${this.words[state] ?? state}` : "";
    cell.append(shown, word);
    return cell;
  }

  isAt(row, column) { return this.at.row === row && this.at.column === column; }

  /** The focused cell, as item, row and column; without a column if it is the document's name. */
  cellAt({ row, column }) {
    const found = this.row(row);
    return found && { key: found.key, row: found.row, column: found.fields[this.columns[column - 1]] ? this.columns[column - 1] : null };
  }

  current() { return this.cellAt(this.at); }

  /** Handle a focus change by mouse, Tab or screen reader. */
  note(element) {
    if (!element.dataset.at) return;
    const [row, column] = element.dataset.at.split(" ").map(Number);
    // A row without cells has one cell for all columns. Remember the column for the next row.
    this.at = { row, column: element.classList.contains("table-whole") ? Math.max(1, this.at.column) : column };
  }

  moveTo(element) {
    const [row, column] = element.dataset.at.split(" ").map(Number);
    this.go(row, column);
  }

  /** Move the focus by a key; returns false for other keys. */
  press(key) {
    const page = Math.max(1, this.inSight() - 2);
    const { row, column } = this.at;
    const targets = { PageUp: [row - page, column], PageDown: [row + page, column], Home: [row, 0], End: [row, this.columns.length] };
    const target = STEPS[key] ? [row + STEPS[key][0], column + STEPS[key][1]] : targets[key];
    if (!target) return false;
    this.go(...target);
    return true;
  }

  go(row, column) {
    this.at = { row: Math.max(0, Math.min(this.total - 1, row)), column: Math.max(0, Math.min(this.columns.length, column)) };
    const top = this.at.row * ROW_HEIGHT;
    const room = this.table.clientHeight - this.head.offsetHeight;
    if (top < this.table.scrollTop) this.table.scrollTop = top;
    else if (top + ROW_HEIGHT > this.table.scrollTop + room) this.table.scrollTop = top + ROW_HEIGHT - room;
    this.draw();
    this.focus();
  }

  focus() {
    this.table.querySelector(".table-cell[tabindex='0']")?.setAttribute("tabindex", "-1");
    const cells = this.drawn.get(this.at.row)?.querySelectorAll(".table-cell");
    const cell = cells?.[Math.min(this.at.column, cells.length - 1)];
    if (!cell) return;
    cell.tabIndex = 0;
    cell.focus({ preventScroll: true });
    cell.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
}
