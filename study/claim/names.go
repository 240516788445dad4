package claim

import (
	"fmt"
	"maps"
	"slices"

	"github.com/expr-lang/expr/ast"

	"weir/internal/document"
)

// nameChecker walks an expression and finds names that do not exist.
type nameChecker struct {
	env                map[string]any
	measures           map[string]any
	word, msg, allowed string                     // the first error
	named              map[string]map[string]bool // measures by the variable that has them; "": no variable
}

// checkNames walks an expression for unknown names and for measures that are not one number. measures are the names in
// env that are measures. The result has the first error, and the measures that the expression names.
func checkNames(n ast.Node, env map[string]any, measures map[string]any) *nameChecker {
	v := &nameChecker{env: env, measures: measures, named: map[string]map[string]bool{}}
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

// reportUnknown records the error that a name is not in env, with similar names.
func (v *nameChecker) reportUnknown(name string, env map[string]any) {
	words := slices.Sorted(maps.Keys(env))
	v.word = name
	v.msg = fmt.Sprintf("%q is neither a measure nor a sweep key", name)
	if n := document.FindNearest(name, words); n != "" {
		v.msg += fmt.Sprintf("; did you mean %q?", n)
	}
	v.allowed = document.JoinNear(name, words)
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
	v := &blindChecker{known: known, mayBeMeasure: s.MayBeMeasure}
	ast.Walk(&n, v)
	if v.word != "" {
		d.Fail(wordPlace(d, t, v.word), "", "%q is neither a measure nor a sweep key", v.word)
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
