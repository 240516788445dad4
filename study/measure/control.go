package measure

import (
	"math"

	"weir/core/outcome"
)

// control measures the work of the switches' control planes.
type control struct {
	Plain
	switches []int
	label    string
}

// Label returns the pattern of switches.
func (m *control) Label() string { return m.label }

// ReadOptions reads `switches`.
func (m *control) ReadOptions(o *Options) {
	t := o.Node.GetDefault("switches")
	m.label, m.switches = o.ReadText(t), o.ReadSwitches(t)
}

// ListNeeds requests the counters of control planes at the end of the run.
func (*control) ListNeeds(*Point, *outcome.Load) Needs { return Needs{ControlPlanes: true} }

// AddValues adds sums of events over the switches that have a control plane, and means of their shares.
func (m *control) AddValues(e *Evaluation) {
	var events, lost, writes, busy, n float64
	var names []string
	shares := map[string]float64{}
	for _, i := range m.switches {
		if i >= len(e.Result.Steering) || e.Result.Steering[i] == nil || len(e.Result.Steering[i].Groups) == 0 {
			continue
		}
		s := e.Result.Steering[i]
		n++
		events, lost, writes = events+float64(s.Events), lost+float64(s.Lost), writes+float64(s.Writes)
		busy += s.Busy.Seconds()
		for _, g := range s.Groups {
			if _, there := shares[g.Group]; !there {
				names = append(names, g.Group)
			}
			shares[g.Group] += g.Share
		}
	}
	if n == 0 {
		events, lost, writes = math.NaN(), math.NaN(), math.NaN()
	}
	e.Add(Measured{Name: "control", Groups: []GroupValue{{Group: "events", Value: events}, {Group: "lost", Value: lost},
		{Group: "writes", Value: writes}}})
	e.Add(Measured{Name: "control_busy", Groups: []GroupValue{{Group: "mean", Value: busy / n / e.Result.Time.Seconds()}}})
	x := Measured{Name: "control_groups", Groups: []GroupValue{}}
	for _, g := range names {
		x.Groups = append(x.Groups, GroupValue{Group: g, Value: shares[g] / n})
	}
	e.Add(x)
}
