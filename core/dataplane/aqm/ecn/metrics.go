package ecn

import (
	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/unit"
)

// Metrics returns the description of the count of marks.
func (k *marker) Metrics() []dataplane.Metric {
	return []dataplane.Metric{{Name: "weir_ecn_marked_total", Help: "Frames to a port that the program ecn has marked.",
		Label: "port", ByPort: true, Counter: true}}
}

// Sample writes the counts of marks by port to samples, as many as fit, and returns their number.
func (k *marker) Sample(_ unit.Time, samples []dataplane.Sample) (n int) {
	for port, x := range k.marked {
		if n == len(samples) {
			break
		}
		samples[n] = dataplane.Sample{Port: packet.PortID(port), Value: float64(x)}
		n++
	}
	return n
}

// Adopt takes over the counts of marks from an Enqueue or Dequeue with as many ports; kept is then "its counts".
// Otherwise they start at 0, and kept is "". lost is always nil: marking has no other state.
func (e *Enqueue) Adopt(_ unit.Time, old dataplane.Program) (kept string, lost []string) {
	return e.adoptCounts(old)
}

// Adopt takes over the counts of marks from an Enqueue or Dequeue with as many ports; kept is then "its counts".
// Otherwise they start at 0, and kept is "". lost is always nil: marking has no other state.
func (d *Dequeue) Adopt(_ unit.Time, old dataplane.Program) (kept string, lost []string) {
	return d.adoptCounts(old)
}

// adoptCounts takes over the counts of old if that is an Enqueue or Dequeue with the same number of ports, and returns
// what it kept in words. Otherwise it keeps its own counts, and kept is "". lost is always nil.
func (k *marker) adoptCounts(old dataplane.Program) (kept string, lost []string) {
	var was *marker
	switch old := old.(type) {
	case *Enqueue:
		was = &old.marker
	case *Dequeue:
		was = &old.marker
	default:
		return "", nil
	}
	if len(was.marked) != len(k.marked) {
		return "", nil
	}
	k.marked = was.marked
	return "its counts", nil
}
