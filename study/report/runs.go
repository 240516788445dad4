package report

import (
	"fmt"
	"slices"
	"strconv"

	"weir/internal/text"
)

// runsWord is the name of the column with the number of runs of a point.
const runsWord = "runs"

// runsColumn returns the name of the column with the number of runs of each point. A sweep may have a key of the same
// name; the column then has more.
func runsColumn(keys []string) string {
	if slices.Contains(keys, runsWord) {
		return "runs per point"
	}
	return runsWord
}

// sameValue returns what all points have in common in a column of keys: "n = 4" of a sweep key, "3 runs" of the
// number of runs.
func (c *column) sameValue() string {
	value := c.cells[0].String()
	last := c.head[len(c.head)-1]
	switch {
	case c.ofRuns && c.lab != 0:
		return fmt.Sprintf("%s in the lab, %d in the simulator", text.Count(c.lab, "run"), c.sim)
	case c.ofRuns:
		n, _ := strconv.Atoi(value)
		return text.Count(n, "run")
	case last == runsWord: // a sweep key that would read as the number of runs
		return "sweep key " + last + " = " + value
	}
	return last + " = " + value
}

// countOf is the number of runs that a note of a plot gives: "3 runs", or "2 to 3 runs" where points differ.
func countOf(low, high int) string {
	if low == high {
		return text.Count(high, "run")
	}
	return fmt.Sprintf("%d to %d runs", low, high)
}

// Columns returns which keys of points have a column in a table, the head of the column with the number of runs (""
// if all points have the same), and what all points have in common.
func Columns(points []PointSummary) (keys []string, runs string, same []string) {
	columns := keyColumns(points)
	g := grid{keys: columns, rows: len(points)}
	same = g.constant()
	for _, c := range g.keys {
		if name := c.head[len(c.head)-1]; c.ofRuns {
			runs = name
		} else {
			keys = append(keys, name)
		}
	}
	return keys, runs, same
}
