package claim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/vm"

	"weir/internal/document"
	"weir/study/measure"
)

// Filter selects points of the sweep.
type Filter struct {
	conditions []condition
	expression *vm.Program // an expression over sweep keys; may be nil
}

// condition is a condition on one sweep key.
type condition struct {
	key         string
	singleValue string // the only value that matches; "": several may match
	test        func(measure.Coordinate) bool
}

// ReadWhere reads the condition w on points into c: values by sweep key, or an expression over sweep keys. s.Points
// must not be empty. Errors go to d.
func (s *View) ReadWhere(d *document.Reader, c *Filter, w *document.Node) {
	if w.Kind == document.Scalar {
		env := newEnvironment(s.Points[0], nil)
		text := ReplaceQuantities(w.Text)
		node := parseExpression(d, w, w.Text, w.Text, nil, "where", `{scheme: abc}, or scheme == "abc" and n > 4`)
		if node == nil {
			return
		}
		var err error
		if v := s.checkNames(node, env, nil); v.msg != "" {
			d.Fail(wordPlace(d, w, v.word), v.allowed, "%s", v.msg)
		} else if c.expression, err = expr.Compile(text, expr.Env(env), expr.AsBool()); err != nil {
			d.Fail(w.Position, "a comparison of sweep keys", "%s", describeError("where", err))
		}
		return
	}
	if !d.CheckKeys(w, "sweep key", s.sweepKeys()) {
		return
	}
	for _, k := range w.Keys {
		cond := condition{key: k.Name}
		switch {
		case !slices.Contains(s.sweepKeys(), k.Name):
			continue
		case k.Value.Kind == document.List:
			allowed := map[string]bool{}
			for _, x := range k.Value.Items {
				allowed[d.ReadText(x)] = true
				s.checkValue(d, k.Name, x)
			}
			cond.test = func(c measure.Coordinate) bool { return allowed[c.Text] }
		case k.Value.Kind == document.Mapping:
			d.Fail(k.Value.Position, `a value, a list of values, or "<= 36Mbps"`, "the value is a map")
			continue
		default:
			text := k.Value.Text
			m := comparisonPattern.FindStringSubmatch(text)
			if m == nil {
				s.checkValue(d, k.Name, k.Value)
				cond.singleValue, cond.test = text, func(c measure.Coordinate) bool { return c.Text == text }
				break
			}
			bound, ok := measure.ParseQuantity(strings.TrimSpace(m[2]))
			if !ok {
				d.Fail(k.Value.Position, "<= 36Mbps", "%q is not a quantity with a unit", m[2])
				continue
			}
			cond.test = func(c measure.Coordinate) bool { return c.IsNum && compareValues(m[1], c.Value, bound) }
		}
		c.conditions = append(c.conditions, cond)
	}
}

// checkValue reports an error if value t of a sweep key is not in the sweep. It accepts any value if --set or --quick
// may have removed values.
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
		failValue(d, t.Position, key, t.Text, words)
	}
}

// failValue notes that a sweep key does not have a value, unless a value that it has is in error: then the fix of that
// error may change all of them.
func failValue(d *document.Reader, place document.Position, key, value string, values []string) {
	if d.HasFailedBound(key) {
		return
	}
	nearest := document.FindNearest(value, values)
	if nearest != "" {
		nearest = fmt.Sprintf("; did you mean %q?", nearest)
	}
	d.Fail(place, document.JoinNear(value, values), "the sweep key %s has no value %q%s", key, value, nearest)
}

// compareValues applies the comparison operator op to a and b; another operator is !=.
func compareValues(op string, a, b float64) bool {
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

// Matches reports whether the filter selects a point. An empty filter selects all, and a condition on a key that the
// point lacks counts as met. A filter does not select a point at which its expression fails.
func (c *Filter) Matches(point []measure.Coordinate) bool {
	if c.expression != nil {
		is, err := expr.Run(c.expression, newEnvironment(point, nil))
		return err == nil && is == true
	}
	for _, w := range c.conditions {
		for _, x := range point {
			if x.Key == w.key && !w.test(x) {
				return false
			}
		}
	}
	return true
}

// SingleValues returns the sweep keys for which exactly one value is selected, as key=value in the file's order. They
// distinguish two plots with the same axes.
func (c *Filter) SingleValues() (keys []string) {
	for _, w := range c.conditions {
		if w.singleValue != "" {
			keys = append(keys, w.key+"="+w.singleValue)
		}
	}
	return keys
}
