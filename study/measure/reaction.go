package measure

import (
	"math"

	"weir/core/outcome"
	"weir/core/unit"
	"weir/internal/document"
)

// reaction is how long it takes until a quantity stays within a band around its target.
type reaction struct {
	Plain
	of      string // goodput, throughput, queue
	label   string
	traffic int
	port    int // index into outcome.Result.Ports
	after   unit.Time
	until   unit.Time
	target  float64 // NaN: where it settles
	every   unit.Time
	within  float64 // the band around the target
	hold    int
}

// Label is the quantity and what it is of.
func (m *reaction) Label() string { return m.label }

// Decode reads which quantity reacts, from when on, and what counts as a reaction.
func (m *reaction) Decode(o *Options) {
	m.traffic, m.target = -1, math.NaN()
	if !m.quantity(o) {
		return
	}
	after := o.Node.Get("after")
	if m.of == "" || after == nil {
		o.Node.Missing("after", "a reaction needs after, and one of goodput, throughput, queue")
		return
	}
	m.after, m.until = o.Time(after, false), o.Point.End()
	if t := o.Node.Get("until"); t != nil {
		if m.until = o.Time(t, true); m.until <= m.after && o.OK() {
			o.Fail(t.Position, "a time after "+m.after.String(), "%s is not after the step", t.Text)
		}
	}
	if t := o.Node.Get("to"); t != nil {
		if m.of == "queue" {
			if l, ok := document.ReadOK(o.Reader, t, unit.ParseLength); ok && l.Bytes > 0 {
				o.Fail(t.Position, "a number of packets such as 24 packets", "%q is not a number of packets", t.Text)
			} else {
				m.target = float64(l.Packets)
			}
		} else {
			m.target = float64(document.Read(o.Reader, t, unit.ParseRate))
		}
	}
	m.every = o.Every()
	within := o.Node.Default("within")
	if m.within = document.Read(o.Reader, within, unit.ParseShare); m.within <= 0 && within.Kind == document.Scalar {
		o.Fail(within.Position, "above 0%", "%q is not a band", within.Text)
	}
	m.hold = o.Hold(m.every, m.until-m.after)
}

// quantity reads which quantity reacts; false if two are given.
func (m *reaction) quantity(o *Options) bool {
	for _, of := range []string{"goodput", "throughput", "queue"} {
		t := o.Node.Get(of)
		switch {
		case t == nil:
			continue
		case m.of != "":
			o.Fail(t.Position, "one of goodput, throughput, queue", "a reaction is that of one quantity")
			return false
		}
		m.of = of
		if of != "goodput" {
			m.port = o.Port(t, of == "queue")
			if m.label = o.Point.PortName(m.port); of == "queue" {
				m.label = "queue " + m.label
			}
			continue
		}
		var names []string
		for i := range o.Point.Traffic {
			names = append(names, o.Point.Traffic[i].Name)
			if o.Point.Traffic[i].Name == t.Text {
				m.traffic = i
			}
		}
		m.label = o.Word(t, "traffic", names)
	}
	return true
}

// Needs is the quantity over time.
func (m *reaction) Needs(_ *Point, load *outcome.Load) Needs {
	switch m.of {
	case "goodput":
		return Needs{Watches: received(load, m.every, m.traffic)}
	case "queue":
		return Needs{Watches: []outcome.Watch{{What: outcome.QueuePackets, Index: m.port, Every: m.every}}}
	}
	return Needs{Watches: []outcome.Watch{{What: outcome.SentBytes, Index: m.port, Every: m.every}}}
}

// Keeps returns 0: only the time is kept (Keeping).
func (*reaction) Keeps(*Evaluation) int { return 0 }

// Evaluate adds the time until the quantity is within the band around its target and stays there
// for hold samples. Without a given target, the target is where the quantity settles: its mean
// over the second half of the time.
func (m *reaction) Evaluate(e *Evaluation) {
	var over []float64
	later := unit.Time(0) // an interval counts at its end
	switch m.of {
	case "goodput":
		for k := range e.intervals() {
			over = append(over, e.received(m.traffic, m.every, k)[m.traffic])
		}
		later = m.every
	case "queue":
		for _, v := range e.Samples[0] {
			over = append(over, float64(v))
		}
	default:
		over = e.sent(m.every, 8)
		later = m.every
	}
	first := e.firstAfter(m.after, m.every)
	end := min(len(over), int((m.until-later-e.Point.Warmup)/m.every)+1)
	at := math.NaN()
	if first < end {
		target := m.target
		if math.IsNaN(target) {
			target = mean(over[first+(end-first)/2 : end])
		}
		if k := settled(over[:end], first, m.hold, func(v float64) bool {
			return math.Abs(v-target) <= m.within*target
		}); k >= 0 {
			at = (e.Point.Warmup + unit.Time(k)*m.every + later - m.after).Seconds()
		}
	}
	e.Add(Measured{Name: "reaction", Unit: "s", Groups: []Grouped{{Group: m.label, Value: at}}})
}
