package run

import (
	"fmt"
	"slices"

	"weir/core/unit"
	"weir/study/spec"
)

// labTimeout is the least retransmission timeout that pauses of the lab's threads do not bring about: on a virtual
// machine they are some milliseconds long now and then.
const labTimeout = 10 * unit.Millisecond

// hasty is the configuration of a transport whose timeouts have a least value.
type hasty interface{ LeastTimeout() unit.Time }

// LabWarnings tell what may work otherwise in the lab than is meant: stalls, which are for the simulator, and timeouts
// for networks of some microseconds, which come there while acknowledgements only wait for a thread.
func LabWarnings(s *spec.Spec) (all []string) {
	if s.Stalls() {
		all = append(all, "stalls are for the simulator: the lab's machine has its own")
	}
	for _, p := range s.Points() {
		for i := range p.Entries() {
			tr := p.Entry(i)
			x, config := tr.Transport()
			h, ok := config.(hasty)
			if !ok || !tr.Own() || h.LeastTimeout() >= labTimeout {
				continue
			}
			w := fmt.Sprintf("%v: traffic %s: timeouts of %s can come after rto_min: %v, and what carries acknowledgements "+
				"in the lab waits for milliseconds now and then; with rto_min: %v or more only what is lost is sent again",
				tr.At(), tr.Name(), x.Name, h.LeastTimeout(), labTimeout)
			if !slices.Contains(all, w) {
				all = append(all, w)
			}
		}
	}
	return all
}
