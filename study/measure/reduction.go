package measure

import (
	"math"
	"slices"

	"weir/core/outcome"
	"weir/core/unit"
	"weir/internal/document"
)

// reduction measures how long after the onset of congestion senders reduce their window or rate.
type reduction struct {
	Plain
	traffic      int // −1: all traffics with a window
	label        string
	after        unit.Time
	port         int         // −1: congestion begins at `after`
	above        unit.Length // queue length from which on there is congestion
	share        float64     // share by which a sender must reduce
	completeness string      // first, all
	inFlight     bool        // the payload in flight is reduced; false: the window
}

// Label returns the traffic's name; "" for all.
func (m *reduction) Label() string { return m.label }

// Excludes returns an error text if only one of m and other, which must be a reduction, is for all traffics. There is
// either one entry for all traffics, or one for each.
func (m *reduction) Excludes(other Measure) (why, allowed string) {
	if (other.(*reduction).traffic < 0) != (m.traffic < 0) {
		return "the reduction of a traffic is given twice", "one entry for each traffic or one entry for all"
	}
	return "", ""
}

// WhyNotInLab returns that kernels do not report reductions.
func (m *reduction) WhyNotInLab(p *Point) string {
	return p.kernelSender(m.traffic, "a kernel does not report window reductions of its sender with a resolution of 1 us")
}

// ReadOptions reads what counts as congestion and what as a reduction.
func (m *reduction) ReadOptions(o *Options) {
	m.traffic, m.port = -1, -1
	if !o.requireWindow() {
		return
	}
	if t := o.Node.Get("traffic"); t != nil {
		m.label = o.ReadWord(t, "traffic with a window", o.Point.windowedTraffics())
		m.traffic = slices.IndexFunc(o.Point.Traffic, func(t Traffic) bool { return t.Name == m.label })
	}
	m.after = o.Point.Warmup
	if t := o.Node.Get("after"); t != nil {
		m.after = o.ReadTime(t, false)
	}
	port, above := o.Node.Get("port"), o.Node.Get("above")
	switch {
	case (port == nil) != (above == nil):
		key := "port"
		if above == nil {
			key = "above"
		}
		o.Node.FailMissing(key, "port and above must be given together: the queue that shows congestion and its length")
		return
	case port != nil:
		m.port = o.ReadPort(port, true)
		var ok bool
		if m.above, ok = document.ReadValid(o.Reader, above, unit.ParseLength); ok && m.above.Packets < 1 &&
			m.above.Bytes < 1 {
			o.Fail(above.Position, "at least 1 packet",
				"above %s is exceeded by every packet, so it does not show congestion", above.Text)
		}
	}
	by := o.Node.GetDefault("by")
	if m.share = document.ReadValue(o.Reader, by, unit.ParseShare); !(m.share > 0 && m.share < 1) &&
		by.Kind == document.Scalar {
		o.Fail(by.Position, "above 0% and below 100%", "%q is not a valid share of a window", by.Text)
	}
	m.completeness = o.ReadChoice("of", "choice of flows")
	m.inFlight = o.ReadChoice("gauge", "gauge") == "in_flight"
}

// ListNeeds requests the onset of congestion for each measured traffic.
func (m *reduction) ListNeeds(p *Point, load *outcome.Load) (n Needs) {
	for t := range p.Traffic {
		if !p.Traffic[t].Transport.Gauged || m.traffic >= 0 && m.traffic != t {
			continue
		}
		o := outcome.Onset{After: m.after, Port: m.port, Above: m.above, By: m.share, InFlight: m.inFlight}
		for i := range load.Flows {
			if load.Flows[i].Group == t {
				o.Flows = append(o.Flows, i)
			}
		}
		n.Onsets = append(n.Onsets, o)
	}
	return n
}

// AddValues adds the time from the onset until the first flow had reduced. With `of: all` the last flow counts, among
// those that were active at the onset and did not end without reducing. Without a reduction the value is NaN.
func (m *reduction) AddValues(e *Evaluation) {
	x := Measured{Name: "reduction", Unit: "s", Groups: []GroupValue{}}
	from := Measured{Name: "reduction_from", Unit: "s", Groups: []GroupValue{}}
	k := 0
	for t := range e.Point.Traffic {
		if !e.Point.Traffic[t].Transport.Gauged || m.traffic >= 0 && m.traffic != t {
			continue
		}
		o := e.Onsets[k]
		k++
		name := e.Point.Traffic[t].Name
		began, seconds := math.NaN(), math.NaN()
		if o.At != unit.Never {
			began = o.At.Seconds()
			if reduced := m.reductionTime(e, t, &o); reduced != unit.Never {
				seconds = (reduced - o.At).Seconds()
			}
		}
		x.Groups = append(x.Groups, GroupValue{Group: name, Value: seconds})
		from.Groups = append(from.Groups, GroupValue{Group: name, Value: began})
	}
	e.Add(x)
	e.Add(from)
}

// reductionTime returns the time at which the first flow of traffic t had reduced, or the last one had, by `of`,
// counting flows as AddValues states; unit.Never if that did not happen.
func (m *reduction) reductionTime(e *Evaluation, t int, o *outcome.OnsetResult) unit.Time {
	first, last := unit.Never, unit.Time(-1)
	k := -1
	for i := range e.Load.Flows {
		f := &e.Load.Flows[i]
		if f.Group != t {
			continue
		}
		if k++; k >= len(o.Reduced) {
			break
		}
		reduced := o.Reduced[k]
		first = min(first, reduced)
		r := &e.Result.Flows[i]
		ended := f.Stop > 0 && f.Stop <= e.Result.Time
		if r.FCT != unit.Never {
			ended = true
		}
		if r.Start <= o.At && (reduced != unit.Never || !ended) {
			last = max(last, reduced)
		}
	}
	if m.completeness == "first" {
		return first
	}
	if last < 0 {
		return unit.Never
	}
	return last
}
