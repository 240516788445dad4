// How a job goes on, told by the server, with curves of the run that goes on.
import { FilmPlots } from "./plots.js";
import { Film } from "./film.js";

const $ = (id) => document.getElementById(id);
const job = $("job"), id = job.dataset.job;
const rows = new Map([...document.querySelectorAll("#runs tr[data-run]")].map((tr) => [Number(tr.dataset.run), tr]));
let source = null, watched = -1, film = null, plots = null, drawn = 0;

async function listen(number) {
  source?.close();
  watched = number;
  let net = null;
  if (number >= 0) {
    net = await (await fetch(`/jobs/${id}/runs/${number}/network`)).json();
    if (number !== watched) return;
    film = new Film(net);
    $("live").hidden = false;
    $("live-run").textContent = rows.get(number)?.cells[0].textContent ?? "";
    $("live-plots").replaceChildren();
    plots = new FilmPlots($("live-plots"), net);
  }
  source = new EventSource(`/jobs/${id}/events${number >= 0 ? `?film=${number}` : ""}`);
  source.addEventListener("job", (e) => tell(JSON.parse(e.data)));
  source.addEventListener("film", (e) => show(JSON.parse(e.data)));
  source.addEventListener("over", () => source.close());
}

function tell(t) {
  const say = (el, text) => { if (el.textContent !== text) el.textContent = text; };
  say($("state"), t.state);
  $("state").className = `tag ${t.state}`;
  say($("line"), t.line);
  $("share").value = t.share;
  $("error").hidden = !t.error;
  say($("error").firstElementChild, t.error);
  $("result").hidden = !t.folder;
  if (t.folder) $("result").href = `/results/${encodeURIComponent(t.folder)}`;
  $("watch").hidden = t.watch < 0;
  if (t.watch >= 0) $("watch").href = `/jobs/${id}/runs/${t.watch}`;
  if (t.over) $("stop")?.remove();
  $("notices-s").hidden = !t.notices.length;
  while ($("notices").children.length < t.notices.length) $("notices").append(document.createElement("li"));
  t.notices.forEach((n, i) => say($("notices").children[i], n));
  workers(t, say);
  for (const r of t.runs ?? []) {
    const tr = rows.get(r.n);
    if (!tr) continue;
    say(tr.querySelector(".state"), r.state);
    say(tr.querySelector(".time"), r.text);
    const cell = tr.querySelector(".film");
    if (t.films[r.n] && !cell.firstElementChild) {
      const a = document.createElement("a");
      a.href = `/jobs/${id}/runs/${r.n}`;
      a.textContent = "watch";
      cell.replaceChildren(a);
    } else if (!t.films[r.n] && cell.firstElementChild) {
      cell.replaceChildren();
    }
  }
  if (t.watch >= 0 && t.watch !== watched && (!film || film.ended)) listen(t.watch);
}

function workers({ workers: w, queue }, say) {
  say($("queue"), queue);
  if (!w) return;
  const body = $("worker-rows");
  const list = w.Workers ?? [];
  while (body.rows.length > list.length) body.deleteRow(-1);
  list.forEach((x, i) => {
    let tr = body.rows[i];
    if (!tr) {
      tr = body.insertRow();
      const th = document.createElement("th");
      th.scope = "row";
      tr.append(th);
      for (let k = 0; k < 4; k++) tr.insertCell().className = k < 3 ? "n" : "";
    }
    [x.Name, String(x.Jobs), String(x.Hand), String(x.Done), x.State].forEach((text, k) => say(tr.cells[k], text));
  });
}

function show(x) {
  film.take(x);
  const now = performance.now();
  if (film.frames.length > 1 && (now - drawn > 400 || film.ended)) {
    drawn = now;
    plots.set(film);
  }
}

listen(-1);
