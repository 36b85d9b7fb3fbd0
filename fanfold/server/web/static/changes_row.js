// Draws one paragraph before and after, with its changes marked in the text and listed beside it.
import { localise } from "./times.js";

const SHORT = 60;
const SIGNS = { " ": "␣", "\t": "⇥", "\n": "↵", "\r": "", "\u3000": "⬚", "\u00a0": "⍽" };

/** An element with classes and text. */
function made(tag, classes = "", text = "") {
  const element = document.createElement(tag);
  if (classes) element.className = classes;
  if (text) element.textContent = text;
  return element;
}

/** Text in which white space can be seen, if it has nothing else. */
const visible = (text) => (text.trim() ? text : [...text].map((one) => SIGNS[one] ?? one).join(""));
/** The class of deleted text: a line through a dash or a dot would hide it, so signs without a letter get a box instead. */
const signs = (text) => (/[\p{L}\p{N}]/u.test(text) ? "" : " mark-signs");
const clock = (at) => { const time = made("time"); time.dateTime = at; return time; };

/** The name of a kind, a topic or what made a change: `rule:dashes` becomes "rule: dashes". */
export function named(name, words) {
  const [maker, ...rest] = name.split(":");
  return rest.length ? `${words.makers[maker] ?? maker}: ${rest.join(":")}` : words.names[name] ?? name;
}

/** Whether a change replaces its whole paragraph, as a translation does. Marks in the text would then tell nothing. */
const isWhole = (change, row) => change.start === 0 && change.end === row.before.length && change.after !== "";

export class RowDrawing {
  constructor(words, task, stage, decides) {
    this.words = words;
    this.task = task;
    this.stage = stage;
    this.decides = decides;
  }

  /** The elements of a paragraph: a heading where a chapter begins, and the pair. */
  draw(row) {
    const pair = made("div", "pair");
    pair.dataset.item = row.item;
    if (row.error || row.gap) pair.classList.add("pair-gap");
    pair.append(this.place(row));
    if (row.error) pair.append(this.trouble(this.words.failed, row.error, row));
    else pair.append(...this.texts(row), this.side(row));
    return row.is_heading && row.chapter ? [made("h2", "pairs-chapter", row.chapter), pair] : [pair];
  }

  place(row) {
    const place = made("p", "pair-place muted figures");
    if (row.is_first) {
      const link = made("a", "", `${this.words.item} ${row.item}`);
      link.href = `/tasks/${this.task}/item?${new URLSearchParams({ key: row.item, stage: this.stage })}`;
      place.append(link);
    }
    if (row.paragraph) place.append(made("span", "", `¶ ${row.paragraph}`));
    return place;
  }

  /** The text before and after. A rejected change leaves the source in place, an edited one has a person's text. */
  texts(row) {
    const before = made("div", "pair-text pair-before");
    const after = made("div", "pair-text pair-after");
    let at = 0;
    for (const change of row.changes) {
      const same = row.before.slice(at, change.start);
      before.append(same, this.mark("del", change, change.before, row));
      after.append(same, this.mark("ins", change, this.standing(change), row));
      at = change.end;
    }
    before.append(row.before.slice(at));
    after.append(row.before.slice(at));
    return [before, after];
  }

  standing(change) {
    if (change.state === "reject") return change.before;
    return change.state === "replace" ? String(change.decision.value ?? "") : change.after;
  }

  mark(tag, change, text, row) {
    const kind = isWhole(change, row) ? " mark-whole" : text ? signs(text) : " mark-empty";
    const mark = made(tag, `mark change-${change.state}${change.fits ? "" : " mark-other"}${kind}`, text);
    mark.dataset.mark = change.key;
    return mark;
  }

  side(row) {
    const side = made("div", "pair-side");
    if (row.gap) side.append(this.trouble(this.words.gap, row.gap, row));
    for (const why of row.warnings) side.append(made("p", "pair-warning", this.words.warning.replace("{why}", why)));
    const list = made("ul", "pair-changes");
    list.append(...row.changes.filter((change) => change.fits).map((change) => this.change(change, row)));
    if (list.children.length) side.append(list);
    return side;
  }

  trouble(said, why, row) {
    const box = made("div", "pair-trouble change");
    box.tabIndex = -1;
    box.dataset.stop = `${row.item} ${row.paragraph} gap`;
    const link = made("a", "button", this.words.open);
    link.href = `/tasks/${this.task}/item?${new URLSearchParams({ key: row.item, stage: this.stage })}`;
    box.append(made("p", "", said.replace("{why}", why)), link);
    return box;
  }

  change(change, row) {
    const line = made("li", `change change-${change.state}`);
    line.tabIndex = -1;
    line.dataset.stop = `${row.item} ${row.paragraph} ${change.key}`;
    line.dataset.change = change.key;
    const head = made("span", "change-head");
    head.append(made("span", `change-state change-${change.state}`, this.words.states[change.state]), this.brief(change, row));
    line.append(head);
    if (this.decides) line.append(this.buttons(change));
    const facts = [change.topic, change.origin].filter(Boolean).map((name) => named(name, this.words));
    line.append(made("span", "change-facts muted", facts.join(" · ")));
    if (change.state === "reject" && !line.querySelector(".change-brief").textContent) line.append(made("s", "change-proposal muted", change.after));
    if (change.decision) line.append(this.decided(change.decision));
    return line;
  }

  brief(change, row) {
    const brief = made("span", "change-brief");
    if (isWhole(change, row) || change.before.length > SHORT || change.after.length > SHORT) return brief;
    brief.append(made("del", signs(change.before).trim(), visible(change.before) || "∅"), " → ", made("ins", "", visible(this.proposed(change)) || "∅"));
    return brief;
  }

  proposed(change) { return change.state === "replace" ? String(change.decision.value ?? "") : change.after; }

  decided({ actor, at }) {
    const line = made("span", "change-decision muted");
    const [before, after] = this.words.decided.replace("{actor}", actor).split("{time}");
    line.append(before, clock(at), after);
    localise(line);
    return line;
  }

  buttons(change) {
    const place = made("span", "change-buttons");
    const offered = [["accept", "✓", "a"], ["reject", "✕", "r"], ["edit", "✎", "e"], ...(change.decision ? [["undo", "↶", "u"]] : [])];
    for (const [name, sign, key] of offered) {
      const button = made("button", "button", sign);
      button.type = "button";
      button.title = `${this.words[name]} (${key})`;
      button.setAttribute("aria-label", this.words[name]);
      button.dataset.press = key;
      button.setAttribute("aria-keyshortcuts", key);
      if (name === change.state) button.setAttribute("aria-pressed", "true");
      place.append(button);
    }
    return place;
  }

  /** The form in which a person types a text instead of the change. */
  editing(change) {
    const form = made("form", "change-edit");
    const label = made("label", "field");
    const field = made("textarea");
    field.name = "value";
    field.rows = Math.min(8, 1 + Math.floor(this.proposed(change).length / 40));
    field.value = this.proposed(change);
    field.spellcheck = false;
    label.append(made("span", "label", this.words.replacement), field);
    const save = made("button", "button primary", this.words.save);
    const back = made("button", "button", this.words.back);
    back.type = "button";
    back.dataset.press = "Escape";
    form.append(label, save, back);
    return form;
  }
}
