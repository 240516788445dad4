//go:build lint

package archtest

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// loadAll type-checks the packages of the module in dir that patterns name, with their tests, for Linux with all build
// tags of the module. Any error of a package is an error of the whole.
func loadAll(dir string, patterns ...string) ([]*packages.Package, error) {
	config := &packages.Config{
		Mode: packages.NeedName | packages.NeedImports | packages.NeedTypes | packages.NeedSyntax |
			packages.NeedTypesInfo,
		Dir: dir, Tests: true, BuildFlags: []string{"-tags=lint,system,lab,slow"},
	}
	all, err := packages.Load(config, patterns...)
	if err != nil {
		return nil, err
	}
	var failed []error
	for _, p := range all {
		for _, e := range p.Errors {
			failed = append(failed, fmt.Errorf("%s: %w", p.ID, e))
		}
	}
	if len(failed) > 0 {
		return nil, errors.Join(failed...)
	}
	return all, nil
}

// checkExported returns a violation for each exported name that no other package uses and that the exceptions lack, and
// for each exception without a reason or without need. Exceptions are reasons by folder.Name or folder.Type.Method.
func checkExported(all []*packages.Package, module string, published []string, exceptions map[string]string) (
	found []Violation, err error) {
	if len(all) == 0 {
		return nil, errors.New("no packages are loaded")
	}
	unused := unusedNames(all, module, published)
	for _, key := range slices.Sorted(maps.Keys(unused)) {
		if _, ok := exceptions[key]; !ok {
			found = append(found, Violation{unused[key], key + " is exported, and no other package uses it"})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(exceptions)) {
		if exceptions[key] == "" {
			found = append(found, Violation{Msg: key + " has no reason"})
		}
		if _, ok := unused[key]; !ok {
			found = append(found, Violation{Msg: key + " needs no exception: it is unexported, unknown or used"})
		}
	}
	return found, nil
}

// exportedNames finds which exported names of a module other packages use.
type exportedNames struct {
	module   string
	declared map[string]types.Object // by key
	groups   [][]string              // keys of constants of one type, or of one declaration
	used     map[string]bool
	visited  map[types.Type]bool
	ifaces   map[string][]*types.Interface // by the name of a method
	named    []*types.Named                // all types that can have methods
}

// unusedNames returns the exported package-level names and methods of a module that no other package uses, as
// folder.Name and folder.Type.Method, with their places. Names of the published folders count as used, and so do: the
// types in the signature of a name that is used, and in the exported fields of a type that is; the constants of a type
// if one of them is used; and methods that an interface asks for. A package's own tests do not count, except Examples.
func unusedNames(all []*packages.Package, module string, published []string) map[string]token.Position {
	x := &exportedNames{module: module, declared: map[string]types.Object{}, used: map[string]bool{},
		visited: map[types.Type]bool{}, ifaces: map[string][]*types.Interface{}}
	x.addInterfaces(types.Universe.Lookup("error").Type())
	reached := map[*types.Package]bool{}
	for _, p := range all {
		x.addImported(p.Types, reached)
		x.addDeclared(p)
		x.addLocal(p)
	}
	for _, p := range all {
		x.addUses(p)
	}
	for _, folder := range published {
		for key, o := range x.declared {
			if folderOf(o.Pkg(), module) == folder {
				x.used[key] = true
			}
		}
	}
	x.addImplemented()
	x.markReached()
	found := map[string]token.Position{}
	for key, o := range x.declared {
		if !x.used[key] {
			found[key] = all[0].Fset.Position(o.Pos())
		}
	}
	return found
}

// folderOf returns the folder of a package of the module; its external tests are in the same folder.
func folderOf(p *types.Package, module string) string {
	folder := strings.TrimSuffix(p.Path(), "_test")
	if folder == module {
		return "."
	}
	return strings.TrimPrefix(folder, module+"/")
}

// isOwn reports whether an object is a name of the module that other packages can use.
func (x *exportedNames) isOwn(o types.Object) bool {
	return o != nil && o.Pkg() != nil && o.Exported() &&
		(o.Pkg().Path() == x.module || strings.HasPrefix(o.Pkg().Path(), x.module+"/"))
}

// keyOf returns the key of a package-level name or a method, "" for any other object.
func (x *exportedNames) keyOf(o types.Object) string {
	if !x.isOwn(o) {
		return ""
	}
	folder := folderOf(o.Pkg(), x.module)
	if f, ok := o.(*types.Func); ok {
		f = f.Origin()
		if r := f.Signature().Recv(); r != nil {
			n := namedOf(r.Type())
			if n == nil {
				return ""
			}
			return folder + "." + n.Obj().Name() + "." + f.Name()
		}
	}
	if o.Parent() != o.Pkg().Scope() {
		return ""
	}
	return folder + "." + o.Name()
}

// namedOf returns the named type of a type or of its pointer's target, or nil.
func namedOf(t types.Type) *types.Named {
	t = types.Unalias(t)
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	n, _ := t.(*types.Named)
	if n == nil {
		return nil
	}
	return n.Origin()
}

// addDeclared notes the exported names of a package without its tests, and all its named types.
func (x *exportedNames) addDeclared(p *packages.Package) {
	if p.Name == "main" || p.ID != p.PkgPath || strings.HasSuffix(p.PkgPath, "_test") {
		return
	}
	x.addGroups(p)
	for _, name := range p.Types.Scope().Names() {
		o := p.Types.Scope().Lookup(name)
		if key := x.keyOf(o); key != "" {
			x.declared[key] = o
		}
		n := namedOf(o.Type())
		if _, ok := o.(*types.TypeName); !ok || n == nil || n.Obj() != o {
			continue
		}
		for m := range n.Methods() {
			if key := x.keyOf(m); key != "" && n.Obj().Exported() && !types.IsInterface(n) {
				x.declared[key] = m
			}
		}
	}
}

// addGroups notes the sets of constants of a package: the constants of one type of the package, and the constants of
// one declaration.
func (x *exportedNames) addGroups(p *packages.Package) {
	byType := map[types.Type][]string{}
	for _, f := range p.Syntax {
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST {
				continue
			}
			var keys []string
			for _, s := range g.Specs {
				for _, id := range s.(*ast.ValueSpec).Names {
					o := p.TypesInfo.Defs[id]
					key := x.keyOf(o)
					if key == "" {
						continue
					}
					keys = append(keys, key)
					if n := namedOf(o.Type()); n != nil && n.Obj().Pkg() == o.Pkg() {
						byType[n] = append(byType[n], key)
					}
				}
			}
			x.groups = append(x.groups, keys)
		}
	}
	for _, keys := range byType {
		x.groups = append(x.groups, keys)
	}
}

// addLocal notes the interfaces and named types in a package's code, its tests included.
func (x *exportedNames) addLocal(p *packages.Package) {
	for _, o := range p.TypesInfo.Defs {
		if t, ok := o.(*types.TypeName); ok && !t.IsAlias() {
			if n, ok := t.Type().(*types.Named); ok && !types.IsInterface(n) {
				x.named = append(x.named, n)
			}
		}
	}
	for e, tv := range p.TypesInfo.Types {
		if _, ok := e.(*ast.InterfaceType); ok {
			x.addInterfaces(tv.Type)
		}
	}
}

// addImported notes the interfaces of a package and of all that it imports.
func (x *exportedNames) addImported(p *types.Package, reached map[*types.Package]bool) {
	if p == nil || reached[p] {
		return
	}
	reached[p] = true
	for _, name := range p.Scope().Names() {
		if t, ok := p.Scope().Lookup(name).(*types.TypeName); ok {
			x.addInterfaces(t.Type())
		}
	}
	for _, i := range p.Imports() {
		x.addImported(i, reached)
	}
}

func (x *exportedNames) addInterfaces(t types.Type) {
	i, ok := t.Underlying().(*types.Interface)
	if !ok {
		return
	}
	for m := range i.Methods() {
		x.ifaces[m.Name()] = append(x.ifaces[m.Name()], i)
	}
}

// addUses records the names that a package uses of others, and that its Examples use of itself.
func (x *exportedNames) addUses(p *packages.Package) {
	folder := folderOf(p.Types, x.module)
	for _, f := range p.Syntax {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			example := ok && strings.HasPrefix(fn.Name.Name, "Example")
			ast.Inspect(d, func(n ast.Node) bool {
				id, ok := n.(*ast.Ident)
				if !ok {
					return true
				}
				o := p.TypesInfo.Uses[id]
				if key := x.keyOf(o); key != "" && (example || folderOf(o.Pkg(), x.module) != folder) {
					x.used[key] = true
				}
				return true
			})
		}
	}
}

// addImplemented marks the methods by which a type implements an interface.
func (x *exportedNames) addImplemented() {
	for _, n := range x.named {
		pointer := types.NewPointer(n)
		set := types.NewMethodSet(pointer)
		for s := range set.Methods() {
			m := s.Obj()
			key := x.keyOf(m)
			if key == "" || x.used[key] {
				continue
			}
			x.used[key] = slices.ContainsFunc(x.ifaces[m.Name()], func(i *types.Interface) bool {
				return n.TypeParams().Len() > 0 || types.Implements(pointer, i)
			})
		}
	}
}

// markReached marks the names that are reachable from the used names.
func (x *exportedNames) markReached() {
	done := map[string]bool{}
	for {
		before := len(done)
		for _, key := range slices.Sorted(maps.Keys(x.used)) {
			o := x.declared[key]
			if o == nil || done[key] {
				continue
			}
			done[key] = true
			x.markType(o.Type())
		}
		for _, group := range x.groups {
			if slices.ContainsFunc(group, func(key string) bool { return x.used[key] }) {
				for _, key := range group {
					x.used[key] = true
				}
			}
		}
		if len(done) == before {
			return
		}
	}
}

// markType marks the named types that a type consists of.
func (x *exportedNames) markType(t types.Type) {
	if t == nil || x.visited[t] {
		return
	}
	x.visited[t] = true
	switch t := t.(type) {
	case *types.Alias:
		if key := x.keyOf(t.Obj()); key != "" {
			x.used[key] = true
		}
		x.markType(types.Unalias(t))
	case *types.Named:
		if key := x.keyOf(t.Obj()); key != "" {
			x.used[key] = true
		}
		for a := range t.TypeArgs().Types() {
			x.markType(a)
		}
		if t.Obj().Pkg() != nil && strings.HasPrefix(t.Obj().Pkg().Path()+"/", x.module+"/") {
			x.markType(t.Underlying())
		}
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() || f.Embedded() {
				x.markType(f.Type())
			}
		}
	case *types.Signature:
		x.markTuple(t.Params())
		x.markTuple(t.Results())
	case *types.Interface:
		for m := range t.Methods() {
			if m.Exported() {
				x.markType(m.Type())
			}
		}
	case *types.Map:
		x.markType(t.Key())
		x.markType(t.Elem())
	case interface{ Elem() types.Type }: // pointer, slice, array, channel
		x.markType(t.Elem())
	}
}

func (x *exportedNames) markTuple(t *types.Tuple) {
	for v := range t.Variables() {
		x.markType(v.Type())
	}
}
