// What is wrong with how a page looks, and with what a keyboard or a screen reader finds on it.
(() => {
  if (document.readyState !== "complete") throw new Error("it is being loaded");
  const wrong = [];
  const name = (e) => e.getAttribute("aria-label") || (e.labels && [...e.labels].map((l) => l.textContent).join(" ").trim()) || e.textContent.trim() || e.querySelector("img")?.alt || e.getAttribute("title") || "";
  const shown = (e) => e.getClientRects().length > 0;
  const at = (e) => e.tagName.toLowerCase() + (e.id ? "#" + e.id : "") + "." + e.className + " " + (e.textContent || "").trim().slice(0, 40);
  if (document.documentElement.scrollWidth > innerWidth) wrong.push("it is wider than the window by " + (document.documentElement.scrollWidth - innerWidth));
  if (!document.documentElement.lang) wrong.push("no language");
  if (document.querySelectorAll("h1").length !== 1 || document.querySelectorAll("main").length !== 1) wrong.push("not one h1 and one main");
  for (const e of document.querySelectorAll("a[href],button,input:not([type=hidden]),select")) if (shown(e) && !name(e)) wrong.push("no name: " + at(e));
  for (const e of document.querySelectorAll("img")) if (!e.alt) wrong.push("no alt: " + e.src);
  for (const e of document.querySelectorAll("canvas")) if (!e.getAttribute("aria-label") && !e.closest("[role=img]")) wrong.push("no label: " + at(e));
  for (const e of document.querySelectorAll(".scroll")) if (e.tabIndex !== 0 || !e.getAttribute("aria-label")) wrong.push("not reached by keyboard: " + at(e));
  for (const e of document.querySelectorAll("table")) if (!e.closest(".u-legend") && !e.closest(".doc") && !e.classList.contains("u-legend") && ![...e.querySelectorAll("thead th")].every((h) => h.scope)) wrong.push("no scope: " + at(e));
  // The keyboard comes to all in the order in which they stand; nothing of them is off the window.
  const reached = (e) => shown(e) && !e.disabled && e.tabIndex >= 0 && e.type !== "hidden" && !e.closest("details:not([open]) > :not(summary)");
  for (const e of document.querySelectorAll("a[href],button,input,select,textarea,summary,[tabindex]")) {
    if (e.tabIndex > 0) wrong.push("out of order: " + at(e));
    if (!reached(e)) continue;
    e.focus({ preventScroll: true });
    if (document.activeElement !== e) { wrong.push("cannot be reached: " + at(e)); continue; }
    const box = e.getBoundingClientRect(), scrolls = e.closest(".scroll, nav, pre, .summary");
    if (!scrolls && e.className !== "skip" && (box.right > innerWidth + 1 || box.left < -1)) wrong.push("it is off the window: " + at(e));
    e.blur();
  }
  // Words that an element cuts off are lost; those that scroll are not.
  for (const e of document.querySelectorAll("button, .button, .tag, th, td, label, h1, h2, h3, p, li, summary, option")) {
    if (shown(e) && getComputedStyle(e).overflowX === "hidden" && e.scrollWidth > e.clientWidth + 1 && !e.classList.contains("sr")) wrong.push("cut off: " + at(e));
  }
  for (const e of document.querySelectorAll("td, th, li, p, h1, h2, h3, figure, label, pre, fieldset, .panel")) {
    const box = e.getBoundingClientRect(), p = e.parentElement.closest("main > *, .panel, .scroll");
    if (shown(e) && p && !e.closest(".scroll, .doc, .summary, .u-wrap, .uplot, .sr") && box.right > p.getBoundingClientRect().right + 1) wrong.push("it sticks out: " + at(e));
  }
  let level = 0;
  for (const e of document.querySelectorAll("h1,h2,h3,h4")) { const l = Number(e.tagName[1]); if (l > level + 1) wrong.push("a level is left out: " + at(e)); level = l; }
  const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
  for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) wrong.push("twice: #" + id);
  const rgb = (c) => c.match(/[\d.]+/g).map(Number);
  const light = ([r, g, b]) => { const f = (v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }; return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b); };
  const seen = new Set();
  for (const e of document.querySelectorAll("body *")) {
    if (!shown(e) || e.closest("[disabled]") || ![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())) continue;
    let back = null;
    for (let p = e; p && !back; p = p.parentElement) { const c = rgb(getComputedStyle(p).backgroundColor); if (c.length < 4 || c[3] === 1) back = c; }
    const a = light(rgb(getComputedStyle(e).color)), b = light(back ?? (matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18] : [255, 255, 255]));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), key = e.tagName + e.className;
    if (ratio < 4.5 && !seen.has(key)) { seen.add(key); wrong.push("contrast " + ratio.toFixed(2) + ": " + at(e)); }
  }
  return wrong;
})()
