package experiment

import (
	"slices"
	"strconv"
	"strings"

	"weir/core/unit"
	"weir/internal/document"
	"weir/study/claim"
	"weir/study/measure"
)

// PaperValue is a number that the paper itself gives, for some points of the sweep.
type PaperValue struct {
	Measure, Group string // Group is "" if the measure has none
	Unit           string // as the measure's: bps, s, packets, …
	Value          float64
	Source         string // where in the paper, as in source: §6.2.3, or figure 4, read off the plot
	Column         string // that shows it: OfPaper, or one of the file's own
	claim.Filter
}

// paperSection is what the paper itself gives.
type paperSection struct {
	values []PaperValue
}

// Name is the value's as expressions have it: goodput.client0.
func (v *PaperValue) Name() string { return nameOf(v.Measure, v.Group) }

// PaperValues are the numbers of the paper, in the file's order. Results do not depend
// on them; reports show them.
func (s *paperSection) PaperValues() []PaperValue { return s.values }

// OfPaper is the column of what the paper itself says.
const OfPaper = "paper"

// PaperColumns are the columns of values, the paper's own first, then others in the file's order.
func (s *paperSection) PaperColumns() []string {
	columns := []string{OfPaper}
	for i := range s.values {
		if c := s.values[i].Column; !slices.Contains(columns, c) {
			columns = append(columns, c)
		}
	}
	return columns
}

// PaperValue is what the paper gives for a measure at a point; false if nothing.
func (s *paperSection) PaperValue(at []measure.Coordinate, m, group string) (PaperValue, bool) {
	return s.ColumnValue(OfPaper, at, m, group)
}

// ColumnValue is what a column has for a measure at a point; false if nothing.
func (s *paperSection) ColumnValue(column string, at []measure.Coordinate, m, group string) (PaperValue, bool) {
	for i := range s.values {
		if v := &s.values[i]; v.Column == column && v.Measure == m && v.Group == group && v.Means(at) {
			return *v, true
		}
	}
	return PaperValue{}, false
}

// readPaperValues reads the paper's values, when points and measures are known.
func (s *paperSection) readPaperValues(d *reader, about *document.Node, m *measuredSection) {
	if about == nil || d.View(about, paper).Get("values") == nil {
		return
	}
	t := d.View(about, paper).Get("values")
	const example = "[{where: {scheme: abc}, goodput.client0: 32Mbps, source: §6.2.3}]"
	if t.Kind != document.List {
		d.Fail(t.Place, example, "the paper's values are a list")
		return
	}
	names := m.valueNames()
	general := d.View(about, paper).Get("source")
	for _, item := range t.Items {
		if item.Kind != document.Mapping {
			d.Fail(item.Place, example[1:len(example)-1], "an entry of the paper's values is a map")
			continue
		}
		s.readEntry(d, d.View(item, paperValue, names...), general, m)
	}
}

// readEntry reads one entry: where its values hold, their source, and the values.
func (s *paperSection) readEntry(d *reader, x document.Map, general *document.Node, m *measuredSection) {
	var of PaperValue
	names := m.valueNames()
	before := d.Count()
	if w := x.Get("where"); w != nil {
		m.view.Where(d.Reader, &of.Filter, w)
	}
	source := x.Get("source")
	if source == nil {
		source = general
	}
	if source == nil {
		x.Missing("source", "it is not said where the paper has this")
		return
	}
	of.Source, of.Column = d.Text(source), d.Text(x.Default("column"))
	if d.Count() > before {
		return
	}
	if !m.view.Narrowed && !slices.ContainsFunc(m.view.Points, func(at []measure.Coordinate) bool {
		return of.Means(at)
	}) {
		d.Fail(x.Place, "", "no point of the sweep is meant by these values")
	}
	given := 0
	for _, k := range x.Keys {
		if slices.Contains(paperValue.Names(), k.Name) {
			continue
		}
		given++
		if !slices.Contains(names, k.Name) {
			d.Unknown(k.Place, "measure", k.Name, append(paperValue.Names(), names...))
			continue
		}
		v := of
		v.Measure, v.Group, _ = strings.Cut(k.Name, ".")
		v.Unit, _ = m.view.UnitOf(v.Measure)
		var ok bool
		if v.Value, ok = d.readQuantity(k.Value, v.Unit); !ok {
			continue
		}
		for i := range s.values {
			old := &s.values[i]
			if old.Name() == k.Name && old.Column == v.Column && slices.ContainsFunc(m.view.Points,
				func(at []measure.Coordinate) bool {
				return old.Means(at) && v.Means(at)
			}) {
				d.Fail(k.Place, "each value of a point once", "%s is given for some of these points already", k.Name)
				break
			}
		}
		s.values = append(s.values, v)
	}
	if given == 0 {
		d.Fail(x.Place, document.Choices(names), "no value is given")
	}
}

// readQuantity reads a value of a measure's unit in base units.
func (d *reader) readQuantity(t *document.Node, of string) (float64, bool) {
	text := d.Text(t)
	if t.Kind != document.Scalar {
		return 0, false
	}
	plain := func(word string) (float64, bool) {
		v, err := strconv.ParseFloat(word, 64)
		_, finite := measure.ParseQuantity(word)
		return v, err == nil && finite
	}
	allowed := ""
	switch of {
	case "bps":
		if v, err := unit.ParseRate(text); err == nil {
			return float64(v), true
		}
		allowed = kindOfQuantity[of]
	case "s":
		if v, err := unit.ParseTime(text); err == nil {
			return v.Seconds(), true
		}
		allowed = kindOfQuantity[of]
	case "bytes":
		if v, err := unit.ParseBytes(text); err == nil {
			return float64(v), true
		}
		allowed = kindOfQuantity[of]
	case "":
		if v, ok := plain(text); ok {
			return v, true
		}
		if v, err := unit.ParseShare(text); err == nil {
			return v, true
		}
		allowed = "a number such as 0.85, or a share such as 85%"
	default: // a count: 7.5 packets
		word := strings.TrimSpace(strings.TrimSuffix(strings.TrimSuffix(text, of), strings.TrimSuffix(of, "s")))
		if v, ok := plain(word); ok {
			return v, true
		}
		allowed = "a number such as 7.5 " + of
	}
	d.Fail(t.Place, allowed, "%q is not a value of this measure", text)
	return 0, false
}

var kindOfQuantity = map[string]string{"bps": "a rate such as 9.7Mbps", "s": "a time such as 5ms",
	"bytes": "a size such as 32MB"}
