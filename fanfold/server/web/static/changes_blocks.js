// A list of any length: blocks of paragraphs that are loaded when they come near the window, and emptied when they leave it.
// The browser keeps the place while heights change (scroll anchoring), so that no block needs a known height.

const BLOCK = 40;
const NEAR = "900px 0px";
const REST_MILLISECONDS = 60;
const FIRST_GUESS = 90;

export class Blocks {
  /** `load(offset, limit)` requests paragraphs, and returns null if the answer is outdated; `draw(row)` returns elements. */
  constructor(place, load, draw) {
    this.place = place;
    this.load = load;
    this.draw = draw;
    this.blocks = [];
    this.total = 0;
    this.rowHeight = FIRST_GUESS;
    this.observer = new IntersectionObserver((entries) => entries.forEach((entry) => this.seen(entry)), { rootMargin: NEAR });
  }

  /** Start over, for another filter. */
  async restart() {
    this.observer.disconnect();
    this.place.replaceChildren();
    this.blocks = [];
    this.total = 0;
    await this.request(this.added(0));
    this.measure();
    for (const block of this.blocks) if (!block.rows) this.hold(block);
  }

  /** Load the blocks near the window again, in place. */
  async refresh() {
    for (const block of this.blocks) if (block.isNear || !block.number) await this.request(block);
  }

  added(number) {
    const element = document.createElement("div");
    element.className = "pairs-block";
    const block = { number, element, rows: null, isNear: false };
    element.block = block;
    this.blocks.push(block);
    this.place.append(element);
    this.hold(block);
    this.observer.observe(element);
    return block;
  }

  hold(block) { block.element.style.minHeight = `${this.sizeOf(block) * this.rowHeight}px`; }
  sizeOf(block) { return Math.max(1, Math.min(BLOCK, this.total - block.number * BLOCK)); }

  /** Use the height of the first paragraphs as a guess for the others. */
  measure() {
    const [first] = this.blocks;
    if (first?.rows?.length) this.rowHeight = first.element.offsetHeight / first.rows.length;
  }

  resize(total) {
    this.total = total;
    const wanted = Math.max(1, Math.ceil(total / BLOCK));
    while (this.blocks.length < wanted) this.added(this.blocks.length);
    for (const block of this.blocks.splice(wanted)) { this.observer.unobserve(block.element); block.element.remove(); }
  }

  seen({ target, isIntersecting }) {
    const { block } = target;
    block.isNear = isIntersecting;
    if (isIntersecting && !block.rows) setTimeout(() => block.isNear && !block.rows && this.request(block), REST_MILLISECONDS);
    else if (!isIntersecting && block.rows) this.empty(block);
  }

  empty(block) {
    if (block.element.contains(document.activeElement)) return;
    block.element.style.minHeight = `${block.element.offsetHeight}px`;
    block.element.replaceChildren();
    block.rows = null;
  }

  /** Load a block; resolves when it is drawn. */
  async request(block) {
    block.loading ??= this.loaded(block).finally(() => { block.loading = null; });
    await block.loading;
  }

  async loaded(block) {
    const found = await this.load(block.number * BLOCK, BLOCK);
    if (!found || !block.element.isConnected) return;
    block.rows = found.rows;
    this.redraw(block);
    if (found.total !== this.total) this.resize(found.total);
  }

  /** Draw a block. The focus, and a text that is being typed, stay where they are. */
  redraw(block) {
    const focused = block.element.contains(document.activeElement) ? document.activeElement : null;
    if (focused?.closest(".change-edit")) return;
    const stop = focused?.closest("[data-stop]")?.dataset.stop;
    block.element.replaceChildren(...block.rows.flatMap((row) => this.draw(row)));
    block.element.style.minHeight = "";
    if (stop) [...block.element.querySelectorAll("[data-stop]")].find((one) => one.dataset.stop === stop)?.focus({ preventScroll: true });
  }

  /** The change (or gap) after or before an element, loading the block that it is in. */
  async next(from, step) {
    let block = from ? from.closest(".pairs-block").block : this.visible();
    if (!block) return null;
    if (from) {
      const stops = [...block.element.querySelectorAll("[data-stop]")];
      const found = stops[stops.indexOf(from) + step];
      if (found) return found;
      block = this.blocks[block.number + step];
    }
    while (block) {
      if (!block.rows) await this.request(block);
      const stops = [...block.element.querySelectorAll("[data-stop]")];
      const found = from ? stops.at(step > 0 ? 0 : -1) : stops.find((one) => one.getBoundingClientRect().top >= 0) ?? stops[0];
      if (found) return found;
      block = this.blocks[block.number + step];
    }
    return null;
  }

  visible() { return this.blocks.find((block) => block.element.getBoundingClientRect().bottom > 0); }

  /** The paragraph and the change that an element shows. */
  find(element) {
    const block = element.closest(".pairs-block")?.block;
    for (const row of block?.rows ?? []) {
      const change = row.changes.find((one) => `${row.item} ${row.paragraph} ${one.key}` === element.dataset.stop);
      if (change) return { block, row, change };
    }
    return null;
  }
}
