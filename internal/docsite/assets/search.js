// The search of Weir's pages. The index is a script, which is loaded when somebody begins to search: so it works from a
// folder, without a server.
"use strict";
(() => {
  const root = document.currentScript.dataset.root;
  const form = document.querySelector("form[role=search]");
  const input = document.getElementById("words");
  const list = document.getElementById("found");
  const count = document.getElementById("count");
  const most = 20;
  let index = null, asked = false;

  // On a narrow page the list of pages would hide the text.
  if (matchMedia("(max-width: 56rem)").matches) document.querySelector("nav details").open = false;
  form.hidden = false;

  function load() {
    if (asked) return;
    asked = true;
    const script = document.createElement("script");
    script.src = root + "assets/index.js";
    script.onload = () => {
      index = window.weirIndex.map((s) => ({...s, head: (s.heading + " " + s.page).toLowerCase(),
        low: s.text.toLowerCase()}));
      search();
    };
    script.onerror = () => { asked = false; count.textContent = "The index cannot be loaded."; };
    document.head.append(script);
  }

  // How well a section fits all words; 0 if one is missing. What begins with a word counts more than what has it inside.
  function score(s, words) {
    let sum = 0;
    for (const w of words) {
      const inHead = s.head.indexOf(w), inText = s.low.indexOf(w);
      if (inHead < 0 && inText < 0) return 0;
      if (s.heading.toLowerCase() === w) sum += 40;
      if (inHead >= 0) sum += starts(s.head, w) ? 20 : 8;
      if (inText >= 0) sum += (starts(s.low, w) ? 4 : 1) + Math.min(4, s.low.split(w).length - 2);
    }
    return sum;
  }

  function starts(text, word) {
    for (let i = text.indexOf(word); i >= 0; i = text.indexOf(word, i + 1)) {
      if (i === 0 || !/[\p{L}\p{N}]/u.test(text[i - 1])) return true;
    }
    return false;
  }

  function around(s, words) {
    const at = Math.min(...words.map((w) => s.low.indexOf(w)).filter((i) => i >= 0));
    if (!isFinite(at)) return s.text.slice(0, 140);
    const from = Math.max(0, at - 50);
    return (from > 0 ? "… " : "") + s.text.slice(from, at + 110) + (at + 110 < s.text.length ? " …" : "");
  }

  // Text with the words marked; nothing of it is taken for HTML.
  function marked(text, words) {
    const out = document.createDocumentFragment();
    const low = text.toLowerCase();
    let at = 0;
    while (at < text.length) {
      let next = -1, length = 0;
      for (const w of words) {
        const i = low.indexOf(w, at);
        if (i >= 0 && (next < 0 || i < next || i === next && w.length > length)) [next, length] = [i, w.length];
      }
      if (next < 0) break;
      const mark = document.createElement("mark");
      mark.textContent = text.slice(next, next + length);
      out.append(text.slice(at, next), mark);
      at = next + length;
    }
    out.append(text.slice(at));
    return out;
  }

  function search() {
    const words = [...new Set(input.value.toLowerCase().split(/\s+/).filter(Boolean))];
    list.replaceChildren();
    count.textContent = "";
    if (words.length === 0) return;
    load();
    if (!index) return;
    const hits = index.map((s, i) => ({s, i, n: score(s, words)})).filter((h) => h.n > 0)
      .sort((a, b) => b.n - a.n || a.i - b.i);
    count.textContent = hits.length === 1 ? "1 place found" : hits.length + " places found";
    for (const {s} of hits.slice(0, most)) {
      const a = document.createElement("a"), b = document.createElement("b"), of = document.createElement("span"),
        where = document.createElement("span");
      a.href = root + s.path;
      b.append(marked(s.heading, words));
      of.className = "of";
      of.textContent = s.heading === s.page ? "" : " in " + s.page;
      where.className = "where";
      where.append(marked(around(s, words), words));
      a.append(b, of, where);
      const item = document.createElement("li");
      item.append(a);
      list.append(item);
    }
    if (hits.length === 0 || hits.length > most) {
      const item = document.createElement("li");
      item.className = "none";
      item.textContent = hits.length === 0 ? "No section has all of these words." :
        `${hits.length - most} more: another word makes it fewer.`;
      list.append(item);
    }
  }

  input.addEventListener("focus", load);
  input.addEventListener("input", search);
  form.addEventListener("submit", (e) => {
    e.preventDefault();
    const first = list.querySelector("a");
    if (first) first.click();
  });
  list.addEventListener("click", (e) => {
    if (e.target.closest("a")) close();
  });

  function close() {
    list.replaceChildren();
    count.textContent = "";
  }

  document.addEventListener("keydown", (e) => {
    const links = [...list.querySelectorAll("a")];
    const at = links.indexOf(document.activeElement);
    const inside = document.activeElement === input || at >= 0;
    if (e.key === "/" && !inside && !e.ctrlKey && !e.metaKey && !e.altKey) {
      e.preventDefault();
      input.focus();
      input.select();
    } else if (e.key === "Escape" && inside) {
      close();
      input.focus();
    } else if (e.key === "ArrowDown" && inside && links.length > 0) {
      e.preventDefault();
      links[Math.min(at + 1, links.length - 1)].focus();
    } else if (e.key === "ArrowUp" && at >= 0) {
      e.preventDefault();
      (at > 0 ? links[at - 1] : input).focus();
    }
  });
  // A link can ask: index.html?q=trimming.
  const query = new URLSearchParams(location.search).get("q");
  if (query) {
    input.value = query;
    search();
  }
  document.addEventListener("click", (e) => {
    if (!form.contains(e.target)) close();
  });
})();
