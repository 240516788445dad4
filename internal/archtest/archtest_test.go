package archtest

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path/filepath"
	"sort"
	"strings"
	"testing"
)

const root = "../.."

// sources returns the non-test files of every package of the module, by path.
func sources(t *testing.T, fset *token.FileSet) map[string][]*ast.File {
	t.Helper()
	out := map[string][]*ast.File{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := filepath.Base(name)
		if d.IsDir() && name != root && (strings.HasPrefix(base, ".") && base != ".." || base == "testdata" || base == "results") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(base, ".go") || strings.HasSuffix(base, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, filepath.Dir(name))
		if err != nil {
			return err
		}
		path := "weir/" + filepath.ToSlash(rel)
		out[path] = append(out[path], f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Imports point left, pure rooms are pure, every package says what it is.
func TestHouse(t *testing.T) {
	fset := token.NewFileSet()
	packages := sources(t, fset)
	if len(packages) < 15 {
		t.Fatalf("only %d packages were found", len(packages))
	}
	for path, files := range packages {
		documented := false
		for _, f := range files {
			for _, v := range Check(fset, path, f) {
				t.Error(v)
			}
			documented = documented || f.Doc != nil
		}
		if !documented {
			t.Errorf("%s has no package comment", path)
		}
	}
}

// A range over a map has no order, so pure rooms do not have one, but where a
// comment says why the order does not matter: //weir:unordered reason.
func TestNoMapOrder(t *testing.T) {
	fset := token.NewFileSet()
	packages := sources(t, fset)
	imports := importer.ForCompiler(fset, "source", nil)
	checked := map[string]*types.Package{}
	var load func(path string) (*types.Package, error)
	load = func(path string) (*types.Package, error) {
		if p := checked[path]; p != nil {
			return p, nil
		}
		files, ours := packages[path]
		if !ours {
			return imports.Import(path)
		}
		info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
		conf := types.Config{Importer: importerFunc(load)}
		p, err := conf.Check(path, fset, files, info)
		if err != nil {
			return nil, err
		}
		checked[path] = p
		if pure(path) {
			for _, f := range files {
				excused := excuses(fset, f)
				ast.Inspect(f, func(n ast.Node) bool {
					r, ok := n.(*ast.RangeStmt)
					if !ok {
						return true
					}
					if _, isMap := info.Types[r.X].Type.Underlying().(*types.Map); isMap && !excused[fset.Position(r.Pos()).Line] {
						t.Errorf("%s: %s ranges over a map; sort the keys, or say //weir:unordered why", fset.Position(r.Pos()), path)
					}
					return true
				})
			}
		}
		return p, nil
	}
	var paths []string
	for path := range packages {
		if pure(path) {
			paths = append(paths, path)
		}
	}
	sort.Strings(paths)
	for _, path := range paths {
		if _, err := load(path); err != nil {
			t.Fatal(err)
		}
	}
}

// excuses are the lines below which a comment stands that excuses a range.
func excuses(fset *token.FileSet, f *ast.File) map[int]bool {
	out := map[int]bool{}
	for _, g := range f.Comments {
		for _, c := range g.List {
			if strings.HasPrefix(c.Text, "//weir:unordered ") {
				out[fset.Position(c.Pos()).Line+1] = true
			}
		}
	}
	return out
}

type importerFunc func(string) (*types.Package, error)

func (f importerFunc) Import(path string) (*types.Package, error) { return f(path) }

// The rules catch what they are for.
func TestRulesCatch(t *testing.T) {
	for _, c := range []struct{ path, source, want string }{
		{"weir/packet", `package packet; import "weir/sim"`, "not to its left"},
		{"weir/p4abc", `package p4abc; import "weir/hpcc"`, "not to its left"},
		{"weir/fabric", `package fabric; import "weir/transport"`, "not to its left"},
		{"weir/unit", `package unit; import "weir/packet"`, "not to its left"},
		{"weir/topology", `package topology; import "weir/scheme"`, "may import [unit packet]"},
		{"weir/garage", `package garage`, "not in archtest's table"},
		{"weir/unit", `package unit; import "weir/garage"`, "not in archtest's table"},
		{"weir/p4abc", `package p4abc; import "time"`, "pure room"},
		{"weir/sim", `package sim; import "sync"`, "pure room"},
		{"weir/dataplane", `package dataplane; import "gonum.org/v1/plot"`, "modules of others"},
		{"weir/dataplane/tm", `package tm; func f() { go f() }`, "goroutine"},
		{"weir/fabric", `package fabric; var c chan int`, "channel"},
		{"weir/fabric", `package fabric; func f() { select {} }`, "select"},
		{"weir/unit", `package unit; import "math/rand/v2"; var x = rand.IntN(3)`, "global source"},
		{"weir/unit", `package unit; import "math/rand"`, "pure room"},
		{"weir/report", `package report; import "weir/internal/testutil"`, "for tests"},
	} {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, "x.go", c.source, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(Check(fset, c.path, f), "\n"); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s\ngives %q, want %q", c.path, c.source, got, c.want)
		}
	}
	fset := token.NewFileSet()
	f, _ := parser.ParseFile(fset, "x.go", `package sim; import ("weir/fabric"; "math/rand/v2"; "net/netip"); var r = rand.New(rand.NewPCG(1, 2))`, 0)
	if got := Check(fset, "weir/sim", f); got != nil {
		t.Errorf("a clean file: %v", got)
	}
}
