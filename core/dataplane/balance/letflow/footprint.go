package letflow

import "weir/core/dataplane"

// Footprint returns the use by one lookup, the flowlet table and, if configured, failover.
func (l *program) Footprint() dataplane.Footprint {
	gap, port := l.flowlets.Stages()
	return dataplane.Footprint{Stages: append([]dataplane.Stage{l.paths.Stage(), gap, port}, l.Failover.Stages()...)}
}
