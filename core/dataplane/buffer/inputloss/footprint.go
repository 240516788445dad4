package inputloss

import "weir/core/dataplane"

// Footprint is a draw, of which a switch is capable: no table, no state.
func (l *Program) Footprint() dataplane.Footprint {
	return dataplane.Footprint{Stages: []dataplane.Stage{{Name: "loss", Gress: dataplane.InIngress}}}
}
