// Copies text with the clipboard API or, if the page may not use it, by copying a selection.
import { notify, refused, unreachable } from "./notice.js";

async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const field = document.createElement("textarea");
  field.value = text;
  field.readOnly = true;
  field.className = "sr";
  document.body.append(field);
  field.select();
  const worked = document.execCommand("copy");
  field.remove();
  if (!worked) throw new Error("not allowed");
  return undefined;
}

document.addEventListener("click", async ({ target }) => {
  const button = target.closest?.("[data-copy], [data-copy-text]");
  if (!button) return;
  const { copied, uncopied } = document.getElementById("notice").dataset;
  const put = (text) => copy(text).then(() => notify(copied), () => notify(uncopied, "error"));
  if (button.dataset.copyText) {
    await put(button.dataset.copyText);
    return;
  }
  const answer = await fetch(button.dataset.copy).catch(() => null);
  if (!answer) {
    unreachable();
    return;
  }
  const text = await answer.text();
  if (!answer.ok) refused(answer.status, text);
  else await put(text);
});
