package measure

import (
	"math"
	"strconv"

	"weir/core/outcome"
	"weir/core/unit"
)

// gauge measures a quantity that senders report, over time.
type gauge struct {
	Plain
	name     string
	quantity outcome.Quantity
	unit     string
	timed    bool // only senders that measure round trips report it
	traffic  int  // −1: all
	label    string
	every    unit.Time
	flows    int // the number of flows of each traffic that are sampled
}

// newGauge returns a constructor of gauges of the quantity. unit names the unit of its samples; timed restricts it to
// senders that measure round trips.
func newGauge(name string, what outcome.Quantity, unit string, timed bool) func() Measure {
	return func() Measure { return &gauge{name: name, quantity: what, unit: unit, timed: timed, traffic: -1} }
}

// Label returns the name of the traffic; "" if all are measured.
func (m *gauge) Label() string { return m.label }

// ReadOptions reads `traffic`, `every` and `flows`, and reports an error if no traffic has the quantity.
func (m *gauge) ReadOptions(o *Options) {
	var gauged []string
	for i := range o.Point.Traffic {
		if m.hasQuantity(&o.Point.Traffic[i]) {
			gauged = append(gauged, o.Point.Traffic[i].Name)
		}
	}
	if len(gauged) == 0 {
		if o.Point.Partial { // the error in the traffic was reported
			return
		}
		o.Fail(o.At, "a traffic over a transport with a window", "no traffic of the experiment has a %s", o.Kind.Name)
		return
	}
	if t := o.Node.Get("traffic"); t != nil {
		name := o.ReadWord(t, "traffic with a "+o.Kind.Name, gauged)
		for i := range o.Point.Traffic {
			if o.Point.Traffic[i].Name == name {
				m.traffic, m.label = i, name
			}
		}
	}
	m.every = o.ReadEvery()
	m.flows = o.ReadInteger(o.Node.GetDefault("flows"), 1, 10000)
}

// hasQuantity reports whether the traffic's senders report the quantity. Timed quantities need a sender that measures
// round trips, others one with a window or a rate.
func (m *gauge) hasQuantity(tr *Traffic) bool {
	if m.timed {
		return tr.Transport.Timed
	}
	return tr.Transport.Gauged
}

// sampledFlows returns the indices of the flows that are sampled: the first m.flows flows of each measured traffic
// with senders that report the quantity.
func (m *gauge) sampledFlows(p *Point, load *outcome.Load) (out []int) {
	count := make([]int, len(p.Traffic))
	for i := range load.Flows {
		t := load.Flows[i].Group
		if m.hasQuantity(&p.Traffic[t]) && (m.traffic < 0 || m.traffic == t) && count[t] < m.flows {
			count[t]++
			out = append(out, i)
		}
	}
	return out
}

// ListNeeds requests samples of the quantity for each sampled flow.
func (m *gauge) ListNeeds(p *Point, load *outcome.Load) (n Needs) {
	for _, i := range m.sampledFlows(p, load) {
		n.Watches = append(n.Watches, outcome.Watch{What: m.quantity, Index: i, Every: m.every})
	}
	return n
}

// AddValues adds the series of each sampled flow, and the mean over time by traffic. Samples below 0 are undefined.
func (m *gauge) AddValues(e *Evaluation) {
	sum, n := make([]float64, len(e.Point.Traffic)), make([]float64, len(e.Point.Traffic))
	number := make([]int, len(e.Point.Traffic))
	for k, i := range m.sampledFlows(e.Point, e.Load) {
		t := e.Load.Flows[i].Group
		var over []float64
		for _, v := range e.Samples[k] {
			x := float64(v)
			if m.unit == "s" {
				x = unit.Time(v).Seconds()
			}
			if v < 0 {
				x = math.NaN()
			} else {
				sum[t] += x
				n[t]++
			}
			over = append(over, x)
		}
		e.AddSeries(m.name, m.unit, e.Point.Traffic[t].Name+"."+strconv.Itoa(number[t]), m.every, over)
		number[t]++
	}
	x := Measured{Name: m.name, Unit: m.unit}
	for t := range e.Point.Traffic {
		if m.hasQuantity(&e.Point.Traffic[t]) && (m.traffic < 0 || m.traffic == t) {
			x.Groups = append(x.Groups, GroupValue{Group: e.Point.Traffic[t].Name, Value: sum[t] / n[t]})
		}
	}
	e.Add(x)
}
