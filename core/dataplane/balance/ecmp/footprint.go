package ecmp

import "weir/core/dataplane"

// Footprint returns the use by one lookup, by the selection of an equal path by the hash, and by
// failover, if configured.
func (e *Program) Footprint() dataplane.Footprint {
	return dataplane.Footprint{Stages: append([]dataplane.Stage{e.routes.Stage(true)}, e.Stages()...)}
}
