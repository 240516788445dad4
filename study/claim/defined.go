package claim

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/vm"

	"weir/internal/text"
)

// operand is a part of an expression that can be undefined: a measure, or an operation over such parts. An undefined
// number makes every comparison false, and min and max depend on the order of their arguments; so a comparison with
// an undefined operand is undecided, unless a condition of the claim skips that operand.
type operand struct {
	kind    operandKind
	program *vm.Program // its value, where that is needed; nil for a plain measure and for a part of a predicate
	path    []string    // of a plain measure: names in the environment
	text    string      // as the file has it
	columns []string    // of bins that a predicate reads
	parts   []*operand
}

type operandKind int

const (
	every       operandKind = iota // all parts are evaluated
	measured                       // a measure, or several
	conjunction                    // left and right
	disjunction                    // left or right
	choice                         // condition, first, second
)

// newOperand returns the measures of an expression and the conditions between them; nil if it has no measure. people
// is the same expression and prints as the file has it.
func newOperand(n, people ast.Node, env expr.Option) *operand {
	o := &operand{text: people.String()}
	switch x := n.(type) {
	case *ast.IdentifierNode, *ast.MemberNode:
		if bottom(n) != nil {
			o.kind = measured
			if o.path = pathOf(n); o.path == nil {
				o.program, _ = expr.Compile(n.String(), env)
			}
			return o
		}
	case *ast.ConditionalNode:
		o.kind = choice
	case *ast.BinaryNode:
		switch x.Operator {
		case "and", "&&":
			o.kind = conjunction
		case "or", "||":
			o.kind = disjunction
		case "==", "!=": // x == x asks whether x is defined
			if x.Left.String() == x.Right.String() {
				return nil
			}
		}
	}
	parts, texts := children(n), children(people)
	if len(parts) != len(texts) {
		texts = parts
	}
	for i, part := range parts {
		o.parts = append(o.parts, newOperand(part, texts[i], env))
	}
	if x, ok := n.(*ast.BuiltinNode); ok {
		o.overElements(x)
	}
	if !slices.ContainsFunc(o.parts, func(p *operand) bool { return p != nil }) {
		return nil
	}
	if o.kind != every { // the values of its parts decide which of them are evaluated
		for i, part := range parts {
			if o.parts[i] == nil {
				o.parts[i] = &operand{}
			}
			if o.parts[i].path == nil {
				o.parts[i].program, _ = expr.Compile(part.String(), env)
			}
		}
	}
	return o
}

// overElements notes which columns of bins a builtin's predicate reads. A predicate that first asks whether # is
// defined makes its list defined.
func (o *operand) overElements(x *ast.BuiltinNode) {
	for _, a := range x.Arguments[min(1, len(x.Arguments)):] {
		p, ok := a.(*ast.PredicateNode)
		if !ok || o.parts[0] == nil {
			continue
		}
		if readsElement(p.Node) {
			o.parts[0] = nil
			continue
		}
		o.parts[0].columns = append(o.parts[0].columns, columns(p.Node)...)
	}
}

// readsElement reports whether a predicate begins with # == # or # != #.
func readsElement(n ast.Node) bool {
	switch x := n.(type) {
	case *ast.ConditionalNode:
		return readsElement(x.Cond)
	case *ast.BinaryNode:
		if x.Operator == "==" || x.Operator == "!=" {
			_, is := x.Left.(*ast.PointerNode)
			return is && x.Left.String() == x.Right.String()
		}
		return conditional(n) != nil && readsElement(x.Left)
	}
	return false
}

// columns returns the members of # that a predicate always reads.
func columns(n ast.Node) (names []string) {
	if x, ok := n.(*ast.MemberNode); ok {
		_, is := x.Node.(*ast.PointerNode)
		if name, ok := x.Property.(*ast.StringNode); ok && is {
			return []string{name.Value}
		}
	}
	skipped := conditional(n)
	for _, part := range children(n) {
		if !slices.Contains(skipped, part) {
			names = append(names, columns(part)...)
		}
	}
	return names
}

// bottom returns the variable whose members a node takes; nil if it takes them of something else.
func bottom(n ast.Node) *ast.IdentifierNode {
	switch x := n.(type) {
	case *ast.IdentifierNode:
		return x
	case *ast.MemberNode:
		return bottom(x.Node)
	case *ast.ChainNode:
		return bottom(x.Node)
	}
	return nil
}

// pathOf returns the names of a variable and of its members; nil if one is computed.
func pathOf(n ast.Node) []string {
	switch x := n.(type) {
	case *ast.IdentifierNode:
		return []string{x.Value}
	case *ast.MemberNode:
		name, ok := x.Property.(*ast.StringNode)
		if path := pathOf(x.Node); ok && path != nil {
			return append(path, name.Value)
		}
	}
	return nil
}

// children returns the operands of a node, without names of members.
func children(n ast.Node) []ast.Node {
	switch x := n.(type) {
	case *ast.UnaryNode:
		return []ast.Node{x.Node}
	case *ast.BinaryNode:
		return []ast.Node{x.Left, x.Right}
	case *ast.ChainNode:
		return []ast.Node{x.Node}
	case *ast.MemberNode:
		return []ast.Node{x.Node, x.Property}
	case *ast.SliceNode:
		parts := []ast.Node{x.Node}
		for _, bound := range []ast.Node{x.From, x.To} {
			if bound != nil {
				parts = append(parts, bound)
			}
		}
		return parts
	case *ast.CallNode:
		return x.Arguments
	case *ast.BuiltinNode:
		return x.Arguments
	case *ast.PredicateNode:
		return []ast.Node{x.Node}
	case *ast.ConditionalNode:
		return []ast.Node{x.Cond, x.Exp1, x.Exp2}
	case *ast.VariableDeclaratorNode:
		return []ast.Node{x.Value, x.Expr}
	case *ast.SequenceNode:
		return x.Nodes
	case *ast.ArrayNode:
		return x.Nodes
	case *ast.MapNode:
		return x.Pairs
	case *ast.PairNode:
		return []ast.Node{x.Key, x.Value}
	}
	return nil
}

// undefined returns the measures that the operand needs in an environment and that are not defined there.
func (o *operand) undefined(env map[string]any) (names []string) {
	if o == nil {
		return nil
	}
	switch o.kind {
	case measured:
		return o.unmeasured(o.value(env))
	case conjunction, disjunction:
		decides := any(o.kind == disjunction)
		left, right := o.parts[0], o.parts[1]
		if names = left.undefined(env); len(names) == 0 {
			if v := left.value(env); v == nil || v == decides {
				return nil
			}
			return right.undefined(env)
		}
		others := right.undefined(env)
		if len(others) == 0 && right.value(env) == decides {
			return nil
		}
		return append(names, others...)
	case choice:
		if names = o.parts[0].undefined(env); len(names) > 0 {
			return names
		}
		switch o.parts[0].value(env) {
		case true:
			return o.parts[1].undefined(env)
		case false:
			return o.parts[2].undefined(env)
		}
		return nil // the condition is about an element of a list
	}
	for _, part := range o.parts {
		names = append(names, part.undefined(env)...)
	}
	return names
}

// value returns the operand's own value in an environment; nil if it has no such value.
func (o *operand) value(env map[string]any) any {
	switch {
	case o == nil:
		return nil
	case o.program != nil:
		v, err := expr.Run(o.program, env)
		if err != nil {
			return nil
		}
		return v
	}
	var v any = env
	for _, name := range o.path {
		switch m := v.(type) {
		case map[string]any:
			v = m[name]
		case map[string]float64:
			v = m[name]
		case map[string][]map[string]float64:
			v = m[name]
		default:
			return nil
		}
	}
	if o.path == nil {
		return nil
	}
	return v
}

// unmeasured names what is not defined of a measure's value, of its groups, or of the columns of its bins.
func (o *operand) unmeasured(v any) (names []string) {
	switch v := v.(type) {
	case float64:
		if math.IsNaN(v) {
			names = append(names, o.text)
		}
	case map[string]float64:
		for _, group := range slices.Sorted(maps.Keys(v)) {
			if math.IsNaN(v[group]) {
				names = append(names, o.text+"."+group)
			}
		}
	case []map[string]float64:
		for i, row := range v {
			for _, column := range o.columns {
				if x, ok := row[column]; ok && math.IsNaN(x) {
					names = append(names, fmt.Sprintf("%s[%d].%s", o.text, i, column))
				}
			}
		}
	}
	return names
}

// undefined is why the leaf is not defined for some of the seeds; "" if it is.
func (t *truth) undefined(envs []map[string]any) (why string) {
	first, count := "", 0
	for _, name := range t.undefinedNames(envs) {
		first = cmp.Or(first, name)
		if name == first {
			count++
		}
	}
	return undefinedFor(first, count, len(envs))
}

// undefinedNames returns the measures that are not defined, each once for every seed.
func (t *truth) undefinedNames(envs []map[string]any) (names []string) {
	for _, env := range envs {
		own := append(t.left.operand.undefined(env), t.right.operand.undefined(env)...)
		slices.Sort(own)
		names = append(names, slices.Compact(own)...)
	}
	return names
}

func undefinedFor(what string, count, seeds int) string {
	if count == 0 {
		return ""
	}
	return fmt.Sprintf("%s is not defined for %d of %s", what, count, text.Count(seeds, "seed"))
}
