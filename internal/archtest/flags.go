package archtest

import (
	"go/ast"
	"go/types"
	"maps"
	"path"
	"slices"
)

// emptyAllowed are methods, by interface, with an empty body as their behaviour, and the reason.
var emptyAllowed = map[string]string{
	"scheme.Config.Params": "a scheme without parameters binds none",
}

// noteEmpty records the methods of a file that have an empty body.
func (c *checker) noteEmpty(f *file, info *types.Info) {
	for _, d := range f.Decls {
		if d, ok := d.(*ast.FuncDecl); ok && d.Recv != nil && d.Body != nil && len(d.Body.List) == 0 {
			if m, ok := info.Defs[d.Name].(*types.Func); ok {
				c.empty[m] = true
			}
		}
	}
}

// checkFlags finds interfaces of any layer that stand for a property: a type has a method only to be found by it. If an
// interface declares one method, no implementation may have an empty body. If it declares several, a method is an
// event, to which a type need not respond, if at least one implementation has a body that is not empty. A method with
// an empty body in all implementations is a property. It belongs into a field, a result, or the Traits of a package.
// Tests, and interfaces of other modules and of the standard library, are not checked.
func (c *checker) checkFlags() {
	var concrete []types.Type
	var interfaces []*types.Named
	for _, p := range slices.Sorted(maps.Keys(c.checked)) {
		pkg := c.checked[p]
		if pkg == nil {
			continue
		}
		for _, name := range pkg.Scope().Names() {
			t, ok := pkg.Scope().Lookup(name).(*types.TypeName)
			if !ok || t.IsAlias() {
				continue
			}
			named := t.Type().(*types.Named)
			switch x := named.Underlying().(type) {
			case *types.Interface:
				if named.TypeParams() == nil && x.IsMethodSet() {
					interfaces = append(interfaces, named)
				}
			default:
				if named.TypeParams() == nil {
					concrete = append(concrete, types.NewPointer(named))
				}
			}
		}
	}
	for _, named := range interfaces {
		c.flagMethods(named, concrete)
	}
}

// flagMethods adds a violation for each implementation of a method that an interface declares itself and that is a
// property, as checkFlags describes. The list concrete has pointers to all types that may implement it.
func (c *checker) flagMethods(named *types.Named, concrete []types.Type) {
	own := named.Underlying().(*types.Interface)
	full, empty := map[string]int{}, map[string][]*types.Func{}
	for _, t := range concrete {
		if !types.Implements(t, own) {
			continue
		}
		for m := range own.ExplicitMethods() {
			o, _, _ := types.LookupFieldOrMethod(t, true, m.Pkg(), m.Name())
			f, ok := o.(*types.Func)
			switch {
			case !ok: // it is the method of an embedded interface
			case c.empty[f.Origin()]:
				empty[m.Name()] = append(empty[m.Name()], f)
			default:
				full[m.Name()]++
			}
		}
	}
	what := path.Base(named.Obj().Pkg().Path()) + "." + named.Obj().Name()
	for _, m := range slices.Sorted(maps.Keys(empty)) {
		if own.NumExplicitMethods() > 1 && full[m] > 0 {
			continue // an event to which some do not respond
		}
		if emptyAllowed[what+"."+m] != "" {
			continue
		}
		for _, f := range empty[m] {
			c.fail(f.Pos(),
				"method %s of interface %s has an empty body: it is a property; put it into a field or Traits", m, what)
		}
	}
}
