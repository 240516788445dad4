package measure

import (
	"math"
	"slices"
	"sort"

	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
)

// loss measures the share of data packets that did not arrive.
type loss struct{ traffics }

// Evaluate adds 1 − received/sent packets by traffic, at least 0.
func (*loss) Evaluate(e *Evaluation) {
	e.ByTraffic("loss", "", func(t int) float64 {
		var sent, received int64
		e.Each(t, func(s *transport.Sent, r *transport.Received, _ unit.Time) {
			sent += s.SentPackets
			received += r.ReceivedPackets
		})
		m := e.sumTrafficMessages(t)
		sent, received = sent+m.Sent.SentPackets, received+m.Received.ReceivedPackets
		return max(0, 1-float64(received)/float64(sent))
	})
}

// delay measures the one-way delay of data packets.
type delay struct {
	traffics
	percentiles []float64
}

// Decode reads `by` and `percentiles`.
func (m *delay) Decode(o *Options) {
	m.traffics.Decode(o)
	m.percentiles = o.Percentiles()
}

// Needs requests the distributions of delays.
func (*delay) Needs(*Point, *outcome.Load) Needs { return Needs{Delays: true} }

// Evaluate adds mean, maximum, percentiles and distribution of the delays by traffic.
func (m *delay) Evaluate(e *Evaluation) {
	e.ByTraffic("delay", "s", func(t int) float64 {
		var sum unit.Time
		var n int64
		e.Each(t, func(_ *transport.Sent, r *transport.Received, _ unit.Time) {
			sum += r.DelaySum
			n += r.ReceivedPackets - r.Duplicates()
		})
		m := e.sumTrafficMessages(t)
		sum, n = sum+m.Received.DelaySum, n+m.Received.ReceivedPackets-m.Received.Duplicates()
		return sum.Seconds() / float64(n)
	})
	e.ByTraffic("delay_max", "s", func(t int) float64 {
		largest := unit.Time(-1)
		e.Each(t, func(_ *transport.Sent, r *transport.Received, _ unit.Time) { largest = max(largest, r.DelayMax) })
		m := e.sumTrafficMessages(t)
		largest = max(largest, m.Received.DelayMax)
		if largest <= 0 {
			return math.NaN()
		}
		return largest.Seconds()
	})
	for t := range e.Point.Traffic {
		d := Distribution{Name: "delay", Unit: "s", Group: e.Point.Traffic[t].Name}
		for _, c := range e.Result.Delays[t].Classes() {
			d.Add(c.Middle().Seconds(), c.Count)
		}
		e.AddDistribution(d)
	}
	for _, q := range m.percentiles {
		e.ByTraffic(PercentileName("delay", q), "s", func(t int) float64 {
			return e.Values.Distribution("delay", e.Point.Traffic[t].Name).Percentile(q)
		})
	}
}

// jitter measures the smoothed difference of transit times (RFC 3550 §6.4.1).
type jitter struct{ traffics }

// Evaluate adds the mean jitter of each traffic's flows in seconds.
func (*jitter) Evaluate(e *Evaluation) {
	e.ByTraffic("jitter", "s", func(t int) float64 {
		sum, n := 0.0, 0.0
		e.Each(t, func(_ *transport.Sent, r *transport.Received, _ unit.Time) {
			sum += r.Jitter
			n++
		})
		return sum / n / 1e12
	})
}

// retransmissions counts the data packets that were sent again.
type retransmissions struct {
	Plain
	by string
}

// Decode reads `by`.
func (m *retransmissions) Decode(o *Options) {
	m.by = o.Choose("by", "grouping")
}

// Evaluate adds the count by traffic; by flow also mean, standard deviation and distribution over the flows.
func (m *retransmissions) Evaluate(e *Evaluation) {
	e.ByTraffic("retransmissions", "packets", func(t int) float64 {
		n := 0.0
		e.Each(t, func(s *transport.Sent, _ *transport.Received, _ unit.Time) { n += float64(s.Retransmitted) })
		m := e.sumTrafficMessages(t)
		return n + float64(m.Sent.Retransmitted)
	})
	if m.by == "traffic" {
		return
	}
	all := make([][]float64, len(e.Point.Traffic))
	for t := range all {
		e.Each(t, func(s *transport.Sent, _ *transport.Received, _ unit.Time) {
			all[t] = append(all[t], float64(s.Retransmitted))
		})
		sort.Float64s(all[t])
	}
	e.ByTraffic("retransmissions_mean", "packets", func(t int) float64 { return mean(all[t]) })
	e.ByTraffic("retransmissions_sd", "packets", func(t int) float64 { return standardDeviation(all[t]) })
	for t := range all {
		e.AddDistribution(distributionOf("retransmissions", "packets", e.Point.Traffic[t].Name, all[t]))
	}
}

// spurious counts the data packets that were sent again although they had arrived.
type spurious struct{ traffics }

// Evaluate adds their number, and the number for each cause of the redundant copy.
func (*spurious) Evaluate(e *Evaluation) {
	e.ByTraffic("spurious", "packets", func(t int) float64 {
		total := int64(0)
		for _, n := range e.countSpurious(t) {
			total += n
		}
		return float64(total)
	})
	for cause := range packet.ResendCauses {
		e.ByTraffic("spurious_"+cause.String(), "packets", func(t int) float64 { return float64(e.countSpurious(t)[cause]) })
	}
}

// countSpurious returns the number of a traffic's packets that arrived more than once, by cause.
func (e *Evaluation) countSpurious(traffic int) (out [packet.ResendCauses]int64) {
	add := func(r *transport.Received) {
		for i, n := range r.Spurious {
			out[i] += n
		}
	}
	e.Each(traffic, func(_ *transport.Sent, r *transport.Received, _ unit.Time) { add(r) })
	m := e.sumTrafficMessages(traffic)
	add(&m.Received)
	return out
}

// Spurious returns the number of a run's packets that arrived more than once, by cause, over all traffics.
func Spurious(p *Point, load *outcome.Load, r *outcome.Result) (out [packet.ResendCauses]int64) {
	e := &Evaluation{Point: p, Load: load, Result: r}
	for t := range p.Traffic {
		for i, n := range e.countSpurious(t) {
			out[i] += n
		}
	}
	return out
}

// unacked measures the payload that was not acknowledged when the last write returned.
type unacked struct{ traffics }

// Decode reads `by`, and reports an error if no traffic has a send buffer.
func (m *unacked) Decode(o *Options) {
	m.traffics.Decode(o)
	if !slices.ContainsFunc(o.Point.Traffic, func(t Traffic) bool { return t.Transport.Buffered }) {
		o.Fail(o.At, "a traffic with transport: tcp", "no traffic of the experiment has a send buffer")
	}
}

// Evaluate adds mean and maximum over the flows in bytes, by traffic.
func (*unacked) Evaluate(e *Evaluation) {
	all := make([][]float64, len(e.Point.Traffic))
	for i := range e.Load.Flows {
		if f := &e.Result.Flows[i]; f.Written != unit.Never {
			all[e.Load.Flows[i].Group] = append(all[e.Load.Flows[i].Group], float64(f.Sender.Unacked))
		}
	}
	e.ByTraffic("unacked", "bytes", func(t int) float64 { return mean(all[t]) })
	e.ByTraffic("unacked_max", "bytes", func(t int) float64 {
		if len(all[t]) == 0 {
			return math.NaN()
		}
		return slices.Max(all[t])
	})
}

// reordering measures the share of data packets that arrived late.
type reordering struct{ traffics }

// Needs requests the counters of reordered packets.
func (*reordering) Needs(*Point, *outcome.Load) Needs { return Needs{Ordering: true} }

// Evaluate adds the share of data packets that arrived after one that was sent later (RFC 4737 §4.1), and the largest
// extent in packets (RFC 4737 §4.2).
func (*reordering) Evaluate(e *Evaluation) {
	e.ByTraffic("reordering", "", func(t int) float64 {
		var reordered, arrived int64
		for i := range e.Load.Flows {
			if r := &e.Result.Reordering[i]; e.Load.Flows[i].Group == t {
				reordered, arrived = reordered+r.Reordered, arrived+r.Arrived
			}
		}
		return float64(reordered) / float64(arrived)
	})
	e.ByTraffic("reordering_extent", "packets", func(t int) float64 {
		var largest, arrived int64
		for i := range e.Load.Flows {
			if r := &e.Result.Reordering[i]; e.Load.Flows[i].Group == t {
				largest, arrived = max(largest, r.Extent), arrived+r.Arrived
			}
		}
		if arrived == 0 {
			return math.NaN()
		}
		return float64(largest)
	})
}

// overshoot measures how much payload senders had in flight, relative to their path's bandwidth-delay product.
type overshoot struct{ traffics }

// Decode reads `by`, and reports an error if no traffic has a window.
func (m *overshoot) Decode(o *Options) {
	m.traffics.Decode(o)
	o.requireWindow()
}

// Needs requests the largest payload in flight of each flow.
func (*overshoot) Needs(*Point, *outcome.Load) Needs { return Needs{Peaks: true} }

// Lab returns why the lab lacks the measure for kernel senders.
func (*overshoot) Lab(p *Point) string {
	return p.kernelSender(-1, "a kernel reports what its sender has in flight only now and then, so the most is not known")
}

// Evaluate adds the mean and the maximum, over the flows that sent data, of the largest payload in flight divided by
// the bandwidth-delay product of the flow's path.
func (*overshoot) Evaluate(e *Evaluation) {
	all, maxima := Measured{Name: "overshoot", Groups: []Grouped{}}, Measured{Name: "overshoot_max", Groups: []Grouped{}}
	for t := range e.Point.Traffic {
		tr := &e.Point.Traffic[t]
		if !tr.Transport.Gauged {
			continue
		}
		var x []float64
		largest := math.NaN()
		for i := range e.Load.Flows {
			if f := &e.Load.Flows[i]; f.Group == t && e.Result.Peaks[i] > 0 {
				v := float64(e.Result.Peaks[i]) / e.Point.BDP(f.Src, f.Dst, tr)
				x = append(x, v)
				if !(largest >= v) {
					largest = v
				}
			}
		}
		all.Groups, maxima.Groups = append(all.Groups, Grouped{Group: tr.Name, Value: mean(x)}),
			append(maxima.Groups, Grouped{Group: tr.Name, Value: largest})
	}
	e.Add(all)
	e.Add(maxima)
}

// timeouts counts retransmission timeouts.
type timeouts struct{ traffics }

// Decode reads `by`, and reports an error if no traffic has a window.
func (m *timeouts) Decode(o *Options) {
	m.traffics.Decode(o)
	o.requireWindow()
}

// Evaluate adds the number of timeouts of each traffic that has a window.
func (*timeouts) Evaluate(e *Evaluation) {
	m := Measured{Name: "timeouts", Groups: []Grouped{}}
	for t := range e.Point.Traffic {
		if !e.Point.Traffic[t].Transport.Gauged {
			continue
		}
		var n int64
		for i := range e.Load.Flows {
			if e.Load.Flows[i].Group == t {
				n += e.Result.Flows[i].Timeouts
			}
		}
		messages := e.sumTrafficMessages(t)
		n += messages.Timeouts
		m.Groups = append(m.Groups, Grouped{Group: e.Point.Traffic[t].Name, Value: float64(n)})
	}
	e.Add(m)
}
