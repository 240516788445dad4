package ecn

import "weir/core/dataplane"

// StageUse returns the use of a stage by marking with curves: a table of curves by port, and the line between two
// thresholds, if there is one. At ingress the queue is egress state.
func StageUse(name string, g dataplane.SwitchPart, curves []Curve) dataplane.Stage {
	var c Curve
	s := dataplane.Stage{Name: name, Gress: g,
		Tables: []dataplane.TableUse{{Name: "thresholds by port", Entries: len(curves), Key: dataplane.PortBits,
			Action: dataplane.WidthOf(c)}}}
	if g == dataplane.InIngress {
		s.Operations = append(s.Operations, dataplane.Operation{Kind: dataplane.ReadingEgress, What: "queue of the port",
			Times: 1})
	}
	for _, c := range curves {
		if c.Kmin < c.Kmax && c.Pmax > 0 {
			s.Operations = append(s.Operations, dataplane.Operation{Kind: dataplane.Dividing,
				What: "place between the thresholds", Times: 1}, dataplane.Operation{Kind: dataplane.FloatingPoint,
				What: "probability", Times: 1})
			break
		}
	}
	return s
}

// Footprint returns the use of marking before the queue.
func (e *Enqueue) Footprint() dataplane.Footprint {
	return dataplane.Footprint{Stages: []dataplane.Stage{StageUse("mark", dataplane.InIngress, e.curves)}}
}

// Footprint returns the use of marking behind the queue.
func (d *Dequeue) Footprint() dataplane.Footprint {
	return dataplane.Footprint{Stages: []dataplane.Stage{StageUse("mark", dataplane.InEgress, d.curves)}}
}
