package claim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"weir/core/unit"
	"weir/study/measure"
)

// unitOf is the unit of an expression, as far as its measures show it; known is false
// for what is a plain number and fits any unit.
func (s *View) unitOf(n ast.Node) (unit string, known bool) {
	switch x := n.(type) {
	case *ast.IdentifierNode:
		return s.UnitOf(x.Value)
	case *ast.MemberNode:
		for m := n; ; { // the first name of the chain that is a measure
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
		return s.unitOf(x.Node)
	case *ast.BuiltinNode:
		if len(x.Arguments) > 0 && slices.Contains([]string{"abs", "min", "max", "mean", "floor", "ceil", "round"}, x.Name) {
			return s.unitOf(x.Arguments[0])
		}
	case *ast.BinaryNode:
		left, isLeft := s.unitOf(x.Left)
		right, isRight := s.unitOf(x.Right)
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

// literalUnits tells the units of the numbers in an expression that stand for
// quantities: text is the expression with its quantities, n with their numbers. Numbers
// that also stand for themselves, or for two kinds of quantity, are left out.
func literalUnits(text string, n ast.Node) map[float64]string {
	units, count := map[float64]string{}, map[float64]int{}
	for _, m := range literal.FindAllStringSubmatch(quoted.ReplaceAllString(strings.ReplaceAll(text, " ", "  "), "''"),
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
		if v, ok := literalOf(n); ok {
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

type visitor func(ast.Node)

func (v visitor) Visit(n *ast.Node) { v(*n) }

func literalOf(n ast.Node) (float64, bool) {
	switch x := n.(type) {
	case *ast.IntegerNode:
		return float64(x.Value), true
	case *ast.FloatNode:
		return x.Value, true
	}
	return 0, false
}

// clash says which comparison, sum or difference of an expression has sides of
// different units; "" if none has, as far as measures and quantities show it.
func (s *View) clash(n ast.Node, literals map[float64]string) (what string) {
	ast.Walk(&n, visitor(func(n ast.Node) {
		x, ok := n.(*ast.BinaryNode)
		if !ok || !slices.Contains([]string{"<", "<=", ">", ">=", "==", "!=", "+", "-"}, x.Operator) || what != "" {
			return
		}
		left, isLeft := s.dimension(x.Left, literals)
		right, isRight := s.dimension(x.Right, literals)
		if isLeft && isRight && left != right {
			what = fmt.Sprintf("the sides of %s are in %s and %s", x.Operator, nameOfUnit(left), nameOfUnit(right))
		}
	}))
	return what
}

// dimension is the unit of an expression, quantities included; known is false for what
// may be anything: a sweep key, a plain number, what a product or a quotient comes to.
func (s *View) dimension(n ast.Node, literals map[float64]string) (unit string, known bool) {
	switch x := n.(type) {
	case *ast.IntegerNode, *ast.FloatNode:
		v, _ := literalOf(x)
		unit, known = literals[v]
		return unit, known
	case *ast.IdentifierNode, *ast.MemberNode:
		return s.unitOf(x)
	case *ast.UnaryNode:
		return s.dimension(x.Node, literals)
	case *ast.BuiltinNode:
		if len(x.Arguments) > 0 && slices.Contains([]string{"abs", "min", "max", "mean"}, x.Name) {
			return s.dimension(x.Arguments[0], literals)
		}
	case *ast.BinaryNode:
		left, isLeft := s.dimension(x.Left, literals)
		right, isRight := s.dimension(x.Right, literals)
		_, factorLeft := literalOf(x.Left)
		_, factorRight := literalOf(x.Right)
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

func nameOfUnit(u string) string {
	switch u {
	case "":
		return "plain numbers"
	case "bps":
		return "bit/s"
	}
	return u
}

// UnitOf is the unit of a measure by its name, as expressions have it.
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
