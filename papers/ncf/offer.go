package ncf

import (
	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/unit"
)

// What a port offers to a flow (ours; BS'19 has no law, and of the follow-up we know that a flow's demand is
// matched with the supply). It is RCP's rate (Dukkipati 2007, §2):
//
//	R(t) = R(t−T)·[1 + (T/d0)·(α(C − y(t)) − β·q(t)/d0)/C]
//
// RCP does not know N and takes C/R(t−T) for it. Here flows are counted, so with N for that quotient, α = 1
// and T = d0
//
//	R(t) = R(t−T) + [C − y(t) − β·q(t)/d0]/N
//
// and with the input y in two parts, those who are offered R and all others, y = N·R(t−T) + others,
//
//	R(t) = [C − others(t) − β·q(t)/d0]/N.
//
// The old rate is gone from it, which RCP needs, as all its packets bring R to senders, and which would be
// wrong here, where they hear of it during congestion only. C is the target share of the port's rate.
//
//   - others(t) is what came in the present, the last T. T is how long the port needs to send what its memory
//     holds, for congestion grows in that time; but at most d, and at least the time of 16 frames.
//   - d0 is the loaded round trip: n·d/4 (see turn), or what the memory takes to leave, if that is longer.
//     With q at most what the memory holds, the queue's term is at most β·C. Senders keep to a window of the
//     empty path, so they drain most of the queue themselves, and β is small (Voice et al.: with none RCP
//     is stable more easily).
//   - Bytes count in the class that their flow has now: when a flow becomes an elephant, what it has sent in
//     the present is taken from the mice's.
//   - The offers to one class are never above C together, nor below a floor: what the scheduler gives that
//     class whatever others send. Else a flood of mice would turn obedient elephants into mice.
const (
	beta        = 0.02
	leastFrames = 16 // of the longest frame, in T
	perPresent  = 8  // how often in T an offer is computed at most
)

// input is what came for a port in the present, by class: a sliding T, of which the part that lies in the last
// whole T has its mean rate.
type input struct {
	every     unit.Time // T
	start     unit.Time // of the current T
	now, last [Classes]int64
}

func (i *input) roll(now unit.Time) {
	passed := (now - i.start) / i.every
	if passed <= 0 {
		return
	}
	if i.last = i.now; passed > 1 {
		i.last = [Classes]int64{}
	}
	i.now = [Classes]int64{}
	i.start += passed * i.every
}

func (i *input) add(now unit.Time, c Class, bytes int32) {
	if now-i.start >= i.every {
		i.roll(now)
	}
	i.now[c] += int64(bytes)
}

// promote counts so many bytes of a flow that has become an elephant as elephants', as far as they are mice's.
func (i *input) promote(now unit.Time, bytes int64) {
	i.roll(now)
	n := min(bytes, i.now[Mice])
	i.now[Mice], i.now[Elephants] = i.now[Mice]-n, i.now[Elephants]+n
	n = min(bytes-n, i.last[Mice])
	i.last[Mice], i.last[Elephants] = i.last[Mice]-n, i.last[Elephants]+n
}

// rate is the present one of a class, in bit/s.
func (i *input) rate(now unit.Time, c Class) float64 {
	i.roll(now)
	part := float64(max(now-i.start, 0)) / float64(i.every)
	bytes := float64(i.now[c]) + float64(float64(i.last[c])*(1-part))
	return bytes * 8e12 / float64(max(min(i.every, now), 1))
}

// inLast is how much of a flow's counts came in the last t, which is at most a window, if its rate in each window
// was even.
func (c *FlowEstimate) inLast(t unit.Time) int64 {
	if c.Elapsed >= t {
		return int64(float64(c.Flow[0]) * float64(t) / float64(max(c.Elapsed, 1)))
	}
	bytes := int64(c.Flow[0])
	if c.Windows > 1 {
		bytes += int64(float64(c.Flow[1]) * float64(t-c.Elapsed) / float64(max(c.Duration, 1)))
	}
	return bytes
}

// promote counts what a flow has sent as a mouse since it was last known as an elephant, if it ever was, with
// elephants. counts has all of it, and o.Grown what came since the flow's last packet in the table.
func (g *Program) promote(now unit.Time, x *port, o *Origin, counts *FlowEstimate, size int32) {
	unit := int64(1)
	if g.config.Sketch.Packets {
		unit = int64(size)
	}
	if grown := int64(o.Grown) * unit; grown > int64(size) {
		x.input.promote(now, min(grown, counts.inLast(x.input.every)*unit)-int64(size))
	}
}

// offer is what a port offers: to one flow of a class, as of a time.
type offer struct {
	to    [Classes]unit.Rate
	at    unit.Time
	known bool
	loop  unit.Time // d0
}

// prepare sets T and d0 of a port that sends at a rate, with so much memory; both are 0 where unknown.
func (x *port) prepare(c *SketchConfig, rate unit.Rate, frame int32) {
	x.input.every, x.offer.loop = c.Duration, unit.Time(c.Windows)*c.Duration/spans
	if rate <= 0 || x.memory == nil {
		return
	}
	bytes := float64(x.own().Size())
	if x.own().packets {
		bytes *= float64(frame)
	}
	drain := unit.Time(bytes * 8e12 / float64(rate))
	x.input.every = max(min(drain, c.Duration), min(unit.Time(leastFrames*float64(frame)*8e12/float64(rate)), c.Duration))
	x.offer.loop = max(x.offer.loop, drain, 1)
}

// waiting is what waits at a port, in bytes.
func waiting(p *tm.Port) (bytes float64) {
	for q := range p.Queues() {
		bytes += float64(p.Queue(tm.QueueID(q)).Bytes())
	}
	return bytes
}

// served is what the port's scheduler gives elephants whatever others send, in bit/s: with scheduler: ncf what mice
// leave if they take what they need, at least the guarantee, and half of whole at most, otherwise half; with drr a
// third, with strict priority no rate.
func (g *Program) served(now unit.Time, x *port, p *tm.Port, rate, whole float64) float64 {
	if p.Queues() < 3 {
		return 0
	}
	share := 0.0
	for q := 2; q < p.Queues(); q++ {
		y, fixed := p.Least(tm.QueueID(q))
		if !fixed {
			return 0
		}
		share += y
	}
	if x.asNeeded() {
		came := float64(x.mice.sum(now)) * 8e12 / float64(x.covered(now))
		share = max(share, 1-came/rate)
	}
	const rounding = 1 + 1e-9 // of a sum of shares that is half
	return min(whole/2, share*rate*rounding)
}

// supply is the rate that port x offers to one flow of a class, in bit/s: to an elephant, what mice and
// control packets leave, divided by the number of elephants among the heaviest flows; to a mouse, what control
// packets leave, divided by the number of all flows, for an incast may have no elephant. 0: unknown, since the
// port's rate is in packets.
func (g *Program) supply(env *dataplane.Env, x *port, class Class) unit.Rate {
	now := env.Now()
	if x.offer.known && now-x.offer.at < x.input.every/perPresent {
		return x.offer.to[class]
	}
	x.offer.known, x.offer.at, x.offer.to = true, now, [Classes]unit.Rate{}
	if int(x.out) >= env.Ports() {
		return 0
	}
	p := env.Port(x.out)
	rate := float64(p.Rate().Bits)
	whole := float64(rate * g.config.Target)
	least := min(max(float64(rate*g.config.Memory.Reserved[Elephants]), g.served(now, x, p, rate, whole)), whole)
	left := whole - x.input.rate(now, Control) - float64(beta*waiting(p))*8e12/float64(x.offer.loop)
	x.offer.to[Mice] = unit.Rate(max(left, least) / max(x.sketch.Flows(), 1))

	left = max(left-x.input.rate(now, Mice), least)
	demands := g.demands[:0]
	x.top.Advance(x.sketch.Window())
	for i := range x.top.Len() {
		if x.top.Fresh(i, x.sketch.Window()) {
			demands = append(demands, float64(x.rate(now, x.top.At(i).Count)))
		}
	}
	x.offer.to[Elephants] = unit.Rate(left / float64(max(1, len(demands))))
	if g.config.MaxMin && !g.config.Sketch.Packets {
		x.offer.to[Elephants] = unit.Rate(fill(left, demands))
	}
	return x.offer.to[class]
}

// fill is the max-min fair share: the rate of a flow that wants more than its share, once flows that want
// less have what they want. If all are satisfied, it is the most that the largest could have.
func fill(left float64, demands []float64) float64 {
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
