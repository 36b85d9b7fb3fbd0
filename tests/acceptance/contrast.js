// Which texts of the page are too faint? Those whose contrast is below WCAG AA.
() => {
  const channels = color => { const found = color.match(/[\d.]+/g).map(Number); return found.length === 3 ? [...found, 1] : found };
  const light = ([r, g, b]) => [r, g, b].map(c => c / 255).map(c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = node => { for (let one = node; one; one = one.parentElement) {
    const found = channels(getComputedStyle(one).backgroundColor); if (found[3] > 0.9) return found } return [255, 255, 255, 1] };
  const faint = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement, style = getComputedStyle(node);
    if (!walker.currentNode.data.trim() || !node.checkVisibility({visibilityProperty: true, opacityProperty: true})) continue;
    if (node.closest("[aria-disabled], [disabled], .sr, canvas, option")) continue;
    const [a, b] = [light(channels(style.color)), light(behind(node))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.6 && style.fontWeight >= 700);
    if (ratio < (large ? 3 : 4.5)) faint.push(`${ratio.toFixed(2)} ${node.className || node.tagName}: ${walker.currentNode.data.trim().slice(0, 30)}`);
  }
  return faint;
}
