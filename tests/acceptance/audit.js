// What does the page keep from people who use a keyboard or a screen reader? No heading, equal landmarks, small targets, dead scrollers.
() => {
  const found = [];
  const seen = (element) => element.checkVisibility({ visibilityProperty: true });
  const headings = [...document.querySelectorAll("main h1")].filter(seen);
  if (headings.length !== 1) found.push(`${headings.length} h1`);
  const labels = [...document.querySelectorAll("nav, main, header, [role=region], section[aria-label], section[aria-labelledby], [role=search]")]
    .filter((element) => seen(element) && !(element.tagName === "HEADER" && element.closest("main")))
    .map((element) => {
      const by = element.getAttribute("aria-labelledby");
      return `${element.tagName === "SECTION" ? "region" : element.getAttribute("role") ?? element.tagName}: `
        + (by ? document.getElementById(by)?.textContent.trim() : element.getAttribute("aria-label") ?? "");
    });
  for (const label of new Set(labels)) if (labels.filter((one) => one === label).length > 1) found.push(`twice ${label}`);
  for (const element of document.querySelectorAll("a[href], button, input:not([type=hidden]), select, summary")) {
    const box = element.getBoundingClientRect();
    const isInText = getComputedStyle(element).display === "inline" && element.parentElement.textContent.trim() !== element.textContent.trim();
    const label = element.closest("label")?.getBoundingClientRect();
    const height = Math.max(box.height, label?.height ?? 0);
    if (seen(element) && box.right > 0 && !isInText && height < 24) found.push(`${Math.round(height)} px ${element.outerHTML.slice(0, 80)}`);
  }
  for (const element of document.querySelectorAll("pre, .wide, .scroll, .text-body")) {
    const scrolls = element.scrollHeight > element.clientHeight + 1 || element.scrollWidth > element.clientWidth + 1;
    if (seen(element) && scrolls && element.tabIndex < 0 && !element.closest("[tabindex='0']")) found.push(`no focus ${element.className}`);
  }
  return found;
}
