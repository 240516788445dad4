// Curves over time, by uPlot.
import { css, quantity } from "./network.js";

const dashes = [[], [8, 4], [2, 3], [10, 3, 2, 3]];

export class Plot {
  constructor(parent, title, unit) {
    this.unit = unit;
    this.plain = !["bps", "bytes", "s", "share"].includes(unit); // its unit stands in the title, once
    this.title = this.plain && unit ? `${title} [${unit}]` : title;
    this.figure = document.createElement("figure");
    this.figure.className = "plot";
    this.caption = document.createElement("figcaption");
    this.caption.textContent = this.title;
    this.box = document.createElement("div");
    this.box.setAttribute("role", "img");
    this.figure.append(this.caption, this.box);
    parent.append(this.figure);
    this.names = null;
    this.now = null;
    new ResizeObserver(() => { if (this.u) this.u.setSize(this.size()); }).observe(this.figure);
    document.addEventListener("theme", () => { this.names = null; if (this.last) this.set(...this.last); });
  }

  size() {
    return { width: Math.max(this.figure.clientWidth - 18, 200), height: this.figure.clientWidth < 420 ? 170 : 210 };
  }

  // Shows lines [{name, values}] over times; null is a gap.
  set(times, lines) {
    this.last = [times, lines];
    const all = lines.map((l) => l.name).join("\n");
    if (all !== this.names) {
      this.names = all;
      this.u?.destroy();
      const axis = { stroke: css("--soft"), grid: { stroke: css("--line"), width: 1 }, ticks: { stroke: css("--line"), width: 1 }, font: "11px system-ui, sans-serif" };
      const series = [{ label: "time", value: (u, v) => quantity(v, "s") }];
      lines.forEach((l, i) => series.push({ label: l.name, stroke: css(`--c${i % 8 + 1}`), width: 1.5, dash: dashes[Math.floor(i / 8) % 4].length ? dashes[Math.floor(i / 8) % 4] : dashes[i % 4], points: { show: false }, value: (u, v) => quantity(v, this.unit) }));
      this.u = new uPlot({
        ...this.size(), legend: { live: true }, cursor: { points: { size: 5 }, drag: { x: true, y: false } },
        scales: { x: { time: false }, y: { range: (u, low, high) => [Math.min(low ?? 0, 0), (high > 0 ? high : 1) * 1.05] } },
        axes: [{ ...axis, values: (u, v) => v.map((x) => quantity(x, "s")) }, { ...axis, size: 62, values: (u, v) => v.map((x) => this.unit === "share" ? `${Math.round(100 * x)} %` : quantity(x, this.plain ? "" : this.unit)) }],
        series,
        hooks: { draw: [(u) => this.mark(u)] },
      }, [times, ...lines.map((l) => l.values)], this.box);
    } else {
      this.u.setData([times, ...lines.map((l) => l.values)]);
    }
    const said = lines.map((l) => {
      const known = l.values.filter((v) => v !== null);
      return `${l.name}: ${known.length ? `at most ${this.unit === "share" ? `${Math.round(100 * Math.max(...known))} %` : quantity(Math.max(...known), this.unit)}` : "not known"}`;
    });
    this.box.setAttribute("aria-label", `${this.title}. ${said.join("; ")}`);
  }

  // A line at the time that is shown above.
  mark(u) {
    if (this.now === null) return;
    const x = u.valToPos(this.now, "x", true);
    if (x < u.bbox.left || x > u.bbox.left + u.bbox.width) return;
    u.ctx.save();
    u.ctx.strokeStyle = css("--focus");
    u.ctx.lineWidth = 1.5;
    u.ctx.setLineDash([]);
    u.ctx.beginPath();
    u.ctx.moveTo(x, u.bbox.top);
    u.ctx.lineTo(x, u.bbox.top + u.bbox.height);
    u.ctx.stroke();
    u.ctx.restore();
  }

  cursor(t) {
    this.now = t;
    this.u?.redraw(false);
  }
}

// What a film has, as curves.
export class FilmPlots {
  constructor(parent, net) {
    this.net = net;
    this.chosen = -1;
    this.queue = new Plot(parent, "Queues", "bytes");
    this.used = new Plot(parent, "Utilisation", "share");
    this.goodput = new Plot(parent, "Goodput by traffic", "bps");
    this.drops = new Plot(parent, "Drops since the frame before", "packets");
    this.all = [this.queue, this.used, this.goodput, this.drops];
  }

  set(film) {
    if (film.frames.length < 2) return;
    const f = film.frames, times = f.map((x) => x.t);
    const ports = this.chosen >= 0 ? [this.chosen] : busiest(film, this.net, 4);
    this.queue.set(times, ports.map((p) => ({ name: portName(this.net, p), values: f.map((x) => x.q[p]) })));
    this.used.set(times, ports.map((p) => ({ name: portName(this.net, p), values: f.map((_, k) => film.used(k, p)) })));
    this.goodput.set(times, this.net.traffic.slice(0, 8).map((name, i) => ({ name, values: f.map((x, k) => k ? 8 * (x.g[i] - f[k - 1].g[i]) / (x.t - f[k - 1].t) : null) })));
    const dropped = (k, p) => f[k].d[p] - (k ? f[k - 1].d[p] : 0);
    this.drops.set(times, this.chosen >= 0 ? [{ name: portName(this.net, this.chosen), values: f.map((_, k) => dropped(k, this.chosen)) }] : [{ name: "all ports", values: f.map((x, k) => x.d.reduce((s, v) => s + v, 0) - (k ? f[k - 1].d.reduce((s, v) => s + v, 0) : 0)) }]);
  }

  cursor(t) { for (const p of this.all) p.cursor(t); }
}

export function portName(net, p) {
  const l = net.links[p >> 1], [a, b] = p & 1 ? [l.b, l.a] : [l.a, l.b];
  return `${net.nodes[a].name}->${net.nodes[b].name}`;
}

// Ports with the longest queues, of switches first, then those that have sent most.
export function busiest(film, net, n) {
  const last = film.frames[film.frames.length - 1];
  const most = film.most ?? [];
  const ports = last.q.map((_, p) => p).filter((p) => {
    const l = net.links[p >> 1];
    return net.nodes[p & 1 ? l.b : l.a].switch;
  });
  const list = ports.length ? ports : last.q.map((_, p) => p);
  list.sort((a, b) => (most[b] ?? 0) - (most[a] ?? 0) || last.s[b] - last.s[a] || a - b);
  return list.slice(0, n);
}
