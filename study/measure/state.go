package measure

import (
	"math"

	"weir/core/dataplane"
	"weir/core/outcome"
)

// state is what the programs and schedulers of switches keep, and do for a packet.
type state struct {
	Plain
	switches []int
	label    string
}

// Label is the pattern of switches.
func (m *state) Label() string { return m.label }

// Decode reads which switches.
func (m *state) Decode(o *Options) {
	t := o.Node.Default("switches")
	m.label, m.switches = o.Text(t), o.Switches(t)
}

// Needs is that switches are asked at the end.
func (*state) Needs(*Point, *outcome.Load) Needs { return Needs{Taken: true} }

// Evaluate adds what each switch has.
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
