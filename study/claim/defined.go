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

// operand is a part of an expression that can be undefined: a measure, or an operation on such parts. A comparison
// with an undefined operand is undecided, unless a condition of the claim skips that operand. The expression's own
// value would not do: a comparison with NaN is always false, and min and max of NaN depend on the order of their
// arguments.
type operand struct {
	kind    operandKind
	program *vm.Program // computes its value if that is needed; nil for a plain measure and for a part of a predicate
	path    []string    // for a plain measure: its names in the environment
	text    string      // as written in the file
	columns []string    // the columns of bins that a predicate reads
	parts   []*operand
}

type operandKind int

const (
	evaluateAll  operandKind = iota // all parts are evaluated
	measureValue                    // one measure or several
	conjunction                     // left and right
	disjunction                     // left or right
	choice                          // parts: condition, first, second
)

// newOperand returns the operand of expression n: its measures and the conditions between them; nil if it has no
// measure. fileTree is the same expression as written in the file (displayTree).
func newOperand(n, fileTree ast.Node, env expr.Option) *operand {
	o := &operand{text: fileTree.String()}
	switch x := n.(type) {
	case *ast.IdentifierNode, *ast.MemberNode:
		if baseVariable(n) != nil {
			o.kind = measureValue
			if o.path = memberPath(n); o.path == nil {
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
	parts, texts := listOperands(n), listOperands(fileTree)
	if len(parts) != len(texts) {
		texts = parts
	}
	for i, part := range parts {
		o.parts = append(o.parts, newOperand(part, texts[i], env))
	}
	if x, ok := n.(*ast.BuiltinNode); ok {
		o.addColumns(x)
	}
	if !slices.ContainsFunc(o.parts, func(p *operand) bool { return p != nil }) {
		return nil
	}
	if o.kind != evaluateAll { // the values of its parts decide which parts are evaluated
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

// addColumns records which columns of bins the predicates of a builtin read. If a predicate first checks whether # is
// defined, its list counts as defined.
func (o *operand) addColumns(x *ast.BuiltinNode) {
	for _, a := range x.Arguments[min(1, len(x.Arguments)):] {
		p, ok := a.(*ast.PredicateNode)
		if !ok || o.parts[0] == nil {
			continue
		}
		if readsElement(p.Node) {
			o.parts[0] = nil
			continue
		}
		o.parts[0].columns = append(o.parts[0].columns, elementColumns(p.Node)...)
	}
}

// readsElement reports whether a predicate begins with # == # or # != #, which checks that # is defined.
func readsElement(n ast.Node) bool {
	switch x := n.(type) {
	case *ast.ConditionalNode:
		return readsElement(x.Cond)
	case *ast.BinaryNode:
		if x.Operator == "==" || x.Operator == "!=" {
			_, is := x.Left.(*ast.PointerNode)
			return is && x.Left.String() == x.Right.String()
		}
		return conditionalOperands(n) != nil && readsElement(x.Left)
	}
	return false
}

// elementColumns returns the members of # that a predicate always reads.
func elementColumns(n ast.Node) (names []string) {
	if x, ok := n.(*ast.MemberNode); ok {
		_, is := x.Node.(*ast.PointerNode)
		if name, ok := x.Property.(*ast.StringNode); ok && is {
			return []string{name.Value}
		}
	}
	skipped := conditionalOperands(n)
	for _, part := range listOperands(n) {
		if !slices.Contains(skipped, part) {
			names = append(names, elementColumns(part)...)
		}
	}
	return names
}

// baseVariable returns the variable at the beginning of a chain of members; nil if the chain begins otherwise.
func baseVariable(n ast.Node) *ast.IdentifierNode {
	switch x := n.(type) {
	case *ast.IdentifierNode:
		return x
	case *ast.MemberNode:
		return baseVariable(x.Node)
	case *ast.ChainNode:
		return baseVariable(x.Node)
	}
	return nil
}

// memberPath returns the names of a variable and of its members; nil if a name is computed.
func memberPath(n ast.Node) []string {
	switch x := n.(type) {
	case *ast.IdentifierNode:
		return []string{x.Value}
	case *ast.MemberNode:
		name, ok := x.Property.(*ast.StringNode)
		if path := memberPath(x.Node); ok && path != nil {
			return append(path, name.Value)
		}
	}
	return nil
}

// listOperands returns the operands of a node in their order; nil for a leaf and for other kinds of nodes.
func listOperands(n ast.Node) []ast.Node {
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

// undefinedNames returns the measures that the operand needs and that are undefined in an environment.
func (o *operand) undefinedNames(env map[string]any) (names []string) {
	if o == nil {
		return nil
	}
	switch o.kind {
	case measureValue:
		return o.undefinedParts(o.evaluate(env))
	case conjunction, disjunction:
		decides := any(o.kind == disjunction)
		left, right := o.parts[0], o.parts[1]
		if names = left.undefinedNames(env); len(names) == 0 {
			if v := left.evaluate(env); v == nil || v == decides {
				return nil
			}
			return right.undefinedNames(env)
		}
		others := right.undefinedNames(env)
		if len(others) == 0 && right.evaluate(env) == decides {
			return nil
		}
		return append(names, others...)
	case choice:
		if names = o.parts[0].undefinedNames(env); len(names) > 0 {
			return names
		}
		switch o.parts[0].evaluate(env) {
		case true:
			return o.parts[1].undefinedNames(env)
		case false:
			return o.parts[2].undefinedNames(env)
		}
		return nil // the condition depends on an element of a list
	}
	for _, part := range o.parts {
		names = append(names, part.undefinedNames(env)...)
	}
	return names
}

// evaluate returns the operand's value in an environment; nil if it cannot be computed there, and for a nil operand.
// env must have every name of its path.
func (o *operand) evaluate(env map[string]any) any {
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

// undefinedParts returns the names of what is NaN in a measure's value v: the value, groups, or columns of its bins.
func (o *operand) undefinedParts(v any) (names []string) {
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

// whyUndefined returns why the comparison is undefined for some of the seeds, by its first undefined measure; "" if it
// is defined for all.
func (t *truth) whyUndefined(envs []map[string]any) (why string) {
	first, count := "", 0
	for _, name := range t.undefinedNames(envs) {
		first = cmp.Or(first, name)
		if name == first {
			count++
		}
	}
	return undefinedText(first, count, len(envs))
}

// undefinedNames returns the undefined measures of both sides, each once per seed.
func (t *truth) undefinedNames(envs []map[string]any) (names []string) {
	for _, env := range envs {
		undefined := append(t.left.operand.undefinedNames(env), t.right.operand.undefinedNames(env)...)
		slices.Sort(undefined)
		names = append(names, slices.Compact(undefined)...)
	}
	return names
}

// undefinedText returns a message that something is undefined for count of the seeds; "" for 0.
func undefinedText(name string, count, seeds int) string {
	if count == 0 {
		return ""
	}
	return fmt.Sprintf("%s is not defined for %d of %s", name, count, text.Count(seeds, "seed"))
}
