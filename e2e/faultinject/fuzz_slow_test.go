//go:build slow

package faultinject

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// maxFuzzCPU limits the time of one core for an execution of a fuzz target on its own seeds: a target with fewer
// than some hundred executions a second finds no faults.
const maxFuzzCPU = 2 * time.Millisecond

var seedRun = regexp.MustCompile(`(?m)^=== RUN   Fuzz\w+/`)

func TestFuzzTargetsAreFast(t *testing.T) {
	top, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	targets := 0
	for folder, names := range fuzzTargets(t, top) {
		program := filepath.Join(t.TempDir(), "fuzz.test")
		build := exec.Command("go", "test", "-c", "-o", program, ".")
		build.Dir = filepath.Join(top, folder)
		if out, err := build.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", folder, err, out)
			continue
		}
		for _, name := range names {
			targets++
			t.Run(folder+" "+name, func(t *testing.T) { oneFuzzTarget(t, program, build.Dir, name) })
		}
	}
	if targets < 50 {
		t.Errorf("only %d fuzz targets are found", targets)
	}
}

// fuzzTargets returns the fuzz targets of the tree, by folder.
func fuzzTargets(t *testing.T, top string) map[string][]string {
	found := map[string][]string{}
	err := filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range f.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Fuzz") {
				folder, err := filepath.Rel(top, filepath.Dir(name))
				if err != nil {
					return err
				}
				found[folder] = append(found[folder], fn.Name.Name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// oneFuzzTarget compares the time of the target's seeds with the time before them.
func oneFuzzTarget(t *testing.T, program, dir, name string) {
	run := func(filter string, times int) (time.Duration, int) {
		c := exec.Command(program, "-test.run", filter, "-test.v", "-test.count", strconv.Itoa(times))
		c.Dir, c.Env = dir, append(os.Environ(), "GOMAXPROCS=1")
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out[max(0, len(out)-2000):])
		}
		if bytes.Contains(out, []byte("no tests to run")) {
			t.Skip("it is for another system")
		}
		return c.ProcessState.UserTime() + c.ProcessState.SystemTime(), len(seedRun.FindAll(out, -1))
	}
	_, seeds := run("^"+name+"$", 1)
	if seeds == 0 {
		t.Fatal("it has no seeds")
	}
	times := max(2, 100/seeds)
	all, n := run("^"+name+"$", times)
	before, _ := run("^"+name+"$/^none$", times)
	one := max(0, all-before) / time.Duration(n)
	t.Logf("%v an execution, of %d seeds", one.Round(time.Microsecond), seeds)
	if one > maxFuzzCPU {
		t.Errorf("%v of CPU an execution of %d seeds; at most %v", one, seeds, maxFuzzCPU)
	}
}
