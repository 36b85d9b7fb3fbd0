// The pipeline and options chosen for new tasks. Fields that the pipeline does not use are hidden; choices are remembered.

import { sentenceOf } from "./notice.js";

const form = document.getElementById("upload");
const pipeline = document.getElementById("pipeline");
const more = document.getElementById("more");
const meanings = document.getElementById("meanings");
const KEPT = "fanfold.choices";
const PLAIN = ["provider", "model"];

/** The chosen pipeline: name, title, file endings, meanings of its options, and whether it expects items. */
export function chosen() {
  const option = pipeline.selectedOptions[0];
  return {
    name: option.value,
    title: option.textContent,
    accepts: option.dataset.accepts.split(",").filter(Boolean),
    meanings: JSON.parse(option.dataset.options),
    items: Boolean(option.dataset.items),
    files: Boolean(option.dataset.files),
    together: Boolean(option.dataset.together),
    local: Boolean(option.dataset.local),
    open: Boolean(option.dataset.open),
    declared: form.querySelector(`[data-declared="${CSS.escape(option.value)}"]`),
    front: form.querySelector(`[data-front="${CSS.escape(option.value)}"]`),
  };
}

/** Whether the chosen pipeline accepts a file of this name. */
export function fitting(name) {
  const { accepts, files } = chosen();
  return (files && !accepts.length) || accepts.some((ending) => name.toLowerCase().endsWith(ending.toLowerCase()));
}

/** The given options; throws an Error that names an invalid line. */
export function options() {
  const now = chosen();
  const known = now.meanings;
  const found = {};
  for (const name of PLAIN) {
    const value = form.elements[name].value.trim();
    if (name in known && value && (now.local || value !== "local")) found[name] = value;
  }
  if (now.declared) return Object.assign(found, now.front ? saidIn(now.front) : {}, saidIn(now.declared));
  for (const line of more.value.split("\n").map((one) => one.trim()).filter(Boolean)) {
    const at = line.indexOf("=");
    const name = line.slice(0, Math.max(0, at)).trim();
    if (!name) throw new Error(form.dataset.badOption.replace("{line}", line));
    found[name] = valueOf(line.slice(at + 1).trim());
  }
  return found;
}

const fieldsOf = (place) => [...place.querySelectorAll("input, select:not([data-fills]), textarea")];
const nameOf = (field) => field.name.split(":").at(-1);
const offered = (field) => [...(field.options ?? [])].find((one) => one.defaultSelected)?.value ?? field.defaultValue ?? "";

/** Values that differ from those the fields offered. */
function saidIn(place) {
  const changed = fieldsOf(place).filter((field) => field.value.trim() && field.value !== offered(field));
  return Object.fromEntries(changed.map((field) => [nameOf(field), field.value]));
}

/** Let the server check the options before any file is sent; returns its message, or nothing. */
export async function objection(pipeline, said) {
  const answer = await fetch(`/api/v1/pipelines/${encodeURIComponent(pipeline)}/check`, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ options: said }),
  });
  return answer.ok ? null : sentenceOf(await answer.text());
}

function valueOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

let shown = "";

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
  const none = form.elements.provider.options[0];
  if (none) none.textContent = now.local ? none.dataset.local : none.dataset.default;
  model.hidden ||= now.local && form.elements.provider.value === "local" && "provider" in now.meanings;
  if (now.open && now.name !== shown) form.querySelector("details.more").open = true;
  shown = now.name;
  if (model.hidden) form.elements.model.value = "";
  for (const place of form.querySelectorAll("[data-declared]")) place.hidden = place !== now.declared;
  for (const place of form.querySelectorAll("[data-front]")) place.hidden = place !== now.front;
  document.getElementById("free").hidden = Boolean(now.declared);
  const said = now.declared ? Object.keys(saidIn(now.declared)).length : more.value.trim().split("\n").filter(Boolean).length;
  document.getElementById("more-count").textContent = said ? ` (${said})` : "";
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
    // A browser without storage does not remember choices.
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

/** A link of a template names the pipeline, the option and the template to start with. */
function follow() {
  const asked = new URLSearchParams(location.search);
  const name = `option:${asked.get("pipeline")}:${asked.get("option")}`;
  const field = asked.get("template") && form.elements[name];
  if (!field) return;
  pipeline.value = asked.get("pipeline");
  field.value = asked.get("template");
  if (field.closest("details.more")) field.closest("details.more").open = true;
}

/** A chosen template fills the field that takes its text. */
form.addEventListener("change", (event) => {
  const field = document.getElementById(event.target.dataset?.fills);
  if (!field) return;
  field.value = event.target.value;
  event.target.value = "";
});

recall();
follow();
show();
form.addEventListener("change", () => { show(); keep(); });
form.addEventListener("input", keep);
