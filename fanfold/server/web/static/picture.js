// Zooms, fits, rotates and moves an item's picture; the reader's choice is kept from page to page.

const KEPT = "fanfold:picture";
const STEP = 1.25;
const [SMALLEST, LARGEST] = [0.05, 8];
const frame = document.getElementById("picture-frame");

if (frame) {
  const picture = document.getElementById("picture");
  const room = document.getElementById("picture-room");
  const said = document.getElementById("zoom-said");
  const view = { fit: "width", scale: 1, turned: 0, ...JSON.parse(sessionStorage.getItem(KEPT) ?? "{}") };

  const turnedSize = () => {
    const size = [picture.naturalWidth, picture.naturalHeight];
    return view.turned % 180 ? size.reverse() : size;
  };

  const fitted = () => {
    const [width, height] = turnedSize();
    const across = (frame.clientWidth - 2) / width;
    return view.fit === "whole" ? Math.min(across, (frame.clientHeight - 2) / height) : across;
  };

  const show = () => {
    if (!picture.naturalWidth) return;
    if (view.fit) view.scale = fitted();
    const [width, height] = turnedSize().map((length) => length * view.scale);
    room.style.width = `${width}px`;
    room.style.height = `${height}px`;
    picture.style.width = `${picture.naturalWidth * view.scale}px`;
    const shift = { 0: [0, 0], 90: [width, 0], 180: [width, height], 270: [0, height] }[view.turned];
    picture.style.transform = `translate(${shift[0]}px, ${shift[1]}px) rotate(${view.turned}deg)`;
    said.textContent = `${Math.round(view.scale * 100)} %`;
    sessionStorage.setItem(KEPT, JSON.stringify(view));
  };

  /** Zoom by a factor around a point of the frame, which stays in place. */
  const zoom = (factor, x = frame.clientWidth / 2, y = frame.clientHeight / 2) => {
    const before = view.scale;
    view.fit = "";
    view.scale = Math.min(LARGEST, Math.max(SMALLEST, view.scale * factor));
    const [left, top] = [frame.scrollLeft + x, frame.scrollTop + y].map((at) => at * (view.scale / before));
    show();
    frame.scrollTo(left - x, top - y);
  };

  const commands = {
    in: () => zoom(STEP),
    out: () => zoom(1 / STEP),
    width: () => { view.fit = "width"; show(); },
    whole: () => { view.fit = "whole"; show(); },
    turn: () => { view.turned = (view.turned + 90) % 360; show(); },
  };
  for (const button of document.querySelectorAll("[data-zoom]")) button.addEventListener("click", commands[button.dataset.zoom]);

  frame.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    const box = frame.getBoundingClientRect();
    zoom(event.deltaY < 0 ? STEP : 1 / STEP, event.clientX - box.left, event.clientY - box.top);
  }, { passive: false });

  let held = null;
  frame.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || event.pointerType === "touch") return;
    held = [event.clientX + frame.scrollLeft, event.clientY + frame.scrollTop];
    frame.setPointerCapture(event.pointerId);
  });
  frame.addEventListener("pointermove", (event) => {
    if (held) frame.scrollTo(held[0] - event.clientX, held[1] - event.clientY);
  });
  for (const end of ["pointerup", "pointercancel"]) frame.addEventListener(end, () => { held = null; });

  const none = () => {
    room.hidden = true;
    document.getElementById("picture-none").hidden = false;
  };
  picture.addEventListener("load", show);
  picture.addEventListener("error", none);
  if (picture.complete && !picture.naturalWidth) none();
  new ResizeObserver(() => { if (view.fit) show(); }).observe(frame);
  show();
}
