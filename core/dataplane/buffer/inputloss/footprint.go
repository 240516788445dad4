package inputloss

import "weir/core/dataplane"

// Footprint returns the use by a draw, which a switch supports: no table, no state.
func (l *Program) Footprint() dataplane.Footprint {
	return dataplane.Footprint{Stages: []dataplane.Stage{{Name: "loss", Gress: dataplane.InIngress}}}
}
