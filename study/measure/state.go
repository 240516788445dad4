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

// ReadOptions reads `switches`.
func (m *state) ReadOptions(o *Options) {
	t := o.Node.GetDefault("switches")
	m.label, m.switches = o.ReadText(t), o.ReadSwitches(t)
}

// ListNeeds requests the resources that switches use, at the end of the run.
func (*state) ListNeeds(*Point, *outcome.Load) Needs { return Needs{Usage: true} }

// AddValues adds the state and the operations of each switch; NaN for a switch that does not report them.
func (m *state) AddValues(e *Evaluation) {
	add := func(name, unit string, f func(t *dataplane.Usage) float64) {
		x := Measured{Name: name, Unit: unit, Groups: []GroupValue{}}
		for _, i := range m.switches {
			v := math.NaN()
			if i < len(e.Result.Usage) && e.Result.Usage[i] != nil {
				v = f(e.Result.Usage[i])
			}
			x.Groups = append(x.Groups, GroupValue{Group: e.Point.Network.Nodes[i].Name, Value: v})
		}
		e.Add(x)
	}
	add("state", "bits", func(t *dataplane.Usage) float64 { return float64(t.State) })
	add("state_accesses", "", func(t *dataplane.Usage) float64 { return float64(t.Reads + t.Writes) })
	add("state_lookups", "", func(t *dataplane.Usage) float64 { return float64(t.Lookups) })
	add("state_p4_operations", "", func(t *dataplane.Usage) float64 { return float64(t.PipelineOperations) })
	add("state_lacked_operations", "", func(t *dataplane.Usage) float64 { return float64(t.CostlyOperations) })
}
