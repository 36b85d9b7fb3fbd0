// What was chosen for new tasks? The pipeline and its options; fields that the pipeline does not know are hidden, choices are remembered.

const form = document.getElementById("upload");
const pipeline = document.getElementById("pipeline");
const more = document.getElementById("more");
const meanings = document.getElementById("meanings");
const KEPT = "fanfold.choices";
const PLAIN = ["provider", "model", "pages"];

/** The chosen pipeline: its name, title, endings of files, the meanings of its options, and whether it wants items. */
export function chosen() {
  const option = pipeline.selectedOptions[0];
  return {
    name: option.value,
    title: option.textContent,
    accepts: option.dataset.accepts.split(",").filter(Boolean),
    meanings: JSON.parse(option.dataset.options),
    items: Boolean(option.dataset.items),
    files: Boolean(option.dataset.files),
  };
}

/** Whether the chosen pipeline takes a file of this name. */
export function fitting(name) {
  const { accepts, files } = chosen();
  return (files && !accepts.length) || accepts.some((ending) => name.toLowerCase().endsWith(ending.toLowerCase()));
}

/** The options as said; an Error names a line that is none. */
export function options() {
  const known = chosen().meanings;
  const found = {};
  for (const name of PLAIN) {
    const value = form.elements[name].value.trim();
    if (name in known && value) found[name] = value;
  }
  for (const line of more.value.split("\n").map((one) => one.trim()).filter(Boolean)) {
    const at = line.indexOf("=");
    const name = line.slice(0, Math.max(0, at)).trim();
    if (!name) throw new Error(form.dataset.badOption.replace("{line}", line));
    found[name] = valueOf(line.slice(at + 1).trim());
  }
  return found;
}

function valueOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function show() {
  const now = chosen();
  const onlyFiles = now.accepts.length > 0;
  document.getElementById("drop").hidden = !now.files;
  document.getElementById("values-field").hidden = onlyFiles;
  document.getElementById("kinds").textContent = now.accepts.join(" ");
  document.getElementById("files").accept = now.accepts.join(",");
  document.getElementById("start").hidden = onlyFiles;
  for (const field of form.querySelectorAll("[data-option]")) field.hidden = !(field.dataset.option in now.meanings);
  const model = form.querySelector("[data-option=model]");
  model.hidden ||= form.elements.provider.value === "local" && "provider" in now.meanings;
  if (model.hidden) form.elements.model.value = "";
  document.getElementById("more-count").textContent = more.value.trim() ? ` (${more.value.trim().split("\n").length})` : "";
  explain(now.meanings);
}

function explain(known) {
  meanings.replaceChildren();
  for (const [name, meaning] of Object.entries(known)) {
    if (PLAIN.includes(name)) continue;
    const term = document.createElement("dt");
    const code = document.createElement("code");
    code.textContent = name;
    term.append(code);
    const words = document.createElement("dd");
    words.textContent = meaning.replaceAll("`", "");
    meanings.append(term, words);
  }
}

function keep() {
  const kept = { pipeline: pipeline.value, more: more.value, provider: form.elements.provider.value, model: form.elements.model.value };
  try {
    localStorage.setItem(KEPT, JSON.stringify(kept));
  } catch {
    // A browser that keeps nothing has to be told each time.
  }
}

function recall() {
  let kept;
  try {
    kept = JSON.parse(localStorage.getItem(KEPT)) ?? {};
  } catch {
    return;
  }
  for (const name of ["pipeline", "more", "provider", "model"]) {
    const field = form.elements[name];
    const value = kept[name];
    const possible = !(field instanceof HTMLSelectElement) || [...field.options].some((option) => option.value === value);
    if (typeof value === "string" && possible) field.value = value;
  }
  if (more.value.trim()) form.querySelector("details.more").open = true;
}

recall();
show();
form.addEventListener("change", () => { show(); keep(); });
form.addEventListener("input", keep);
