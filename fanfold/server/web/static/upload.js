// Uploads files, at most three at a time. Each file becomes a task, or all become one. The choices are remembered.
import { chosen, fitting, objection, options } from "./options.js";
import { sentenceOf } from "./notice.js";

const form = document.getElementById("upload");
const input = document.getElementById("files");
const values = document.getElementById("values");
const uploads = document.getElementById("uploads");
const problem = document.getElementById("upload-problem");
const veil = document.getElementById("veil");
const AT_ONCE = 3;
const waiting = [];
let running = 0;

const say = (text, named = {}) => text.replace(/\{(\w+)\}/g, (whole, name) => named[name] ?? whole);

/** The budget of a new task, as typed; empty for no budget. */
const budget = () => form.elements.budget.value.trim();
/** When a new task starts, with the zone of this browser; empty for at once. */
const runAt = () => (form.elements.run_at.value ? new Date(form.elements.run_at.value).toISOString() : "");
/** The number of items of a sample; 0 for all. */
const sample = () => Number(form.elements.sample.value) || 0;

function complain(sentences) {
  problem.textContent = sentences.join("\n");
  problem.hidden = !sentences.length;
}

/** Accept files from the chooser or a drop: matching ones become uploads; for the others, show the reason. */
async function take(files) {
  const pipeline = chosen();
  let said;
  try {
    said = options();
  } catch (error) {
    complain([error.message]);
    return;
  }
  const refused = await objection(pipeline.name, said).catch(() => form.dataset.offline);
  if (refused) {
    complain([refused]);
    return;
  }
  const sentences = [];
  const fit = [];
  for (const file of files) {
    if (!pipeline.files) sentences.push(say(form.dataset.noFiles, { pipeline: pipeline.title }));
    else if (!fitting(file.name)) {
      sentences.push(say(form.dataset.refused, { file: file.name, pipeline: pipeline.title, endings: pipeline.accepts.join(", ") }));
    } else if (!file.size) sentences.push(say(form.dataset.empty, { file: file.name }));
    else fit.push(file);
  }
  const tasks = pipeline.together && fit.length ? [fit] : fit.map((file) => [file]);
  for (const some of tasks) add(some, pipeline.name, said);
  complain([...new Set(sentences)].slice(0, 5));
  begin();
}

/** A row for the files of one task. */
function add(files, pipeline, said) {
  const label = files.length > 1 ? `${files[0].name} + ${files.length - 1}` : files[0].name;
  const row = document.createElement("li");
  row.className = "upload-item";
  const name = document.createElement("bdi");
  name.className = "upload-name";
  name.textContent = label;
  const bar = document.createElement("progress");
  bar.max = 100;
  bar.value = 0;
  bar.setAttribute("aria-label", label);
  const state = document.createElement("span");
  state.className = "upload-state figures muted";
  state.textContent = form.dataset.waits;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "button quiet";
  button.textContent = form.dataset.cancel;
  row.append(name, bar, state, button);
  uploads.append(row);
  const upload = { files, pipeline, said, row, bar, state, button, request: null };
  button.addEventListener("click", () => cancel(upload));
  waiting.push(upload);
}

function begin() {
  while (running < AT_ONCE && waiting.length) {
    running += 1;
    send(waiting.shift());
  }
}

/** Send the files of one task. fetch reports no upload progress, so this uses XMLHttpRequest. */
function send(upload) {
  const body = new FormData();
  body.append("pipeline", upload.pipeline);
  body.append("options", JSON.stringify(upload.said));
  if (budget()) body.append("budget", JSON.stringify(budget()));
  if (sample()) body.append("sample", JSON.stringify(sample()));
  if (runAt()) body.append("run_at", runAt());
  for (const file of upload.files) body.append("file", file, file.name);
  const request = new XMLHttpRequest();
  upload.request = request;
  request.upload.addEventListener("progress", (event) => {
    if (!event.lengthComputable) return;
    const percent = Math.floor((100 * event.loaded) / event.total);
    upload.bar.value = percent;
    upload.state.textContent = percent < 100 ? `${percent} %` : form.dataset.stored;
  });
  request.addEventListener("load", () => finish(upload, request.status < 300 ? null : sentenceOf(request.responseText)));
  request.addEventListener("error", () => finish(upload, form.dataset.offline));
  request.addEventListener("loadend", () => {
    running -= 1;
    begin();
  });
  request.open("POST", "/api/v1/tasks");
  request.send(body);
}

function finish(upload, trouble) {
  if (!trouble) {
    upload.row.remove();
    document.dispatchEvent(new CustomEvent("fanfold:changed"));
    return;
  }
  upload.bar.remove();
  upload.state.textContent = trouble;
  upload.state.className = "upload-state state state-failed";
  upload.button.textContent = form.dataset.dismiss;
  upload.request = null;
  const again = document.createElement("button");
  again.type = "button";
  again.className = "button";
  again.textContent = form.dataset.again;
  again.addEventListener("click", () => tryAgain(upload));
  upload.button.before(again);
}

/** Send files again with the current options, which may have been the cause. */
function tryAgain(upload) {
  upload.row.remove();
  if (chosen().name === upload.pipeline) take(upload.files);
  else {
    add(upload.files, upload.pipeline, upload.said);
    begin();
  }
}

function cancel(upload) {
  const at = waiting.indexOf(upload);
  if (at >= 0) waiting.splice(at, 1);
  upload.request?.abort();
  upload.row.remove();
}

/** Send the JSON text; a list is many values, anything else is one. */
async function sendValues() {
  const pipeline = chosen();
  let given;
  let said;
  try {
    said = options();
    given = values.value.trim() ? JSON.parse(values.value) : [];
  } catch (error) {
    complain([error instanceof SyntaxError ? form.dataset.badJson : error.message]);
    return;
  }
  const body = { pipeline: pipeline.name, options: said, [pipeline.items ? "items" : "inputs"]: Array.isArray(given) ? given : [given] };
  if (budget()) body.budget = budget();
  if (sample()) body.sample = sample();
  if (runAt()) body.run_at = runAt();
  try {
    const answer = await fetch("/api/v1/tasks", {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
    });
    complain(answer.ok ? [] : [sentenceOf(await answer.text())]);
    if (answer.ok) values.value = "";
    if (answer.ok) document.dispatchEvent(new CustomEvent("fanfold:changed"));
  } catch {
    complain([form.dataset.offline]);
  }
}

// The reader is fixing the input, so clear the error.
form.addEventListener("input", () => complain([]));
form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (chosen().accepts.length) input.click();
  else sendValues();
});
input.addEventListener("change", () => {
  unfold(true);
  take([...input.files]);
  input.value = "";
});

// Once there are tasks, the form is folded into the header. Its button opens it, and so does a file dragged over the window.
const opener = document.getElementById("upload-open");
function unfold(open) {
  form.hidden = !open;
  opener?.setAttribute("aria-expanded", open);
}
opener?.addEventListener("click", (event) => {
  event.preventDefault();
  unfold(form.hidden);
  if (!form.hidden) (chosen().files ? input : form.elements.pipeline).focus();
});
opener?.addEventListener("keydown", (event) => {
  if (event.key === " ") {
    event.preventDefault();
    opener.click();
  }
});

let foldAgain = false;
const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
let inside = 0;
const veiled = (shown) => {
  if (shown && form.hidden) {
    foldAgain = true;
    unfold(true);
  }
  veil.hidden = !shown;
  if (!shown) inside = 0;
};
document.addEventListener("dragenter", (event) => {
  if (!hasFiles(event)) return;
  inside += 1;
  veiled(true);
});
document.addEventListener("dragleave", (event) => {
  if (!hasFiles(event) || (inside -= 1) > 0) return;
  veiled(false);
  if (foldAgain) unfold(false);
  foldAgain = false;
});
document.addEventListener("dragover", (event) => {
  if (hasFiles(event)) event.preventDefault();
});
document.addEventListener("drop", (event) => {
  if (!hasFiles(event)) return;
  event.preventDefault();
  veiled(false);
  foldAgain = false;
  take([...event.dataTransfer.files]);
});
window.addEventListener("beforeunload", (event) => {
  if (running || waiting.length) event.preventDefault();
});
