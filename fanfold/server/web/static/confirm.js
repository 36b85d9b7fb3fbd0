// Confirms forms and buttons with data-confirm in one dialog that says what will happen.

const dialog = document.getElementById("confirm");
const sentence = document.getElementById("confirm-text");
const yes = dialog.querySelector("[value=yes]");
let waiting = null;

/** Ask a question; resolves to true if the answer is yes. */
export function ask(text, yesText) {
  waiting?.(false);
  sentence.textContent = text;
  yes.textContent = yesText || yes.dataset.default;
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((resolve) => { waiting = resolve; });
}

dialog.addEventListener("close", () => {
  waiting?.(dialog.returnValue === "yes");
  waiting = null;
});

// Uses the capture phase, so that neither htmx nor the browser sends anything before the question is answered.
document.addEventListener("submit", async (event) => {
  const form = event.target;
  const submitter = event.submitter;
  const asking = submitter?.dataset.confirm ? submitter : form;
  if (!asking.dataset.confirm) return;
  if (form.dataset.confirmed) {
    delete form.dataset.confirmed;
    return;
  }
  event.preventDefault();
  event.stopImmediatePropagation();
  if (await ask(asking.dataset.confirm, asking.dataset.confirmYes)) {
    form.dataset.confirmed = "yes";
    form.requestSubmit(submitter);
  }
}, { capture: true });

window.early.release();
