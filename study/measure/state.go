package measure

import (
	"math"

	"weir/core/dataplane"
	"weir/core/outcome"
)

// state measures the state that programs and schedulers of switches keep, and their operations on a packet.
type state struct {
	Plain
	switches []int
	label    string
}

// Label returns the pattern of switches.
func (m *state) Label() string { return m.label }

// Decode reads `switches`.
func (m *state) Decode(o *Options) {
	t := o.Node.Default("switches")
	m.label, m.switches = o.Text(t), o.Switches(t)
}

// Needs requests the resources that switches use, at the end of the run.
func (*state) Needs(*Point, *outcome.Load) Needs { return Needs{Taken: true} }

// Evaluate adds the state and the operations of each switch; NaN for a switch that does not report them.
func (m *state) Evaluate(e *Evaluation) {
	add := func(name, unit string, f func(t *dataplane.Usage) float64) {
		x := Measured{Name: name, Unit: unit, Groups: []Grouped{}}
		for _, i := range m.switches {
			v := math.NaN()
			if i < len(e.Result.Usage) && e.Result.Usage[i] != nil {
				v = f(e.Result.Usage[i])
			}
			x.Groups = append(x.Groups, Grouped{Group: e.Point.Network.Nodes[i].Name, Value: v})
		}
		e.Add(x)
	}
	add("state", "bits", func(t *dataplane.Usage) float64 { return float64(t.State) })
	add("state_accesses", "", func(t *dataplane.Usage) float64 { return float64(t.Reads + t.Writes) })
	add("state_lookups", "", func(t *dataplane.Usage) float64 { return float64(t.Lookups) })
	add("state_p4_operations", "", func(t *dataplane.Usage) float64 { return float64(t.Possible) })
	add("state_lacked_operations", "", func(t *dataplane.Usage) float64 { return float64(t.Operations) })
}
