package archtest

import (
	"go/ast"
	"go/token"
	"go/types"
)

// fusion finds products that are added to something, which a compiler may round once instead of twice: where there is
// such an instruction (arm64, ppc64, s390x, amd64 from v3 on) x*y + z has other bits than elsewhere, and one seed other
// results. The language rounds what is converted, so float64(x*y) + z is the same everywhere. A product that a variable
// of the function had before is one, too; one that an inlined function is given or returns is not seen.
type fusion struct {
	*checker
	info *types.Info
	held map[string]bool // variables that have been assigned a product
}

// checkFused goes through the functions of a file.
func (c *checker) checkFused(f *file, info *types.Info) {
	for _, d := range f.Decls {
		x := &fusion{c, info, map[string]bool{}}
		ast.Inspect(d, x.visit)
	}
}

// visit checks a node, and records variables that hold products. ast.Inspect calls it in the order of the source. It
// returns false if it has inspected the parts of n itself.
func (x *fusion) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		if n.Op == token.ADD || n.Op == token.SUB {
			x.added(n.X)
			x.added(n.Y)
		}
	case *ast.AssignStmt:
		switch n.Tok {
		case token.ADD_ASSIGN, token.SUB_ASSIGN:
			x.added(n.Lhs[0])
			x.added(n.Rhs[0])
			return true
		case token.MUL_ASSIGN:
			if x.real(n.Lhs[0]) {
				x.held[types.ExprString(n.Lhs[0])] = true
			}
			return true
		}
		for i, e := range n.Lhs {
			if len(n.Rhs) == len(n.Lhs) {
				ast.Inspect(n.Rhs[i], x.visit) // before the variable has it
				x.held[types.ExprString(e)] = x.product(n.Rhs[i])
			}
		}
		return len(n.Rhs) != len(n.Lhs)
	}
	return true
}

// real reports whether an expression is computed in floating point; constants are exact.
func (x *fusion) real(e ast.Expr) bool {
	t := x.info.TypeOf(e)
	if t == nil || x.info.Types[e].Value != nil {
		return false
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsFloat != 0
}

// product reports whether an expression is a product, or its negative, that has not been rounded. A variable with such
// a value is one, too.
func (x *fusion) product(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return x.product(e.X)
	case *ast.UnaryExpr:
		return x.product(e.X)
	case *ast.BinaryExpr:
		return e.Op == token.MUL && x.real(e)
	}
	return x.held[types.ExprString(e)]
}

// added reports a violation if an operand of a sum or a difference is a product that has not been rounded.
func (x *fusion) added(e ast.Expr) {
	if x.product(e) {
		x.fail(e.Pos(), "a product is added that is not rounded, so that other machines have other bits: convert it with "+
			"float64(…)")
	}
}
