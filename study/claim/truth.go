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

// truth is a boolean expression: and, or, not over comparisons. A comparison is judged by the interval of its
// difference over the seeds.
type truth struct {
	op          string // "and", "or", "not", "<", "<=", ">", ">=", "==", "!="; "bool": another boolean expression
	parts       []*truth
	left, right side
	unit        string // unit of both sides if the expression shows it
}

// side is one side of a comparison, or a whole expression without a comparison.
type side struct {
	program       *vm.Program
	text          string      // as written in the file
	divisors      []side      // the expressions that it divides by
	isConditional bool        // for a divisor: a condition decides whether the division is evaluated
	exponent      *vm.Program // for a divisor that is the base of a power: the power divides if this is negative
	operand       *operand    // its measures
}

// newSide compiles expression n with options; the first option is the environment. fileTree is the same expression as
// written in the file (displayTree).
func newSide(n, fileTree ast.Node, options ...expr.Option) (s side, err error) {
	s.text = fileTree.String()
	if s.program, err = expr.Compile(n.String(), options...); err != nil {
		return s, err
	}
	s.operand = newOperand(n, fileTree, options[0])
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
	ast.Walk(&fileTree, collect(&texts))
	var guarded []ast.Node
	ast.Walk(&n, visitor(func(n ast.Node) {
		for _, part := range conditionalOperands(n) {
			ast.Walk(&part, collect(&guarded))
		}
	}))
	for i, x := range divisors {
		// a divisor within a predicate cannot be compiled alone, and has no single value
		program, err := expr.Compile(x.String(), options[:1]...)
		if err != nil || i >= len(texts) {
			continue
		}
		divisor := side{program: program, text: texts[i].String(), isConditional: slices.Contains(guarded, x)}
		if e := exponents[x]; e != nil {
			if divisor.exponent, err = expr.Compile(e.String(), options[:1]...); err != nil {
				continue
			}
		}
		s.divisors = append(s.divisors, divisor)
	}
	return s, nil
}

// conditionalOperands returns the operands that an operation evaluates only if others have a certain value.
func conditionalOperands(n ast.Node) []ast.Node {
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

// ternary is a truth value of Kleene's logic: no, maybe, yes.
type ternary int

const (
	no ternary = iota
	maybe
	yes
)

// partError is the error of a part of an expression that must be a condition.
type partError struct {
	text string // the part as written in the file
	error
}

// newTruth compiles an expression to a truth. fileTree is the same expression as written in the file (displayTree). env
// has every name of a run with values of the right types. unitOf returns the unit of a side, if it is known. It returns
// an error for an expression that is not boolean or compares values of different types.
func newTruth(n, fileTree ast.Node, env map[string]any, unitOf func(ast.Node) (string, bool)) (*truth, error) {
	switch x := n.(type) {
	case *ast.UnaryNode:
		if x.Operator == "not" || x.Operator == "!" {
			part, err := newTruth(x.Node, fileTree.(*ast.UnaryNode).Node, env, unitOf)
			return &truth{op: "not", parts: []*truth{part}}, err
		}
	case *ast.BinaryNode:
		peopleNode := fileTree.(*ast.BinaryNode)
		op := map[string]string{"and": "and", "&&": "and", "or": "or", "||": "or"}[x.Operator]
		if op != "" {
			l, err := newTruth(x.Left, peopleNode.Left, env, unitOf)
			if err != nil {
				return nil, err
			}
			r, err := newTruth(x.Right, peopleNode.Right, env, unitOf)
			return &truth{op: op, parts: []*truth{l, r}}, err
		}
		switch x.Operator {
		case "<", "<=", ">", ">=", "==", "!=":
			t := &truth{op: x.Operator}
			if t.unit, _ = unitOf(x.Left); t.unit == "" {
				t.unit, _ = unitOf(x.Right)
			}
			_, err := expr.Compile(x.String(), expr.Env(env), expr.AsBool()) // fails if the sides cannot be compared
			if err != nil {
				return nil, err
			}
			if t.left, err = newSide(x.Left, peopleNode.Left, expr.Env(env)); err != nil {
				return nil, err
			}
			t.right, err = newSide(x.Right, peopleNode.Right, expr.Env(env))
			return t, err
		}
	}
	t := &truth{op: "bool"}
	var err error
	if t.left, err = newSide(n, fileTree, expr.Env(env), expr.AsBool()); err != nil {
		err = &partError{fileTree.String(), err}
	}
	return t, err
}

// verdict is the outcome of a truth at one point of the sweep.
type verdict struct {
	value  ternary
	margin float64 // distance of the deciding comparison from its bound, relative; negative if the comparison is false
	text   string  // the deciding comparison with its numbers
}

// judgeSeeds evaluates t over the environments of the seeds, at least one, of a point. A comparison with an undefined
// or infinite side is maybe.
func (t *truth) judgeSeeds(envs []map[string]any) verdict {
	switch t.op {
	case "not":
		v := t.parts[0].judgeSeeds(envs)
		v.value, v.margin = yes-v.value, -v.margin
		return v
	case "and", "or":
		a, b := t.parts[0].judgeSeeds(envs), t.parts[1].judgeSeeds(envs)
		worse := b.value < a.value || b.value == a.value && b.margin < a.margin
		if worse == (t.op == "and") {
			return b
		}
		return a
	}
	if why := t.whyUndefined(envs); why != "" {
		return verdict{maybe, math.Inf(-1), why}
	}
	var all outcomes
	for _, env := range envs {
		if why := t.addSeed(&all, env); why != "" {
			return verdict{maybe, math.Inf(-1), why}
		}
	}
	for _, x := range []struct {
		*side
		values []float64
	}{{&t.left, all.lefts}, {&t.right, all.rights}} {
		if why := x.whyInfinite(x.values, envs); why != "" {
			return verdict{maybe, math.Inf(-1), why}
		}
	}
	if len(all.differences) == 0 {
		return t.judgeTruths(&all)
	}
	return t.judgeDifferences(&all)
}

// whyInfinite returns why a side has no finite mean, or divides by 0 in a part of it; "" if its mean is finite. Such a
// side leaves the comparison undecided, since an infinite value passes any bound. values has the side's value by seed;
// it is empty if the side is not a number.
func (s *side) whyInfinite(values []float64, envs []map[string]any) (why string) {
	infinite, divided, zero := 0, 0, ""
	for i, env := range envs {
		if i < len(values) && math.IsNaN(values[i]) { // undefined, which whyUndefined reports
			continue
		}
		is := i < len(values) && math.IsInf(values[i], 0)
		if by := s.findZeroDivisor(env, is); by != "" {
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

// findZeroDivisor returns the first divisor that is 0 in an environment; "" if no divisor is 0. Divisors under a
// condition of the expression count only if conditional is set. The result is the divisor's text.
func (s *side) findZeroDivisor(env map[string]any, conditional bool) string {
	for k := range s.divisors {
		x := &s.divisors[k]
		if x.isConditional && !conditional {
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

// outcomes has the values of both sides of a comparison over the seeds.
type outcomes struct {
	differences, lefts, rights []float64
	holding, failing           int // number of seeds for which a comparison of other values is true, and false
}

// addTruth counts the outcome of a seed: true or false.
func (o *outcomes) addTruth(holds bool) {
	if holds {
		o.holding++
	} else {
		o.failing++
	}
}

// addSeed evaluates a comparison for one seed and adds its outcome to o. It returns why it cannot; "" on success.
func (t *truth) addSeed(o *outcomes, env map[string]any) (why string) {
	l, err := expr.Run(t.left.program, env)
	if err != nil {
		return t.left.text + ": " + firstLine(err)
	}
	if t.op == "bool" {
		b, ok := l.(bool)
		o.addTruth(ok && b)
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
	a, isA := l.(string) // words can only be equal or different
	b, isB := r.(string)
	if !isA || !isB || t.op != "==" && t.op != "!=" {
		return t.left.text + " and " + t.right.text + " cannot be compared there"
	}
	o.addTruth((a == b) == (t.op == "=="))
	return ""
}

// judgeTruths judges outcomes that are true or false for each seed: maybe if the seeds disagree.
func (t *truth) judgeTruths(o *outcomes) verdict {
	switch {
	case o.failing == 0:
		return verdict{yes, 1, t.expression() + " is true"}
	case o.holding == 0:
		return verdict{no, -1, t.expression() + " is false"}
	}
	return verdict{maybe, 0, fmt.Sprintf("%s is true for %d of %d seeds", t.expression(), o.holding, o.holding+o.failing)}
}

// judgeDifferences judges by the 95 % interval of the difference over the seeds; with one seed, by the difference. The
// margin is relative to the larger side.
func (t *truth) judgeDifferences(o *outcomes) verdict {
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
		return verdict{maybe, math.Inf(-1), cmp.Or(undefinedText(t.left.text, count(o.lefts), seeds),
			undefinedText(t.right.text, count(o.rights), seeds), t.expression()+" is not defined there")}
	}
	if len(o.differences) < 2 {
		half = 0
	}
	v := verdict{text: fmt.Sprintf("%s = %s %s %s", t.left.text, formatValue(left, t.unit), t.op, formatValue(right,
		t.unit))}
	v.value, v.margin = judgeInterval(t.op, mean, half)
	if scale := max(math.Abs(left), math.Abs(right)); scale > 0 {
		v.margin /= scale
	}
	if half > 0 {
		v.text += fmt.Sprintf(" (difference %s ± %s)", formatValue(mean, t.unit), formatValue(half, t.unit))
	}
	return v
}

// judgeInterval compares an interval of a difference with 0. op is the comparison of the difference, with the given
// mean and half width, with 0. The value is yes or no if all of the interval agrees. An equality is yes only for an
// interval of 0 alone. The margin is the distance of its middle from 0, negative if the comparison is false there.
func judgeInterval(op string, mean, half float64) (value ternary, margin float64) {
	low, high := mean-half, mean+half
	near, far := high, low // ends where the comparison holds last, and first
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
	case compareValues(op, near, 0):
		return yes, margin
	case !compareValues(op, far, 0):
		return no, margin
	}
	return maybe, margin
}

// expression returns the comparison as written in the file.
func (t *truth) expression() string {
	if t.op == "bool" {
		return t.left.text
	}
	return t.left.text + " " + t.op + " " + t.right.text
}

// toFloat converts a value of an expression to a float; false for other types than float64 and int.
func toFloat(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case int:
		return float64(v), true
	}
	return 0, false
}
