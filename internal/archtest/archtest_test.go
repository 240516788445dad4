package archtest

import (
	"fmt"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// source returns a fixture: one file of a pure package with its imports and its code.
func source(imports, body string) string {
	return "package dataplane\n" + imports + "\n" + body + "\n"
}

// module is the path of this module.
const module = "weir"

const pure = "core/dataplane/x.go"

// fixture is a file in a module without other violations.
type fixture struct {
	name, file, src string
	want            string // part of the only violation; "" for none
}

// crossing are imports between layers and packages.
var crossing = []fixture{
	{"clean", pure, source(`import ("fmt"; "net/netip"; "embed"; "io/fs"; "weir/core/unit"; "weir/core/dataplane/tm")`,
		`var _, _, _ = fmt.Sprint, netip.Addr{}, unit.Y; var _ = tm.X; var _ embed.FS; var _ fs.FS`), ""},
	{"layer above", pure, source(`import _ "weir/worlds/sim"`, ""), "layer core may not import layer worlds"},
	{"layer above, from a folder below", "core/dataplane/balance/ecmp/x.go",
		"package ecmp\nimport _ \"weir/study/experiment\"\n",
		"layer core may not import layer study"},
	{"same rank", pure, source(`import _ "weir/core/cc"`, ""), "core/dataplane may not import package core/cc"},
	{"rank above", "core/unit/x.go", "package unit\nimport _ \"weir/core/packet\"\n",
		"core/unit may not import package core/packet"},
	{"rank below", pure, source(`import _ "weir/core/trace"`, ""), ""},
	{"package without a rank", "core/helpers/x.go", "package helpers\nimport _ \"weir/core/unit\"\n",
		"core/helpers has no place"},
	{"papers", "papers/p4abc/x.go", "package p4abc\nimport _ \"weir/papers/hpcc\"\n",
		"packages of papers do not import each other"},
	{"folder of a paper", "papers/p4abc/x.go", "package p4abc\nimport _ \"weir/papers/p4abc/meter\"\n", ""},
	{"worlds to a paper", "worlds/lab/x.go", "package lab\nimport _ \"weir/papers/p4abc\"\n",
		"layer worlds may not import layer papers"},
	{"live to the lab", "worlds/live/x.go", "package live\nimport _ \"weir/worlds/lab\"\n",
		"package worlds/live may not import package worlds/lab, which is not below it"},
	{"switch to the lab", "worlds/switch/x.go", "package softswitch\nimport _ \"weir/worlds/lab\"\n",
		"package worlds/switch may not import package worlds/lab, which is not below it"},
	{"switch to live", "worlds/switch/x.go", "package softswitch\nimport _ \"weir/worlds/live\"\n", ""},
	{"study to a paper", "study/run/x.go", "package run\nimport _ \"weir/papers/p4abc\"\n",
		"layer study may not import layer papers"},
	{"experiment to a world", "study/experiment/x.go", "package experiment\nimport _ \"weir/worlds/sim\"\n",
		"package study/experiment may not import layer worlds/sim"},
	{"measure to a world", "study/measure/x.go", "package measure\nimport _ \"weir/worlds/lab\"\n",
		"package study/measure may not import layer worlds"},
	{"experiment to its own layer, and below", "study/experiment/x.go",
		"package experiment\nimport (_ \"weir/core/unit\"; _ \"weir/study/claim\")\n", ""},
	{"plumbing to a world", "internal/rtnl/x.go", "package rtnl\nimport _ \"weir/worlds/lab\"\n",
		"layer internal may not import layer worlds"},
	{"sim to plumbing", "worlds/sim/x.go", "package sim\nimport _ \"weir/internal/rtnl\"\n",
		"worlds/sim may not import layer internal"},
	{"unlisted folder", "helpers/x.go", "package helpers\n", `folder "helpers" is in no layer`},
	{"root folder", "x.go", "package weir\nimport _ \"weir/core/unit\"\n", "layer . may not import layer core"},
	{"root folder is for the program", "study/run/x.go", "package run\nimport _ \"" + module + "\"\n",
		"layer study may not import layer ."},
	{"program to the root folder", "cmd/weir/x.go", "package main\nimport _ \"" + module + "\"\n", ""},
	{"unlisted import", pure, source(`import _ "`+module+`/helpers"`, ""), module + "/helpers is in no layer"},
	{"prefix is not a layer", "studying/x.go", "package studying\n", "in no layer"},
	{"study", "study/run/x.go", "package run\nimport (_ \"weir/worlds/sim\"; _ \"os\"; _ \"example.org/yaml\"; _ " +
		"\"weir/study/experiment\")\n", ""},
	{"study to the facade", "study/run/x.go", "package run\nimport _ \"weir/app\"\n",
		"layer study may not import layer app"},
	{"cmd", "cmd/weir/x.go", "package main\nimport (_ \"weir/study/bench\"; _ \"weir/core/unit\"; _ " +
		"\"weir/papers/ncf\")\n", ""},
	{"module", pure, source(`import _ "example.org/set"`, ""), "standard library only"},
	{"module in sim", "worlds/sim/x.go", "package sim\nimport _ \"example.org/set\"\n", "standard library only"},
	{"module in a test", "core/dataplane/x_test.go", source(`import _ "example.org/set"`, ""), "standard library only"},
}

// nameOf returns the name of a folder's package. A word of the language cannot be one.
func nameOf(folder string) string {
	base := path.Base(folder)
	if token.IsKeyword(base) {
		return "soft" + base
	}
	return base
}

// acting is code that a state machine must not have, and similar code that is allowed.
var acting = []fixture{
	{"time", pure, source(`import _ "time"`, ""), "may not import time"},
	{"time in unit", "core/unit/x.go", "package unit\nimport _ \"time\"\nvar X int\n", "may not import time"},
	{"time in sim", "worlds/sim/x.go", "package sim\nimport _ \"time\"\n", "may not import time"},
	{"sync", pure, source(`import _ "sync"`, ""), "may not import sync"},
	{"atomic", pure, source(`import _ "sync/atomic"`, ""), "may not import sync/atomic"},
	{"os", pure, source(`import _ "os"`, ""), "may not import os"},
	{"net", pure, source(`import _ "net"`, ""), "may not import net"},
	{"http", pure, source(`import _ "net/http"`, ""), "may not import net/http"},
	{"log", pure, source(`import _ "log/slog"`, ""), "may not import log/slog"},
	{"runtime", pure, source(`import _ "runtime"`, ""), "may not import runtime"},
	{"unsafe", pure, source(`import _ "unsafe"`, ""), "may not import unsafe"},
	{"rand v1", pure, source(`import _ "math/rand"`, ""), "may not import math/rand"},
	{"rand stream", pure, source(`import "math/rand/v2"`,
		`func f() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }; func g(r *rand.Rand) int { return r.IntN(3) }`), ""},
	{"rand global", pure, source(`import "math/rand/v2"`, `func f() int { return rand.IntN(3) }`), "rand.IntN"},
	{"rand global renamed", pure, source(`import chance "math/rand/v2"`, `func f() float64 { return chance.Float64() }`),
		"rand.Float64"},
	{"dot import", pure, source(`import . "math"`, `var _ = Pi`), "dot import"},
	{"go", pure, source("", `func f() { go f() }`), "go statement"},
	{"chan", pure, source("", `func f(c chan int) {}`), "channel"},
	{"select", pure, source("", `func f() { select {} }`), "select"},
	{"map", pure, source("", `func f(m map[int]int) (n int) { for k := range m { n += k }; return }`),
		"range over a map"},
	{"named map", pure, source(`import "weir/core/unit"`, `func f(m unit.Table) { for range m {} }`), "range over a map"},
	{"map behind a call", pure,
		source("", `type t map[int]int; func (t) g() t { return nil }; func f(m t) { for range m.g() {} }`),
		"range over a map"},
	{"map as a type parameter", pure, source("", `func f[M ~map[int]V, V any](m M) { for range m {} }`),
		"range over a map"},
	{"map in a constraint", pure, source("", `type c interface { ~map[int]int }; func f[M c](m M) { for range m {} }`),
		"range over a map"},
	{"maps.Keys", pure, source(`import "maps"`, `func f(m map[int]int) { for range maps.Keys(m) {} }`), "maps.Keys"},
	{"map with a reason", pure, source("", "func f(m map[int]int) (n int) {\n//weir:unordered a sum\nfor k := range m "+
		"{ n += k }\nreturn }"), ""},
	{"map with a reason in line", pure,
		source("", "func f(m map[int]int) (n int) {\nfor k := range m { //weir:unordered a sum\nn += k }\nreturn }"), ""},
	{"reason is missing", pure, source("", "func f(s []int) {\n//weir:unordered\nfor range s {}\n}"), "needs a reason"},
	{"unknown type", pure, source("", `func f() { for range nothing {} }`), "no known type"},
	{"sum of a product", pure, source("", `func f(x, y, z float64) float64 { return z - (x*y) }`), "not rounded"},
	{"product on the left", pure, source("", `func f(x, y float32) float32 { return -x*y + 1 }`), "not rounded"},
	{"product of a named type", pure, source("", `type s float64; func f(x s) s { x += 0.1 * x; return x }`),
		"not rounded"},
	{"product that has a name", pure, source("", `func f(x, y, z float64) float64 { x *= y; return x + z }`),
		"not rounded"},
	{"product that is assigned", pure,
		source("", `type s struct{ v float64 }; func f(x *s) { x.v = 0.3 * x.v; x.v += 1 }`), "not rounded"},
	{"rounded product", pure, source("", `func f(x, y, z float64) float64 { x = float64(x * y); z += x; return z + `+
		`float64(x*y) - x*y/z }`), ""},
	{"product of integers, or of constants", pure,
		source("", `func f(x, y int, z float64) (int, float64) { return x*y + 1, z + 3*0.5 }`), ""},
	{"variable that was a product", pure, source("", `func f(x, y float64) float64 { z := x * y; z = x; return z + y }`),
		""},
	{"interface for a property", pure, source("", `type I interface{ M() }; type x struct{}; func (x) M() {}`),
		"method M of interface dataplane.I has an empty body"},
	{"interface for a property in a layer that is not pure", "study/run/x.go",
		"package run\ntype i interface{ m() }\ntype x struct{}\nfunc (x) m() {}\n",
		"method m of interface run.i has an empty body"},
	{"event in a layer that is not pure", "study/run/x.go", "package run\ntype i interface{ m(); n() }\n" +
		"type x struct{}\nfunc (x) m() {}\nfunc (x) n() {}\ntype y struct{ k int }\nfunc (y *y) m() { y.k++ }\n" +
		"func (y *y) n() { y.k-- }\n", ""},
	{"property next to behaviour", pure, source("", `type I interface{ error; M() }; type x struct{}; func (x) M() {}; `+
		`func (x) Error() string { return "" }`), "method M of interface dataplane.I has an empty body"},
	{"event without an answer", pure, source("", `type I interface{ M(); N() }; type x struct{}; func (x) M() {}; `+
		`func (x) N() { f() }; func f() {}`), "method M of interface dataplane.I has an empty body"},
	{"event that one type answers", pure, source("", `type I interface{ M(); N() }; type x struct{}; func (x) M() {}; `+
		`func (x) N() { f() }; type y struct{ x }; func (y) M() { f() }; func (y) N() {}; func f() {}`), ""},
	{"slice", pure, source("", `func f(s []int) { for range s {}; for range 3 {} }`), ""},
	{"test of a pure layer", "core/dataplane/x_test.go", source(`import ("sync"; "weir/worlds/sim")`,
		`func f(m map[int]sync.Mutex) { go sim.F(); for range m {} }`), ""},
	{"impure layer", "study/run/x.go", "package run\nimport \"sync\"\nfunc f(m map[int]sync.Mutex) { go f(nil); for " +
		"range m {} }\n", ""},
	{"other build", "core/dataplane/x_windows.go", source("", `func f() { go f() }`), "go statement"},
	{"ignored folder", "core/dataplane/testdata/x.go", source(`import _ "time"`, ""), ""},
}

func TestCheckCatches(t *testing.T) {
	for _, c := range slices.Concat(crossing, acting) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			fsys := complete()
			fsys[c.file] = &fstest.MapFile{Data: []byte(c.src)}
			found, err := Check(fsys, module, layers)
			if err != nil {
				t.Fatal(err)
			}
			if c.want == "" {
				if len(found) > 0 {
					t.Errorf("found %v", found)
				}
				return
			}
			if len(found) != 1 || !strings.Contains(found[0].Msg, c.want) || found[0].At.Filename != c.file {
				t.Errorf("found %v, want one with %q in %s", found, c.want, c.file)
			}
		})
	}
}

// TestCheckCatchesDependencies checks that a forbidden dependency on a layer is found when it leads through other
// packages, each of which may import the next. The chain is reported once, at the first import that leads there,
// under any build constraints of its files.
func TestCheckCatchesDependencies(t *testing.T) {
	layers := []Layer{{Name: "core"}, {Name: "worlds", Imports: "core"}, {Name: "study", Imports: "core worlds",
		Packages: map[string]string{"claim": "core"}, Order: "unitless < measure < claim < run"}}
	const measure = "package measure\nimport _ \"" + module + "/%s\"\n"
	const claim = "package claim\nimport (\n\t_ \"weir/core\"\n\t_ \"weir/study/measure\"\n)\n"
	const chain = "study/claim/x.go:4:2: package study/claim may not import layer worlds, and depends on it: " +
		"study/claim → study/measure → "
	for name, x := range map[string]struct {
		change func(fsys fstest.MapFS)
		want   []string
	}{
		"no world": {func(fstest.MapFS) {}, nil},
		"through one package": {func(fsys fstest.MapFS) {
			fsys["study/measure/x.go"] = &fstest.MapFile{Data: fmt.Appendf(nil, measure, "worlds/sim")}
		}, []string{chain + "worlds/sim"}},
		"through one of another build": {func(fsys fstest.MapFS) {
			fsys["study/measure/x_plan9.go"] = &fstest.MapFile{Data: fmt.Appendf(nil, "//go:build slow\n\n"+measure,
				"worlds/sim")}
		}, []string{chain + "worlds/sim"}},
		"through a test": {func(fsys fstest.MapFS) {
			fsys["study/measure/x_test.go"] = &fstest.MapFile{Data: fmt.Appendf(nil, measure, "worlds/sim")}
		}, nil},
		"through two": {func(fsys fstest.MapFS) {
			fsys["study/measure/x.go"] = &fstest.MapFile{Data: fmt.Appendf(nil, measure, "study/unitless")}
			fsys["study/unitless/x.go"] = &fstest.MapFile{Data: []byte("package unitless\nimport _ \"weir/worlds/lab\"\n")}
		}, []string{chain + "study/unitless → worlds/lab"}},
		"to two packages of the layer": {func(fsys fstest.MapFS) {
			fsys["study/measure/x.go"] = &fstest.MapFile{Data: fmt.Appendf(nil, measure, "worlds/sim")}
			fsys["worlds/sim/y.go"] = &fstest.MapFile{Data: []byte("package sim\nimport _ \"weir/worlds/lab\"\n")}
		}, []string{chain + "worlds/sim"}},
		"from a package that may": {func(fsys fstest.MapFS) {
			fsys["study/run/x.go"] = &fstest.MapFile{Data: []byte("package run\nimport _ \"weir/worlds/sim\"\n")}
		}, nil},
		"directly, from a package above": {func(fsys fstest.MapFS) {
			fsys["study/claim/y.go"] = &fstest.MapFile{Data: []byte("package claim\nimport _ \"weir/worlds/sim\"\n")}
			fsys["study/run/x.go"] = &fstest.MapFile{Data: []byte("package run\nimport _ \"weir/study/claim\"\n")}
		}, []string{"study/claim/y.go:2:8: package study/claim may not import layer worlds"}},
	} {
		t.Run(name, func(t *testing.T) {
			fsys := fstest.MapFS{"study/claim/x.go": {Data: []byte(claim)}}
			for _, folder := range []string{"core", "worlds/sim", "worlds/lab", "study/unitless", "study/measure", "study/run"} {
				fsys[folder+"/doc.go"] = &fstest.MapFile{Data: []byte("package " + nameOf(folder) + "\n")}
			}
			x.change(fsys)
			found, err := Check(fsys, module, layers)
			var got []string
			for _, v := range found {
				got = append(got, v.String())
			}
			if err != nil || !slices.Equal(got, x.want) {
				t.Errorf("found %q, %v; want %q", got, err, x.want)
			}
		})
	}
}

// complete returns a module in which every layer and package of the table has code.
func complete() fstest.MapFS {
	fsys := fstest.MapFS{
		"core/unit/unit.go":       {Data: []byte("package unit\nvar Y int\ntype Table map[int]int\n")},
		"core/dataplane/tm/tm.go": {Data: []byte("package tm\nvar X int\n")},
	}
	for _, r := range layers {
		fsys[path.Join(r.Name, "doc.go")] = &fstest.MapFile{Data: []byte("package complete\n")}
		for _, pkg := range strings.Fields(r.Order) {
			if pkg != "<" {
				fsys[r.Name+"/"+pkg+"/doc.go"] = &fstest.MapFile{Data: []byte("package " + nameOf(pkg) + "\n")}
			}
		}
	}
	return fsys
}

// TestCheck_RejectsRowsWithoutCode checks that a layer or a package of the table without code is refused.
func TestCheck_RejectsRowsWithoutCode(t *testing.T) {
	for _, gone := range []string{"cmd/doc.go", "core/topology/doc.go"} {
		t.Run(gone, func(t *testing.T) {
			fsys := complete()
			delete(fsys, gone)
			found, err := Check(fsys, module, layers)
			if err != nil || len(found) != 1 || !strings.Contains(found[0].Msg, path.Dir(gone)+", which has no Go code") {
				t.Errorf("%v, %v", found, err)
			}
		})
	}
}

// TestLayers_ImportOnlyRowsAbove checks the table itself: names occur once, and an arrow points to a row above.
func TestLayers_ImportOnlyRowsAbove(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range layers {
		for _, name := range strings.Fields(r.Imports) {
			if !seen[name] {
				t.Errorf("%s imports %s, which is no row above it", r.Name, name)
			}
		}
		if seen[r.Name] {
			t.Errorf("%s is here twice", r.Name)
		}
		seen[r.Name] = true
		if r.Pure && r.Modules {
			t.Errorf("%s is pure and may import modules", r.Name)
		}
	}
}

func ExampleCheck() {
	fsys := fstest.MapFS{
		"core/unit/time.go":   {Data: []byte("package unit\n")},
		"core/cc/cubic/cc.go": {Data: []byte("package cubic\nimport \"time\"\nvar start = time.Now()\n")},
	}
	found, err := Check(fsys, module, []Layer{{Name: "core", Order: "unit < cc", Pure: true}})
	fmt.Println(found, err)
	// Output: [core/cc/cubic/cc.go:2:8: layer core is pure and may not import time] <nil>
}
