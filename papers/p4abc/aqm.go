package p4abc

import (
	"math"

	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/unit"
)

// Average is UTEMA, the unbiased time-dependent exponential moving average of
// §3.3 (ICPE'17, equations (18)–(20)): S/N with both weighted by exp(−age/M).
type Average struct {
	sum, count float64 // S, N, as of last; N counts the samples' weights
	last       unit.Time
}

// Update adds a sample with a weight, 1 for UTEMA.
func (a *Average) Update(now unit.Time, x, weight float64, memory unit.Time) {
	d := decay(now-a.last, memory)
	a.sum = float64(a.sum*d) + float64(x*weight)
	a.count = float64(a.count*d) + weight
	a.last = now
}

// Value returns S/N, 0 where there were no samples. It does not change between
// samples: both decay alike.
func (a *Average) Value() float64 {
	if a.count <= 0 {
		return 0
	}
	return a.sum / a.count
}

// Threshold is equation (2): T_drop(A) = max(Q_min, Q_base − γ·(A − A_avg)). A
// packet is dropped if the queue is longer.
func Threshold(activity, average, qMin, qBase, gamma float64) float64 {
	return max(qMin, qBase-float64(gamma*(activity-average)))
}

// activityAQM is that of an egress port.
type activityAQM struct {
	thresholds
	// packet is what a packet counts for at least in a Q in bytes, empty where it counts for its bytes alone.
	packet   product
	rate     unit.Rate // of the port
	maxRate  float64   // the largest activity that there can be
	average  Average
	room     room
	register int64 // queue length as the prototype's ingress sees it
}

// thresholds are equation (2)'s, in packets or in bytes.
type thresholds struct {
	qMin, qBase, gamma float64
	// frame is the size of a full frame where Q is in bytes and the thresholds are in packets, 0 where both have one
	// unit. Then T_drop is so many whole frames: Q is longer than T_drop at the same number of full frames as in packets.
	frame int64
}

// packetShare is the part of a buffer in packets that so many packets fill when they alone exceed Q_base.
const packetShare = 5. / 6 // 20 of 24 packets, P4-ABC §6.1.3

// packetWeight returns the bytes that a packet counts for at least in a Q in bytes. A buffer that is limited in packets
// is filled by packets, too: short ones would reach the limit before Q_base, and then it would no longer matter who
// sent them. Q_base is packetShare of the buffer then. A packet counts for a full frame at most, as with average:
// packets.
func (t *thresholds) packetWeight(buffer tm.Limit, frame unit.Bytes) product {
	if buffer.Packets <= 0 {
		return nil
	}
	base := t.qBase
	if t.frame > 0 {
		base *= float64(frame)
	}
	return productBy(min(float64(frame), base/(packetShare*float64(buffer.Packets))))
}

// exceeds reports whether a queue is longer than a threshold.
func (t *thresholds) exceeds(queue int64, threshold float64) bool {
	if t.frame > 0 {
		return queue > int64(threshold)*t.frame
	}
	return float64(queue) > threshold
}

// of returns T_drop of an activity.
func (t *thresholds) of(activity, average float64) float64 {
	return Threshold(activity, average, t.qMin, t.qBase, t.gamma)
}

// fullFrame returns the size of a site's largest frame or, where that is not known, of the paper's.
func fullFrame(site *dataplane.Site) unit.Bytes {
	if site.MaxFrame > 0 {
		return unit.Bytes(site.MaxFrame)
	}
	return paperFrame
}

// newAQMs makes one for each port of a site.
func newAQMs(c *Config, site *dataplane.Site) []activityAQM {
	all := make([]activityAQM, site.Ports)
	for i := range all {
		rate, q := site.Rate(i).Bits, &all[i]
		q.thresholds = c.thresholds(rate, fullFrame(site))
		q.rate, q.maxRate = rate, c.maxRateAt(rate)
		if !c.PerPacket {
			q.packet = q.packetWeight(site.Limit(i), fullFrame(site))
		}
		q.room = newRoom(c, &q.thresholds, site, i, rate)
	}
	return all
}

// rateMargin is log2 of how many times a port's rate a user is taken to send at most.
const rateMargin = 2

// maxRate returns the largest activity at a port of a rate: rateMargin over the port's rate in units of the smallest
// reference rate. Users cannot send more for long. What exceeds it is the first packets of a user, when the meter has
// seen no time yet: one such rate would be the average of all for seconds.
func (c *Config) maxRate(rate unit.Rate) float64 {
	smallest := c.Reference
	for i := range c.Aggregates {
		smallest = min(smallest, c.Aggregates[i].Value)
	}
	if rate <= 0 {
		return mostHonest
	}
	return min(math.Log2(float64(rate)/float64(smallest))+rateMargin, mostHonest)
}

// maxRateAt is maxRate at an egress port where rates are averaged. A switch inside a domain does not know the reference
// rates of marks. There the edges limit activities, by the rate of the port at which packets come in.
func (c *Config) maxRateAt(rate unit.Rate) float64 {
	if c.PerPacket || c.Domain == DomainMember {
		return math.Inf(1)
	}
	return c.maxRate(rate)
}

// maxActivity is a largest activity in both arithmetics.
type maxActivity struct {
	exact float64
	whole Fixed
}

// maxMark returns the largest activity that an edge marks packets with which come in at a port of a rate.
func (c *Config) maxMark(rate unit.Rate) maxActivity {
	most := float64(mostHonest)
	if !c.PerPacket {
		most = c.maxRate(rate)
	}
	return maxActivity{most, maxRateInteger(most)}
}

// maxMarkFrom returns it for a port.
func (a *Program) maxMarkFrom(in packet.PortID) maxActivity {
	if int(in) >= len(a.entering) {
		return maxActivity{mostHonest, mostHonest << fraction}
	}
	return a.entering[in]
}

// setRate follows a change of a port's rate: in experiments, events make some.
func (a *Program) setRate(out packet.PortID, rate unit.Rate) {
	q := &a.aqms[out]
	q.rate, q.maxRate = rate, a.config.maxRateAt(rate)
	a.entering[out] = a.config.maxMark(rate)
	if a.whole != nil {
		a.whole.ports[out].maxRate = maxRateInteger(q.maxRate)
	}
	if q.room.max > 0 && rate > 0 {
		q.room.byteTime = byteTime(rate)
	}
}

// exceeded is equation (2): whether a queue is longer than T_drop of the current packet.
func (a *Program) exceeded(queue int64, out packet.PortID) bool {
	if a.whole != nil {
		return a.whole.exceeded(queue, out)
	}
	q := &a.aqms[out]
	return q.exceeds(queue, q.qMin) && q.exceeds(queue, q.of(min(a.activity, q.maxRate), a.Average(out)))
}

// accept counts the current packet in A_avg. With average: packets the samples are activities, and packets count
// alike. Otherwise they are rates in units of the reference rate, and bytes count alike.
func (a *Program) accept(now unit.Time, size int32, out packet.PortID) {
	if a.whole != nil {
		a.whole.accept(now, size, out)
		return
	}
	q := &a.aqms[out]
	if a.config.PerPacket {
		q.average.Update(now, a.activity, 1, a.config.Average)
		return
	}
	q.average.Update(now, math.Exp2(min(a.activity, q.maxRate)), float64(size), a.config.Average)
}

// Average returns A_avg at an egress port, 0 before the first packet.
func (a *Program) Average(out packet.PortID) float64 {
	if a.whole != nil {
		return a.whole.value(out).Float()
	}
	mean := a.aqms[out].average.Value()
	if a.config.PerPacket || mean <= 0 {
		return mean
	}
	return math.Log2(mean)
}

// depth is what thresholds are compared with: Q less the port's room or, if that is more, its packets as bytes.
func (a *Program) depth(env *dataplane.Env, out packet.PortID) int64 {
	q := &a.aqms[out]
	depth := q.room.reduce(a.queue(env, out))
	if len(q.packet) > 0 {
		depth = max(depth, int64(q.packet.of(Fixed(env.Port(out).Packets()))))
	}
	return depth
}

// queue is Q: the packets, or their bytes, that wait, without the one on the wire.
func (a *Program) queue(env *dataplane.Env, out packet.PortID) int64 {
	switch {
	case a.config.Register:
		return a.aqms[out].register
	case a.inBytes || !a.config.PerPacket:
		return int64(env.Port(out).Bytes())
	}
	return int64(env.Port(out).Packets())
}
