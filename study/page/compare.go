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

// mostCompared is how many results stand side by side.
const mostCompared = 6

// side is one of the results.
type side struct {
	Letter, Folder, Name, Title string
	World                       string
	Runs                        int
	out                         *results.Outcome
	points                      []report.PointSummary
	Plots                       []string
}

// differing is a row of a comparison.
type differing struct {
	What  string
	Cells []cell
}

// cell is what one of the results has.
type cell struct {
	Text   string
	Change string // from the first's
	Class  string // of a verdict
}

// valueRows are the values of a point.
type valueRows struct {
	Point string
	Rows  []differing
}

func (s *Server) compare(w http.ResponseWriter, r *http.Request) error {
	var names []string
	for _, name := range r.URL.Query()["r"] {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) < 2 || len(names) > mostCompared {
		return wrongInput(fmt.Sprintf("%s chosen; 2 to %d can be compared. Choose them in the list of results.",
			text.Count(len(names), "result"), mostCompared))
	}
	var sides []side
	for i, name := range names {
		o, err := s.open(name)
		if err != nil {
			return err
		}
		sides = append(sides, side{Letter: string(rune('A' + i)), Folder: name, Name: o.Name, Title: o.Spec.Title(),
			World: o.World, Runs: len(o.Runs), out: o, points: report.Summarise(o.Runs), Plots: plotFiles(o.Dir)})
	}
	points, common, unshared := comparedPoints(sides)
	parameters := comparedParameters(sides)
	same := 0
	only := r.URL.Query().Get("all") == ""
	for i := range points {
		points[i].Rows = slices.DeleteFunc(points[i].Rows, func(d differing) bool {
			for _, c := range d.Cells[1:] {
				if c.Text != d.Cells[0].Text {
					return false
				}
			}
			same++
			return only
		})
	}
	return s.show(w, r, "compare", http.StatusOK, "Compare", map[string]any{"Sides": sides,
		"Parameters": parameters, "Points": points, "Common": common, "Unshared": unshared, "Same": same,
		"Strangers": slices.ContainsFunc(sides, func(x side) bool { return x.Name != sides[0].Name }),
		"Only":      only, "Claims": comparedClaims(sides), "Plots": commonPlots(sides)})
}

// comparedParameters are those that are not the same in all.
func comparedParameters(sides []side) (rows []differing) {
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
		d, differs := differing{What: path}, false
		for i := range sides {
			v, is := values[i][path]
			if !is {
				v = "not there"
			}
			d.Cells = append(d.Cells, cell{Text: v})
			differs = differs || v != d.Cells[0].Text
		}
		if differs {
			rows = append(rows, d)
		}
	}
	return rows
}

// comparedPoints are those that at least two have, with their values; how many values at least two have; and which
// points only one has.
func comparedPoints(sides []side) (all []valueRows, common int, unshared []differing) {
	var names []string
	at := make([]map[string]*report.PointSummary, len(sides))
	for i := range sides {
		at[i] = map[string]*report.PointSummary{}
		for k := range sides[i].points {
			name := measure.PointName(sides[i].points[k].Point)
			if at[i][name] = &sides[i].points[k]; !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	var shown [][]report.PointSummary
	for _, x := range sides {
		shown = append(shown, x.points)
	}
	units := report.Units(sides[0].out.Spec, shown...)
	for _, name := range names {
		var have []report.PointSummary
		d := differing{What: name}
		for i := range sides {
			mark := ""
			if p := at[i][name]; p != nil {
				have, mark = append(have, *p), "✓"
			}
			d.Cells = append(d.Cells, cell{Text: mark})
		}
		if len(have) < 2 {
			unshared = append(unshared, d)
			continue
		}
		rows := valueRows{Point: name}
		for _, v := range valuesOf(have) {
			if inCommon(v, have) {
				common++
			}
			rows.Rows = append(rows.Rows, comparedValue(v, name, at, units(v.Measure, v.Unit)))
		}
		all = append(all, rows)
	}
	return all, common, unshared
}

// inCommon reports whether at least two have a value.
func inCommon(v report.Value, have []report.PointSummary) bool {
	n := 0
	for i := range have {
		if find(have[i].Values, v) != nil {
			n++
		}
	}
	return n > 1
}

// comparedValue is a value of a point in all results, in one unit.
func comparedValue(v report.Value, name string, at []map[string]*report.PointSummary, sc report.Scale) differing {
	var of []*report.Value
	for i := range at {
		var x *report.Value
		if p := at[i][name]; p != nil {
			x = find(p.Values, v)
		}
		of = append(of, x)
	}
	d := differing{What: strings.TrimSpace(strings.ReplaceAll(v.Measure, "_", " ") + " " + v.Group)}
	if sc.Unit != "" {
		d.What += " [" + sc.Unit + "]"
	}
	for i, x := range of {
		if x == nil {
			d.Cells = append(d.Cells, cell{Text: "not there"})
			continue
		}
		c := cell{Text: report.Cell(x.Mean*sc.Factor, x.Half*sc.Factor)}
		if first := of[0]; i > 0 && first != nil && first.Mean != 0 && !math.IsNaN(first.Mean) && !math.IsNaN(x.Mean) &&
			first.Mean != x.Mean {
			c.Change = fmt.Sprintf("%+.1f %%", 100*(x.Mean/first.Mean-1))
			if half := math.Hypot(first.Half, x.Half); !math.IsNaN(half) && math.Abs(x.Mean-first.Mean) <= half {
				c.Change += ", within the intervals"
			}
		}
		d.Cells = append(d.Cells, c)
	}
	return d
}

// comparedClaims are all claims with their verdicts.
func comparedClaims(sides []side) (rows []differing) {
	var ids []string
	says := map[string]string{}
	for _, x := range sides {
		for _, c := range x.out.Claims {
			if says[c.ID] == "" {
				ids, says[c.ID] = append(ids, c.ID), c.Says
			}
		}
	}
	for _, id := range ids {
		d := differing{What: says[id]}
		for _, x := range sides {
			c := cell{Text: "–"}
			if i := slices.IndexFunc(x.out.Claims, func(c claim.Claim) bool { return c.ID == id }); i >= 0 {
				y := x.out.Claims[i]
				c = cell{Text: string(y.Verdict), Change: y.Measured, Class: verdictClass(y.Verdict)}
			}
			d.Cells = append(d.Cells, c)
		}
		rows = append(rows, d)
	}
	return rows
}

// commonPlots are plots of one name in at least two of the results.
func commonPlots(sides []side) (names []string) {
	seen := map[string]int{}
	for _, x := range sides {
		for _, p := range x.Plots {
			if seen[p]++; seen[p] == 2 {
				names = append(names, p)
			}
		}
	}
	return names
}
