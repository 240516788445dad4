package archtest

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// Layer is one row of the table of layers: a folder with all folders below it. Of rows
// within rows the innermost holds.
type Layer struct {
	Name    string
	Imports string // other layers that its packages may depend on, separated by spaces
	Order   string // of its packages, from the lowest: see Check; "" for any order
	Apart   bool   // its packages do not import each other
	Pure    bool   // state machines: see Check
	Modules bool   // may import modules of others
	// Packages are, by their names, the layers that a package may depend on in place of Imports.
	Packages map[string]string
}

// layers are the rules of docs/design.md, from the lowest layer to the highest. Dependencies go
// down only.
var layers = []Layer{
	{Name: "."}, // the pages
	{Name: "core", Pure: true, Order: "unit state < packet scheme < telemetry topology workload < jobs < trace < " +
		"cc dataplane < transport < outcome < fabric"},
	{Name: "papers", Imports: "core", Apart: true, Pure: true},
	{Name: "internal", Imports: "core", Modules: true},
	{Name: "worlds", Imports: "core internal", Modules: true, Order: "live < lab agent switch"},
	{Name: "worlds/sim/parallel"},
	{Name: "worlds/sim", Imports: "core worlds/sim/parallel", Pure: true},
	{Name: "study", Imports: "core internal worlds worlds/sim worlds/sim/parallel", Modules: true,
		Order: "measure < claim < experiment < plan < results figure schemelint < run report < page < " +
			"bench interop workers",
		Packages: map[string]string{"measure": outsideWorlds, "claim": outsideWorlds, "experiment": outsideWorlds}},
	{Name: "internal/testkit", Imports: "core internal worlds worlds/sim worlds/sim/parallel study", Modules: true},
	{Name: "internal/ci", Imports: "core internal internal/testkit", Modules: true},
	{Name: "app/programs", Imports: "core papers"},
	{Name: "app", Imports: ". core papers internal worlds worlds/sim worlds/sim/parallel study app/programs",
		Modules: true},
	{Name: "cmd", Imports: ". core papers internal worlds worlds/sim worlds/sim/parallel study app app/programs",
		Modules: true},
	{Name: "e2e", Imports: ". core papers internal internal/testkit worlds worlds/sim worlds/sim/parallel study app " +
		"app/programs cmd", Modules: true},
}

// outsideWorlds are the layers of packages that serve both worlds and depend on neither.
const outsideWorlds = "core internal"

// impure are packages of the standard library that bring time, other threads,
// the machine or chance into a state machine. A name that ends in a slash stands
// for all packages below it.
var impure = []string{
	"time", "sync", "sync/", "os", "os/", "net", "net/", "log", "log/", "runtime", "runtime/", "unsafe", "syscall",
	"context", "math/rand", "crypto/rand", "hash/maphash", "plugin", "io/ioutil", "C",
}

// random is what a state machine may use of math/rand/v2: streams that are handed
// in, and how one is made; not the functions that draw from the global one.
var random = map[string]bool{"Rand": true, "PCG": true, "Source": true, "New": true, "NewPCG": true}

// unordered is the comment that allows a range over a map, with the reason.
const unordered = "//weir:unordered "

// Violation is one breach of a rule.
type Violation struct {
	At  token.Position
	Msg string
}

// String returns the place of v and its message.
func (v Violation) String() string { return fmt.Sprintf("%v: %s", v.At, v.Msg) }

// file is one parsed source file.
type file struct {
	*ast.File
	name string
	test bool
	used bool // by this build: its constraints hold
}

// edge is an import of a package of the module.
type edge struct {
	to string // folder
	at token.Pos
}

// checker goes through the sources of one module.
type checker struct {
	module   string
	fset     *token.FileSet
	layers   []Layer
	packages map[string][]*file // by folder
	edges    map[string][]edge  // by folder, imports of the module's own packages that are allowed
	checked  map[string]*types.Package
	empty    map[*types.Func]bool // methods with an empty body
	found    []Violation
}

// Check checks all Go sources below fsys, the root of module, against the table
// and returns what it found in the order of the sources:
//
//   - code depends only on its own layer and on the layers that its layer's row names, in all files of any build, be it
//     directly or through other packages;
//   - a package with its subfolders, directly below its layer, imports of its own layer only
//     itself if the layer's packages are Apart, and itself and packages that are lower in
//     the layer's Order if there is one, which then has all packages;
//   - a layer and a package of the table have Go code;
//   - only layers with Modules import what is neither this module's nor the
//     standard library's, and that holds for tests too;
//   - a pure layer does not import impure packages (net/netip is pure), uses of
//     math/rand/v2 only streams, has no go statement, channel or select, and does
//     not range over a map, unless a comment "//weir:unordered reason" at the
//     statement gives a reason why its order has no effect; and it rounds products, by a
//     conversion, before it adds them (see fusion);
//   - no interface stands for a property: see checkFlags.
//
// Tests are bound by the rule about modules only.
func Check(fsys fs.FS, module string, layers []Layer) ([]Violation, error) {
	c := &checker{
		module: module, fset: token.NewFileSet(), layers: layers,
		packages: map[string][]*file{}, edges: map[string][]edge{}, checked: map[string]*types.Package{},
		empty: map[*types.Func]bool{},
	}
	if err := standard.open(); err != nil {
		return nil, err
	}
	if err := c.parseFiles(fsys); err != nil {
		return nil, err
	}
	var folders []string
	for f := range c.packages {
		folders = append(folders, f)
	}
	sort.Strings(folders)
	c.checkVacant(folders)
	for _, folder := range folders {
		r, ok := c.layerOf(folder)
		for _, f := range c.packages[folder] {
			if !ok {
				c.fail(f.Package, "folder %q is in no layer of the table", folder)
				break
			}
			c.checkImports(r, folder, f)
			if r.Pure && !f.test {
				c.checkSyntax(f)
			}
		}
		if ok {
			if _, err := c.Import(path.Join(module, folder)); err != nil {
				return nil, err
			}
		}
	}
	for _, folder := range folders {
		c.checkDependencies(folder)
	}
	c.checkFlags()
	sort.Slice(c.found, func(i, j int) bool {
		a, b := c.found[i].At, c.found[j].At
		if a.Filename != b.Filename {
			return a.Filename < b.Filename
		}
		return a.Offset < b.Offset
	})
	return c.found, nil
}

// exists reports whether fsys has a file or folder of this name. It reports false if it cannot find out.
func exists(fsys fs.FS, name string) bool {
	_, err := fs.Stat(fsys, name)
	return err == nil
}

// parseFiles reads all Go files and groups them by folder. It skips folders that the go command ignores, and other
// modules. A file that cannot be parsed is an error.
func (c *checker) parseFiles(fsys fs.FS) error {
	context := build.Default
	context.OpenFile = func(name string) (io.ReadCloser, error) { return fsys.Open(name) }
	return fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		base := path.Base(name)
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (base[0] == '.' || base[0] == '_' || base == "testdata" || base == "vendor"):
			return fs.SkipDir
		case d.IsDir() && name != "." && exists(fsys, path.Join(name, "go.mod")): // another module
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || base[0] == '.' || base[0] == '_':
			return nil
		}
		src, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(c.fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		folder := path.Dir(name)
		used, err := context.MatchFile(folder, base)
		if err != nil {
			return err
		}
		c.packages[folder] = append(c.packages[folder], &file{f, name, strings.HasSuffix(name, "_test.go"), used})
		return nil
	})
}

// checkVacant adds a violation for each layer and package of the table that has no Go code. The argument folders has
// all folders with Go files.
func (c *checker) checkVacant(folders []string) {
	has := func(name string) bool {
		return slices.ContainsFunc(folders, func(f string) bool { return f == name || strings.HasPrefix(f, name+"/") })
	}
	for _, r := range c.layers {
		if !has(r.Name) {
			c.found = append(c.found, Violation{Msg: fmt.Sprintf("the table has layer %s, which has no Go code", r.Name)})
		}
		for _, pkg := range append(strings.Fields(r.Order), slices.Sorted(maps.Keys(r.Packages))...) {
			if pkg != "<" && !has(r.Name+"/"+pkg) {
				c.found = append(c.found, Violation{Msg: fmt.Sprintf("the table has package %s/%s, which has no Go code",
					r.Name, pkg)})
			}
		}
	}
}

// layerOf returns the row of a folder: of rows within rows the innermost. It returns false for ok if the table has no
// such row.
func (c *checker) layerOf(folder string) (found Layer, ok bool) {
	for _, r := range c.layers {
		if (folder == r.Name || strings.HasPrefix(folder, r.Name+"/")) && len(r.Name) > len(found.Name) {
			found, ok = r, true
		}
	}
	return found, ok
}

// packageOf returns the package of the layer that a folder is in, "" for the layer's own folder.
func (r Layer) packageOf(folder string) string {
	rest, _ := strings.CutPrefix(strings.TrimPrefix(folder, r.Name), "/")
	pkg, _, _ := strings.Cut(rest, "/")
	return pkg
}

// rankOf returns the place of a package in the layer's order, from 0; -1 without one.
func (r Layer) rankOf(pkg string) int {
	for i, rank := range strings.Split(r.Order, "<") {
		if slices.Contains(strings.Fields(rank), pkg) {
			return i
		}
	}
	return -1
}

// whyForbidden returns the reason for which code of a folder in layer r may not import the folder imported in layer
// other. It returns "" if the code may import it.
func (c *checker) whyForbidden(r Layer, folder string, other Layer, imported string) string {
	if r.Name != other.Name {
		imports, own := r.Packages[r.packageOf(folder)]
		switch {
		case !own && slices.Contains(strings.Fields(r.Imports), other.Name):
			return ""
		case own && slices.Contains(strings.Fields(imports), other.Name):
			return ""
		case own:
			return fmt.Sprintf("package %s/%s may not import layer %s", r.Name, r.packageOf(folder), other.Name)
		}
		return fmt.Sprintf("layer %s may not import layer %s", r.Name, other.Name)
	}
	from, to := r.packageOf(folder), r.packageOf(imported)
	switch {
	case from == to:
	case r.Apart:
		return fmt.Sprintf("%s may not import %s: packages of %s do not import each other", folder, imported, r.Name)
	case r.Order == "":
	case r.rankOf(from) < 0:
		return fmt.Sprintf("package %s/%s has no place in the order of its layer", r.Name, from)
	case r.rankOf(to) >= r.rankOf(from):
		return fmt.Sprintf("package %s/%s may not import package %s/%s, which is not below it", r.Name, from, r.Name, to)
	}
	return ""
}

// fail adds a violation at a place of a parsed file.
func (c *checker) fail(at token.Pos, format string, args ...any) {
	c.found = append(c.found, Violation{c.fset.Position(at), fmt.Sprintf(format, args...)})
}

// checkImports checks the direct imports of a file in a folder of layer r, and records the allowed ones of the module's
// packages as edges.
func (c *checker) checkImports(r Layer, folder string, f *file) {
	for _, spec := range f.Imports {
		p, _ := strconv.Unquote(spec.Path.Value)
		first, _, _ := strings.Cut(p, "/")
		rest, own := strings.CutPrefix(p, c.module+"/")
		if p == c.module {
			rest, own = ".", true
		}
		switch {
		case own:
			if f.test {
				continue
			}
			if other, ok := c.layerOf(rest); !ok {
				c.fail(spec.Pos(), "%s is in no layer of the table", p)
			} else if why := c.whyForbidden(r, folder, other, rest); why != "" {
				c.fail(spec.Pos(), "%s", why)
			} else {
				c.edges[folder] = append(c.edges[folder], edge{rest, spec.Pos()})
			}
		case strings.Contains(first, "."):
			if !r.Modules {
				c.fail(spec.Pos(), "layer %s may not import %s: standard library only", r.Name, p)
			}
		case r.Pure && !f.test:
			for _, bad := range impure {
				if p == bad && p != "net/netip" || strings.HasSuffix(bad, "/") && strings.HasPrefix(p, bad) && p != "net/netip" {
					c.fail(spec.Pos(), "layer %s is pure and may not import %s", r.Name, p)
					break
				}
			}
			if spec.Name != nil && spec.Name.Name == "." {
				c.fail(spec.Pos(), "layer %s is pure; a dot import hides what it uses", r.Name)
			}
		}
	}
}

// checkDependencies finds what a package depends on through imports that are allowed one by one, and may not depend on.
// It reports one way to each forbidden layer or package, and leaves it to a package on the way to which the same is
// forbidden.
func (c *checker) checkDependencies(folder string) {
	type step struct {
		folder string
		via    *step
		at     token.Pos // of the first import
	}
	found, visited := map[string]bool{}, map[string]bool{folder: true}
	ways := []*step{{folder: folder}}
	for len(ways) > 0 {
		s := ways[0]
		ways = ways[1:]
		why := c.mayDepend(folder, s.folder)
		way := s.folder
		for v := s.via; v != nil; v = v.via {
			way = v.folder + " → " + way
			if v.folder != folder && why != "" && c.mayDepend(v.folder, s.folder) != "" {
				why = ""
			}
		}
		if why != "" && !found[why] {
			found[why] = true
			c.fail(s.at, "%s, and depends on it: %s", why, way)
		}
		for _, e := range c.edges[s.folder] {
			if visited[e.to] {
				continue
			}
			visited[e.to] = true
			at := s.at
			if s.via == nil {
				at = e.at
			}
			ways = append(ways, &step{e.to, s, at})
		}
	}
}

// mayDepend returns the reason for which a folder may not depend on the folder imported, "" if it may.
func (c *checker) mayDepend(folder, imported string) string {
	r, _ := c.layerOf(folder)
	other, _ := c.layerOf(imported)
	return c.whyForbidden(r, folder, other, imported)
}

// checkSyntax checks the statements of a pure file that need no types: goroutines and channels.
func (c *checker) checkSyntax(f *file) {
	ast.Inspect(f.File, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			c.fail(n.Pos(), "go statement in a pure layer")
		case *ast.ChanType:
			c.fail(n.Pos(), "channel in a pure layer")
		case *ast.SelectStmt:
			c.fail(n.Pos(), "select in a pure layer")
		case *ast.SendStmt:
			c.fail(n.Pos(), "send to a channel in a pure layer")
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				c.fail(n.Pos(), "receive from a channel in a pure layer")
			}
		}
		return true
	})
}

// Import type-checks a package of the module from its parsed files, once, notes its methods with an empty body, and
// checks what needs types if it is pure. Other packages come from the standard library's sources. Errors of types are
// not reported; a cycle of imports, and an import of another module, is an error.
func (c *checker) Import(p string) (*types.Package, error) {
	folder, own := strings.CutPrefix(p, c.module+"/")
	if p == c.module {
		folder, own = ".", true
	}
	if first, _, _ := strings.Cut(p, "/"); !own && strings.Contains(first, ".") {
		return nil, fmt.Errorf("%s is of another module, which is not read", p)
	}
	if !own {
		return standard.Import(p)
	}
	if pkg, ok := c.checked[p]; ok {
		if pkg == nil {
			return nil, fmt.Errorf("%s imports itself", p)
		}
		return pkg, nil
	}
	c.checked[p] = nil
	var files []*ast.File
	var sources []*file
	for _, f := range c.packages[folder] {
		if f.used && !f.test {
			files, sources = append(files, f.File), append(sources, f)
		}
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{},
		Defs: map[*ast.Ident]types.Object{}}
	// Code that does not compile, or imports what a pure package may not, is checked
	// as far as it goes: the compiler reports the rest.
	conf := types.Config{Importer: c, Error: func(error) {}, FakeImportC: true}
	pkg, _ := conf.Check(p, c.fset, files, info)
	c.checked[p] = pkg
	r, ok := c.layerOf(folder)
	for _, f := range sources {
		c.noteEmpty(f, info)
		if ok && r.Pure {
			c.checkTyped(f, info)
			c.checkFused(f, info)
		}
	}
	return pkg, nil
}

// checkTyped checks the statements of a pure file that need types: ranges over maps, and maps.All, Keys and Values,
// without a reason, and the global random stream.
func (c *checker) checkTyped(f *file, info *types.Info) {
	allowed := map[int]bool{} // lines of statements whose order does not matter
	for _, group := range f.Comments {
		for _, comment := range group.List {
			reason, ok := strings.CutPrefix(comment.Text, strings.TrimSpace(unordered))
			if !ok {
				continue
			}
			if strings.TrimSpace(reason) == "" {
				c.fail(comment.Pos(), "%s needs a reason", strings.TrimSpace(unordered))
				continue
			}
			line := c.fset.Position(comment.Pos()).Line
			allowed[line], allowed[line+1] = true, true
		}
	}
	ast.Inspect(f.File, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.RangeStmt:
			t := info.TypeOf(n.X)
			switch {
			case t == nil || t == types.Typ[types.Invalid]:
				c.fail(n.Pos(), "what this ranges over has no known type")
			case ranges(t) && !allowed[c.fset.Position(n.Pos()).Line]:
				c.fail(n.Pos(), "range over a map in a pure layer; sort it, or give the reason: %sreason",
					unordered)
			}
		case *ast.Ident:
			o := info.Uses[n]
			if o == nil || o.Pkg() == nil || o.Parent() != o.Pkg().Scope() {
				return true
			}
			switch o.Pkg().Path() {
			case "math/rand/v2":
				if !random[o.Name()] {
					c.fail(n.Pos(), "rand.%s in a pure layer; only streams that are handed in are allowed", o.Name())
				}
			case "maps":
				if name := o.Name(); (name == "All" || name == "Keys" || name == "Values") &&
					!allowed[c.fset.Position(n.Pos()).Line] {
					c.fail(n.Pos(), "maps.%s in a pure layer; sort it, or give the reason: %sreason",
						name, unordered)
				}
			}
		}
		return true
	})
}

// ranges reports whether a range over a value of type t follows a map's order.
func ranges(t types.Type) bool {
	if p, ok := t.(*types.TypeParam); ok {
		union, _ := p.Constraint().Underlying().(*types.Interface)
		for i := range union.NumEmbeddeds() {
			switch e := union.EmbeddedType(i).(type) {
			case *types.Union:
				for k := range e.Len() {
					if ranges(e.Term(k).Type()) {
						return true
					}
				}
			default:
				if ranges(e) {
					return true
				}
			}
		}
		return false
	}
	_, ok := t.Underlying().(*types.Map)
	return ok
}
