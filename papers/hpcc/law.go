package hpcc

import (
	"fmt"
	"slices"

	"weir/core/cc"
	"weir/core/telemetry"
	"weir/core/unit"
)

// slowest returns the lowest rate in the records of the path's hops, 0 if no record has a rate.
func slowest(p *cc.Telemetry) unit.Rate {
	least := unit.Rate(0)
	for i := range p.Hops {
		if r := p.Hops[i].Rate; r > 0 && (least == 0 || r < least) {
			least = r
		}
	}
	return least
}

// track is L, the records with which the next ones are compared.
type track struct {
	hops    [telemetry.MaxHops]telemetry.Hop
	byteIn  [telemetry.MaxHops]float64 // time of a byte at the port's rate, ps; 0: no rate
	n       int
	id      uint16
	missed  uint8
	arrival unit.Time // arrival of the records
}

// matches reports whether records are of this path: same identity, number of hops and, if the format has them, switches
// and ports.
func (k *track) matches(p *cc.Telemetry) bool {
	n := min(len(p.Hops), telemetry.MaxHops)
	if n != k.n || p.Path != k.id || p.MissedHops != k.missed {
		return false
	}
	if n > 0 && p.Hops[0].Flags&telemetry.NoSwitch != 0 { // the format has no switches
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

// Relations of records.
const (
	unusable     comparison = iota // ignored; the old ones are kept
	firstRecords                   // first of a path: stored for comparison only
	measured                       // a measurement
)

// compare returns what new records p are to L: ignored, a first measurement to store, or a measurement. same: the
// records are of this path (matches). It decides what line 4 of the draft leaves open, and changes no state.
//
// Records are a measurement if they are of the same path and the time of each hop has advanced. If a hop's time has
// not, the records are from within one tick of its clock, or were overtaken, and are unusable. L is kept then, so that
// the next measurement misses no byte. A clock that was set back, or stalls, must not stop the control: after 2T
// without a measurement, the hops with advanced times are used; without any, L restarts.
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
		if h.Rate <= 0 { // a hop without a rate is not used
			moved++
			continue
		}
		if h.Time > old.Time {
			if int64(h.TxBytes-old.TxBytes) < 0 { // the counter restarted
				return firstRecords
			}
			moved++
		}
	}
	switch {
	case moved == n:
		return measured
	case now-k.arrival <= 2*t:
		return unusable
	case moved == 0:
		return firstRecords
	}
	return measured
}

// store replaces L by new records, which arrived at now (line 27: L = ack.L). what is the result of compare; the rates
// of ports are stored only with first records, since a measurement has the same.
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
	k.id, k.missed, k.arrival = p.Path, p.MissedHops, now
}

// reset makes the next records count as the first ones.
func (k *track) reset() { k.n = -1 }

// reference is the state from which a window is computed.
type reference struct {
	u     float64 // U
	wc    float64 // Wc
	stage int     // incStage
}

// loads is a flow's state of the load of one path.
type loads struct {
	u            float64                      // U of the path
	lastHopShare float64                      // averaged share of measurements with the last hop as bottleneck
	w            float64                      // W by this path, in mode PerHop
	hop          [telemetry.MaxHops]reference // in mode PerHop
	commit       uint32                       // law.commits at the last commit to hop
}

// law is HPCC++'s computation at a sender or a receiver (lines 1 to 20).
type law struct {
	window
	config       Config
	paths        paths[loads]
	order        arrivalOrder
	ref          reference
	measuredHops uint16    // hops in the last measurement, one bit each
	commits      uint32    // number of the flow's commits, in mode PerHop
	bottleneck   int       // the hop with the largest load
	lastLimits   bool      // the last hop is the bottleneck on each of several paths
	wai          float64   // W_ai
	flows        int       // counted N of the last hop; 0: W_ai is as configured
	lastHop      unit.Rate // rate of that hop
	trip         unit.Time // round trip of the empty path, for preset Agent's T; 0: T is as given
}

// newLaw returns the law of a flow.
func newLaw(f cc.Flow, c Config) (l law, err error) {
	err = l.start(f, c)
	return l, err
}

// start resets l to the law of a new flow. It fails if the configuration needs records that the telemetry lacks, or a
// T.
func (l *law) start(f cc.Flow, c Config) error {
	c = c.resolved()
	if f.Loads && (c.Mode == RxRate || c.Mode == PerHop || c.Sojourn || c.SamplesQueues) {
		return fmt.Errorf("hpcc: mode rx_rate, mode per_hop, delay: sojourn and sample_feedback need records of " +
			"hops; the network's format: relative has none")
	}
	*l = law{}
	l.window, l.config = newWindow(f, c.T, c.MinRate), c
	l.hasOwnLimit, l.isUnlimited = c.Bound != VariableWindow, c.Bound == NoWindow
	l.paths.reset()
	l.resetLoad(&l.paths.one.known)
	l.ref.wc = l.w
	if c.Census && l.t == 0 {
		return errNoT
	}
	l.setIncrease(0, 0)
	return nil
}

// setIncrease sets W_ai, in bytes: as configured, or by the rule of draft-miao §5, W_init·(1−eta)/N. A counted N
// (draft-miao §6.2), 0 without a count, is of the flows on the last hop, so W_init is that hop's B·T then: by the
// sender's own, flows with different NICs would get different shares of it. It stores both arguments.
func (l *law) setIncrease(counted int, lastHop unit.Rate) {
	l.flows, l.lastHop = counted, lastHop
	l.wai = float64(l.config.WAI)
	switch {
	case l.perTime == 0:
	case counted > 0 && lastHop > 0:
		l.wai = float64(lastHop) * float64(l.t) / 8e12 * (1 - l.config.Eta) / float64(counted)
	case l.config.N > 0 && l.window.rate > 0:
		l.wai = l.maxWindow * (1 - l.config.Eta) / float64(l.config.N)
	}
	l.wai *= l.share
}

// updateIncrease sets W_ai after a measurement with records p by counted, the receiving host's count of flows (0: no
// count), while the last hop, the link to that host, is the bottleneck. Otherwise W_ai is as configured. It applies
// from the next window on.
//
// On several paths one measurement spans a few packets of one path, while the last hop carries bursts of all, and the
// path that limits the flow is one of several: so most measurements of each path must show it (TestCensusSpread). If a
// hop of the path has written no record (telemetry upon congestion, switches without the program), the last record need
// not be of the last hop, and N changes no window (TestCensusPartial).
func (l *law) updateIncrease(p *cc.Telemetry, counted int) {
	lastHop := unit.Rate(0)
	if last := len(p.Hops) - 1; counted > 0 && p.MissedHops == 0 && last >= 0 && l.isComplete(p) && l.limitsFlow(last) {
		lastHop = p.Hops[last].Rate
	} else {
		counted = 0
	}
	if counted != l.flows || lastHop != l.lastHop {
		l.setIncrease(counted, lastHop)
	}
}

// isComplete reports whether each switch of the path has written a record, as far as their number is known.
func (l *law) isComplete(p *cc.Telemetry) bool { return len(p.Hops) >= l.flow.Hops }

// limitsFlow reports whether the hop with index last, which must be the last hop, is the bottleneck; on several paths,
// on each of them.
func (l *law) limitsFlow(last int) bool {
	if len(l.paths.more) > 0 {
		return l.lastLimits
	}
	return l.bottleneck == last
}

// roundTrip returns T, which for preset Agent depends on the rate of the path's slowest port, l.rate.
func (l *law) roundTrip() unit.Time {
	if l.trip > 0 {
		return agentT(l.trip, l.rate)
	}
	return l.t
}

// rescale limits the windows of the flow and of its paths' hops to the present limits, and recomputes W_ai, after a
// change of T or of the path's rate.
func (l *law) rescale() {
	l.ref.wc = l.clamp(l.ref.wc)
	for k := range 1 + len(l.paths.more) {
		x := &l.paths.pathAt(k).known
		x.w = l.clamp(x.w)
		for i := range x.hop {
			x.hop[i].wc = l.clamp(x.hop[i].wc)
		}
	}
	l.setIncrease(l.flows, l.lastHop)
}

// resetLoad resets a path's load for a new path, and U and the stage of the flow. U is 1 until a T has passed, as in
// HPCC's simulator; the draft does not define it. Wc is kept.
func (l *law) resetLoad(x *loads) {
	l.ref.u, l.ref.stage = 1, 0
	x.u, x.w, x.commit, x.lastHopShare = 1, l.w, l.commits, 0
	for i := range x.hop {
		x.hop[i] = reference{u: 1, wc: l.w}
	}
}

// newRecords processes the records p of a packet, and returns their relation to the stored ones. After a measurement it
// has set W and, if commit, the reference window Wc; the records are then stored for the next comparison. First records
// are only stored, and reset the load. A packet with a load only, without hops, is a measurement, too.
func (l *law) newRecords(now unit.Time, p *cc.Telemetry, commit bool) comparison {
	if len(p.Hops) == 0 && p.Load > 0 && l.perTime > 0 {
		// draft-miao §6, telemetry upon congestion: no hop had cause to write a record. Of U only a bound is known, with
		// which the window grows as far as is safe.
		l.ref.u, l.bottleneck = l.order.loadAfter(now, l.t, p.Load), -1
		if l.order.isMany() { // records of other paths are kept
			for k := range 1 + len(l.paths.more) {
				if x := l.paths.pathAt(k); x.n > 0 && now-x.track.arrival <= l.t {
					l.ref.u = max(l.ref.u, x.known.u)
				}
			}
		} else {
			l.paths.reset()
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
		if l.config.SamplesQueues && !commit {
			return l.useSample(now, k, p)
		}
		if !l.measureInflight(now, k, p) {
			return unusable // no hop has a rate
		}
		l.updateWindow(now, commit)
	}
	k.store(now, p, what)
	return what
}

// useSample is newRecords, without a commit, for measured records of path k between updates. Hops without a queue keep
// their stored records: their time does not advance.
func (l *law) useSample(now unit.Time, k *pathState[loads], p *cc.Telemetry) comparison {
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

// measureInflight is MeasureInflight, lines 1 to 10: it updates U of path k and of the flow by the records p, and the
// bottleneck. It returns false, without an effect on U, if no hop can be measured. If the load of all hops is 0, line 6
// leaves tau undefined; the first hop's is used. p must be records of path k; they are not stored.
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
		average(&k.known.lastHopShare, isLast, tau*l.perTime)
		l.lastLimits = k.known.lastHopShare > 0.5
	}
	l.ref.u = k.known.u
	for i := range l.paths.more { // the worst of the paths seen within T
		if x := l.paths.otherPath(i); now-x.track.arrival <= l.t {
			l.ref.u = max(l.ref.u, x.known.u)
			l.lastLimits = l.lastLimits && x.known.lastHopShare > 0.5
		}
	}
	return true
}

// average updates u by v with a weight of tau/T, at most 1 (lines 8 and 9).
func average(u *float64, v, weight float64) {
	weight = min(weight, 1)
	old := *u
	*u = float64((1-weight)*old) + float64(weight*v)
}

// updateWindow computes W and, if commit, the reference window. In mode PerHop it does so for each hop that the last
// measurement of the current path has measured, and W is the smallest of the paths' windows.
func (l *law) updateWindow(now unit.Time, commit bool) {
	if l.config.Mode != PerHop {
		l.w = l.computeWind(&l.ref, commit)
		return
	}
	if commit {
		l.commits++
	}
	k := l.paths.current()
	w := l.maxWindow
	commit = k.known.commit != l.commits // each path once, at its first records after the flow's
	k.known.commit = l.commits
	for i := range k.known.hop[:max(k.n, 0)] {
		if l.measuredHops>>i&1 == 1 {
			w = min(w, l.computeWind(&k.known.hop[i], commit))
		}
	}
	k.known.w = w
	l.paths.countTurn()
	for i := range l.paths.more {
		if x := l.paths.otherPath(i); l.paths.holdsWindow(x, now, l.t) {
			w = min(w, x.known.w)
		}
	}
	l.w = w
	l.ref.wc = l.w
}

// computeWind returns W by ComputeWind, lines 11 to 20, in bytes, within the limits of the window. A load of 0 gives
// the upper limit. With commit it also stores W as r's reference window, and counts the stage.
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
