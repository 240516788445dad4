package results

import (
	"encoding/csv"
	"io"
	"math"
	"strconv"

	"weir/internal/text"
	"weir/study/experiment"
	"weir/study/measure"
)

// table writes CSV whose cells do nothing where they are opened: a spreadsheet takes none for a formula, and a
// terminal obeys none.
type table struct{ w *csv.Writer }

// newTable returns one that writes to w.
func newTable(w io.Writer) *table { return &table{csv.NewWriter(w)} }

// row writes a line.
func (t *table) row(cells ...string) {
	line := make([]string, len(cells))
	for i, c := range cells {
		line[i] = text.Cell(c)
	}
	t.w.Write(line) // Flush has the error
}

// Flush writes what is kept, and returns the first error of all.
func (t *table) Flush() error {
	t.w.Flush()
	return t.w.Error()
}

// CSV writes one line for each value of each run: run, seed, the sweep's keys,
// measure, group, unit, value in base units; a value that is not defined is empty. Of
// the lab a first column says the world: the simulator's values follow the lab's. Where the data chose how many seeds
// there are, a last column says so.
func (o *Outcome) CSV(w io.Writer) error {
	c := newTable(w)
	head := []string{"run", "seed"}
	if o.World == experiment.Lab {
		head = append([]string{"world"}, head...)
	}
	for _, d := range o.Spec.Sweep() {
		head = append(head, d.Key)
	}
	head = append(head, "measure", "group", "unit", "value")
	chosen := o.Chosen != nil || o.Counterpart != nil && o.Counterpart.Chosen != nil
	if chosen {
		head = append(head, "seeds")
	}
	c.row(head...)
	runs := o.Runs
	if o.World == experiment.Lab && o.Counterpart != nil {
		runs = append(append([]*Run{}, runs...), o.Counterpart.Runs...)
	}
	for i, r := range runs {
		base := []string{r.ID, strconv.FormatUint(r.Seed, 10)}
		switch {
		case o.World != experiment.Lab:
		case i < len(o.Runs):
			base = append([]string{experiment.Lab}, base...)
		default:
			base = append([]string{experiment.Sim}, base...)
		}
		for _, x := range r.Point {
			base = append(base, x.Text)
		}
		line := func(m measure.Measured, group string, v float64) {
			number := ""
			if !math.IsNaN(v) && !math.IsInf(v, 0) {
				number = strconv.FormatFloat(v, 'g', -1, 64)
			}
			cells := append(append([]string{}, base...), m.Name, group, m.Unit, number)
			if chosen {
				cells = append(cells, o.seedsOf(i < len(o.Runs)))
			}
			c.row(cells...)
		}
		for _, m := range r.Listed() {
			if m.Groups == nil {
				line(m, "", m.Value)
			}
			for _, g := range m.Groups {
				line(m, g.Group, g.Value)
			}
		}
	}
	return c.Flush()
}

// seedsOf says how many seeds there are, and why, of the outcome's own runs or of those beside.
func (o *Outcome) seedsOf(own bool) string {
	if !own {
		o = o.Counterpart
	}
	if o.Chosen == nil {
		return text.Count(o.Seeds(), "run") + " per point"
	}
	return o.Chosen.String()
}
