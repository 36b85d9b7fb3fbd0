// Pauses the task when its page is closed, if the reader has chosen that for this task.

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
  // Going to another Fanfold page does not count as closing. Neither does a download, which starts like a navigation.
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
