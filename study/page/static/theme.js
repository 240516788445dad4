// The theme: that of the system, until another one is chosen.
"use strict";
(() => {
  const root = document.documentElement;
  let chosen = null;
  try { chosen = localStorage.getItem("weir-theme"); } catch { /* without storage it is the system's */ }
  if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;
  const dark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const changed = () => document.dispatchEvent(new Event("theme"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    if (!button) return;
    const name = () => { button.textContent = dark() ? "Light" : "Dark"; button.setAttribute("aria-label", dark() ? "Light theme" : "Dark theme"); };
    button.hidden = false;
    name();
    button.addEventListener("click", () => {
      root.dataset.theme = dark() ? "light" : "dark";
      try { localStorage.setItem("weir-theme", root.dataset.theme); } catch { /* for this page alone */ }
      name();
      changed();
    });
    document.addEventListener("theme", name);
  });
})();
