//go:build system

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// module is the path of this module.
const module = "weir"

// TestRecipes_PassTestsAndShareBinary checks that the example's own tests pass, and that its binary has all of the
// seven recipes.
func TestRecipes_PassTestsAndShareBinary(t *testing.T) {
	tests := exec.Command("go", "test", "./...")
	tests.Dir, tests.Env = example, sharedBuilds()
	if out, err := tests.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	binary := filepath.Join(t.TempDir(), "own")
	build := exec.Command("go", "build", "-o", binary, ".")
	build.Dir, build.Env = tests.Dir, tests.Env
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	runs(t, binary, "ownscheme", slices.DeleteFunc(slices.Clone(recipes), func(r recipe) bool {
		return r.in == "" // a module of one's own has no library: the claim's file is named
	}))
}

// TestRecipesInTree checks that each of the seven recipes adds at most two files to the tree, and that the built
// weir has it. An overlay of go build adds the files; packages without new files come from the cache.
func TestRecipesInTree(t *testing.T) {
	root := root(t)
	dir, tables := t.TempDir(), map[string]string{}
	var overlay struct{ Replace map[string]string }
	overlay.Replace = map[string]string{}
	for _, file := range []string{registry, programs} {
		table, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		tables[file] = string(table)
		overlay.Replace[filepath.Join(root, file)] = filepath.Join(dir, filepath.Base(file))
	}
	for _, r := range recipes {
		files := r.touched()
		if len(files) > 2 {
			t.Errorf("it touches %d files: %v", len(files), files)
		}
		if _, err := os.Stat(filepath.Join(root, files[0])); err == nil {
			t.Fatalf("%s is there already", files[0])
		}
		overlay.Replace[filepath.Join(root, files[0])] = filepath.Join(root, "examples/ownscheme", r.file)
		if r.in == "" {
			continue
		}
		text := tables[files[1]]
		if strings.Count(text, r.in) != 1 {
			t.Fatalf("%s has %q %d times", files[1], r.in, strings.Count(text, r.in))
		}
		text = strings.Replace(text, r.in, r.with, 1)
		tables[files[1]] = strings.Replace(text, "import (\n", fmt.Sprintf("import (\n\t%q\n", module+"/"+r.place), 1)
	}
	data, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	tables["overlay.json"] = string(data)
	for name, data := range tables {
		name = filepath.Base(name)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	binary := filepath.Join(dir, "weir")
	build := exec.Command("go", "build", "-buildvcs=false", "-overlay", filepath.Join(dir, "overlay.json"),
		"-o", binary, "./cmd/weir")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	runs(t, binary, "weir", recipes)
}

// runs checks a binary with recipes: it lists them, runs the experiment that uses all of them, and exports the
// results. The experiment's claims hold, and its measure has a value.
func runs(t *testing.T, binary, name string, all []recipe) {
	t.Helper()
	dir := t.TempDir()
	weir := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(binary, args...)
		cmd.Dir = example
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("weir %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	for _, r := range all {
		t.Run("list "+r.name, func(t *testing.T) {
			if out := weir("list", r.list); !strings.Contains("\n"+out, "\n"+r.want) {
				t.Errorf("weir list %s lacks %q\n%s", r.list, r.want, out)
			}
		})
	}
	bridges(t, binary)
	if out := weir("check", "recipes.yaml"); strings.Contains(out, "warning:") {
		t.Errorf("the check of the recipes warns:\n%s", out)
	}
	out := weir("run", "recipes.yaml", "--check", "--out", dir)
	for _, want := range []string{"holds      calls", "holds      nobody-starves", "slowest.long = "} {
		if !strings.Contains(out, want) {
			t.Errorf("the experiment's output lacks %q\n%s", want, out)
		}
	}
	pages, _ := filepath.Glob(filepath.Join(dir, "recipes-*", "report.html"))
	if len(pages) != 1 {
		t.Fatalf("pages %v", pages)
	}
	page, err := os.ReadFile(pages[0]) // it names the program that ran
	if err != nil || !strings.Contains(string(page), ">Reproduce</h2>\n<pre>"+name+" run recipes.yaml</pre>") ||
		!strings.Contains(string(page), "Executed by unknown, build ") {
		t.Errorf("the page does not say that %s has run, %v", name, err)
	}
	weir("export", "recipes.yaml", "--format", "flowlist", "--out", dir, "--into", filepath.Join(dir, "flows"))
	flows, err := os.ReadFile(filepath.Join(dir, "flows/flows.csv"))
	if err != nil || !strings.HasPrefix(string(flows), "point,seed,traffic,") ||
		!strings.Contains(string(flows), "scheme=early,1,calls,h2,h0,") {
		t.Errorf("%v\n%s", err, flows)
	}
}

// bridges makes the binary read files of a standalone switch that name the user's own program. The program's
// parameters are checked with their places. A file without mistakes fails only because its interfaces do not exist.
func bridges(t *testing.T, binary string) {
	t.Helper()
	for least, want := range map[string]string{
		"60": "least of early: 60 packets are not below most, which is 50 packets",
		"6":  "there is no interface weir-nosuch0",
	} {
		file := filepath.Join(t.TempDir(), "switch.yaml")
		text := "ports: {a: {interface: weir-nosuch0, rate: 50Mbps}, b: {interface: weir-nosuch1}}\n" +
			"switch: [forward, {early: {least: " + least + " packets}}]\nmetrics: none\n"
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(binary, "switch", "-c", file, "--check").CombinedOutput()
		if err == nil || runtime.GOOS == "linux" && !strings.Contains(string(out), want) {
			t.Errorf("%v: %s, not %q", err, out, want)
		}
	}
}
