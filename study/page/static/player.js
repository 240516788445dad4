// Plays the network over time: of a run that goes on, of a film, or of what a run has measured.
import { Drawing, quantity } from "./network.js";
import { FilmPlots, Plot, portName } from "./plots.js";
import { Film, Measured, time } from "./film.js";

const root = document.getElementById("player");
if (root) await start();

async function start() {
  const $ = (id) => document.getElementById(id);
  const { kind } = root.dataset;
  let net, film, plots;
  if (kind === "series") {
    const data = await (await fetch(root.dataset.film)).json();
    net = data.network;
    film = new Measured(net, data.series);
    $("flows").closest(".two > div").hidden = true;
    plots = seriesPlots($("plots"), data.series);
  } else {
    net = await (await fetch(root.dataset.network)).json();
    film = new Film(net);
    plots = new FilmPlots($("plots"), net);
  }
  const drawing = new Drawing($("net"), net);
  const scrub = $("scrub"), play = $("play"), follow = $("follow");
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  let at = 0, playing = false, chosen = -1;
  const rows = makeRows($("ports"), 12, (p) => choose(p));
  const flowRows = makeFlowRows($("flows"), 10);

  function choose(p) {
    chosen = chosen === p ? -1 : p;
    drawing.chosen = plots.chosen = chosen;
    plots.set?.(film);
    show();
  }

  function show(quiet) {
    const times = film.times();
    if (!times.length) return;
    at = Math.min(Math.max(at, 0), times.length - 1);
    scrub.max = times.length - 1;
    scrub.value = at;
    const clock = quantity(times[at], "s");
    scrub.setAttribute("aria-valuetext", clock);
    $("clock").textContent = clock;
    const state = film.state(at);
    drawing.state = state;
    drawing.draw();
    fill(rows, state, net, chosen);
    fillFlows(flowRows, film.flows(at), net, drawing);
    if (!quiet) {
      plots.cursor(times[at]);
      const full = state.filter((s) => s && s.queue > 0).length, lost = state.reduce((n, s) => n + (s?.drops ?? 0), 0);
      $("said").textContent = `At ${clock}: ${full} ${full === 1 ? "port has" : "ports have"} a queue` + (kind === "series" ? "." : `, ${lost} ${lost === 1 ? "packet was" : "packets were"} dropped since the frame before.`);
    }
  }

  scrub.addEventListener("input", () => {
    at = Number(scrub.value);
    if (follow.checked && at < film.times().length - 1) follow.checked = false;
    show();
  });
  $("net").addEventListener("click", (e) => {
    const box = $("net").getBoundingClientRect();
    const p = drawing.at(e.clientX - box.left, e.clientY - box.top);
    if (p >= 0) choose(p);
  });
  const set = (on) => {
    playing = on;
    drawing.moving = on && !calm.matches;
    play.textContent = on ? "Pause" : "Play";
    play.setAttribute("aria-pressed", String(on));
    if (on) { last = performance.now(); requestAnimationFrame(step); } else show();
  };
  let last = 0, due = 0;
  play.addEventListener("click", () => {
    if (!playing && film.ended && at >= film.times().length - 1) at = 0;
    if (!playing) follow.checked = false;
    set(!playing);
  });
  // A film takes about 20 s at speed 1.
  function step(now) {
    if (!playing) return;
    const passed = Math.min(now - last, 200) / 1000;
    last = now;
    const n = film.times().length;
    drawing.phase = (drawing.phase + passed * 0.6) % 1;
    due += passed * Math.max(n, 60) / 20 * Number($("speed").value);
    if (due >= 1) {
      at += Math.floor(due);
      due %= 1;
      if (at >= n - 1) { at = n - 1; if (film.ended) { set(false); return; } }
      show(true);
      plots.cursor(film.times()[at]);
    } else {
      drawing.draw();
    }
    requestAnimationFrame(step);
  }

  if (kind === "series") {
    show();
    return;
  }
  $("follow-l").hidden = false;
  const source = new EventSource(root.dataset.events);
  let drawn = 0;
  source.addEventListener("film", (e) => {
    film.take(JSON.parse(e.data));
    if (!film.frames.length) return;
    if (follow.checked) at = film.frames.length - 1;
    const now = performance.now();
    if (now - drawn > 400 || film.ended) { plots.set(film); drawn = now; }
    show();
    if (film.ended) { $("follow-l").hidden = true; follow.checked = false; }
  });
  source.addEventListener("job", (e) => {
    const t = JSON.parse(e.data);
    const state = document.getElementById("state");
    if (state.textContent !== t.line) state.textContent = t.line;
  });
  source.addEventListener("over", () => { source.close(); if (film.frames.length) { plots.set(film); show(); } });
}

// Rows of ports stay the same elements, so that the keyboard does not lose its place.
function makeRows(table, n, choose) {
  return Array.from({ length: n }, () => {
    const tr = table.tBodies[0].insertRow(), button = document.createElement("button");
    const th = document.createElement("th");
    th.scope = "row";
    th.append(button);
    tr.append(th);
    const cells = [0, 1, 2].map(() => { const td = tr.insertCell(); td.className = "n"; return td; });
    button.type = "button";
    tr.hidden = true;
    const row = { tr, button, cells, port: -1 };
    button.addEventListener("click", () => choose(row.port));
    return row;
  });
}

function fill(rows, state, net, chosen) {
  const ports = state.map((s, p) => [s, p]).filter(([s]) => s);
  ports.sort(([a, p], [b, q]) => (q === chosen) - (p === chosen) || b.queue - a.queue || (b.used ?? 0) - (a.used ?? 0) || p - q);
  rows.forEach((row, i) => {
    const x = ports[i];
    row.tr.hidden = !x;
    if (!x) return;
    const [s, p] = x;
    row.port = p;
    row.button.textContent = portName(net, p);
    row.button.setAttribute("aria-pressed", String(p === chosen));
    row.cells[0].textContent = s.unit === "packets" ? `${s.queue} ${s.queue === 1 ? "packet" : "packets"}` : quantity(s.queue, "bytes");
    row.cells[1].textContent = s.used === null || s.used === undefined ? "–" : `${Math.round(100 * s.used)} %`;
    row.cells[2].textContent = s.drops ?? "–";
  });
}

function makeFlowRows(table, n) {
  return Array.from({ length: n }, () => {
    const tr = table.tBodies[0].insertRow();
    const th = document.createElement("th");
    th.scope = "row";
    tr.append(th);
    const cells = [0, 1, 2].map((i) => { const td = tr.insertCell(); if (i) td.className = "n"; return td; });
    tr.hidden = true;
    return { tr, cells: [th, ...cells] };
  });
}

function fillFlows(rows, flows, net, drawing) {
  rows.forEach((row, i) => {
    const f = flows[i];
    row.tr.hidden = !f;
    if (!f) return;
    const said = [`${net.traffic[f.e]} ${f.i}`, `${net.nodes[f.a].name} → ${net.nodes[f.b].name}`, quantity(f.r, "bps"), f.w ? quantity(f.w, "bytes") : "–"];
    row.cells.forEach((c, k) => { c.textContent = said[k]; });
    row.tr.onpointerenter = () => { drawing.path = drawing.between(f.a, f.b); drawing.draw(); };
    row.tr.onpointerleave = () => { drawing.path = null; drawing.draw(); };
  });
}

// A plot of each quantity, with a curve for each of up to eight that have it.
function seriesPlots(parent, series) {
  const by = new Map();
  for (const s of series) {
    const key = `${s.name} ${s.unit}`;
    if (!by.has(key)) by.set(key, []);
    by.get(key).push(s);
  }
  const plots = [];
  for (const list of by.values()) {
    const first = list[0], like = list.filter((s) => s.start_s === first.start_s && s.step_s === first.step_s).slice(0, 8);
    const plot = new Plot(parent, first.name.replaceAll("_", " ") + (list.length > like.length ? `, ${like.length} of ${list.length}` : ""), first.unit);
    const n = Math.max(...like.map((s) => s.values.length));
    plot.set(Array.from({ length: n }, (_, k) => time(first, k)), like.map((s) => ({ name: s.group || first.name, values: Array.from({ length: n }, (_, k) => s.values[k] ?? null) })));
    plots.push(plot);
  }
  return { cursor: (t) => plots.forEach((p) => p.cursor(t)) };
}
