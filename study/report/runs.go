package report

import (
	"fmt"
	"slices"
	"strconv"

	"weir/internal/text"
)

// runsWord is the name of the column with the number of runs of a point.
const runsWord = "runs"

// runsColumn returns the name of the column with the number of runs of each point. If a sweep key has the same name,
// the name is longer.
func runsColumn(keys []string) string {
	if slices.Contains(keys, runsWord) {
		return "runs per point"
	}
	return runsWord
}

// sameValue describes a key column that is equal in all rows: "n = 4" for a sweep key, "3 runs" for the number of
// runs.
func (c *column) sameValue() string {
	value := c.cells[0].String()
	last := c.head[len(c.head)-1]
	switch {
	case c.countsRuns && c.lab != 0:
		return fmt.Sprintf("%s in the lab, %d in the simulator", text.Count(c.lab, "run"), c.sim)
	case c.countsRuns:
		n, _ := strconv.Atoi(value)
		return text.Count(n, "run")
	case last == runsWord: // a sweep key that would read as the number of runs
		return "sweep key " + last + " = " + value
	}
	return last + " = " + value
}

// runCountText returns the number of runs for a plot's note: "3 runs", or "2 to 3 runs" if points differ.
func runCountText(low, high int) string {
	if low == high {
		return text.Count(high, "run")
	}
	return fmt.Sprintf("%d to %d runs", low, high)
}

// TableColumns returns the keys of points that need a column in a table, the head of the column with the number of runs
// ("" if all points have the same), and the common values. Common values are texts, such as "n = 4" and "3 runs".
func TableColumns(points []PointSummary) (keys []string, runs string, same []string) {
	columns := keyColumns(points)
	g := grid{keys: columns, rows: len(points)}
	same = g.takeConstantKeys()
	for _, c := range g.keys {
		if name := c.head[len(c.head)-1]; c.countsRuns {
			runs = name
		} else {
			keys = append(keys, name)
		}
	}
	return keys, runs, same
}
