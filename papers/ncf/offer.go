package ncf

import (
	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/unit"
)

// What a port offers to a flow. This is Weir's addition: BS'19 has no law, and the follow-up only states that a flow's
// demand is matched with the supply. It is RCP's rate (Dukkipati 2007, §2):
//
//	R(t) = R(t−T)·[1 + (T/d0)·(α(C − y(t)) − β·q(t)/d0)/C]
//
// RCP does not know N and uses C/R(t−T) for it. Here flows are counted. With N for that quotient, α = 1 and T = d0
//
//	R(t) = R(t−T) + [C − y(t) − β·q(t)/d0]/N
//
// and with the input y in two parts, flows with the offer R and all others, y = N·R(t−T) + others,
//
//	R(t) = [C − others(t) − β·q(t)/d0]/N.
//
// The old rate is eliminated. RCP needs it, as all its packets bring R to senders; here senders get R only during
// congestion. C is the target share of the port's rate.
//
//   - others(t) is the input in the present, the last T. T is the time in which the port sends its memory's content,
//     since congestion grows in that time; but at most d, and at least the time of 16 frames.
//   - d0 is the loaded round trip, n·d/4 (see loadedRTT), or the time to drain the memory, if that is longer. With q
//     at most the memory's content, the queue's term is at most β·C. Senders keep to a window of the empty path, so
//     they drain most of the queue themselves, and β is small (Voice et al.: without the term, RCP is stable more
//     easily).
//   - Bytes count in the present class of their flow: when a flow becomes an elephant, its bytes in the present move
//     from the mice's to the elephants'.
//   - The offers to one class together never exceed C, and never fall below a floor: the scheduler's share for that
//     class, independent of other senders. Otherwise a flood of mice would turn responsive elephants into mice.
const (
	beta          = 0.02
	minFrames     = 16 // of the longest frame, in T
	offersPerSpan = 8  // maximum number of offers computed in T
)

// input is the bytes that arrived for a port in the present, by class: a sliding T. Its part in the last whole T counts
// at the mean rate.
type input struct {
	span      unit.Time // T
	start     unit.Time // of the current T
	now, last [ClassCount]int64
}

// roll advances i to the T that contains now: the current bytes become the last T's, or are dropped if more than one T
// has passed. It has no effect within the current T.
func (i *input) roll(now unit.Time) {
	passed := (now - i.start) / i.span
	if passed <= 0 {
		return
	}
	if i.last = i.now; passed > 1 {
		i.last = [ClassCount]int64{}
	}
	i.now = [ClassCount]int64{}
	i.start += passed * i.span
}

// add counts bytes of a class that arrived at now.
func (i *input) add(now unit.Time, c Class, bytes int32) {
	if now-i.start >= i.span {
		i.roll(now)
	}
	i.now[c] += int64(bytes)
}

// moveToElephants moves up to the given bytes from mice to elephants, for a flow that has become an elephant.
func (i *input) moveToElephants(now unit.Time, bytes int64) {
	i.roll(now)
	n := min(bytes, i.now[Mice])
	i.now[Mice], i.now[Elephants] = i.now[Mice]-n, i.now[Elephants]+n
	n = min(bytes-n, i.last[Mice])
	i.last[Mice], i.last[Elephants] = i.last[Mice]-n, i.last[Elephants]+n
}

// rateOf returns the present rate of a class, in bit/s. It advances to the T of now.
func (i *input) rateOf(now unit.Time, c Class) float64 {
	i.roll(now)
	part := float64(max(now-i.start, 0)) / float64(i.span)
	bytes := float64(i.now[c]) + float64(float64(i.last[c])*(1-part))
	return bytes * 8e12 / float64(max(min(i.span, now), 1))
}

// countLast returns the part of a flow's counts in the last t, at most a window, assuming an even rate in each window.
// It is in the sketch's unit: bytes, or packets.
func (c *FlowEstimate) countLast(t unit.Time) int64 {
	if c.Elapsed >= t {
		return int64(float64(c.Flow[0]) * float64(t) / float64(max(c.Elapsed, 1)))
	}
	bytes := int64(c.Flow[0])
	if c.Windows > 1 {
		bytes += int64(float64(c.Flow[1]) * float64(t-c.Elapsed) / float64(max(c.Duration, 1)))
	}
	return bytes
}

// promoteFlow moves the bytes that a flow has sent as a mouse, since it was last an elephant, to the elephants' input.
// counts holds all of the flow, o.Growth its growth since its last packet in the table, and size the bytes of the
// present packet, which is not in the input yet.
func (g *Program) promoteFlow(now unit.Time, x *port, o *Origin, counts *FlowEstimate, size int32) {
	unit := int64(1)
	if g.config.Sketch.Packets {
		unit = int64(size)
	}
	if grown := int64(o.Growth) * unit; grown > int64(size) {
		x.input.moveToElephants(now, min(grown, counts.countLast(x.input.span)*unit)-int64(size))
	}
}

// offer is a port's offer to one flow of each class.
type offer struct {
	rates [ClassCount]unit.Rate
	at    unit.Time // of the computation
	isSet bool
	loop  unit.Time // d0
}

// prepareOffer sets T and d0 of a port with a rate in bit/s and frames of the given size in bytes. Without a rate or
// memory they follow from d.
func (x *port) prepareOffer(c *SketchConfig, rate unit.Rate, frame int32) {
	x.input.span, x.offer.loop = c.Duration, unit.Time(c.Windows)*c.Duration/durationSpans
	if rate <= 0 || x.memory == nil {
		return
	}
	bytes := float64(x.ownMemory().Size())
	if x.ownMemory().packets {
		bytes *= float64(frame)
	}
	drain := unit.Time(bytes * 8e12 / float64(rate))
	x.input.span = max(min(drain, c.Duration), min(unit.Time(minFrames*float64(frame)*8e12/float64(rate)), c.Duration))
	x.offer.loop = max(x.offer.loop, drain, 1)
}

// queuedBytes returns the bytes in all queues of a port.
func queuedBytes(p *tm.Port) (bytes float64) {
	for q := range p.Queues() {
		bytes += float64(p.Queue(tm.QueueID(q)).Bytes())
	}
	return bytes
}

// guaranteedRate returns the rate that the scheduler of p, which is port x, guarantees to elephants, in bit/s, at most
// half of whole. With scheduler: ncf that is what mice leave if they take what they need, and at least the elephants'
// guarantee. With strict priority, or fewer than three queues, it is 0. rate is the port's, whole the part of it that
// is offered.
func (g *Program) guaranteedRate(now unit.Time, x *port, p *tm.Port, rate, whole float64) float64 {
	if p.Queues() < 3 {
		return 0
	}
	share := 0.0
	for q := 2; q < p.Queues(); q++ {
		y, fixed := p.MinQueueShare(tm.QueueID(q))
		if !fixed {
			return 0
		}
		share += y
	}
	if x.givesAsNeeded() {
		came := float64(x.mice.sum(now)) * 8e12 / float64(x.coveredTime(now))
		share = max(share, 1-came/rate)
	}
	const rounding = 1 + 1e-9 // of a sum of shares that is half
	return min(whole/2, share*rate*rounding)
}

// supply returns the rate that port x offers to one flow of a class, in bit/s. An elephant gets the rate that mice and
// control packets leave, divided by the number of elephants among the heaviest flows; with MaxMin it is their max-min
// share. A mouse gets the rate that control packets leave, divided by the number of all flows, since an incast may have
// no elephant. 0 means unknown: the port's rate is in packets. It is computed at most offersPerSpan times in T and
// stored; between, it returns the stored result.
func (g *Program) supply(env *dataplane.Env, x *port, class Class) unit.Rate {
	now := env.Now()
	if x.offer.isSet && now-x.offer.at < x.input.span/offersPerSpan {
		return x.offer.rates[class]
	}
	x.offer.isSet, x.offer.at, x.offer.rates = true, now, [ClassCount]unit.Rate{}
	if int(x.out) >= env.Ports() {
		return 0
	}
	p := env.Port(x.out)
	rate := float64(p.Rate().Bits)
	whole := float64(rate * g.config.TargetShare)
	least := min(max(float64(rate*g.config.Memory.Reserved[Elephants]), g.guaranteedRate(now, x, p, rate, whole)), whole)
	left := whole - x.input.rateOf(now, Control) - float64(beta*queuedBytes(p))*8e12/float64(x.offer.loop)
	x.offer.rates[Mice] = unit.Rate(max(left, least) / max(x.sketch.EstimateFlows(), 1))

	left = max(left-x.input.rateOf(now, Mice), least)
	demands := g.demands[:0]
	x.top.Advance(x.sketch.Window())
	for i := range x.top.Len() {
		if x.top.IsFresh(i, x.sketch.Window()) {
			demands = append(demands, float64(x.rateOf(now, x.top.At(i).Count)))
		}
	}
	x.offer.rates[Elephants] = unit.Rate(left / float64(max(1, len(demands))))
	if g.config.MaxMin && !g.config.Sketch.Packets {
		x.offer.rates[Elephants] = unit.Rate(fairShare(left, demands))
	}
	return x.offer.rates[class]
}

// fairShare returns the max-min fair share of left, in the unit of demands: the rate of a flow that demands more than
// its share, once flows that demand less are satisfied. If all are satisfied, it is the maximum that the largest could
// have. Without demands it is left. It sorts demands.
func fairShare(left float64, demands []float64) float64 {
	for i := 1; i < len(demands); i++ {
		for k := i; k > 0 && demands[k] < demands[k-1]; k-- {
			demands[k], demands[k-1] = demands[k-1], demands[k]
		}
	}
	for i, d := range demands {
		if n := float64(len(demands) - i); i == len(demands)-1 || d >= left/n {
			return left / n
		}
		left -= d
	}
	return left
}
