// Estimates the cost of a new task from the values or files in the form, and shows it below the form.

import { sentenceOf } from "./notice.js";
import { chosen, options } from "./options.js";

const form = document.getElementById("upload");
const button = document.getElementById("estimate-button");
const shown = document.getElementById("estimate");

async function ask(files) {
  const body = new FormData();
  const pipeline = chosen();
  body.append("pipeline", pipeline.name);
  body.append("options", JSON.stringify(options()));
  const given = form.elements.values.value.trim();
  if (given && !pipeline.accepts.length) {
    const values = JSON.parse(given);
    body.append(pipeline.items ? "items" : "inputs", JSON.stringify(Array.isArray(values) ? values : [values]));
  }
  for (const file of files) body.append("file", file, file.name);
  const answer = await fetch("/estimate", { method: "POST", body });
  const text = await answer.text();
  if (answer.ok) shown.innerHTML = text;
  else shown.textContent = sentenceOf(text);
}

async function show(files) {
  shown.hidden = false;
  shown.textContent = "…";
  try {
    await ask(files);
  } catch (error) {
    shown.textContent = error instanceof SyntaxError ? form.dataset.badJson : error instanceof TypeError ? form.dataset.offline : error.message;
  }
}

button?.addEventListener("click", () => {
  const { accepts } = chosen();
  if (!accepts.length) {
    show([]);
    return;
  }
  const picker = Object.assign(document.createElement("input"), { type: "file", multiple: true, accept: accepts.join(",") });
  picker.addEventListener("change", () => show([...picker.files]));
  picker.click();
});
form?.addEventListener("input", () => {
  shown.hidden = true;
});
