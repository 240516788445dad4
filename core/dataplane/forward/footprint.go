package forward

import "weir/core/dataplane"

// Footprint returns the use by one lookup.
func (f *Program) Footprint() dataplane.Footprint {
	s := f.routes.Stage(false)
	if f.table != nil { // the control plane's table, of both IP versions
		s.Tables = []dataplane.TableUse{{Name: "routes", Match: dataplane.MatchPrefix, Entries: f.table.Len(), Key: 128,
			Action: dataplane.PortBits}}
	}
	return dataplane.Footprint{Stages: []dataplane.Stage{s}}
}
