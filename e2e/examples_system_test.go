//go:build system

package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/testkit/await"
)

// TestExampleModules checks that the go.mod files of the examples are up to date. After a change of Weir's modules,
// run go mod tidy in each of them.
func TestExampleModules(t *testing.T) {
	modules, err := filepath.Glob("../examples/*/go.mod")
	if err != nil || len(modules) < 2 {
		t.Fatalf("%v, %v", modules, err)
	}
	for _, m := range modules {
		t.Run(filepath.Base(filepath.Dir(m)), func(t *testing.T) {
			c := exec.Command("go", "list", "-mod=readonly", "./...")
			c.Dir, c.Env = filepath.Dir(m), append(os.Environ(), "GOFLAGS=", "GOWORK=off")
			if out, err := c.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// TestSweepExample checks that the tasks that users tried exist as scripts: a sweep of 200 runs becomes a PDF.
func TestSweepExample(t *testing.T) {
	out, dir := task(t, await.RequireProgram(t, "cmd/weir"), "sweep/run.sh")
	for _, want := range []string{"fairness is valid: 200 runs", "200 runs: all ran for the full duration",
		"holds      abc-is-fairer"} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
	figure(t, out, filepath.Join(dir, "fairness.pdf"))
}

// TestRailsExample runs the script in which 128 GPUs train on rails next to a storage incast, under HPCC++ and
// under DCQCN.
func TestRailsExample(t *testing.T) {
	out, dir := task(t, await.RequireProgram(t, "cmd/weir"), "rails/run.sh")
	for _, want := range []string{"rails is valid: 4 runs", "4 claims: 4 hold", "4 runs: 4 all flows done"} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
	figure(t, out, filepath.Join(dir, "rails.pdf"))
}

// TestHPCCExample checks that a configuration of HPCC's simulator is imported, run and compared with its fct.txt. A
// fct.txt with another time makes the script fail with exit code 3.
func TestHPCCExample(t *testing.T) {
	weir := await.RequireProgram(t, "cmd/weir")
	out, dir := task(t, weir, "hpccsim/run.sh")
	if !strings.Contains(out, "A and B agree: 4 of 4 bins") || strings.Contains(out, "warning") {
		t.Error(out)
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "exported", "*", "fct.txt")); len(files) != 1 {
		t.Errorf("exported: %v", files)
	}
	other := filepath.Join(t.TempDir(), "other")
	if err := os.CopyFS(other, os.DirFS("../examples/hpccsim/mix")); err != nil {
		t.Fatal(err)
	}
	times, err := os.ReadFile(filepath.Join(other, "fct.txt"))
	if err != nil {
		t.Fatal(err)
	}
	times = bytes.Replace(times, []byte(" 171840 171840"), []byte(" 271840 171840"), 1)
	if err := os.WriteFile(filepath.Join(other, "fct.txt"), times, 0o666); err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs("../examples/hpccsim/run.sh")
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command("sh", script, filepath.Join(t.TempDir(), "out"), other)
	c.Env = append(os.Environ(), "WEIR="+weir)
	if said, err := c.CombinedOutput(); c.ProcessState.ExitCode() != 3 || !strings.Contains(string(said), "3 of 4 bins") {
		t.Errorf("%v\n%s", err, said)
	}
}
