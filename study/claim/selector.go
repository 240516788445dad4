package claim

import (
	"fmt"
	"regexp"
	"strings"

	"weir/internal/document"
)

// selector is a point(key=value, …) of a claim: the point in hand, with these sweep
// keys at these values.
type selector struct {
	name   string // of the variable that stands for it
	values []int  // by sweep key: index of the value, −1: as in the point in hand
	gone   bool   // options have left out a value
}

var selection = regexp.MustCompile(`\bpoint\(([^()]*)\)`)

// selectors replaces every point(…) of an expression by a variable.
func (s *View) selectors(d *document.Reader, c *Compiled, t *document.Node, text string) (replaced string,

	written []string) {
	replaced = selection.ReplaceAllStringFunc(text, func(whole string) string {
		sel := selector{name: fmt.Sprintf("point_%d", len(c.others))}
		for range s.Sweep {
			sel.values = append(sel.values, -1)
		}
		for _, part := range strings.Split(selection.FindStringSubmatch(whole)[1], ",") {
			key, value, ok := strings.Cut(part, "=")
			key, value = strings.TrimSpace(key), strings.Trim(strings.TrimSpace(value), `'"`)
			var keys, values []string
			at := -1
			for k, dim := range s.Sweep {
				keys = append(keys, dim.Key)
				if dim.Key == key {
					at = k
				}
			}
			if !ok || at < 0 {
				d.Unknown(t.Position, "sweep key in point(key=value)", key, keys)
				return sel.name
			}
			for k, v := range s.Sweep[at].Values {
				if values = append(values, v.Text); v.Text == value {
					sel.values[at] = k
				}
			}
			if sel.values[at] < 0 {
				if s.Narrowed {
					sel.gone = true
					continue
				}
				d.Unknown(t.Position, "value of "+key, value, values)
			}
		}
		c.others = append(c.others, sel)
		written = append(written, sel.name, whole)
		return sel.name
	})
	return replaced, written
}

// pointOf is the point that a selector means at point i, −1 if it is not there, for options have left it out or the
// sweep goes without it.
func (s *View) pointOf(sel *selector, i int) int {
	if sel.gone {
		return -1
	}
	out, stride, number := 0, 1, s.number(i)
	for k := len(s.Sweep) - 1; k >= 0; k-- {
		n := len(s.Sweep[k].Values)
		v := number / stride % n
		if sel.values[k] >= 0 {
			v = sel.values[k]
		}
		out += v * stride
		stride *= n
	}
	return s.numbered(out)
}
