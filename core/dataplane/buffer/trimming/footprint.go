package trimming

import "weir/core/dataplane"

// Footprint returns the use by a switch that trims, which needs a special traffic manager. The pipeline sets the
// class at ingress, and marks at egress.
func (x *Program) Footprint() dataplane.Footprint {
	trim := dataplane.Stage{Name: "trim", Gress: dataplane.InManager}
	if x.config.Trim {
		trim.Operations = append(trim.Operations, dataplane.Operation{Kind: dataplane.TouchingTail,
			What: "trims what finds no room", Times: 1})
		if x.config.TrimTail > 0 {
			trim.Operations = append(trim.Operations, dataplane.Operation{Kind: dataplane.TouchingTail,
				What: "trims the packet queued last", Times: 1})
		}
	}
	mark := dataplane.Stage{Name: "mark", Gress: dataplane.InEgress,
		Tables: []dataplane.TableUse{{Name: "thresholds", Match: dataplane.MatchExact, Entries: len(x.ports), Key: 16,
			Action: 64}}}
	return dataplane.Footprint{Stages: []dataplane.Stage{{Name: "header or data", Gress: dataplane.InIngress}, trim, mark}}
}
