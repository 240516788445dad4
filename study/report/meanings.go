package report

import (
	"fmt"
	"slices"
	"strings"

	"weir/internal/text"
	"weir/study/experiment"
	"weir/study/measure"
)

// maxMeanings limits the explained sweep values below a table; the file has all of them.
const maxMeanings = 12

// Explanations returns explanations of names in a table of results, one line each: schemes of the sweep, and shown
// measures without a unit.
func (l *TableOptions) Explanations(s *experiment.Spec) (lines []string) {
	all := s.Meanings()
	for _, m := range all[:min(len(all), maxMeanings)] {
		lines = append(lines, fmt.Sprintf("%s %s: %s", m.Key, m.Value, m.Text))
	}
	if n := len(all) - maxMeanings; n > 0 {
		lines = append(lines, fmt.Sprintf("%s of the sweep: see the experiment's file", text.Count(n, "more value")))
	}
	for _, m := range s.Measures() {
		kind := s.KindOf(m.Name)
		if shown := slices.ContainsFunc(append(m.Groups, measure.GroupValue{}), func(g measure.GroupValue) bool {
			return l.showsValue(Value{Measure: m.Name, Group: g.Group})
		}); shown && kind.Name == m.Name && kind.Reads != "" {
			lines = append(lines, m.Name+": "+kind.Reads)
		}
	}
	return lines
}

// MeasureDoc returns the description of a measure for its column head; "" if it is unknown. name may have spaces in
// place of underscores.
func MeasureDoc(s *experiment.Spec, name string) string {
	kind := s.KindOf(strings.ReplaceAll(name, " ", "_"))
	if kind.Reads != "" && kind.Name == name {
		return kind.Reads
	}
	return kind.Doc
}

// meaningOf returns the meaning of a sweep key's value; "" if it has no explanation.
func meaningOf(meanings []experiment.Meaning, key, value string) string {
	for _, m := range meanings {
		if m.Key == key && m.Value == value {
			return m.Text
		}
	}
	return ""
}
