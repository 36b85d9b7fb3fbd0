// What happens when the page is closed? Nothing; unless the reader wants the task paused then, which is remembered for each task.

const STILL_HERE_MILLISECONDS = 3000;
const root = document.getElementById("task");
const box = document.getElementById("pause-on-leave");
const name = `fanfold:pause-on-leave:${root.dataset.task}`;

if (box) {
  box.checked = localStorage.getItem(name) === "yes";
  box.addEventListener("change", () => {
    if (box.checked) localStorage.setItem(name, "yes");
    else localStorage.removeItem(name);
  });
  // Going to another page of Fanfold is not leaving. A download begins like one and leaves the page where it is.
  let stays = false;
  window.navigation?.addEventListener("navigate", ({ destination }) => {
    stays = new URL(destination.url).origin === location.origin;
    setTimeout(() => { stays = false; }, STILL_HERE_MILLISECONDS);
  });
  window.addEventListener("pagehide", () => {
    const said = new URLSearchParams({ reason: box.dataset.reason });
    if (box.checked && !stays) navigator.sendBeacon(`/tasks/${root.dataset.task}/pause`, said);
  });
}
