package ndp

import "weir/core/dataplane"

// Footprint returns the use by a switch that trims, which needs a special traffic manager. The pipeline only sets the
// class at ingress.
func (n *Program) Footprint() dataplane.Footprint {
	trim := dataplane.Stage{Name: "trim", Gress: dataplane.InManager,
		Operations: []dataplane.Operation{{Kind: dataplane.TouchingTail, What: "trims what finds no room", Times: 1}}}
	if n.config.TrimTail > 0 {
		trim.Operations = append(trim.Operations, dataplane.Operation{Kind: dataplane.TouchingTail,
			What: "trims the packet queued last", Times: 1})
	}
	if n.config.ReturnToSender {
		trim.Operations = append(trim.Operations, dataplane.Operation{Kind: dataplane.TouchingTail,
			What: "returns a header that finds no room", Times: 1})
	}
	return dataplane.Footprint{Stages: []dataplane.Stage{{Name: "header or data", Gress: dataplane.InIngress}, trim}}
}
