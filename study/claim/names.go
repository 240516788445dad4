package claim

import (
	"fmt"
	"maps"
	"slices"

	"github.com/expr-lang/expr/ast"

	"weir/internal/document"
)

// names walks an expression for names that do not exist.
type names struct {
	env                map[string]any
	measures           map[string]any
	word, msg, allowed string                     // what is wrong
	named              map[string]map[string]bool // measures, by the variable that has them; "": no variable
}

func unknownName(n ast.Node, env map[string]any, measures map[string]any) *names {
	v := &names{env: env, measures: measures, named: map[string]map[string]bool{}}
	ast.Walk(&n, v)
	v.whole(n)
	return v
}

// whole notes a measure that stands where a number should, without one of its groups.
func (v *names) whole(n ast.Node) {
	var m any
	var word string
	switch x := n.(type) {
	case *ast.IdentifierNode:
		m, word = v.env[x.Value], x.Value
	case *ast.MemberNode:
		base, name := baseOf(x, v.env)
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
	v.word, v.msg, v.allowed = word, fmt.Sprintf("%s is not one number", word), document.Near(word, words)
}

func (v *names) Visit(n *ast.Node) {
	if v.msg != "" {
		return
	}
	switch x := (*n).(type) {
	case *ast.IdentifierNode:
		if _, ok := v.env[x.Value]; !ok {
			v.report(x.Value, v.env)
		}
		v.note("", x.Value)
	case *ast.BinaryNode:
		v.whole(x.Left)
		v.whole(x.Right)
	case *ast.UnaryNode:
		v.whole(x.Node)
	case *ast.MemberNode:
		base, name := baseOf(x, v.env)
		if base == nil || name == "" {
			return
		}
		switch m := base.(type) {
		case map[string]float64:
			if _, ok := m[name]; !ok {
				words := slices.Sorted(maps.Keys(m))
				v.word, v.msg, v.allowed = name, fmt.Sprintf("%s has no %q", measureOf(x), name), document.Near(name, words)
				if n := document.Nearest(name, words); n != "" {
					v.msg += fmt.Sprintf("; did you mean %q?", n)
				}
			}
		case map[string]any:
			if _, ok := m[name]; !ok {
				v.report(name, m)
			}
			if variable, ok := x.Node.(*ast.IdentifierNode); ok {
				v.note(variable.Value, name)
			}
		}
	}
}

// note records a name if it is a measure's.
func (v *names) note(variable, name string) {
	if _, ok := v.measures[name]; !ok {
		return
	}
	if v.named[variable] == nil {
		v.named[variable] = map[string]bool{}
	}
	v.named[variable][name] = true
}

func (v *names) report(name string, env map[string]any) {
	words := slices.Sorted(maps.Keys(env))
	v.word = name
	v.msg = fmt.Sprintf("%q is neither a measure nor a sweep key", name)
	if n := document.Nearest(name, words); n != "" {
		v.msg += fmt.Sprintf("; did you mean %q?", n)
	}
	v.allowed = document.Near(name, words)
}

// measureOf names the measure of which a member node takes a group.
func measureOf(m *ast.MemberNode) string {
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

// baseOf returns the value of which a member node takes a member, if that is in
// the environment, and the member's name.
func baseOf(m *ast.MemberNode, env map[string]any) (any, string) {
	name, ok := m.Property.(*ast.StringNode)
	if !ok {
		return nil, ""
	}
	switch x := m.Node.(type) {
	case *ast.IdentifierNode:
		return env[x.Value], name.Value
	case *ast.MemberNode:
		base, inner := baseOf(x, env)
		if e, ok := base.(map[string]any); ok {
			return e[inner], name.Value
		}
	}
	return nil, ""
}

// guess notes names that can be nothing, where it is not known what runs have.
func (s *View) guess(d *document.Reader, c *Compiled, t *document.Node, n ast.Node) {
	known := map[string]bool{"next": c.along != ""}
	for _, k := range s.keys() {
		known[k] = true
	}
	for _, sel := range c.others {
		known[sel.name] = true
	}
	v := &guesses{known: known, blind: s.Blind}
	ast.Walk(&n, v)
	if v.word != "" {
		d.Fail(within(d, t, v.word), "", "%q is neither a measure nor a sweep key", v.word)
	}
}

// guesses walks an expression for the first name that can be nothing.
type guesses struct {
	known map[string]bool
	blind func(string) bool
	word  string
}

func (g *guesses) Visit(n *ast.Node) {
	x, is := (*n).(*ast.IdentifierNode)
	if is && g.word == "" && !g.known[x.Value] && !g.blind(x.Value) {
		g.word = x.Value
	}
}
