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

// loss is the share of data packets that did not arrive.
type loss struct{ traffics }

// Evaluate adds it.
func (*loss) Evaluate(e *Evaluation) {
	e.ByTraffic("loss", "", func(t int) float64 {
		var sent, received int64
		e.Each(t, func(s *transport.Sent, r *transport.Received, _ unit.Time) {
			sent += s.SentPackets
			received += r.ReceivedPackets
		})
		m := e.messages(t)
		sent, received = sent+m.Sent.SentPackets, received+m.Received.ReceivedPackets
		return max(0, 1-float64(received)/float64(sent))
	})
}

// delay is the one-way delay of data packets.
type delay struct {
	traffics
	percentiles []float64
}

// Decode reads by and percentiles.
func (m *delay) Decode(o *Options) {
	m.traffics.Decode(o)
	m.percentiles = o.Percentiles()
}

// Needs is the distribution.
func (*delay) Needs(*Point, *outcome.Load) Needs { return Needs{Delays: true} }

// Evaluate adds it.
func (m *delay) Evaluate(e *Evaluation) {
	e.ByTraffic("delay", "s", func(t int) float64 {
		var sum unit.Time
		var n int64
		e.Each(t, func(_ *transport.Sent, r *transport.Received, _ unit.Time) {
			sum += r.DelaySum
			n += r.ReceivedPackets - r.Duplicates()
		})
		m := e.messages(t)
		sum, n = sum+m.Received.DelaySum, n+m.Received.ReceivedPackets-m.Received.Duplicates()
		return sum.Seconds() / float64(n)
	})
	e.ByTraffic("delay_max", "s", func(t int) float64 {
		most := unit.Time(-1)
		e.Each(t, func(_ *transport.Sent, r *transport.Received, _ unit.Time) { most = max(most, r.DelayMax) })
		m := e.messages(t)
		most = max(most, m.Received.DelayMax)
		if most <= 0 {
			return math.NaN()
		}
		return most.Seconds()
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

// jitter is the smoothed difference of transit times.
type jitter struct{ traffics }

// Evaluate adds it.
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

// retransmissions are the data packets that were sent again.
type retransmissions struct {
	Plain
	by string
}

// Decode reads by.
func (m *retransmissions) Decode(o *Options) {
	m.by = o.Choose("by", "grouping")
}

// Evaluate adds it.
func (m *retransmissions) Evaluate(e *Evaluation) {
	e.ByTraffic("retransmissions", "packets", func(t int) float64 {
		n := 0.0
		e.Each(t, func(s *transport.Sent, _ *transport.Received, _ unit.Time) { n += float64(s.Retransmitted) })
		m := e.messages(t)
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
	e.ByTraffic("retransmissions_sd", "packets", func(t int) float64 { return deviation(all[t]) })
	for t := range all {
		e.AddDistribution(distributionOf("retransmissions", "packets", e.Point.Traffic[t].Name, all[t]))
	}
}

// spurious are data packets that were sent again although they had arrived.
type spurious struct{ traffics }

// Evaluate adds their number, and the numbers by the cause of the copy that arrived in addition.
func (*spurious) Evaluate(e *Evaluation) {
	e.ByTraffic("spurious", "packets", func(t int) float64 {
		total := int64(0)
		for _, n := range e.spuriousOf(t) {
			total += n
		}
		return float64(total)
	})
	for cause := range packet.ResendCauses {
		e.ByTraffic("spurious_"+cause.String(), "packets", func(t int) float64 { return float64(e.spuriousOf(t)[cause]) })
	}
}

// spuriousOf returns the packets of a traffic that arrived once more, by cause.
func (e *Evaluation) spuriousOf(traffic int) (out [packet.ResendCauses]int64) {
	add := func(r *transport.Received) {
		for i, n := range r.Spurious {
			out[i] += n
		}
	}
	e.Each(traffic, func(_ *transport.Sent, r *transport.Received, _ unit.Time) { add(r) })
	m := e.messages(traffic)
	add(&m.Received)
	return out
}

// Spurious returns the packets of all traffics of a run that arrived once more, by cause.
func Spurious(p *Point, load *outcome.Load, r *outcome.Result) (out [packet.ResendCauses]int64) {
	e := &Evaluation{Point: p, Load: load, Result: r}
	for t := range p.Traffic {
		for i, n := range e.spuriousOf(t) {
			out[i] += n
		}
	}
	return out
}

// unacked is what was not acknowledged when the last write returned.
type unacked struct{ traffics }

// Decode reads by, and checks that there is a send buffer.
func (m *unacked) Decode(o *Options) {
	m.traffics.Decode(o)
	if !slices.ContainsFunc(o.Point.Traffic, func(t Traffic) bool { return t.Transport.Buffered }) {
		o.Fail(o.At, "a traffic with transport: tcp", "no traffic of the experiment has a send buffer")
	}
}

// Evaluate adds it.
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

// reordering is the share of data packets that came late.
type reordering struct{ traffics }

// Needs is the order in which packets come.
func (*reordering) Needs(*Point, *outcome.Load) Needs { return Needs{Ordering: true} }

// Evaluate adds the share of data packets that came after one that was sent later
// (RFC 4737 §4.1), and the largest extent (§4.2).
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
		var most, arrived int64
		for i := range e.Load.Flows {
			if r := &e.Result.Reordering[i]; e.Load.Flows[i].Group == t {
				most, arrived = max(most, r.Extent), arrived+r.Arrived
			}
		}
		if arrived == 0 {
			return math.NaN()
		}
		return float64(most)
	})
}

// overshoot is what senders had in flight beyond what their paths hold.
type overshoot struct{ traffics }

// Decode reads by, and checks that there is a window.
func (m *overshoot) Decode(o *Options) {
	m.traffics.Decode(o)
	o.needsWindow()
}

// Needs is the largest payload in flight.
func (*overshoot) Needs(*Point, *outcome.Load) Needs { return Needs{Peaks: true} }

// Lab says that kernels do not report it.
func (*overshoot) Lab(p *Point) string {
	return p.kernels(-1, "a kernel reports what its sender has in flight only now and then, so the most is not known")
}

// Evaluate adds the most that senders had in flight, over their paths' bandwidth-delay
// products: the mean and the largest of the flows that sent anything.
func (*overshoot) Evaluate(e *Evaluation) {
	all, most := Measured{Name: "overshoot", Groups: []Grouped{}}, Measured{Name: "overshoot_max", Groups: []Grouped{}}
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
		all.Groups, most.Groups = append(all.Groups, Grouped{Group: tr.Name, Value: mean(x)}),
			append(most.Groups, Grouped{Group: tr.Name, Value: largest})
	}
	e.Add(all)
	e.Add(most)
}

// timeouts are retransmission timeouts.
type timeouts struct{ traffics }

// Decode reads by, and checks that there is a window.
func (m *timeouts) Decode(o *Options) {
	m.traffics.Decode(o)
	o.needsWindow()
}

// Evaluate counts retransmission timeouts.
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
		messages := e.messages(t)
		n += messages.Timeouts
		m.Groups = append(m.Groups, Grouped{Group: e.Point.Traffic[t].Name, Value: float64(n)})
	}
	e.Add(m)
}
