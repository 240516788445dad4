package claim

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"weir/internal/document"
)

// nameChecker walks an expression and finds names that do not exist.
type nameChecker struct {
	env                map[string]any
	measures           map[string]any
	kinds              []string                   // names of the measures that experiments can record
	word, msg, allowed string                     // the first error
	named              map[string]map[string]bool // measures by the variable that has them; "": no variable
}

// checkNames walks an expression for unknown names and for measures that are not one number. measures are the names in
// env that are measures. The result has the first error, and the measures that the expression names.
func (s *View) checkNames(n ast.Node, env map[string]any, measures map[string]any) *nameChecker {
	v := &nameChecker{env: env, measures: measures, kinds: s.Kinds, named: map[string]map[string]bool{}}
	if name := findUnknownFunction(n); name != "" {
		v.word, v.msg, v.allowed = name, "there is no function "+name, document.JoinNear(name, usualFunctions)
		return v
	}
	ast.Walk(&n, v)
	v.checkNumber(n)
	return v
}

// checkNumber records an error if n is a measure with groups where a number is required.
func (v *nameChecker) checkNumber(n ast.Node) {
	var m any
	var word string
	switch x := n.(type) {
	case *ast.IdentifierNode:
		m, word = v.env[x.Value], x.Value
	case *ast.MemberNode:
		base, name := memberBase(x, v.env)
		if e, ok := base.(map[string]any); ok {
			m, word = e[name], name
		}
	}
	groups, ok := m.(map[string]float64)
	if !ok || v.msg != "" {
		return
	}
	var words []string
	for _, g := range slices.Sorted(maps.Keys(groups)) {
		words = append(words, word+"."+g)
	}
	v.word, v.msg, v.allowed = word, fmt.Sprintf("%s has several values; select one", word), document.JoinNear(word, words)
}

// Visit checks the names in one node (ast.Visitor).
func (v *nameChecker) Visit(n *ast.Node) {
	if v.msg != "" {
		return
	}
	switch x := (*n).(type) {
	case *ast.IdentifierNode:
		if _, ok := v.env[x.Value]; !ok {
			v.reportUnknown(x.Value, v.env)
		}
		v.recordMeasure("", x.Value)
	case *ast.BinaryNode:
		v.checkNumber(x.Left)
		v.checkNumber(x.Right)
	case *ast.UnaryNode:
		v.checkNumber(x.Node)
	case *ast.MemberNode:
		base, name := memberBase(x, v.env)
		if base == nil || name == "" {
			return
		}
		switch m := base.(type) {
		case map[string]float64:
			if _, ok := m[name]; !ok {
				words := slices.Sorted(maps.Keys(m))
				v.word, v.msg, v.allowed = name, fmt.Sprintf("%s has no %q", measureName(x), name), document.JoinNear(name, words)
				if n := document.FindNearest(name, words); n != "" {
					v.msg += fmt.Sprintf("; did you mean %q?", n)
				}
			}
		case map[string]any:
			if _, ok := m[name]; !ok {
				v.reportUnknown(name, m)
			}
			if variable, ok := x.Node.(*ast.IdentifierNode); ok {
				v.recordMeasure(variable.Value, name)
			}
		}
	}
}

// recordMeasure records the name of a variable's member if it is a measure; variable "" is the current point.
func (v *nameChecker) recordMeasure(variable, name string) {
	if _, ok := v.measures[name]; !ok {
		return
	}
	if v.named[variable] == nil {
		v.named[variable] = map[string]bool{}
	}
	v.named[variable][name] = true
}

// reportUnknown records the error that a name is not in env. It suggests a similar measure, else a similar sweep key.
// It lists no variables that stand for other points.
func (v *nameChecker) reportUnknown(name string, env map[string]any) {
	var words, measures []string
	for _, w := range slices.Sorted(maps.Keys(env)) {
		if _, isPoint := env[w].(map[string]any); isPoint {
			continue
		}
		words = append(words, w)
		if _, ok := v.measures[w]; ok {
			measures = append(measures, w)
		}
	}
	v.word, v.allowed = name, document.JoinNear(name, words)
	if isKind(name, v.kinds) {
		v.msg, v.allowed = describeUnrecorded(name), document.JoinNear(name, measures)
		return
	}
	v.msg = fmt.Sprintf("%q is neither a measure of this experiment nor a sweep key", name)
	n := document.FindNearest(name, measures)
	if n == "" {
		n = document.FindNearest(name, words)
	}
	if n != "" {
		v.msg += fmt.Sprintf("; did you mean %q?", n)
	}
}

// isKind reports whether a name is one of the kinds of measures, or has one before an underscore: fct_p99.
func isKind(name string, kinds []string) bool {
	return slices.ContainsFunc(kinds, func(k string) bool { return name == k || strings.HasPrefix(name, k+"_") })
}

// describeUnrecorded is the error for a measure that exists, but that the experiment does not record.
func describeUnrecorded(name string) string {
	return "this experiment does not record " + name + "; add it to measure"
}

// FailMeasure notes that an experiment does not record a measure, or that there is no measure with this name. recorded
// has the names that it records.
func (s *View) FailMeasure(d *document.Reader, place document.Position, name string, recorded []string) {
	if isKind(name, s.Kinds) {
		d.Fail(place, document.JoinNear(name, recorded), "%s", describeUnrecorded(name))
		return
	}
	d.FailUnknown(place, "measure", name, recorded)
}

// usualFunctions are the functions that messages list: those functions of the expression library
// that take numbers or lists of numbers.
var usualFunctions = []string{"abs", "ceil", "floor", "max", "mean", "median", "min", "round", "sum"}

// findUnknownFunction returns the name of the first call in n that is no function of the expression library; "": all
// are.
func findUnknownFunction(n ast.Node) (name string) {
	ast.Walk(&n, visitor(func(n ast.Node) {
		if call, ok := n.(*ast.CallNode); ok && name == "" {
			if callee, ok := call.Callee.(*ast.IdentifierNode); ok {
				name = callee.Value
			}
		}
	}))
	return name
}

// measureName returns the name of the measure in a member node that selects one of its groups.
func measureName(m *ast.MemberNode) string {
	switch x := m.Node.(type) {
	case *ast.IdentifierNode:
		return x.Value
	case *ast.MemberNode:
		if name, ok := x.Property.(*ast.StringNode); ok {
			return name.Value
		}
	}
	return "it"
}

// memberBase returns the value that a member node selects from, and the member's name. The value is nil if it is
// not in the environment.
func memberBase(m *ast.MemberNode, env map[string]any) (any, string) {
	name, ok := m.Property.(*ast.StringNode)
	if !ok {
		return nil, ""
	}
	switch x := m.Node.(type) {
	case *ast.IdentifierNode:
		return env[x.Value], name.Value
	case *ast.MemberNode:
		base, inner := memberBase(x, env)
		if e, ok := base.(map[string]any); ok {
			return e[inner], name.Value
		}
	}
	return nil, ""
}

// checkPossibleNames reports a name of expression n that cannot be a measure or a sweep key, as an error in t, if the
// measures of runs are unknown.
func (s *View) checkPossibleNames(d *document.Reader, c *Compiled, t *document.Node, n ast.Node) {
	known := map[string]bool{"next": c.alongKey != ""}
	for _, k := range s.sweepKeys() {
		known[k] = true
	}
	for _, sel := range c.selectors {
		known[sel.name] = true
	}
	if name := findUnknownFunction(n); name != "" {
		d.Fail(wordPlace(d, t, name), document.JoinNear(name, usualFunctions), "there is no function %s", name)
		return
	}
	v := &blindChecker{known: known, mayBeMeasure: s.MayBeMeasure}
	ast.Walk(&n, v)
	switch {
	case v.word == "":
	case isKind(v.word, s.Kinds):
		d.Fail(wordPlace(d, t, v.word), "", "%s", describeUnrecorded(v.word))
	default:
		d.Fail(wordPlace(d, t, v.word), "", "%q is neither a measure of this experiment nor a sweep key", v.word)
	}
}

// blindChecker walks an expression and finds the first name that cannot exist.
type blindChecker struct {
	known        map[string]bool
	mayBeMeasure func(string) bool
	word         string
}

// Visit checks one node (ast.Visitor).
func (g *blindChecker) Visit(n *ast.Node) {
	x, is := (*n).(*ast.IdentifierNode)
	if is && g.word == "" && !g.known[x.Value] && !g.mayBeMeasure(x.Value) {
		g.word = x.Value
	}
}
