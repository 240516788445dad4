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

// Table writes CSV with harmless cells: a spreadsheet does not interpret them as formulas, nor a terminal as control
// sequences.
type Table struct{ w *csv.Writer }

// NewTable returns a table that writes to w.
func NewTable(w io.Writer) *Table { return &Table{csv.NewWriter(w)} }

// Row writes a row. It escapes cells. Flush returns its error.
func (t *Table) Row(cells ...string) {
	line := make([]string, len(cells))
	for i, c := range cells {
		line[i] = text.EscapeCell(c)
	}
	t.w.Write(line) // Flush returns the error
}

// Flush writes buffered rows and returns the first error of the table.
func (t *Table) Flush() error {
	t.w.Flush()
	return t.w.Error()
}

// CSV writes a line for each value of each run: run, seed, the sweep's keys, measure, group, unit, and the value in
// base units, empty if it is not defined. For the lab, a first column has the world, and the simulator's values follow
// the lab's. If the data chose the number of seeds, a last column describes that. It begins with a header line.
func (o *Outcome) CSV(w io.Writer) error {
	c := NewTable(w)
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
	c.Row(head...)
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
				cells = append(cells, o.describeSeeds(i < len(o.Runs)))
			}
			c.Row(cells...)
		}
		for _, m := range r.AllMeasures() {
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

// describeSeeds describes the number of seeds of the outcome (ownSeeds) or of its counterpart, which must exist.
func (o *Outcome) describeSeeds(ownSeeds bool) string {
	if !ownSeeds {
		o = o.Counterpart
	}
	if o.Chosen == nil {
		return text.Count(o.Seeds(), "run") + " per point"
	}
	return o.Chosen.String()
}
