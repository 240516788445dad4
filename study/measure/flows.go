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

// AddValues adds 1 − received/sent packets by traffic, at least 0; NaN for a traffic that has sent no packet.
func (*loss) AddValues(e *Evaluation) {
	e.AddByTraffic("loss", "", func(t int) float64 {
		var sent, received int64
		e.VisitFlows(t, func(s *transport.Sent, r *transport.Received, _ unit.Time) {
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

// ReadOptions reads `by` and `percentiles`.
func (m *delay) ReadOptions(o *Options) {
	m.traffics.ReadOptions(o)
	m.percentiles = o.ReadPercentiles()
}

// ListNeeds requests the distributions of delays.
func (*delay) ListNeeds(*Point, *outcome.Load) Needs { return Needs{Delays: true} }

// AddValues adds mean, maximum, percentiles and distribution of the delays by traffic.
func (m *delay) AddValues(e *Evaluation) {
	e.AddByTraffic("delay", "s", func(t int) float64 {
		var sum unit.Time
		var n int64
		e.VisitFlows(t, func(_ *transport.Sent, r *transport.Received, _ unit.Time) {
			sum += r.DelaySum
			n += r.ReceivedPackets - r.DuplicateCount()
		})
		m := e.sumTrafficMessages(t)
		sum, n = sum+m.Received.DelaySum, n+m.Received.ReceivedPackets-m.Received.DuplicateCount()
		return sum.Seconds() / float64(n)
	})
	e.AddByTraffic("delay_max", "s", func(t int) float64 {
		largest := unit.Time(-1)
		e.VisitFlows(t, func(_ *transport.Sent, r *transport.Received, _ unit.Time) { largest = max(largest, r.DelayMax) })
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
		e.AddByTraffic(PercentileName("delay", q), "s", func(t int) float64 {
			return e.Values.FindDistribution("delay", e.Point.Traffic[t].Name).Percentile(q)
		})
	}
}

// jitter measures the smoothed difference of transit times (RFC 3550 §6.4.1).
type jitter struct{ traffics }

// AddValues adds the mean jitter of each traffic's flows in seconds.
func (*jitter) AddValues(e *Evaluation) {
	e.AddByTraffic("jitter", "s", func(t int) float64 {
		sum, n := 0.0, 0.0
		e.VisitFlows(t, func(_ *transport.Sent, r *transport.Received, _ unit.Time) {
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

// ReadOptions reads `by`.
func (m *retransmissions) ReadOptions(o *Options) {
	m.by = o.ReadChoice("by", "grouping")
}

// AddValues adds the count by traffic; by flow also mean, standard deviation and distribution over the flows.
func (m *retransmissions) AddValues(e *Evaluation) {
	e.AddByTraffic("retransmissions", "packets", func(t int) float64 {
		n := 0.0
		e.VisitFlows(t, func(s *transport.Sent, _ *transport.Received, _ unit.Time) { n += float64(s.Retransmitted) })
		m := e.sumTrafficMessages(t)
		return n + float64(m.Sent.Retransmitted)
	})
	if m.by == "traffic" {
		return
	}
	all := make([][]float64, len(e.Point.Traffic))
	for t := range all {
		e.VisitFlows(t, func(s *transport.Sent, _ *transport.Received, _ unit.Time) {
			all[t] = append(all[t], float64(s.Retransmitted))
		})
		sort.Float64s(all[t])
	}
	e.AddByTraffic("retransmissions_mean", "packets", func(t int) float64 { return mean(all[t]) })
	e.AddByTraffic("retransmissions_sd", "packets", func(t int) float64 { return standardDeviation(all[t]) })
	for t := range all {
		e.AddDistribution(distributionOf("retransmissions", "packets", e.Point.Traffic[t].Name, all[t]))
	}
}

// spurious counts the data packets that were sent again although they had arrived.
type spurious struct{ traffics }

// AddValues adds their number, and the number for each cause of the redundant copy.
func (*spurious) AddValues(e *Evaluation) {
	e.AddByTraffic("spurious", "packets", func(t int) float64 {
		total := int64(0)
		for _, n := range e.countSpurious(t) {
			total += n
		}
		return float64(total)
	})
	for cause := range packet.ResendCauses {
		e.AddByTraffic("spurious_"+cause.String(), "packets",
			func(t int) float64 { return float64(e.countSpurious(t)[cause]) })
	}
}

// countSpurious returns the number of a traffic's packets that arrived more than once, by the cause of the redundant
// copy. It includes messages of jobs.
func (e *Evaluation) countSpurious(traffic int) (out [packet.ResendCauses]int64) {
	add := func(r *transport.Received) {
		for i, n := range r.Spurious {
			out[i] += n
		}
	}
	e.VisitFlows(traffic, func(_ *transport.Sent, r *transport.Received, _ unit.Time) { add(r) })
	m := e.sumTrafficMessages(traffic)
	add(&m.Received)
	return out
}

// CountSpurious returns the number of a run's packets that arrived more than once, by the cause of the redundant copy,
// over all traffics.
func CountSpurious(p *Point, load *outcome.Load, r *outcome.Result) (out [packet.ResendCauses]int64) {
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

// ReadOptions reads `by`, and reports an error if no traffic has a send buffer.
func (m *unacked) ReadOptions(o *Options) {
	m.traffics.ReadOptions(o)
	if !slices.ContainsFunc(o.Point.Traffic, func(t Traffic) bool { return t.Transport.Buffered }) {
		o.Fail(o.At, "a traffic with transport: tcp", "no traffic of the experiment has a sender with a send buffer")
	}
}

// AddValues adds mean and maximum over the flows in bytes, by traffic.
func (*unacked) AddValues(e *Evaluation) {
	all := make([][]float64, len(e.Point.Traffic))
	for i := range e.Load.Flows {
		if f := &e.Result.Flows[i]; f.Written != unit.Never {
			all[e.Load.Flows[i].Group] = append(all[e.Load.Flows[i].Group], float64(f.Sender.Unacked))
		}
	}
	e.AddByTraffic("unacked", "bytes", func(t int) float64 { return mean(all[t]) })
	e.AddByTraffic("unacked_max", "bytes", func(t int) float64 {
		if len(all[t]) == 0 {
			return math.NaN()
		}
		return slices.Max(all[t])
	})
}

// reordering measures the share of data packets that arrived late.
type reordering struct{ traffics }

// ListNeeds requests the counters of reordered packets.
func (*reordering) ListNeeds(*Point, *outcome.Load) Needs { return Needs{Ordering: true} }

// AddValues adds the share of data packets that arrived after one that was sent later (RFC 4737 §4.1), and the largest
// extent in packets (RFC 4737 §4.2).
func (*reordering) AddValues(e *Evaluation) {
	e.AddByTraffic("reordering", "", func(t int) float64 {
		var reordered, arrived int64
		for i := range e.Load.Flows {
			if r := &e.Result.Reordering[i]; e.Load.Flows[i].Group == t {
				reordered, arrived = reordered+r.Reordered, arrived+r.Arrived
			}
		}
		return float64(reordered) / float64(arrived)
	})
	e.AddByTraffic("reordering_extent", "packets", func(t int) float64 {
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

// ReadOptions reads `by`, and reports an error if no traffic has a window.
func (m *overshoot) ReadOptions(o *Options) {
	m.traffics.ReadOptions(o)
	o.requireWindow()
}

// ListNeeds requests the largest payload in flight of each flow.
func (*overshoot) ListNeeds(*Point, *outcome.Load) Needs { return Needs{Peaks: true} }

// WhyNotInLab returns why the lab lacks the measure for kernel senders.
func (*overshoot) WhyNotInLab(p *Point) string {
	return p.kernelSender(-1,
		"a kernel reports the payload in flight of its sender only at intervals, so the maximum is unknown")
}

// AddValues adds the mean and the maximum, over the flows that sent data, of the largest payload in flight divided by
// the bandwidth-delay product of the flow's path.
func (*overshoot) AddValues(e *Evaluation) {
	all, maxima := Measured{Name: "overshoot", Groups: []GroupValue{}}, Measured{Name: "overshoot_max",
		Groups: []GroupValue{}}
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
		all.Groups, maxima.Groups = append(all.Groups, GroupValue{Group: tr.Name, Value: mean(x)}),
			append(maxima.Groups, GroupValue{Group: tr.Name, Value: largest})
	}
	e.Add(all)
	e.Add(maxima)
}

// timeouts counts retransmission timeouts.
type timeouts struct{ traffics }

// ReadOptions reads `by`, and reports an error if no traffic has a window.
func (m *timeouts) ReadOptions(o *Options) {
	m.traffics.ReadOptions(o)
	o.requireWindow()
}

// AddValues adds the number of timeouts of each traffic that has a window.
func (*timeouts) AddValues(e *Evaluation) {
	m := Measured{Name: "timeouts", Groups: []GroupValue{}}
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
		m.Groups = append(m.Groups, GroupValue{Group: e.Point.Traffic[t].Name, Value: float64(n)})
	}
	e.Add(m)
}
