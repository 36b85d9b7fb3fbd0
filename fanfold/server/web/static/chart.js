// Shows the value of the throughput chart under the pointer.

const HOUR_MINUTES = 60;

function told(chart) {
  const found = chart.querySelector(".chart-told");
  if (found) return [chart.querySelector(".chart-mark"), found];
  const mark = document.createElement("span");
  mark.className = "chart-mark";
  const text = document.createElement("span");
  text.className = "chart-told figures";
  for (const part of [mark, text]) part.setAttribute("aria-hidden", "true");
  chart.append(mark, text);
  return [mark, text];
}

const nearest = (points, x) =>
  points.reduce((best, point) => (Math.abs(point.x - x) < Math.abs(best.x - x) ? point : best));

function tell(event) {
  const picture = event.target.closest?.(".chart svg");
  if (!picture) {
    for (const part of document.querySelectorAll(".chart-told, .chart-mark")) part.remove();
    return;
  }
  const box = picture.getBoundingClientRect();
  const { width, height } = picture.viewBox.baseVal;
  const x = ((event.clientX - box.left) / box.width) * width;
  const point = nearest([...picture.querySelector(".chart-done").points], x);
  const [mark, text] = told(picture.closest(".chart"));
  const most = Number(picture.dataset.most);
  const value = Math.round(((height - point.y) / (height - 4)) * most);
  const ago = Math.round((1 - point.x / width) * HOUR_MINUTES);
  text.textContent = `−${ago} min: ${value}`;
  const at = (point.x / width) * box.width;
  mark.style.left = `${at}px`;
  text.style.left = `${Math.min(at + 6, box.width - text.offsetWidth - 4)}px`;
}

document.addEventListener("pointermove", tell);
