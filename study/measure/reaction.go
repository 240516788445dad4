package measure

import (
	"math"

	"weir/core/outcome"
	"weir/core/unit"
	"weir/internal/document"
)

// reaction measures the time until a quantity stays within a band around its target.
type reaction struct {
	Plain
	subject string // goodput, throughput, queue
	label   string
	traffic int
	port    int // index into outcome.Result.Ports
	after   unit.Time
	until   unit.Time
	target  float64 // bit/s or packets; NaN: the value at which it settles
	every   unit.Time
	within  float64 // half the band's width, as a share of the target
	hold    int
}

// Label returns the traffic or the port, for queues after "queue".
func (m *reaction) Label() string { return m.label }

// ReadOptions reads the quantity, when it must react, and what counts as a reaction.
func (m *reaction) ReadOptions(o *Options) {
	m.traffic, m.target = -1, math.NaN()
	if !m.decodeQuantity(o) {
		return
	}
	after := o.Node.Get("after")
	if m.subject == "" || after == nil {
		o.Node.FailMissing("after", "reaction needs the key after and one of goodput, throughput and queue")
		return
	}
	m.after, m.until = o.ReadTime(after, false), o.Point.End()
	if t := o.Node.Get("until"); t != nil {
		if m.until = o.ReadTime(t, true); m.until <= m.after && o.OK() {
			o.Fail(t.Position, "a time after "+m.after.String(), "%s is not after the time given by after", t.Text)
		}
	}
	if t := o.Node.Get("to"); t != nil {
		if m.subject == "queue" {
			if l, ok := document.ReadValid(o.Reader, t, unit.ParseLength); ok && l.Bytes > 0 {
				o.Fail(t.Position, "a number of packets such as 24 packets", "%q is not a number of packets", t.Text)
			} else {
				m.target = float64(l.Packets)
			}
		} else {
			m.target = float64(document.ReadValue(o.Reader, t, unit.ParseRate))
		}
	}
	m.every = o.ReadEvery()
	within := o.Node.GetDefault("within")
	if m.within = document.ReadValue(o.Reader, within, unit.ParseShare); m.within <= 0 && within.Kind == document.Scalar {
		o.Fail(within.Position, "above 0%", "%q is not a valid band", within.Text)
	}
	m.hold = o.ReadHold(m.every, m.until-m.after)
}

// decodeQuantity reads which quantity reacts. It returns false, and reports an error, if two are given. Without one it
// returns true and leaves the subject empty.
func (m *reaction) decodeQuantity(o *Options) bool {
	for _, name := range []string{"goodput", "throughput", "queue"} {
		t := o.Node.Get(name)
		switch {
		case t == nil:
			continue
		case m.subject != "":
			o.Fail(t.Position, "one of goodput, throughput and queue", "reaction has several of goodput, throughput and queue")
			return false
		}
		m.subject = name
		if name != "goodput" {
			m.port = o.ReadPort(t, name == "queue")
			if m.label = o.Point.PortName(m.port); name == "queue" {
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
		m.label = o.ReadWord(t, "traffic", names)
	}
	return true
}

// ListNeeds requests samples of the quantity.
func (m *reaction) ListNeeds(_ *Point, load *outcome.Load) Needs {
	switch m.subject {
	case "goodput":
		return Needs{Watches: watchReceived(load, m.every, m.traffic)}
	case "queue":
		return Needs{Watches: []outcome.Watch{{What: outcome.QueuePackets, Index: m.port, Every: m.every}}}
	}
	return Needs{Watches: []outcome.Watch{{What: outcome.SentBytes, Index: m.port, Every: m.every}}}
}

// CountSeries returns 0: only the time is kept, no series (SeriesCounter).
func (*reaction) CountSeries(*Evaluation) int { return 0 }

// AddValues adds the time until the quantity is within the band around its target and stays there for `hold` samples;
// NaN if it does not. Without a given target, the target is the quantity's mean over the second half of the time.
func (m *reaction) AddValues(e *Evaluation) {
	var over []float64
	later := unit.Time(0) // an interval counts at its end
	switch m.subject {
	case "goodput":
		for k := range e.countIntervals() {
			over = append(over, e.goodputInInterval(m.traffic, m.every, k)[m.traffic])
		}
		later = m.every
	case "queue":
		for _, v := range e.Samples[0] {
			over = append(over, float64(v))
		}
	default:
		over = e.sentRates(m.every, 8)
		later = m.every
	}
	first := e.firstIndexAfter(m.after, m.every)
	end := min(len(over), int((m.until-later-e.Point.Warmup)/m.every)+1)
	seconds := math.NaN()
	if first < end {
		target := m.target
		if math.IsNaN(target) {
			target = mean(over[first+(end-first)/2 : end])
		}
		if k := findSettledIndex(over[:end], first, m.hold, func(v float64) bool {
			return math.Abs(v-target) <= m.within*target
		}); k >= 0 {
			seconds = (e.Point.Warmup + unit.Time(k)*m.every + later - m.after).Seconds()
		}
	}
	e.Add(Measured{Name: "reaction", Unit: "s", Groups: []GroupValue{{Group: m.label, Value: seconds}}})
}
