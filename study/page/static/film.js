// A film: frames of a run, as the server has them.
export class Film {
  constructor(net) {
    this.net = net;
    this.epoch = -1;
    this.frames = [];
    this.most = new Array(2 * net.links.length).fill(0); // longest queues
    this.ended = false;
  }

  take(x) {
    if (x.epoch !== this.epoch || x.from > this.frames.length) this.frames = [];
    this.epoch = x.epoch;
    this.frames.length = Math.min(this.frames.length, x.from);
    for (const f of x.frames) {
      f.f ??= [];
      f.q.forEach((q, p) => { if (q > this.most[p]) this.most[p] = q; });
      this.frames.push(f);
    }
    this.ended = x.ended;
    this.longest = Math.max(...this.most, 1);
  }

  // Share of a port's rate that was used since the frame before; null: it is not known.
  used(k, p) {
    const rate = this.net.links[p >> 1].rate;
    if (k === 0 || !rate) return null;
    const a = this.frames[k - 1], b = this.frames[k];
    return Math.max(8 * (b.s[p] - a.s[p]) / ((b.t - a.t) * rate), 0);
  }

  // What ports do in frame k.
  state(k) {
    const f = this.frames[k], before = this.frames[k - 1];
    return f.q.map((queue, p) => ({ queue, most: this.longest, used: this.used(k, p), drops: before ? f.d[p] - before.d[p] : 0 }));
  }

  times() { return this.frames.map((f) => f.t); }

  flows(k) { return this.frames[k].f; }
}

// What a run has measured over time, as a film: of ports without a measure nothing is known.
export class Measured {
  constructor(net, series) {
    this.net = net;
    this.series = series;
    const at = new Set();
    for (const s of series) s.values.forEach((_, k) => at.add(time(s, k)));
    let all = [...at].sort((a, b) => a - b);
    const step = Math.ceil(all.length / 2000);
    this.at = all.filter((_, k) => k % step === 0);
    this.ended = true;
    this.ports = new Map();
    for (const s of series) {
      if (s.port < 0) continue;
      if (!this.ports.has(s.port)) this.ports.set(s.port, {});
      this.ports.get(s.port)[s.name] = s;
    }
    this.longest = 1;
    for (const x of this.ports.values()) if (x.queue) this.longest = Math.max(this.longest, ...x.queue.values.filter((v) => v !== null));
  }

  times() { return this.at; }

  state(k) {
    const t = this.at[k];
    const out = new Array(2 * this.net.links.length).fill(null);
    for (const [p, x] of this.ports) {
      const rate = this.net.links[p >> 1].rate;
      let used = value(x.utilisation, t);
      if (used === null && x.throughput && rate) used = value(x.throughput, t) / rate;
      out[p] = { queue: value(x.queue, t) ?? 0, unit: x.queue?.unit, most: this.longest, used, drops: value(x.drops, t) };
    }
    return out;
  }

  flows() { return []; }
}

export const time = (s, k) => Math.round((s.start_s + k * s.step_s) * 1e12) / 1e12;

function value(s, t) {
  if (!s) return null;
  const k = Math.floor((t - s.start_s) / s.step_s + 1e-9);
  return k < 0 || k >= s.values.length ? null : s.values[k];
}
