package run

import (
	"slices"

	"weir/core/scheme"
	"weir/core/unit"
	"weir/internal/document"
	"weir/study/experiment"
)

// labTimeout is the lowest retransmission timeout that does not expire when the lab's threads pause. On a virtual
// machine some pauses last milliseconds.
const labTimeout = 10 * unit.Millisecond

// Kinds of warnings about the lab.
var (
	warnStalls = scheme.WarningKind{ID: "lab-stalls",
		Condition: "an experiment with stalls runs in the lab, which does not support them"}
	warnTimeout = scheme.WarningKind{ID: "lab-timeout",
		Condition: "a transport of Weir's own hosts has rto_min below 10 ms in the lab"}
)

// WarningKinds returns the kinds of warnings that this package issues.
func WarningKinds() []scheme.WarningKind { return []scheme.WarningKind{warnStalls, warnTimeout} }

// LabWarnings returns warnings on features that work differently in the lab: stalls, which only the simulator has,
// and timeouts of microseconds, which expire while a thread waits.
func LabWarnings(s *experiment.Spec) (all []document.Warning) {
	if s.Stalls() {
		all = append(all, document.Warn(warnStalls, document.Position{},
			"stalls are for the simulator: the lab's machine has "+
				"its own"))
	}
	for _, p := range s.Points() {
		for i := range p.Entries() {
			tr := p.Entry(i)
			x, _ := tr.Transport()
			timeout := tr.Traits().MinTimeout
			if timeout == 0 || !tr.UsesWeirStack() || timeout >= labTimeout {
				continue
			}
			w := document.Warn(warnTimeout, tr.At(), "traffic %s: timeouts of %s can come after rto_min: %v, and what carries "+
				"acknowledgements in the lab waits for milliseconds now and then; with rto_min: %v or more only what is lost "+
				"is sent again", tr.Name(), x.Name, timeout, labTimeout)
			if !slices.Contains(all, w) {
				all = append(all, w)
			}
		}
	}
	return all
}
