// A network drawn on a canvas, with what its ports do at a time.
export const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export function quantity(v, unit) {
  if (v === null || v === undefined || Number.isNaN(v)) return "–";
  const steps = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"], [1e-6, "µ"], [1e-9, "n"]];
  const name = { bps: "b/s", bytes: "B", s: "s" }[unit] ?? unit;
  if (v === 0) return `0 ${name}`.trim();
  for (const [worth, prefix] of steps) {
    if (Math.abs(v) >= worth * 0.9995 && (worth >= 1 || unit === "s")) {
      return `${Number((v / worth).toPrecision(4))} ${prefix}${name}`.trim();
    }
  }
  return `${Number(v.toPrecision(3))} ${name}`.trim();
}

export class Drawing {
  constructor(canvas, net) {
    this.canvas = canvas;
    this.net = net;
    this.state = null; // by port: {queue, most, used, drops}; null: nothing is known
    this.chosen = -1;
    this.path = null; // links of a flow that is pointed at
    this.phase = 0;
    new ResizeObserver(() => this.draw()).observe(canvas);
    document.addEventListener("theme", () => this.draw());
  }

  place(i) {
    const n = this.net.nodes[i];
    return [24 + n.x * (this.width - 48), 16 + n.y * (this.height - 32)];
  }

  // Ends of a port's line: it leaves its node on the right-hand side.
  line(port) {
    const l = this.net.links[port >> 1];
    const [from, to] = port & 1 ? [l.b, l.a] : [l.a, l.b];
    const [x1, y1] = this.place(from), [x2, y2] = this.place(to);
    const d = Math.hypot(x2 - x1, y2 - y1) || 1;
    const side = this.dense ? 1 : 3;
    const ox = -(y2 - y1) / d * side, oy = (x2 - x1) / d * side;
    const cut = Math.min(this.dense ? 4 : 13, d / 4);
    const ux = (x2 - x1) / d * cut, uy = (y2 - y1) / d * cut;
    return [x1 + ox + ux, y1 + oy + uy, x2 + ox - ux, y2 + oy - uy];
  }

  draw() {
    const { canvas, net } = this;
    const box = canvas.parentElement.getBoundingClientRect();
    const scale = window.devicePixelRatio || 1;
    this.width = Math.max(box.width - 2, 100);
    this.height = Math.max(box.height - 2, 100);
    if (canvas.width !== Math.round(this.width * scale) || canvas.height !== Math.round(this.height * scale)) {
      canvas.width = Math.round(this.width * scale);
      canvas.height = Math.round(this.height * scale);
    }
    const c = canvas.getContext("2d");
    c.setTransform(scale, 0, 0, scale, 0, 0);
    c.clearRect(0, 0, this.width, this.height);
    const room = (this.width - 48) / Math.max(net.widest, 1);
    this.dense = room < 22;
    const colour = { none: css("--none"), idle: css("--idle"), low: css("--low"), mid: css("--mid"), high: css("--high"), queue: css("--queue"), ink: css("--ink"), soft: css("--soft"), paper: css("--paper"), panel: css("--panel"), accent: css("--accent"), focus: css("--focus") };
    for (let p = 0; p < 2 * net.links.length; p++) this.port(c, p, colour);
    net.nodes.forEach((n, i) => this.node(c, n, i, room, colour));
  }

  port(c, p, colour) {
    const s = this.state?.[p];
    const [x1, y1, x2, y2] = this.line(p);
    const used = s?.used ?? null;
    c.strokeStyle = !this.state ? colour.soft : used === null && !s ? colour.none : used === null || used < 0.001 ? colour.idle : used < 0.5 ? colour.low : used < 0.9 ? colour.mid : colour.high;
    c.lineWidth = used === null ? 1.2 : (this.dense ? 0.8 : 1.4) + 2.4 * Math.min(used, 1);
    if (this.path?.has(p)) { c.strokeStyle = colour.focus; c.lineWidth += 2; }
    if (p === this.chosen) c.lineWidth += 2.5;
    c.beginPath();
    c.moveTo(x1, y1);
    c.lineTo(x2, y2);
    c.stroke();
    if (!s) return;
    if (used > 0.001 && this.moving && !this.dense) { // packets on their way, more of them the more is used
      const d = Math.hypot(x2 - x1, y2 - y1), n = Math.max(1, Math.round(used * d / 26));
      c.fillStyle = colour.ink;
      for (let k = 0; k < n; k++) {
        const f = (k / n + this.phase) % 1;
        c.beginPath();
        c.arc(x1 + (x2 - x1) * f, y1 + (y2 - y1) * f, 1.7, 0, 7);
        c.fill();
      }
    }
    if (s.queue > 0) {
      const r = Math.max(this.dense ? 1.5 : 2.5, (this.dense ? 5 : 11) * Math.sqrt(s.queue / Math.max(s.most, 1)));
      c.fillStyle = colour.queue;
      c.globalAlpha = 0.85;
      c.beginPath();
      c.arc(x1, y1, r, 0, 7);
      c.fill();
      c.globalAlpha = 1;
    }
    if (s.drops > 0) {
      c.strokeStyle = colour.high;
      c.lineWidth = 2;
      c.beginPath();
      c.arc(x1, y1, this.dense ? 6 : 13, 0, 7);
      c.stroke();
    }
  }

  node(c, n, i, room, colour) {
    const [x, y] = this.place(i);
    const r = n.switch ? (this.dense ? 3 : 8) : (this.dense ? 2 : 6);
    c.fillStyle = n.switch ? colour.accent : colour.paper;
    c.strokeStyle = n.switch ? colour.accent : colour.ink;
    c.lineWidth = this.dense ? 1 : 1.6;
    c.beginPath();
    if (n.switch) c.rect(x - r, y - r, 2 * r, 2 * r); else c.arc(x, y, r, 0, 7);
    c.fill();
    c.stroke();
    c.font = "12px system-ui, 'DejaVu Sans', sans-serif";
    if (this.named(c, n.y)) {
      const width = c.measureText(n.name).width;
      c.fillStyle = colour.ink;
      c.strokeStyle = colour.paper; // lines end before the letters
      c.lineWidth = 4;
      c.lineJoin = "round";
      c.textAlign = "center";
      const below = n.y > 0.5;
      const left = Math.min(Math.max(x, width / 2 + 2), this.width - width / 2 - 2);
      const line = y + (below ? r + 13 : -r - 6);
      c.strokeText(n.name, left, line);
      c.fillText(n.name, left, line);
    }
  }

  // Whether a row has the room for the names of all that are in it: one has them all, or none.
  named(c, y) {
    if (this.namedAt !== this.width) {
      this.namedAt = this.width;
      this.rows = new Map();
      for (const n of this.net.nodes) {
        const row = this.rows.get(n.y) ?? { nodes: 0, widest: 0 };
        row.nodes++;
        row.widest = Math.max(row.widest, c.measureText(n.name).width);
        this.rows.set(n.y, row);
      }
    }
    const row = this.rows.get(y);
    return row.widest < (this.width - 48) / row.nodes - 4;
  }

  // The port nearest to a place, and not far from it; −1: none.
  at(x, y) {
    let best = -1, least = 10;
    for (let p = 0; p < 2 * this.net.links.length; p++) {
      const [x1, y1, x2, y2] = this.line(p);
      const d2 = (x2 - x1) ** 2 + (y2 - y1) ** 2 || 1;
      const f = Math.min(Math.max(((x - x1) * (x2 - x1) + (y - y1) * (y2 - y1)) / d2, 0), 1);
      const d = Math.hypot(x - x1 - f * (x2 - x1), y - y1 - f * (y2 - y1));
      if (d < least) { least = d; best = p; }
    }
    return best;
  }

  // Ports of a shortest path between two nodes. Of equally short ones a switch may take another.
  between(from, to) {
    const via = new Map([[from, -1]]), next = [from];
    while (next.length && !via.has(to)) {
      const at = next.shift();
      this.net.links.forEach((l, k) => {
        for (const [e, a, b] of [[0, l.a, l.b], [1, l.b, l.a]]) {
          if (a === at && !via.has(b) && (b === to || this.net.nodes[b].switch)) { via.set(b, 2 * k + e); next.push(b); }
        }
      });
    }
    const path = new Set();
    for (let at = to; via.has(at) && via.get(at) >= 0;) {
      const p = via.get(at), l = this.net.links[p >> 1];
      path.add(p);
      at = p & 1 ? l.b : l.a;
    }
    return path;
  }
}
