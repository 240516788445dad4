package claim

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/vm"

	"weir/internal/text"
)

// truth is a boolean expression: and, or, not over comparisons. A comparison is
// judged by the interval of its difference over the seeds.
type truth struct {
	op          string // "and", "or", "not", "<", "<=", ">", ">=", "==", "!="; "bool": left alone
	parts       []*truth
	left, right side
	unit        string // of both sides, as far as the expression shows it
}

// side is one side of a comparison, or a whole expression without a comparison.
type side struct {
	program  *vm.Program
	text     string      // as the file has it
	divisors []side      // what it divides by
	guarded  bool        // of a divisor: a condition decides whether anything is divided by it
	exponent *vm.Program // of a divisor that is a base: it divides where this is negative
	operand  *operand    // its measures
}

// newSide compiles an expression. people prints as the file has it.
func newSide(n, people ast.Node, options ...expr.Option) (s side, err error) {
	s.text = people.String()
	if s.program, err = expr.Compile(n.String(), options...); err != nil {
		return s, err
	}
	s.operand = newOperand(n, people, options[0])
	var divisors, texts []ast.Node
	exponents := map[ast.Node]ast.Node{} // by base
	collect := func(to *[]ast.Node) visitor {
		return func(n ast.Node) {
			x, ok := n.(*ast.BinaryNode)
			switch {
			case ok && x.Operator == "/":
				*to = append(*to, x.Right)
			case ok && (x.Operator == "**" || x.Operator == "^"):
				*to = append(*to, x.Left)
				exponents[x.Left] = x.Right
			}
		}
	}
	ast.Walk(&n, collect(&divisors))
	ast.Walk(&people, collect(&texts))
	var guarded []ast.Node
	ast.Walk(&n, visitor(func(n ast.Node) {
		for _, part := range conditional(n) {
			ast.Walk(&part, collect(&guarded))
		}
	}))
	for i, x := range divisors {
		// within a predicate it does not stand alone, and has no value
		program, err := expr.Compile(x.String(), options[:1]...)
		if err != nil || i >= len(texts) {
			continue
		}
		divisor := side{program: program, text: texts[i].String(), guarded: slices.Contains(guarded, x)}
		if e := exponents[x]; e != nil {
			if divisor.exponent, err = expr.Compile(e.String(), options[:1]...); err != nil {
				continue
			}
		}
		s.divisors = append(s.divisors, divisor)
	}
	return s, nil
}

// conditional returns the operands of an operation that it evaluates only if others have a certain value.
func conditional(n ast.Node) []ast.Node {
	switch x := n.(type) {
	case *ast.ConditionalNode:
		return []ast.Node{x.Exp1, x.Exp2}
	case *ast.BinaryNode:
		if slices.Contains([]string{"and", "&&", "or", "||", "??"}, x.Operator) {
			return []ast.Node{x.Right}
		}
	}
	return nil
}

// ternary is Kleene's third value between false and true.
type ternary int

const (
	no ternary = iota
	maybe
	yes
)

// build turns an expression into a truth. people is the same expression, and prints as the file has it.
func build(n, people ast.Node, env map[string]any, unitOf func(ast.Node) (string, bool)) (*truth, error) {
	switch x := n.(type) {
	case *ast.UnaryNode:
		if x.Operator == "not" || x.Operator == "!" {
			part, err := build(x.Node, people.(*ast.UnaryNode).Node, env, unitOf)
			return &truth{op: "not", parts: []*truth{part}}, err
		}
	case *ast.BinaryNode:
		own := people.(*ast.BinaryNode)
		op := map[string]string{"and": "and", "&&": "and", "or": "or", "||": "or"}[x.Operator]
		if op != "" {
			l, err := build(x.Left, own.Left, env, unitOf)
			if err != nil {
				return nil, err
			}
			r, err := build(x.Right, own.Right, env, unitOf)
			return &truth{op: op, parts: []*truth{l, r}}, err
		}
		switch x.Operator {
		case "<", "<=", ">", ">=", "==", "!=":
			t := &truth{op: x.Operator}
			if t.unit, _ = unitOf(x.Left); t.unit == "" {
				t.unit, _ = unitOf(x.Right)
			}
			_, err := expr.Compile(x.String(), expr.Env(env), expr.AsBool()) // do the sides compare?
			if err != nil {
				return nil, err
			}
			if t.left, err = newSide(x.Left, own.Left, expr.Env(env)); err != nil {
				return nil, err
			}
			t.right, err = newSide(x.Right, own.Right, expr.Env(env))
			return t, err
		}
	}
	t := &truth{op: "bool"}
	var err error
	t.left, err = newSide(n, people, expr.Env(env), expr.AsBool())
	return t, err
}

// verdict is the outcome of a truth at one place of the sweep.
type verdict struct {
	value  ternary
	margin float64 // of the comparison that decides, relative; negative when it is false
	text   string  // that comparison with its numbers
}

// judge evaluates t over the seeds' environments, one a seed.
func (t *truth) judge(envs []map[string]any) verdict {
	switch t.op {
	case "not":
		v := t.parts[0].judge(envs)
		v.value, v.margin = yes-v.value, -v.margin
		return v
	case "and", "or":
		a, b := t.parts[0].judge(envs), t.parts[1].judge(envs)
		worse := b.value < a.value || b.value == a.value && b.margin < a.margin
		if worse == (t.op == "and") {
			return b
		}
		return a
	}
	if why := t.undefined(envs); why != "" {
		return verdict{maybe, math.Inf(-1), why}
	}
	var all outcomes
	for _, env := range envs {
		if why := t.add(&all, env); why != "" {
			return verdict{maybe, math.Inf(-1), why}
		}
	}
	for _, x := range []struct {
		*side
		values []float64
	}{{&t.left, all.lefts}, {&t.right, all.rights}} {
		if why := x.infinite(x.values, envs); why != "" {
			return verdict{maybe, math.Inf(-1), why}
		}
	}
	if len(all.differences) == 0 {
		return t.counted(&all)
	}
	return t.compared(&all)
}

// infinite is why a side has no finite mean, or divides by 0 on the way to its value; "" if neither holds. Such a side
// leaves the comparison undecided: what is infinite is beyond any bound, right or wrong. A side that is no number has
// no values.
func (s *side) infinite(values []float64, envs []map[string]any) (why string) {
	infinite, divided, zero := 0, 0, ""
	for i, env := range envs {
		if i < len(values) && math.IsNaN(values[i]) { // not defined, which has a reason of its own
			continue
		}
		is := i < len(values) && math.IsInf(values[i], 0)
		if by := s.zero(env, is); by != "" {
			zero = cmp.Or(zero, by)
			divided++
		}
		if is {
			infinite++
		}
	}
	seeds := text.Count(len(envs), "seed")
	switch {
	case infinite > 0 && zero != "":
		return fmt.Sprintf("%s is infinite for %d of %s: %s is 0", s.text, infinite, seeds, zero)
	case infinite > 0:
		return fmt.Sprintf("%s is infinite for %d of %s", s.text, infinite, seeds)
	case divided > 0:
		return fmt.Sprintf("%s divides by 0 for %d of %s: %s is 0", s.text, divided, seeds, zero)
	}
	return ""
}

// zero returns the first divisor that is 0 for a seed; "": no divisor is 0. Guarded ones count if guarded is set.
func (s *side) zero(env map[string]any, guarded bool) string {
	for k := range s.divisors {
		x := &s.divisors[k]
		if x.guarded && !guarded {
			continue
		}
		if x.exponent != nil {
			e, err := expr.Run(x.exponent, env)
			if e, ok := toFloat(e); err != nil || !ok || e >= 0 {
				continue
			}
		}
		if d, err := expr.Run(x.program, env); err == nil {
			if d, ok := toFloat(d); ok && d == 0 {
				return x.text
			}
		}
	}
	return ""
}

// outcomes are what the two sides of a comparison come to, over the seeds.
type outcomes struct {
	differences, lefts, rights []float64
	holding, failing           int // of what is not a comparison of numbers
}

func (o *outcomes) count(holds bool) {
	if holds {
		o.holding++
	} else {
		o.failing++
	}
}

// add evaluates a leaf for one seed; why not, if it cannot be.
func (t *truth) add(o *outcomes, env map[string]any) (why string) {
	l, err := expr.Run(t.left.program, env)
	if err != nil {
		return t.left.text + ": " + firstLine(err)
	}
	if t.op == "bool" {
		b, ok := l.(bool)
		o.count(ok && b)
		return ""
	}
	r, err := expr.Run(t.right.program, env)
	if err != nil {
		return t.right.text + ": " + firstLine(err)
	}
	x, okX := toFloat(l)
	y, okY := toFloat(r)
	if okX && okY {
		o.lefts, o.rights = append(o.lefts, x), append(o.rights, y)
		o.differences = append(o.differences, x-y)
		return ""
	}
	a, isA := l.(string) // words, of which only the same and others are known
	b, isB := r.(string)
	if !isA || !isB || t.op != "==" && t.op != "!=" {
		return t.left.text + " and " + t.right.text + " cannot be compared there"
	}
	o.count((a == b) == (t.op == "=="))
	return ""
}

// counted judges what is true or false for each seed.
func (t *truth) counted(o *outcomes) verdict {
	switch {
	case o.failing == 0:
		return verdict{yes, 1, t.text() + " is true"}
	case o.holding == 0:
		return verdict{no, -1, t.text() + " is false"}
	}
	return verdict{maybe, 0, fmt.Sprintf("%s is true for %d of %d seeds", t.text(), o.holding, o.holding+o.failing)}
}

// compared judges by the interval of the difference over the seeds.
func (t *truth) compared(o *outcomes) verdict {
	left, _ := MeanInterval(o.lefts)
	right, _ := MeanInterval(o.rights)
	mean, half := MeanInterval(o.differences)
	if math.IsNaN(mean) {
		count := func(values []float64) (n int) {
			for _, v := range values {
				if math.IsNaN(v) {
					n++
				}
			}
			return n
		}
		seeds := len(o.differences)
		return verdict{maybe, math.Inf(-1), cmp.Or(undefinedFor(t.left.text, count(o.lefts), seeds),
			undefinedFor(t.right.text, count(o.rights), seeds), t.text()+" is not defined there")}
	}
	if len(o.differences) < 2 {
		half = 0
	}
	v := verdict{text: fmt.Sprintf("%s = %s %s %s", t.left.text, quantity(left, t.unit), t.op, quantity(right, t.unit))}
	v.value, v.margin = byInterval(t.op, mean, half)
	if scale := max(math.Abs(left), math.Abs(right)); scale > 0 {
		v.margin /= scale
	}
	if half > 0 {
		v.text += fmt.Sprintf(" (difference %s ± %s)", quantity(mean, t.unit), quantity(half, t.unit))
	}
	return v
}

// byInterval is what an interval of a difference says of its comparison with 0: yes or no if all of
// it does, and by how much its middle does.
func byInterval(op string, mean, half float64) (value ternary, margin float64) {
	low, high := mean-half, mean+half
	near, far := high, low // the ends that are last and first to meet the comparison
	switch op {
	case "<", "<=":
		margin = -mean
	case ">", ">=":
		margin, near, far = mean, low, high
	default:
		equal, apart := low == 0 && high == 0, low > 0 || high < 0
		margin = -math.Abs(mean)
		if op == "!=" {
			equal, apart, margin = apart, equal, -margin
		}
		switch {
		case equal:
			return yes, margin
		case apart:
			return no, margin
		}
		return maybe, margin
	}
	switch {
	case compare(op, near, 0):
		return yes, margin
	case !compare(op, far, 0):
		return no, margin
	}
	return maybe, margin
}

// text is the expression of a leaf.
func (t *truth) text() string {
	if t.op == "bool" {
		return t.left.text
	}
	return t.left.text + " " + t.op + " " + t.right.text
}

func toFloat(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case int:
		return float64(v), true
	}
	return 0, false
}
