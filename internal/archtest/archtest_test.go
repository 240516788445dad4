package archtest

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

// TestRooms holds this module against DESIGN.md's order of rooms.
func TestRooms(t *testing.T) {
	found, err := Check(os.DirFS("../.."), "weir", Rooms)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range found {
		t.Error(v)
	}
}

// source is a fixture: one file of a pure room with what it imports and does.
func source(imports, body string) string {
	return "package dataplane\n" + imports + "\n" + body + "\n"
}

func TestCheckCatches(t *testing.T) {
	const room = "dataplane/x.go"
	for _, c := range []struct {
		name, file, src string
		want            string // part of the only violation; "" for none
	}{
		{"clean", room, source(`import ("fmt"; "net/netip"; "embed"; "io/fs"; "weir/unit"; "weir/dataplane/tm")`,
			`var _, _, _ = fmt.Sprint, netip.Addr{}, unit.Y; var _ = tm.X; var _ embed.FS; var _ fs.FS`), ""},
		{"right", room, source(`import _ "weir/sim"`, ""), "room dataplane may not import room sim"},
		{"right in a folder below", "dataplane/ecmp/x.go", "package ecmp\nimport _ \"weir/experiment\"\n", "dataplane may not import room experiment"},
		{"same braces", room, source(`import _ "weir/cc"`, ""), "dataplane may not import room cc"},
		{"papers", "p4abc/x.go", "package p4abc\nimport _ \"weir/hpcc\"\n", "p4abc may not import room hpcc"},
		{"trace from the same braces", room, source(`import _ "weir/trace"`, ""), ""},
		{"unlisted folder", "helpers/x.go", "package helpers\n", `folder "helpers" is in no room`},
		{"root folder", "x.go", "package weir\n", `folder "." is in no room`},
		{"unlisted import", room, source(`import _ "weir/helpers"`, ""), "weir/helpers is in no room"},
		{"prefix is not a room", "simulator/x.go", "package simulator\n", "in no room"},
		{"room within a room", "fabric/wiring/x.go", "package wiring\nimport _ \"weir/topology\"\n", ""},
		{"room around a room", "fabric/x.go", "package fabric\nimport _ \"weir/topology\"\n", "fabric may not import room topology"},
		{"left of experiment", "experiment/x.go", "package experiment\nimport (_ \"weir/sim\"; _ \"os\"; _ \"example.org/yaml\")\n", ""},
		{"experiment to report", "experiment/x.go", "package experiment\nimport _ \"weir/report\"\n", "experiment may not import room report"},
		{"cmd", "cmd/weir/x.go", "package main\nimport (_ \"weir/bench\"; _ \"weir/unit\")\n", ""},
		{"module", room, source(`import _ "example.org/set"`, ""), "standard library only"},
		{"module in sim", "sim/x.go", "package sim\nimport _ \"example.org/set\"\n", "standard library only"},
		{"module in a test", "dataplane/x_test.go", source(`import _ "example.org/set"`, ""), "standard library only"},
		{"time", room, source(`import _ "time"`, ""), "may not import time"},
		{"time in unit", "unit/x.go", "package unit\nimport _ \"time\"\nvar X int\n", ""},
		{"time in sim", "sim/x.go", "package sim\nimport _ \"time\"\n", "may not import time"},
		{"sync", room, source(`import _ "sync"`, ""), "may not import sync"},
		{"atomic", room, source(`import _ "sync/atomic"`, ""), "may not import sync/atomic"},
		{"os", room, source(`import _ "os"`, ""), "may not import os"},
		{"net", room, source(`import _ "net"`, ""), "may not import net"},
		{"http", room, source(`import _ "net/http"`, ""), "may not import net/http"},
		{"log", room, source(`import _ "log/slog"`, ""), "may not import log/slog"},
		{"runtime", room, source(`import _ "runtime"`, ""), "may not import runtime"},
		{"unsafe", room, source(`import _ "unsafe"`, ""), "may not import unsafe"},
		{"rand v1", room, source(`import _ "math/rand"`, ""), "may not import math/rand"},
		{"rand stream", room, source(`import "math/rand/v2"`, `func f() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }; func g(r *rand.Rand) int { return r.IntN(3) }`), ""},
		{"rand global", room, source(`import "math/rand/v2"`, `func f() int { return rand.IntN(3) }`), "rand.IntN"},
		{"rand global renamed", room, source(`import chance "math/rand/v2"`, `func f() float64 { return chance.Float64() }`), "rand.Float64"},
		{"dot import", room, source(`import . "math"`, `var _ = Pi`), "dot import"},
		{"go", room, source("", `func f() { go f() }`), "go statement"},
		{"chan", room, source("", `func f(c chan int) {}`), "channel"},
		{"select", room, source("", `func f() { select {} }`), "select"},
		{"map", room, source("", `func f(m map[int]int) (n int) { for k := range m { n += k }; return }`), "range over a map"},
		{"named map", room, source(`import "weir/unit"`, `func f(m unit.Table) { for range m {} }`), "range over a map"},
		{"map behind a call", room, source("", `type t map[int]int; func (t) g() t { return nil }; func f(m t) { for range m.g() {} }`), "range over a map"},
		{"map as a type parameter", room, source("", `func f[M ~map[int]V, V any](m M) { for range m {} }`), "range over a map"},
		{"map in a constraint", room, source("", `type c interface { ~map[int]int }; func f[M c](m M) { for range m {} }`), "range over a map"},
		{"maps.Keys", room, source(`import "maps"`, `func f(m map[int]int) { for range maps.Keys(m) {} }`), "maps.Keys"},
		{"map with a reason", room, source("", "func f(m map[int]int) (n int) {\n//weir:unordered a sum\nfor k := range m { n += k }\nreturn }"), ""},
		{"map with a reason in line", room, source("", "func f(m map[int]int) (n int) {\nfor k := range m { //weir:unordered a sum\nn += k }\nreturn }"), ""},
		{"reason is missing", room, source("", "func f(s []int) {\n//weir:unordered\nfor range s {}\n}"), "needs a reason"},
		{"unknown type", room, source("", `func f() { for range nothing {} }`), "no known type"},
		{"slice", room, source("", `func f(s []int) { for range s {}; for range 3 {} }`), ""},
		{"test of a pure room", "dataplane/x_test.go", source(`import ("sync"; "weir/sim")`, `func f(m map[int]sync.Mutex) { go sim.F(); for range m {} }`), ""},
		{"impure room", "experiment/x.go", "package experiment\nimport \"sync\"\nfunc f(m map[int]sync.Mutex) { go f(nil); for range m {} }\n", ""},
		{"other build", "dataplane/x_windows.go", source("", `func f() { go f() }`), "go statement"},
		{"ignored folder", "dataplane/testdata/x.go", source(`import _ "time"`, ""), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			fsys := fstest.MapFS{
				"unit/unit.go":       {Data: []byte("package unit\nvar Y int\ntype Table map[int]int\n")},
				"dataplane/tm/tm.go": {Data: []byte("package tm\nvar X int\n")},
				c.file:               {Data: []byte(c.src)},
			}
			found, err := Check(fsys, "weir", Rooms)
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

// The table itself: names occur once, rows are known, and an arrow points to a row above.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Rooms {
		for _, name := range strings.Fields(r.Imports) {
			if name != Above && !seen[name] {
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
		"unit/time.go":   {Data: []byte("package unit\n")},
		"cc/cubic/cc.go": {Data: []byte("package cubic\nimport \"time\"\nvar start = time.Now()\n")},
	}
	found, err := Check(fsys, "weir", Rooms)
	fmt.Println(found, err)
	// Output: [cc/cubic/cc.go:2:8: room cc is pure and may not import time] <nil>
}
