package report

import (
	"fmt"

	"weir/study/experiment"
)

// DescribeOmitted describes the points of the sweep that are left out, one sentence for each reason.
func DescribeOmitted(s *experiment.Spec) (lines []string) {
	for _, a := range s.OmittedPoints() {
		lines = append(lines, fmt.Sprintf("left out: %s: %s", a.Describe(s.Sweep()), a.Why))
	}
	return lines
}

// sortedColumns returns the columns of the results with the rows sorted by sortNames (TableOptions.Sort); without
// names, in the order of the sweep. It sets w.empty.
func (w *worlds) sortedColumns(sortNames []string) (keys, values []column) {
	keys, values = w.resultColumns()
	g := &grid{keys: keys, values: values, rows: len(w.own)}
	(&TableOptions{Sort: sortNames}).selectColumns(g, w.own)
	return g.keys, g.values
}
