package ncf

import (
	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/unit"
)

// overload decides which mice are a flood; the paper has no rule for it. Bandwidth beyond the guarantees is distributed
// "as needed" (BS'19 §4.2). Elephants do not progress at the cost of mice (BS'19 §2), and mice must not take all
// bandwidth (BS'19 §4.4). While mice arrive at less than the port's rate, they take what they need, and elephants get
// the rest. In an overload both have equal parts (tm.Port.SetAsNeeded).
//
// Two levels for each port measure arrivals of mice beyond a rate, as two meters do:
//
//   - steady fills beyond the port's rate less half of the elephants' guarantee. It is deep, so that honest mice with a
//     lower rate do not fill it by chance.
//   - sudden fills beyond suddenRate times the port's rate. It is shallow, because a flood that occupies the port for a
//     round trip costs elephants a reduction of their windows.
//
// A packet counts at its first arrival, with or without room. It does not count again when its sender, notified of the
// drop, repeats it (repeats): mice that respond to NACKs count once. An overload begins when a level is full. From then
// on both levels fall at the rate of steady, and it ends when both are at half of their depth. Honest mice with a lower
// rate reach the end even while they have half of the port.
//
// The level sudden counts up to the depth of steady, so that a burst of many mice at once gets an equal part for its
// duration. The budget of mice (Program.flooded) applies to memory in an overload only.
//
// Arrivals alone do not distinguish a flood from honest mice as long as it leaves half of the elephants' guarantee.
// Next to such a flood elephants get the rest, and their guarantee over guaranteedSpans times n·d.
type overload struct {
	steady, sudden level
	last           unit.Time
}

// level measures arrivals beyond a rate.
type level struct {
	bytes float64
	full  bool // has reached its depth, and not fallen to overloadEnd since
}

const (
	suddenRate      = 1.2     // of the port's rate
	suddenDepth     = 1. / 32 // of what the port sends in n·d
	suddenFlows     = 4       // at least this many of the smallest elephants (Detector.MinTraffic)
	steadyDepth     = 1. / 2
	steadyFlows     = 32
	overloadEnd     = 0.5 // of a level's depth
	guaranteedSpans = 30
)

// fill adds bytes that arrived in a time in which the level's rate drains drained bytes. The level becomes full at
// depth, counts up to limit, and stays full until it is at overloadEnd times depth or below.
func (l *level) fill(bytes, drained, depth, limit float64) {
	l.bytes = min(max(l.bytes-drained, 0)+bytes, limit)
	if l.full {
		l.full = l.bytes > overloadEnd*depth
	} else {
		l.full = l.bytes >= depth
	}
}

// isOn reports whether there is an overload.
func (o *overload) isOn() bool { return o.steady.full || o.sudden.full }

// addMice counts bytes of mice at a port that sends rate bytes per ps and whole bytes in n·d. part is the share that
// mice can have permanently. The smallest elephant sends smallest bytes.
func (o *overload) addMice(now unit.Time, bytes int32, rate, part, whole, smallest float64) {
	sent := float64(float64(now-o.last) * rate)
	o.last = now
	drained, burst := float64(part*sent), float64(suddenRate*sent)
	if o.isOn() {
		burst = drained
	}
	deep := max(steadyDepth*whole, steadyFlows*smallest)
	o.steady.fill(float64(bytes), drained, deep, deep)
	o.sudden.fill(float64(bytes), burst, max(suddenDepth*whole, suddenFlows*smallest), deep)
}

// countMice counts bytes of mice that arrive for port x. When an overload begins or ends, it changes how the port's
// scheduler shares bandwidth. first are the bytes of first arrivals, which alone count in the overload.
func (g *Program) countMice(env *dataplane.Env, x *port, bytes, first int32) {
	now := env.Now()
	x.mice.add(now, int64(bytes))
	if int(x.out) >= env.Ports() {
		return
	}
	p := env.Port(x.out)
	if x.miceShare == 0 {
		g.prepareBandwidth(p, x)
	}
	if x.miceShare < 0 {
		return
	}
	was, rate := x.overload.isOn(), bytesPerPs(p.Rate())
	x.overload.addMice(now, first, rate, x.miceShare, rate*float64(x.history()), g.minElephant())
	if x.overload.isOn() != was {
		g.shareBandwidth(p, x, was)
	}
}

// history returns n·d of a port.
func (x *port) history() unit.Time { return unit.Time(x.sketch.Windows()) * x.sketch.Duration() }

// minElephant returns the bytes that the smallest elephant sends in n·d.
func (g *Program) minElephant() float64 {
	if g.config.Sketch.Packets {
		return float64(g.detector.MinTraffic) * defaultFrame
	}
	return float64(g.detector.MinTraffic)
}

// givesAsNeeded reports whether mice take what they need at the port.
func (x *port) givesAsNeeded() bool { return x.miceShare > 0 && !x.overload.isOn() }

// shareBandwidth sets whether the scheduler of a port gives mice what they need, or an equal part. It returns false,
// without an effect, if the scheduler has no such setting.
func (g *Program) shareBandwidth(p *tm.Port, x *port, asNeeded bool) bool {
	span := unit.Time(0)
	if asNeeded {
		span = guaranteedSpans * x.history()
	}
	return p.SetAsNeeded(span)
}

// prepareBandwidth sets the sharing of p, which is port x, and x.miceShare, the part that mice can have permanently;
// below 0 without sharing as needed. An overload from before a reload (Adopt) continues.
func (g *Program) prepareBandwidth(p *tm.Port, x *port) {
	x.miceShare = -1
	if !g.shareBandwidth(p, x, !g.config.EqualBandwidth) || g.config.EqualBandwidth {
		return
	}
	guaranteed := 0.0
	for q := 2; q < p.Queues(); q++ {
		part, _ := p.MinQueueShare(tm.QueueID(q))
		guaranteed += part
	}
	x.miceShare = 1 - guaranteed/2
	g.shareBandwidth(p, x, x.givesAsNeeded())
}

// Restore resets the ports' schedulers to equal parts of mice and elephants, as without the program.
func (g *Program) Restore(env *dataplane.Env) {
	for i := range env.Ports() {
		env.Port(packet.PortID(i)).SetAsNeeded(0)
	}
}
