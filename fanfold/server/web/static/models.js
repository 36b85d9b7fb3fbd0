// Shows the chosen provider's default model as the placeholder of the empty model field.

document.addEventListener("change", ({ target }) => {
  const field = target.dataset?.models && document.getElementById(target.dataset.models);
  if (!field) return;
  const model = target.selectedOptions[0]?.dataset.model;
  field.placeholder = target.value ? model || "" : field.dataset.before;
});
