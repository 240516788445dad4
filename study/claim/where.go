package claim

import (
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"

	"weir/internal/document"
	"weir/study/measure"
)

// Filter picks points of the sweep.
type Filter struct {
	where []condition
	when  *vm.Program // where as an expression over sweep keys; may be nil
}

// condition is one key of where.
type condition struct {
	key  string
	only string // the one value that is meant; "": there may be several
	test func(measure.Coordinate) bool
}

// Where reads which points are meant.
func (s *View) Where(d *document.Reader, c *Filter, w *document.Node) {
	if w.Kind == document.Scalar {
		env := environment(s.Points[0], nil)
		text := Units(w.Text)
		if node, err := parser.Parse(text); err != nil {
			d.Fail(w.Position, `{scheme: abc}, or scheme == "abc" and n > 4`, "%s", firstLine(err))
		} else if v := unknownName(node.Node, env, nil); v.msg != "" {
			d.Fail(within(d, w, v.word), v.allowed, "%s", v.msg)
		} else if c.when, err = expr.Compile(text, expr.Env(env), expr.AsBool()); err != nil {
			d.Fail(w.Position, "a comparison of sweep keys", "%s", firstLine(err))
		}
		return
	}
	if !d.Keys(w, "sweep key", s.keys()) {
		return
	}
	for _, k := range w.Keys {
		cond := condition{key: k.Name}
		switch {
		case !slices.Contains(s.keys(), k.Name):
			continue
		case k.Value.Kind == document.List:
			allowed := map[string]bool{}
			for _, x := range k.Value.Items {
				allowed[d.Text(x)] = true
				s.checkValue(d, k.Name, x)
			}
			cond.test = func(c measure.Coordinate) bool { return allowed[c.Text] }
		case k.Value.Kind == document.Mapping:
			d.Fail(k.Value.Position, `a value, a list of values, or "<= 36Mbps"`, "this is a map")
			continue
		default:
			text := k.Value.Text
			m := comparison.FindStringSubmatch(text)
			if m == nil {
				s.checkValue(d, k.Name, k.Value)
				cond.only, cond.test = text, func(c measure.Coordinate) bool { return c.Text == text }
				break
			}
			bound, ok := measure.ParseQuantity(strings.TrimSpace(m[2]))
			if !ok {
				d.Fail(k.Value.Position, "<= 36Mbps", "%q is not a quantity", m[2])
				continue
			}
			cond.test = func(c measure.Coordinate) bool { return c.IsNum && compare(m[1], c.Value, bound) }
		}
		c.where = append(c.where, cond)
	}
}

// checkValue notes a where that names a value which the sweep does not have; --set
// and --quick may have taken it away.
func (s *View) checkValue(d *document.Reader, key string, t *document.Node) {
	if s.Narrowed {
		return
	}
	var words []string
	for _, dim := range s.Sweep {
		if dim.Key == key {
			for _, v := range dim.Values {
				words = append(words, v.Text)
			}
		}
	}
	if t.Kind == document.Scalar && !slices.Contains(words, t.Text) {
		d.Unknown(t.Position, "value of "+key, t.Text, words)
	}
}

func compare(op string, a, b float64) bool {
	switch op {
	case "<":
		return a < b
	case "<=":
		return a <= b
	case ">":
		return a > b
	case ">=":
		return a >= b
	case "==":
		return a == b
	}
	return a != b
}

// Means reports whether a point is meant.
func (c *Filter) Means(at []measure.Coordinate) bool {
	if c.when != nil {
		is, err := expr.Run(c.when, environment(at, nil))
		return err == nil && is == true
	}
	for _, w := range c.where {
		for _, x := range at {
			if x.Key == w.key && !w.test(x) {
				return false
			}
		}
	}
	return true
}

// Only are the sweep keys of which where picks one value, as key=value in the file's order:
// what tells two plots of the same axes apart.
func (c *Filter) Only() (keys []string) {
	for _, w := range c.where {
		if w.only != "" {
			keys = append(keys, w.key+"="+w.only)
		}
	}
	return keys
}
