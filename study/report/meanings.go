package report

import (
	"fmt"
	"slices"
	"strings"

	"weir/internal/text"
	"weir/study/experiment"
	"weir/study/measure"
)

// maxMeanings limits how many values of the sweep are explained below a table; the file has all of them.
const maxMeanings = 12

// Explained returns what a reader needs who stops at a name in a table of results: what the schemes of the sweep stand
// for, and what those measures without a unit are that tables show, a line each.
func (l *TableOptions) Explained(s *experiment.Spec) (lines []string) {
	all := s.Meanings()
	for _, m := range all[:min(len(all), maxMeanings)] {
		lines = append(lines, fmt.Sprintf("%s %s: %s", m.Key, m.Value, m.Text))
	}
	if n := len(all) - maxMeanings; n > 0 {
		lines = append(lines, fmt.Sprintf("%s of the sweep in the experiment's file", text.Count(n, "more value")))
	}
	for _, m := range s.Measures() {
		kind := s.KindOf(m.Name)
		if shown := slices.ContainsFunc(append(m.Groups, measure.Grouped{}), func(g measure.Grouped) bool {
			return l.showsValue(Value{Measure: m.Name, Group: g.Group})
		}); shown && kind.Name == m.Name && kind.Reads != "" {
			lines = append(lines, m.Name+": "+kind.Reads)
		}
	}
	return lines
}

// MeasureDoc returns what a measure is, as the title of its column head; "" if it is unknown.
func MeasureDoc(s *experiment.Spec, name string) string {
	kind := s.KindOf(strings.ReplaceAll(name, " ", "_"))
	if kind.Reads != "" && kind.Name == name {
		return kind.Reads
	}
	return kind.Doc
}

// meaningOf returns what a value of a sweep key stands for; "" if it explains itself.
func meaningOf(all []experiment.Meaning, key, value string) string {
	for _, m := range all {
		if m.Key == key && m.Value == value {
			return m.Text
		}
	}
	return ""
}
