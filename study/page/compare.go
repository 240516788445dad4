package page

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"

	"weir/internal/text"
	"weir/study/claim"
	"weir/study/measure"
	"weir/study/report"
	"weir/study/results"
)

// maxCompared limits the results of one comparison.
const maxCompared = 6

// comparedResult is one of the compared results.
type comparedResult struct {
	Letter, Folder, Name, Title string
	World                       string
	Runs                        int
	out                         *results.Outcome
	points                      []report.PointSummary
	Plots                       []string
}

// comparisonRow is a row of a comparison with one cell for each result.
type comparisonRow struct {
	What  string
	Cells []comparisonCell
}

// comparisonCell is a value of one result.
type comparisonCell struct {
	Text   string
	Change string // relative to the first result
	Class  string // CSS class of a verdict
}

// valueRows are the values of a point, one row for each.
type valueRows struct {
	Point string
	Rows  []comparisonRow
}

// serveComparison shows the results named by the query's r next to each other: 2 to maxCompared, without duplicates.
// Without the query's all it hides rows of equal values.
func (s *Server) serveComparison(w http.ResponseWriter, r *http.Request) error {
	var names []string
	for _, name := range r.URL.Query()["r"] {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) < 2 || len(names) > maxCompared {
		return wrongInput(fmt.Sprintf("%s chosen; 2 to %d can be compared. Choose them in the list of results.",
			text.Count(len(names), "result"), maxCompared))
	}
	var sides []comparedResult
	for i, name := range names {
		o, err := s.openResults(name)
		if err != nil {
			return err
		}
		sides = append(sides, comparedResult{Letter: string(rune('A' + i)), Folder: name, Name: o.Name, Title: o.Spec.Title(),
			World: o.World, Runs: len(o.Runs), out: o, points: report.SummarizePoints(o.Runs), Plots: listPlots(o.Dir)})
	}
	points, common, single := comparePoints(sides)
	parameters := compareParameters(sides)
	same := 0
	only := r.URL.Query().Get("all") == ""
	for i := range points {
		points[i].Rows = slices.DeleteFunc(points[i].Rows, func(d comparisonRow) bool {
			for _, c := range d.Cells[1:] {
				if c.Text != d.Cells[0].Text {
					return false
				}
			}
			same++
			return only
		})
	}
	return s.showPage(w, r, "compare", http.StatusOK, "Compare", map[string]any{"Sides": sides,
		"Parameters": parameters, "Points": points, "Common": common, "Unshared": single, "Same": same,
		"Strangers": slices.ContainsFunc(sides, func(x comparedResult) bool { return x.Name != sides[0].Name }),
		"Only":      only, "Claims": compareClaims(sides), "Plots": commonPlots(sides)})
}

// compareParameters returns the parameters that differ between the results, or that some results lack.
func compareParameters(sides []comparedResult) (rows []comparisonRow) {
	var paths []string
	values := make([]map[string]string, len(sides))
	for i, x := range sides {
		values[i] = map[string]string{}
		for _, p := range x.out.Spec.Parameters() {
			if values[i][p.Path] = p.Value; !slices.Contains(paths, p.Path) {
				paths = append(paths, p.Path)
			}
		}
	}
	for _, path := range paths {
		d, differs := comparisonRow{What: path}, false
		for i := range sides {
			v, is := values[i][path]
			if !is {
				v = "absent"
			}
			d.Cells = append(d.Cells, comparisonCell{Text: v})
			differs = differs || v != d.Cells[0].Text
		}
		if differs {
			rows = append(rows, d)
		}
	}
	return rows
}

// comparePoints returns the points that at least two results have, with their values; the number of values that at
// least two results have; and the points that only one result has. Values are in the units of the first result's
// experiment.
func comparePoints(sides []comparedResult) (all []valueRows, common int, unshared []comparisonRow) {
	var names []string
	byPoint := make([]map[string]*report.PointSummary, len(sides))
	for i := range sides {
		byPoint[i] = map[string]*report.PointSummary{}
		for k := range sides[i].points {
			name := measure.PointName(sides[i].points[k].Point)
			if byPoint[i][name] = &sides[i].points[k]; !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	var shown [][]report.PointSummary
	for _, x := range sides {
		shown = append(shown, x.points)
	}
	units := report.ChooseUnits(sides[0].out.Spec, shown...)
	for _, name := range names {
		var have []report.PointSummary
		d := comparisonRow{What: name}
		for i := range sides {
			mark := ""
			if p := byPoint[i][name]; p != nil {
				have, mark = append(have, *p), "✓"
			}
			d.Cells = append(d.Cells, comparisonCell{Text: mark})
		}
		if len(have) < 2 {
			unshared = append(unshared, d)
			continue
		}
		rows := valueRows{Point: name}
		for _, v := range distinctValues(have) {
			if isCommon(v, have) {
				common++
			}
			rows.Rows = append(rows.Rows, compareValue(v, name, byPoint, units(v.Measure, v.Unit)))
		}
		all = append(all, rows)
	}
	return all, common, unshared
}

// isCommon reports whether at least two of the points have the value.
func isCommon(v report.Value, have []report.PointSummary) bool {
	n := 0
	for i := range have {
		if findValue(have[i].Values, v) != nil {
			n++
		}
	}
	return n > 1
}

// compareValue returns the row of a value of the point with the given name, in one unit for all results. Each cell has
// the change from the first result in %, and reports whether the confidence intervals cover it.
func compareValue(v report.Value, name string, byPoint []map[string]*report.PointSummary,
	sc report.Scale) comparisonRow {
	var values []*report.Value
	for i := range byPoint {
		var x *report.Value
		if p := byPoint[i][name]; p != nil {
			x = findValue(p.Values, v)
		}
		values = append(values, x)
	}
	d := comparisonRow{What: strings.TrimSpace(strings.ReplaceAll(v.Measure, "_", " ") + " " + v.Group)}
	if sc.Unit != "" {
		d.What += " [" + sc.Unit + "]"
	}
	for i, x := range values {
		if x == nil {
			d.Cells = append(d.Cells, comparisonCell{Text: "absent"})
			continue
		}
		c := comparisonCell{Text: report.FormatCell(x.Mean*sc.Factor, x.HalfInterval*sc.Factor)}
		if first := values[0]; i > 0 && first != nil && first.Mean != 0 && !math.IsNaN(first.Mean) && !math.IsNaN(x.Mean) &&
			first.Mean != x.Mean {
			c.Change = fmt.Sprintf("%+.1f %%", 100*(x.Mean/first.Mean-1))
			if half := math.Hypot(first.HalfInterval, x.HalfInterval); !math.IsNaN(half) && math.Abs(x.Mean-first.Mean) <= half {
				c.Change += ", within the intervals"
			}
		}
		d.Cells = append(d.Cells, c)
	}
	return d
}

// compareClaims returns a row for each claim that any result has, with the results' verdicts and measured values.
func compareClaims(sides []comparedResult) (rows []comparisonRow) {
	var ids []string
	descriptions := map[string]string{}
	for _, x := range sides {
		for _, c := range x.out.Claims {
			if descriptions[c.ID] == "" {
				ids, descriptions[c.ID] = append(ids, c.ID), c.Says
			}
		}
	}
	for _, id := range ids {
		d := comparisonRow{What: descriptions[id]}
		for _, x := range sides {
			c := comparisonCell{Text: "–"}
			if i := slices.IndexFunc(x.out.Claims, func(c claim.Claim) bool { return c.ID == id }); i >= 0 {
				y := x.out.Claims[i]
				c = comparisonCell{Text: string(y.Verdict), Change: y.Measured, Class: verdictClass(y.Verdict)}
			}
			d.Cells = append(d.Cells, c)
		}
		rows = append(rows, d)
	}
	return rows
}

// commonPlots returns the names of plots that at least two results have.
func commonPlots(sides []comparedResult) (names []string) {
	counts := map[string]int{}
	for _, x := range sides {
		for _, p := range x.Plots {
			if counts[p]++; counts[p] == 2 {
				names = append(names, p)
			}
		}
	}
	return names
}
