package experiment

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"weir/internal/document"
	"weir/study/claim"
	"weir/study/measure"
)

// PaperValue is a number that the paper gives for some points of the sweep.
type PaperValue struct {
	Measure, Group string // Group is "" if the measure has no groups
	Unit           string // the unit of the measure: bps, s, packets, …
	Value          float64
	Source         string // place in the paper, as in source: §6.2.3, or figure 4, read off the plot
	Column         string // column that shows the value: PaperColumn, or one that the file defines
	claim.Filter
}

// paperSection has the values that the paper gives.
type paperSection struct {
	values []PaperValue
}

// Name returns the name of the value in expressions: goodput.client0.
func (v *PaperValue) Name() string { return valueName(v.Measure, v.Group) }

// PaperValues returns the numbers of the paper, in the file's order. Results do not depend on them; reports show them.
// The slice is shared, so the caller must not change it.
func (s *paperSection) PaperValues() []PaperValue { return s.values }

// PaperColumn is the column of the paper's own values.
const PaperColumn = "paper"

// PaperColumns returns the columns of values, the paper's own first, then others in the file's order.
func (s *paperSection) PaperColumns() []string {
	columns := []string{PaperColumn}
	for i := range s.values {
		if c := s.values[i].Column; !slices.Contains(columns, c) {
			columns = append(columns, c)
		}
	}
	return columns
}

// PaperValue returns the paper's value of a measure at a point; group is "" for a measure without groups. It returns
// false if it does not exist.
func (s *paperSection) PaperValue(point []measure.Coordinate, m, group string) (PaperValue, bool) {
	return s.ColumnValue(PaperColumn, point, m, group)
}

// ColumnValue returns a column's value of a measure at a point; group is "" for a measure without groups. It returns
// false if it does not exist.
func (s *paperSection) ColumnValue(column string, point []measure.Coordinate, m, group string) (PaperValue, bool) {
	for i := range s.values {
		if v := &s.values[i]; v.Column == column && v.Measure == m && v.Group == group && v.Matches(point) {
			return *v, true
		}
	}
	return PaperValue{}, false
}

// readPaperValues reads the paper's values. Points and measures must be known. about is the value of the key paper;
// nil: no values.
func (s *paperSection) readPaperValues(d *reader, about *document.Node, m *measuredSection) {
	if about == nil || d.ViewMap(about, paper).Get("values") == nil {
		return
	}
	t := d.ViewMap(about, paper).Get("values")
	const example = "[{where: {scheme: abc}, goodput.client0: 32Mbps, source: §6.2.3}]"
	if t.Kind != document.List {
		d.Fail(t.Position, example, "values is not a list")
		return
	}
	names := m.valueNames()
	general := d.ViewMap(about, paper).Get("source")
	for _, item := range t.Items {
		if item.Kind != document.Mapping {
			d.Fail(item.Position, example[1:len(example)-1], "the entry of the paper's values is not a map")
			continue
		}
		s.readEntry(d, d.ViewMap(item, paperValue, names...), general, m)
	}
}

// readEntry reads one entry: its points, its source, and the values, and appends the values. general is the source of
// entries without one.
func (s *paperSection) readEntry(d *reader, x document.Map, general *document.Node, m *measuredSection) {
	var common PaperValue
	names := m.valueNames()
	before := d.CountErrors()
	if w := x.Get("where"); w != nil {
		m.view.ReadWhere(d.Reader, &common.Filter, w)
	}
	source := x.Get("source")
	if source == nil {
		source = general
	}
	if source == nil {
		x.FailMissing("source", "source is missing: where the paper has these values")
		return
	}
	common.Source, common.Column = d.ReadText(source), d.ReadText(x.GetDefault("column"))
	if d.CountErrors() > before {
		return
	}
	if !m.view.Narrowed && !slices.ContainsFunc(m.view.Points, func(point []measure.Coordinate) bool {
		return common.Matches(point)
	}) {
		d.Fail(x.Position, "a where that matches points of the sweep", "these values match no point of the sweep")
	}
	given := 0
	for _, k := range x.Keys {
		if slices.Contains(paperValue.KeyNames(), k.Name) {
			continue
		}
		given++
		if !slices.Contains(names, k.Name) {
			d.FailUnknown(k.Position, "measure", k.Name, append(paperValue.KeyNames(), names...))
			continue
		}
		v := common
		v.Measure, v.Group, _ = strings.Cut(k.Name, ".")
		v.Unit, _ = m.view.UnitOf(v.Measure)
		var ok bool
		if v.Value, ok = d.readQuantity(k.Value, v.Unit); !ok {
			continue
		}
		for i := range s.values {
			old := &s.values[i]
			if old.Name() == k.Name && old.Column == v.Column && slices.ContainsFunc(m.view.Points,
				func(point []measure.Coordinate) bool {
					return old.Matches(point) && v.Matches(point)
				}) {
				d.Fail(k.Position, "one value for each point and measure", "%s is given twice for some of these points", k.Name)
				break
			}
		}
		s.values = append(s.values, v)
	}
	if given == 0 {
		d.Fail(x.Position, document.JoinChoices(names), "the entry has no value")
	}
}

// paperKeys are the keys of a file that describe its paper.
var paperKeys = []string{"paper", "expect"}

// OmitPaper returns an experiment's file without the paper, its values and its claims, so that a copy can become an
// experiment of the caller's. It keeps comments of the remaining keys. A comment at the top of the file, which
// describes the paper's experiment, is replaced by one that names the original. A file without a paper is returned
// unchanged, except for a byte order mark. An error is about a file that cannot be parsed.
func OmitPaper(src *Source) ([]byte, error) {
	data := bytes.TrimPrefix(src.Data, []byte("\ufeff"))
	r := document.NewReader(FileKind)
	t := document.Parse(r, src.File, data)
	if err := r.Err(); err != nil {
		return nil, err
	}
	if top.ViewMap(t).Get("paper") == nil {
		return data, nil
	}
	head := fmt.Sprintf("# A copy of %s without its paper, the paper's values and claims.\n", src.Name)
	lines := slices.Collect(strings.Lines(string(data)))
	var b strings.Builder
	b.WriteString(head)
	for i, k := range t.Keys {
		if k.Column != 1 || i > 0 && k.Line == t.Keys[i-1].Line { // the map is in braces: comments cannot be kept
			return []byte(head + flowPaperless(t)), nil
		}
		end := len(lines)
		if i+1 < len(t.Keys) {
			end = aboveKey(lines, t.Keys[i+1].Line-1)
		}
		if slices.Contains(paperKeys, k.Name) {
			continue
		}
		first := k.Line - 1
		if i > 0 {
			first = aboveKey(lines, first)
		}
		b.WriteString(strings.Join(lines[first:end], ""))
	}
	return []byte(strings.TrimRight(b.String(), "\n") + "\n"), nil
}

// aboveKey returns the first line of the comment directly above a line; both are counted from 0.
func aboveKey(lines []string, line int) int {
	for line > 0 && strings.HasPrefix(lines[line-1], "#") {
		line--
	}
	return line
}

// flowPaperless returns the text of a file without the keys that describe its paper. Comments are lost.
func flowPaperless(t *document.Node) string {
	c := document.Clone(t)
	c.Keys = slices.DeleteFunc(c.Keys, func(e document.Entry) bool { return slices.Contains(paperKeys, e.Name) })
	var b strings.Builder
	c.WriteYAML(&b, 0)
	return b.String()
}
