package report

import (
	"fmt"

	"weir/study/experiment"
)

// Without says which points of the sweep are left out, and why, a sentence for each reason.
func Without(s *experiment.Spec) (lines []string) {
	for _, a := range s.Without() {
		lines = append(lines, fmt.Sprintf("left out: %s: %s", a.Which(s.Sweep()), a.Why))
	}
	return lines
}

// sorted are the columns of the results with their rows in an order that the experiment's file asks for.
func (w *worlds) sorted(by []string) (keys, values []column) {
	keys, values = w.columns()
	g := &grid{keys: keys, values: values, rows: len(w.own)}
	(&TableOptions{Sort: by}).choose(g, w.own)
	return g.keys, g.values
}
