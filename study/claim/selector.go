package claim

import (
	"fmt"
	"regexp"
	"strings"

	"weir/internal/document"
	"weir/study/measure"
)

// selector is a point(key=value, …) of a claim: the current point, but with these values of sweep keys.
type selector struct {
	name      string // the variable that represents the selected point
	text      string // as written in the file
	values    []int  // by sweep key: index of the value; −1: the value of the current point
	isRemoved bool   // options have removed a value
}

var selectorPattern = regexp.MustCompile(`\bpoint\(([^()]*)\)`)

// replaceSelectors replaces every point(…) of an expression by a variable, and adds its selector to c. t is the value
// of the expression, for errors. written has the variables, each followed by the text that it replaces.
func (s *View) replaceSelectors(d *document.Reader, c *Compiled, t *document.Node, text string) (replaced string,
	written []string) {
	replaced = selectorPattern.ReplaceAllStringFunc(text, func(whole string) string {
		sel := selector{name: fmt.Sprintf("point_%d", len(c.selectors)), text: whole}
		for range s.Sweep {
			sel.values = append(sel.values, -1)
		}
		for _, part := range strings.Split(selectorPattern.FindStringSubmatch(whole)[1], ",") {
			key, value, ok := strings.Cut(part, "=")
			key, value = strings.TrimSpace(key), strings.Trim(strings.TrimSpace(value), `'"`)
			var keys, values []string
			dimension := -1
			for k, dim := range s.Sweep {
				keys = append(keys, dim.Key)
				if dim.Key == key {
					dimension = k
				}
			}
			if !ok || dimension < 0 {
				d.FailUnknown(wordPlace(d, t, key), "sweep key in point(key=value)", key, keys)
				return sel.name
			}
			for k, v := range s.Sweep[dimension].Values {
				if values = append(values, v.Text); v.Text == value {
					sel.values[dimension] = k
				}
			}
			if sel.values[dimension] < 0 {
				if s.Narrowed {
					sel.isRemoved = true
					continue
				}
				failValue(d, wordPlace(d, t, value), key, value, values)
			}
		}
		c.selectors = append(c.selectors, sel)
		written = append(written, sel.name, whole)
		return sel.name
	})
	return replaced, written
}

// selectPoint returns the index of the point that a selector means at point i; −1 if options have removed it or the
// sweep lacks it.
func (s *View) selectPoint(sel *selector, i int) int {
	if sel.isRemoved {
		return -1
	}
	number, _ := s.selectCombination(sel, i)
	return s.pointOfCombination(number)
}

// selectCombination returns the combination that a selector means at point i, by number and as sweep values. The sweep
// may lack it.
func (s *View) selectCombination(sel *selector, i int) (number int, values []measure.Coordinate) {
	values = make([]measure.Coordinate, len(s.Sweep))
	stride, current := 1, s.combination(i)
	for k := len(s.Sweep) - 1; k >= 0; k-- {
		n := len(s.Sweep[k].Values)
		v := current / stride % n
		if sel.values[k] >= 0 {
			v = sel.values[k]
		}
		values[k] = s.Sweep[k].Values[v]
		number += v * stride
		stride *= n
	}
	return number, values
}
