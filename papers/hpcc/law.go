package hpcc

import (
	"fmt"
	"slices"

	"weir/core/cc"
	"weir/core/telemetry"
	"weir/core/unit"
)

// slowest is the lowest rate on the path.
func slowest(p *cc.Telemetry) unit.Rate {
	least := unit.Rate(0)
	for i := range p.Hops {
		if r := p.Hops[i].Rate; r > 0 && (least == 0 || r < least) {
			least = r
		}
	}
	return least
}

// track is L, the records that the next ones are compared with.
type track struct {
	hops   [telemetry.MaxHops]telemetry.Hop
	byteIn [telemetry.MaxHops]float64 // time of a byte at the port's rate, ps; 0: no rate
	n      int
	id     uint16
	missed uint8
	at     unit.Time // when they came
}

// is reports whether records are of this path: its identity, number of hops and, where the format has them,
// switches and ports.
func (k *track) is(p *cc.Telemetry) bool {
	n := min(len(p.Hops), telemetry.MaxHops)
	if n != k.n || p.Path != k.id || p.Missed != k.missed {
		return false
	}
	if n > 0 && p.Hops[0].Flags&telemetry.NoSwitch != 0 { // the format has no more
		return true
	}
	hops, known := p.Hops[:n], k.hops[:n]
	for i := range hops {
		if h, old := &hops[i], &known[i]; h.Switch != old.Switch || h.Port != old.Port {
			return false
		}
	}
	return true
}

// comparison is the relation of new records to the stored ones.
type comparison uint8

const (
	unusable     comparison = iota // of no use; the old ones stay
	firstRecords                   // of another path, or the very first: only for comparison
	measured                       // a measurement
)

// compare settles what line 4 of the draft leaves open. Records are a measurement if they are of the same
// path (is) and the time of every hop has advanced. If a hop's time has not, the records are from
// within one tick of its clock, or were overtaken, and are unusable; L stays, so that no byte is
// missing from the next measurement. A clock that was set back, or stands still, must not stop the
// control: after 2T without a measurement, the hops whose time has advanced are used, and if there
// are none L starts anew.
// same: they are of this path.
func (k *track) compare(same bool, now, t unit.Time, p *cc.Telemetry) comparison {
	if !same {
		return firstRecords
	}
	n, moved := k.n, 0
	hops, known := p.Hops[:n], k.hops[:n]
	for i := range hops {
		h, old := &hops[i], &known[i]
		if h.Rate != old.Rate || h.Flags&telemetry.Restart != 0 {
			return firstRecords
		}
		if h.Rate <= 0 { // says nothing of use
			moved++
			continue
		}
		if h.Time > old.Time {
			if int64(h.TxBytes-old.TxBytes) < 0 { // the counter began anew
				return firstRecords
			}
			moved++
		}
	}
	switch {
	case moved == n:
		return measured
	case now-k.at <= 2*t:
		return unusable
	case moved == 0:
		return firstRecords
	}
	return measured
}

// store is line 27: L = ack.L.
func (k *track) store(now unit.Time, p *cc.Telemetry, what comparison) {
	k.n = copy(k.hops[:], p.Hops)
	if what == firstRecords {
		for i := range k.hops[:k.n] {
			k.byteIn[i] = 0
			if r := k.hops[i].Rate; r > 0 {
				k.byteIn[i] = 8e12 / float64(r)
			}
		}
	}
	k.id, k.missed, k.at = p.Path, p.Missed, now
}

// reset makes the next records count as the first ones.
func (k *track) reset() { k.n = -1 }

// reference is what a window is computed from.
type reference struct {
	u     float64 // U
	wc    float64 // Wc
	stage int     // incStage
}

// loads is what a flow knows of the load of one path.
type loads struct {
	u   float64                      // U of the path
	end float64                      // share of measurements in which its last hop is the bottleneck, averaged like U
	w   float64                      // W by this path, in mode PerHop
	hop [telemetry.MaxHops]reference // in mode PerHop
	at  uint32                       // law.commits when these were committed to
}

// law is HPCC++'s computation, at a sender or a receiver: lines 1 to 20.
type law struct {
	window
	config       Config
	paths        paths[loads]
	order        arrivalOrder
	ref          reference
	measuredHops uint16    // hops in the last measurement, one bit each
	commits      uint32    // how often the flow has committed, in mode PerHop
	bottleneck   int       // the hop with the largest load
	lastLimits   bool      // the last hop is the bottleneck on each of several paths
	wai          float64   // W_ai
	flows        int       // N as it was counted, of the last hop; 0: W_ai is as configured
	lastHop      unit.Rate // of that hop
	trip         unit.Time // round trip of the empty path, with which preset Agent computes T; 0: T is as given
}

func newLaw(f cc.Flow, c Config) (l law, err error) {
	err = l.begin(f, c)
	return l, err
}

// begin makes it the law of a flow, whatever it was.
func (l *law) begin(f cc.Flow, c Config) error {
	c = c.resolved()
	if f.Loads && (c.Mode == RxRate || c.Mode == PerHop || c.Sojourn || c.Sampled) {
		return fmt.Errorf("hpcc: mode rx_rate, mode per_hop, delay: sojourn and sample_feedback need records of " +
			"hops; the network's format: relative has none")
	}
	*l = law{}
	l.window, l.config = newWindow(f, c.T, c.MinRate), c
	l.apart, l.loose = c.Bound != VariableWindow, c.Bound == NoWindow
	l.paths.forget()
	l.resetLoad(&l.paths.one.known)
	l.ref.wc = l.w
	if c.Census && l.t == 0 {
		return errNoT
	}
	l.setIncrease(0, 0)
	return nil
}

// setIncrease sets W_ai: as configured, or by the rule of §5, W_init·(1−eta)/N. An N that was counted (§6.2) is of
// the flows on the last hop, so that W_init is then that hop's B·T: by the sender's own, flows with other NICs
// would get other shares of it.
func (l *law) setIncrease(counted int, lastHop unit.Rate) {
	l.flows, l.lastHop = counted, lastHop
	l.wai = float64(l.config.WAI)
	switch {
	case l.perTime == 0:
	case counted > 0 && lastHop > 0:
		l.wai = float64(lastHop) * float64(l.t) / 8e12 * (1 - l.config.Eta) / float64(counted)
	case l.config.N > 0 && l.window.rate > 0:
		l.wai = l.most * (1 - l.config.Eta) / float64(l.config.N)
	}
	l.wai *= l.share
}

// updateIncrease sets W_ai after a measurement by the number of flows that the receiver's host counts, while the
// last hop, the link to that host, is the bottleneck. It applies from the next window on. On several paths one
// measurement spans a few packets of one path, in which the last hop carries bursts of them all, and the path that
// limits the flow is one of several: so most measurements of each path must show it (TestCensusSpread). Where a hop of
// the path has written no record (telemetry upon congestion, switches without the program), the last record need not be
// of the last hop, and N changes no window: TestCensusPartial.
func (l *law) updateIncrease(p *cc.Telemetry, counted int) {
	lastHop := unit.Rate(0)
	if last := len(p.Hops) - 1; counted > 0 && p.Missed == 0 && last >= 0 && l.isComplete(p) && l.limits(last) {
		lastHop = p.Hops[last].Rate
	} else {
		counted = 0
	}
	if counted != l.flows || lastHop != l.lastHop {
		l.setIncrease(counted, lastHop)
	}
}

// isComplete reports whether each switch of the path has written a record, where it is known how many there are.
func (l *law) isComplete(p *cc.Telemetry) bool { return len(p.Hops) >= l.flow.Hops }

// limits reports whether the last hop is the bottleneck.
func (l *law) limits(last int) bool {
	if len(l.paths.more) > 0 {
		return l.lastLimits
	}
	return l.bottleneck == last
}

// roundTrip returns T, which for preset Agent depends on the path's rate.
func (l *law) roundTrip() unit.Time {
	if l.trip > 0 {
		return agentT(l.trip, l.rate)
	}
	return l.t
}

// rescale adapts to a change of T or of the path's rate.
func (l *law) rescale() {
	l.ref.wc = l.clamp(l.ref.wc)
	for k := range 1 + len(l.paths.more) {
		x := &l.paths.at(k).known
		x.w = l.clamp(x.w)
		for i := range x.hop {
			x.hop[i].wc = l.clamp(x.hop[i].wc)
		}
	}
	l.setIncrease(l.flows, l.lastHop)
}

// resetLoad begins with a new path. U is 1 until a T has passed, as in HPCC's simulator; the draft does not
// say. Wc stays.
func (l *law) resetLoad(x *loads) {
	l.ref.u, l.ref.stage = 1, 0
	x.u, x.w, x.at, x.end = 1, l.w, l.commits, 0
	for i := range x.hop {
		x.hop[i] = reference{u: 1, wc: l.w}
	}
}

// newRecords processes the records of a packet and returns what they were. measureInflight and
// updateWindow run before the records are stored.
func (l *law) newRecords(now unit.Time, p *cc.Telemetry, commit bool) comparison {
	if len(p.Hops) == 0 && p.Load > 0 && l.perTime > 0 {
		// §6, telemetry upon congestion: no hop had cause to write a record. U is known by its bound only,
		// with which the window grows as far as is safe.
		l.ref.u, l.bottleneck = l.order.load(now, l.t, p.Load), -1
		if l.order.isMany() { // records of other paths stay
			for k := range 1 + len(l.paths.more) {
				if x := l.paths.at(k); x.n > 0 && now-x.track.at <= l.t {
					l.ref.u = max(l.ref.u, x.known.u)
				}
			}
		} else {
			l.paths.forget()
		}
		l.w = l.computeWind(&l.ref, commit)
		return measured
	}
	if len(p.Hops) == 0 || l.perTime == 0 {
		return unusable
	}
	k, known := l.paths.find(p)
	what := k.compare(known, now, l.t, p)
	switch what {
	case unusable:
		return unusable
	case firstRecords:
		if l.flow.NICRate == 0 {
			l.rate = slowest(p)
			l.setBaseRTT(l.roundTrip())
			l.rescale()
		}
		l.resetLoad(&k.known)
	case measured:
		if l.config.Sampled && !commit {
			return l.sampled(now, k, p)
		}
		if !l.measureInflight(now, k, p) {
			return unusable // no hop has a rate
		}
		l.updateWindow(now, commit)
	}
	k.store(now, p, what)
	return what
}

// sampled is newRecords of measured records between updates, of which hops without a queue stay as they are
// known: their time does not advance.
func (l *law) sampled(now unit.Time, k *pathState[loads], p *cc.Telemetry) comparison {
	q := *p
	q.Hops = slices.Clone(p.Hops)
	for i := range q.Hops[:k.n] {
		if q.Hops[i].Queue == 0 {
			q.Hops[i] = k.hops[i]
		}
	}
	if !l.measureInflight(now, k, &q) {
		return unusable // no hop has a rate, or a queue
	}
	l.updateWindow(now, false)
	k.store(now, &q, measured)
	return measured
}

// measureInflight is MeasureInflight, lines 1 to 10. If the load of all hops is 0, line 6 leaves tau
// undefined; we use the first hop's.
func (l *law) measureInflight(now unit.Time, k *pathState[loads], p *cc.Telemetry) bool {
	u, tau, worst, measured := -1.0, 0.0, -1, uint16(0)
	hops, stored, byteIn := p.Hops[:k.n], k.hops[:k.n], k.byteIn[:k.n]
	perTime, mode, sojourn, bit := l.perTime, l.config.Mode, l.config.Sojourn, uint16(1)
	for i := range hops { // line 3
		h, old := &hops[i], &stored[i]
		dt, perByte, here := float64(h.Time-old.Time), byteIn[i], bit
		bit <<= 1
		if dt <= 0 || perByte == 0 {
			continue
		}
		measured |= here
		bytes := float64(h.TxBytes - old.TxBytes)
		if mode == RxRate { // arrivals are departures plus the growth of the queue
			bytes = max(bytes+float64(h.Queue-old.Queue), 0)
		}
		v := float64(bytes / dt * perByte) // line 4 and the second term of line 5
		if sojourn && (h.Flags|old.Flags)&telemetry.NoSojourn == 0 {
			v += float64(float64(min(h.Sojourn, old.Sojourn)) * perTime) // §9.4
		} else {
			v += float64(float64(min(h.Queue, old.Queue)) * perByte * perTime) // line 5
		}
		if mode == PerHop {
			average(&k.known.hop[i].u, v, dt*perTime)
		}
		if v > u { // lines 6, 7
			u, tau, worst = v, dt, i
		}
	}
	l.measuredHops = measured
	if worst < 0 {
		return false
	}
	l.bottleneck = worst
	average(&k.known.u, u, tau*l.perTime)
	if len(l.paths.more) > 0 {
		isLast := 0.0
		if worst == len(hops)-1 && l.isComplete(p) {
			isLast = 1
		}
		average(&k.known.end, isLast, tau*l.perTime)
		l.lastLimits = k.known.end > 0.5
	}
	l.ref.u = k.known.u
	for i := range l.paths.more { // the worst of those seen within T
		if x := l.paths.other(i); now-x.track.at <= l.t {
			l.ref.u = max(l.ref.u, x.known.u)
			l.lastLimits = l.lastLimits && x.known.end > 0.5
		}
	}
	return true
}

// average is lines 8 and 9; weight is tau/T.
func average(u *float64, v, weight float64) {
	weight = min(weight, 1)
	old := *u
	*u = float64((1-weight)*old) + float64(weight*v)
}

// updateWindow computes W.
func (l *law) updateWindow(now unit.Time, commit bool) {
	if l.config.Mode != PerHop {
		l.w = l.computeWind(&l.ref, commit)
		return
	}
	if commit {
		l.commits++
	}
	k := l.paths.now()
	w := l.most
	commit = k.known.at != l.commits // each path once, at its first records after the flow's
	k.known.at = l.commits
	for i := range k.known.hop[:max(k.n, 0)] {
		if l.measuredHops>>i&1 == 1 {
			w = min(w, l.computeWind(&k.known.hop[i], commit))
		}
	}
	k.known.w = w
	l.paths.turn()
	for i := range l.paths.more {
		if x := l.paths.other(i); l.paths.counts(x, now, l.t) {
			w = min(w, x.known.w)
		}
	}
	l.w = w
	l.ref.wc = l.w
}

// computeWind is ComputeWind, lines 11 to 20, within the bounds of the window. A load of 0 gives the upper
// bound.
func (l *law) computeWind(r *reference, commit bool) float64 {
	multiply := r.u >= l.config.Eta || r.stage >= l.config.MaxStage // line 12
	w := r.wc + l.wai                                               // line 17
	if multiply {
		w = r.wc/(r.u/l.config.Eta) + l.wai // line 13
	}
	w = l.clamp(w)
	if commit { // lines 14, 15, 18, 19
		r.wc = w
		if r.stage++; multiply {
			r.stage = 0
		}
	}
	return w
}
