// Which model would it be? Beside a chosen provider its own model is shown as what an empty field means.

document.addEventListener("change", ({ target }) => {
  const field = target.dataset?.models && document.getElementById(target.dataset.models);
  if (!field) return;
  const model = target.selectedOptions[0]?.dataset.model;
  field.placeholder = target.value ? model || "" : field.dataset.before;
});
