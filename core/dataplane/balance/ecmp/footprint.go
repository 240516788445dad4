package ecmp

import "weir/core/dataplane"

// Footprint is one lookup, and a member of the group of equal paths by the hash.
func (e *Program) Footprint() dataplane.Footprint {
	return dataplane.Footprint{Stages: append([]dataplane.Stage{e.routes.Stage(true)}, e.Stages()...)}
}
