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
	sum, count float64 // S, N at time last; N sums the samples' weights
	last       unit.Time
}

// Update adds a sample x with a weight, 1 for UTEMA. memory is M, above 0. now must not precede the last sample.
func (a *Average) Update(now unit.Time, x, weight float64, memory unit.Time) {
	d := decay(now-a.last, memory)
	a.sum = float64(a.sum*d) + float64(x*weight)
	a.count = float64(a.count*d) + weight
	a.last = now
}

// Value returns S/N, 0 before the first sample. It does not change between samples: S and N decay alike.
func (a *Average) Value() float64 {
	if a.count <= 0 {
		return 0
	}
	return a.sum / a.count
}

// Threshold returns T_drop(A) = max(Q_min, Q_base − γ·(A − A_avg)) (equation (2)), in the unit of qMin, qBase and
// gamma. A packet is dropped if the queue is longer.
func Threshold(activity, average, qMin, qBase, gamma float64) float64 {
	return max(qMin, qBase-float64(gamma*(activity-average)))
}

// activityAQM is the AQM state of an egress port.
type activityAQM struct {
	thresholds
	// packetBytes is the minimum that a packet counts for in a Q in bytes. It is empty if packets count by bytes alone.
	packetBytes product
	rate        unit.Rate // of the port
	maxRate     float64   // upper limit of activities
	average     Average
	room        room
	register    int64 // queue length as the prototype's ingress sees it
}

// thresholds holds the parameters of equation (2), in packets or in bytes.
type thresholds struct {
	qMin, qBase, gamma float64
	// frame is the size of a full frame if Q is in bytes and thresholds are in packets, otherwise 0. T_drop then counts
	// full frames: a queue of full frames exceeds it at the same number of frames as a Q in packets does.
	frame int64
}

// packetShare is the share of a buffer limited in packets that minimum-size packets fill when they exceed Q_base.
const packetShare = 5. / 6 // 20 of 24 packets, P4-ABC §6.1.3

// packetWeight returns the minimum number of bytes that a packet counts for in a Q in bytes; nil without a limit in
// packets. If a buffer is limited in packets, short packets would fill it before Q_base, and drops would no longer
// depend on the sender. The weight puts Q_base at packetShare of the buffer. It is a full frame at most, as with
// average: packets.
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

// isAbove reports whether a queue is longer than a threshold. The queue is Q in its unit. With frame > 0 the threshold
// counts full frames, rounded down to whole ones; otherwise it is in the unit of Q.
func (t *thresholds) isAbove(queue int64, threshold float64) bool {
	if t.frame > 0 {
		return queue > int64(threshold)*t.frame
	}
	return float64(queue) > threshold
}

// dropThreshold returns T_drop for an activity.
func (t *thresholds) dropThreshold(activity, average float64) float64 {
	return Threshold(activity, average, t.qMin, t.qBase, t.gamma)
}

// fullFrame returns the size of a site's largest frame or, if that is unknown, the paper's.
func fullFrame(site *dataplane.Site) unit.Bytes {
	if site.MaxFrame > 0 {
		return unit.Bytes(site.MaxFrame)
	}
	return paperFrame
}

// newAQMs returns the AQM state of each port of a site.
func newAQMs(c *Config, site *dataplane.Site) []activityAQM {
	all := make([]activityAQM, site.Ports)
	for i := range all {
		rate, q := site.PortRate(i).Bits, &all[i]
		q.thresholds = c.thresholdsAt(rate, fullFrame(site))
		q.rate, q.maxRate = rate, c.maxRateAt(rate)
		if !c.PerPacket {
			q.packetBytes = q.packetWeight(site.PortLimit(i), fullFrame(site))
		}
		q.room = newRoom(c, &q.thresholds, site, i, rate)
	}
	return all
}

// rateMargin is log2 of the ratio between a user's highest plausible rate and the port's rate.
const rateMargin = 2

// maxRate returns the upper limit of activities at a port with a rate: rateMargin above the port's rate in units of the
// smallest reference rate, as users cannot exceed that for long. Only a user's first packets do, while its meter has
// measured no time yet; one such rate would dominate the average for seconds. With rate 0 it is maxHonest.
func (c *Config) maxRate(rate unit.Rate) float64 {
	smallest := c.Reference
	for i := range c.Aggregates {
		smallest = min(smallest, c.Aggregates[i].Value)
	}
	if rate <= 0 {
		return maxHonest
	}
	return min(math.Log2(float64(rate)/float64(smallest))+rateMargin, maxHonest)
}

// maxRateAt returns maxRate for an egress port that averages rates, otherwise +∞. A domain's inner switch does not know
// the reference rates behind marks. There the edges limit activities, by the rate of the port where packets arrive.
func (c *Config) maxRateAt(rate unit.Rate) float64 {
	if c.PerPacket || c.Domain == DomainMember {
		return math.Inf(1)
	}
	return c.maxRate(rate)
}

// maxActivity is an upper limit of activities, in floating point and in fixed point.
type maxActivity struct {
	exact   float64
	integer Fixed
}

// maxMark returns the largest activity that an edge writes into packets that arrive at a port with a rate.
func (c *Config) maxMark(rate unit.Rate) maxActivity {
	most := float64(maxHonest)
	if !c.PerPacket {
		most = c.maxRate(rate)
	}
	return maxActivity{most, maxRateInteger(most)}
}

// maxMarkFrom returns maxMark of an ingress port, or the limit of the mark format for a port without one.
func (a *Program) maxMarkFrom(in packet.PortID) maxActivity {
	if int(in) >= len(a.markLimits) {
		return maxActivity{maxHonest, maxHonest << fractionBits}
	}
	return a.markLimits[in]
}

// setRate updates a port's rate, its limits of activities and its room's byte time after an event of an experiment
// changed the rate. Thresholds stay as they are. At rate 0 (no rate in bit/s) the byte time stays, too.
func (a *Program) setRate(out packet.PortID, rate unit.Rate) {
	q := &a.aqms[out]
	q.rate, q.maxRate = rate, a.config.maxRateAt(rate)
	a.markLimits[out] = a.config.maxMark(rate)
	if a.integers != nil {
		a.integers.ports[out].maxRate = maxRateInteger(q.maxRate)
	}
	if q.room.max > 0 && rate > 0 {
		q.room.byteTime = byteTime(rate)
	}
}

// exceedsThreshold reports whether a queue is longer than both Q_min and T_drop of the current packet (equation (2)).
// The queue is as queueDepth returns it.
func (a *Program) exceedsThreshold(queue int64, out packet.PortID) bool {
	if a.integers != nil {
		return a.integers.exceedsThreshold(queue, out)
	}
	q := &a.aqms[out]
	return q.isAbove(queue, q.qMin) && q.isAbove(queue, q.dropThreshold(min(a.activity, q.maxRate),
		a.AverageActivity(out)))
}

// addSample counts the current packet of size bytes in A_avg of a port. With average: packets the samples are
// activities, and packets have equal weights. Otherwise samples are rates in units of the reference rate, by bytes.
func (a *Program) addSample(now unit.Time, size int32, out packet.PortID) {
	if a.integers != nil {
		a.integers.addSample(now, size, out)
		return
	}
	q := &a.aqms[out]
	if a.config.PerPacket {
		q.average.Update(now, a.activity, 1, a.config.Average)
		return
	}
	q.average.Update(now, math.Exp2(min(a.activity, q.maxRate)), float64(size), a.config.Average)
}

// AverageActivity returns A_avg at an egress port, 0 before the first packet.
func (a *Program) AverageActivity(out packet.PortID) float64 {
	if a.integers != nil {
		return a.integers.averageAt(out).Float()
	}
	mean := a.aqms[out].average.Value()
	if a.config.PerPacket || mean <= 0 {
		return mean
	}
	return math.Log2(mean)
}

// queueDepth returns what thresholds are compared with: Q divided by the factor of the port's room or, if larger, its
// packets as bytes.
func (a *Program) queueDepth(env *dataplane.Env, out packet.PortID) int64 {
	q := &a.aqms[out]
	depth := q.room.reduceQueue(a.queueLength(env, out))
	if len(q.packetBytes) > 0 {
		depth = max(depth, int64(q.packetBytes.multiply(Fixed(env.Port(out).Packets()))))
	}
	return depth
}

// queueLength returns Q without the packet on the wire, in packets or bytes.
func (a *Program) queueLength(env *dataplane.Env, out packet.PortID) int64 {
	switch {
	case a.config.Register:
		return a.aqms[out].register
	case a.inBytes || !a.config.PerPacket:
		return int64(env.Port(out).Bytes())
	}
	return int64(env.Port(out).Packets())
}
