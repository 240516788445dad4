package wecmp

import "weir/core/dataplane"

// Footprint returns the use by one lookup, failover, if configured, and a weighted draw if a group has several paths:
// here a loop over the paths of a group. WCMP (WCMP §3.1) instead repeats members of a group according to their
// weights, which takes more entries but no loop.
func (w *program) Footprint() dataplane.Footprint {
	s := w.paths.Stage()
	most := w.paths.MaxGroupSize()
	f := dataplane.Footprint{Stages: []dataplane.Stage{s}}
	if most > 1 {
		f.Stages = append(f.Stages, dataplane.Stage{Name: "draw by weight", Gress: dataplane.InIngress,
			Tables: []dataplane.TableUse{{Name: "weights by port", Entries: len(w.weight), Key: dataplane.PortBits,
				Action: dataplane.WidthOf(w.weight[0])}},
			Operations: []dataplane.Operation{{Kind: dataplane.Looping, What: "over the paths' weights", Times: most},
				{Kind: dataplane.FloatingPoint, What: "the hash's part of their sum", Times: 1}}})
	}
	f.Stages = append(f.Stages, w.Stages()...)
	return f
}
