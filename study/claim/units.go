package claim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"weir/core/unit"
	"weir/study/measure"
)

// expressionUnit returns the unit of an expression as far as its measures show it. known is false for a plain number,
// which fits any unit, and for most other operations.
func (s *View) expressionUnit(n ast.Node) (unit string, known bool) {
	switch x := n.(type) {
	case *ast.IdentifierNode:
		return s.UnitOf(x.Value)
	case *ast.MemberNode:
		for m := n; ; { // find the first name of the chain that is a measure
			switch y := m.(type) {
			case *ast.MemberNode:
				if name, ok := y.Property.(*ast.StringNode); ok {
					if m == n && (name.Value == "from" || name.Value == "to") { // of a bin
						return "bytes", true
					}
					if m == n && name.Value == "n" {
						return "", true
					}
					if u, is := s.UnitOf(name.Value); is {
						return u, true
					}
				}
				m = y.Node
				continue
			case *ast.IdentifierNode:
				return s.UnitOf(y.Value)
			}
			return "", false
		}
	case *ast.UnaryNode:
		return s.expressionUnit(x.Node)
	case *ast.BuiltinNode:
		if len(x.Arguments) > 0 && slices.Contains([]string{"abs", "min", "max", "mean", "floor", "ceil", "round"}, x.Name) {
			return s.expressionUnit(x.Arguments[0])
		}
	case *ast.BinaryNode:
		left, isLeft := s.expressionUnit(x.Left)
		right, isRight := s.expressionUnit(x.Right)
		switch {
		case x.Operator == "+" || x.Operator == "-":
			if isLeft {
				return left, true
			}
			return right, isRight
		case x.Operator == "*" && isLeft != isRight:
			return left + right, true
		case x.Operator == "/" && isLeft && !isRight:
			return left, true
		}
	}
	return "", false
}

// literalUnits returns the units of the numbers in an expression that stand for quantities. text is the expression
// with its quantities, n with their numbers. Numbers that also occur as plain numbers, or for two kinds of quantity,
// are omitted.
func literalUnits(text string, n ast.Node) map[float64]string {
	units, count := map[float64]string{}, map[float64]int{}
	for _, m := range quantityPattern.FindAllStringSubmatch(quotedPattern.ReplaceAllString(strings.ReplaceAll(text, " ",
		"  "), "''"),
		-1) {
		u, word := "", m[2]+m[3]
		if _, err := unit.ParseTime(word); err == nil {
			u = "s"
		} else if _, err := unit.ParseRate(word); err == nil {
			u = "bps"
		} else if _, err := unit.ParseBytes(word); err == nil {
			u = "bytes"
		}
		v, ok := measure.ParseQuantity(word)
		if old, twice := units[v]; !ok || twice && old != u || u == "" && m[3] != "%" {
			u = "?"
		}
		units[v] = u
		count[v]++
	}
	ast.Walk(&n, visitor(func(n ast.Node) {
		if v, ok := literalValue(n); ok {
			count[v]--
		}
	}))
	for v, u := range units {
		if u == "?" || count[v] != 0 {
			delete(units, v)
		}
	}
	return units
}

// visitor is a function that visits the nodes of an expression.
type visitor func(ast.Node)

// Visit calls v (ast.Visitor).
func (v visitor) Visit(n *ast.Node) { v(*n) }

// literalValue returns the value of a number literal; false for other nodes.
func literalValue(n ast.Node) (float64, bool) {
	switch x := n.(type) {
	case *ast.IntegerNode:
		return float64(x.Value), true
	case *ast.FloatNode:
		return x.Value, true
	}
	return 0, false
}

// findUnitClash returns which comparison, sum or difference of an expression has sides of different units, as far as
// measures and quantities show them; "" if there is no clash. literals are from literalUnits.
func (s *View) findUnitClash(n ast.Node, literals map[float64]string) (what string) {
	ast.Walk(&n, visitor(func(n ast.Node) {
		x, ok := n.(*ast.BinaryNode)
		if !ok || !slices.Contains([]string{"<", "<=", ">", ">=", "==", "!=", "+", "-"}, x.Operator) || what != "" {
			return
		}
		left, isLeft := s.findDimension(x.Left, literals)
		right, isRight := s.findDimension(x.Right, literals)
		if isLeft && isRight && left != right {
			what = fmt.Sprintf("the sides of %s are in %s and %s", x.Operator, unitName(left), unitName(right))
		}
	}))
	return what
}

// findDimension returns the unit of an expression, including its quantities. known is false for an expression that may
// have any unit: a sweep key, a plain number, most products and quotients.
func (s *View) findDimension(n ast.Node, literals map[float64]string) (unit string, known bool) {
	switch x := n.(type) {
	case *ast.IntegerNode, *ast.FloatNode:
		v, _ := literalValue(x)
		unit, known = literals[v]
		return unit, known
	case *ast.IdentifierNode, *ast.MemberNode:
		return s.expressionUnit(x)
	case *ast.UnaryNode:
		return s.findDimension(x.Node, literals)
	case *ast.BuiltinNode:
		if len(x.Arguments) > 0 && slices.Contains([]string{"abs", "min", "max", "mean"}, x.Name) {
			return s.findDimension(x.Arguments[0], literals)
		}
	case *ast.BinaryNode:
		left, isLeft := s.findDimension(x.Left, literals)
		right, isRight := s.findDimension(x.Right, literals)
		_, factorLeft := literalValue(x.Left)
		_, factorRight := literalValue(x.Right)
		factorLeft, factorRight = factorLeft && !isLeft || isLeft && left == "", factorRight && !isRight || isRight &&
			right == ""
		switch {
		case x.Operator == "+" || x.Operator == "-":
			if isLeft {
				return left, true
			}
			return right, isRight
		case x.Operator == "*" && factorLeft:
			return right, isRight
		case (x.Operator == "*" || x.Operator == "/") && factorRight:
			return left, isLeft
		}
	}
	return "", false
}

// unitName returns a unit as messages print it.
func unitName(u string) string {
	switch u {
	case "":
		return "plain numbers"
	case "bps":
		return "bit/s"
	}
	return u
}

// UnitOf returns the unit of a measure by its name in expressions, such as fct or fct_bins; known is false for other
// names.
func (s *View) UnitOf(name string) (unit string, known bool) {
	for i := range s.Shape().Measures {
		if m := &s.Shape().Measures[i]; m.Name == name {
			return m.Unit, true
		}
	}
	for i := range s.Shape().Bins {
		if b := &s.Shape().Bins[i]; b.Name+"_bins" == name {
			return b.Unit, true
		}
	}
	return "", false
}
