package measure

import (
	"math"

	"weir/core/outcome"
)

// nacks counts the notices that switches make and what happens to them.
type nacks struct {
	Plain
	percentiles []float64
}

// ReadOptions reads `percentiles`.
func (m *nacks) ReadOptions(o *Options) { m.percentiles = o.ReadPercentiles() }

// ListNeeds requests the counters of notices.
func (*nacks) ListNeeds(*Point, *outcome.Load) Needs { return Needs{Notices: true} }

// WhyNotInLab returns that kernels do not process notices.
func (*nacks) WhyNotInLab(p *Point) string {
	return p.kernelSender(-1, "a kernel sender does not accept notices from switches")
}

// AddValues adds the counts of notices, their cost, and the delays of those that arrived.
func (m *nacks) AddValues(e *Evaluation) {
	n := &e.Result.Notices
	var taken, refused int64
	var packets, sent, delivered float64 // packets: first transmissions that arrived; sent, delivered: bytes
	for i := range e.Result.Flows {
		s := &e.Result.Flows[i].Sender
		taken, refused = taken+s.NacksTaken, refused+s.NacksRefused
		if first := float64(s.SentPackets - s.Retransmitted); first > 0 && s.SentBytes > 0 {
			arrived := float64(e.Result.Flows[i].Receiver.ReceivedBytes)
			packets += first * arrived / float64(s.SentBytes)
			sent += float64(s.SentBytes) * float64(s.SentPackets) / first
			delivered += arrived
		}
	}
	e.Add(Measured{Name: "nacks", Unit: "packets", Groups: []GroupValue{{Group: "made", Value: float64(n.Made)},
		{Group: "dropped", Value: float64(n.Dropped)},
		{Group: "delivered", Value: float64(n.Delivered)}, {Group: "taken", Value: float64(taken)},
		{Group: "refused", Value: float64(refused)}}})
	e.Add(Measured{Name: "nacks_lost", Value: float64(n.Dropped) / float64(n.Made)})
	e.Add(Measured{Name: "nacks_cost", Groups: []GroupValue{{Group: "made", Value: float64(n.Made) / packets},
		{Group: "sent", Value: sent / delivered}}})
	d := Distribution{Name: "nacks_delay", Unit: "s"}
	longest := math.NaN()
	for _, c := range n.Delay.Classes() {
		d.Add(min(c.Middle(), n.DelayMax).Seconds(), c.Count) // a class's middle may exceed the largest delay
		longest = n.DelayMax.Seconds()
	}
	groups := []GroupValue{{Group: "mean", Value: n.DelaySum.Seconds() / float64(n.Delivered)},
		{Group: "max", Value: longest}}
	for _, q := range m.percentiles {
		groups = append(groups, GroupValue{Group: percentileGroup(q), Value: d.Percentile(q)})
	}
	e.Add(Measured{Name: "nacks_delay", Unit: "s", Groups: groups})
	e.AddDistribution(d)
}
