//go:build slow

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"weir/internal/testkit"
)

// emulator runs programs for arm64 on another processor (Debian's qemu-user-static).
const emulator = "qemu-aarch64-static"

// TestSameResultsOnArm64 checks that core and papers give the same results on arm64: the hashes of the benchmarks,
// and the bytes of one experiment of each paper. The compiler may fuse a product with a sum there, which
// internal/archtest forbids in pure packages.
func TestSameResultsOnArm64(t *testing.T) {
	testkit.RequireProgram(t, emulator, "qemu-user-static")
	here, there := filepath.Join(t.TempDir(), "weir"), filepath.Join(t.TempDir(), "weir")
	buildFor(t, here, "CGO_ENABLED=0")
	buildFor(t, there, "CGO_ENABLED=0", "GOOS=linux", "GOARCH=arm64")
	run := func(command []string, args ...string) string {
		t.Helper()
		cmd := exec.Command(command[0], append(command[1:], args...)...)
		cmd.Dir = t.TempDir()
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v %v: %v\n%s", command, args, err, out)
		}
		return string(out)
	}
	hash := regexp.MustCompile(`[0-9a-f]{16,}`)
	for _, benchmark := range []string{"engine", "sim", "tcp"} {
		t.Run("bench "+benchmark, func(t *testing.T) {
			native := hash.FindString(run([]string{here}, "bench", benchmark))
			emulated := hash.FindString(run([]string{emulator, there}, "bench", benchmark))
			if native == "" || native != emulated {
				t.Errorf("hash %q, on arm64 %q", native, emulated)
			}
		})
	}
	for _, experiment := range [][]string{{"hpcc/joins"}, {"ncf/reaction"}, {"p4te/table1"}, {"p4abc/fig4"},
		{"p4abc/calls", "--set", "link=50M_20ms", "--set", "calls=9", "--set", "scheme=[rate, integer]",
			"--set", "duration=2s", "--set", "warmup=2s"}} {
		t.Run(experiment[0], func(t *testing.T) {
			results := func(command ...string) string {
				out := t.TempDir()
				run(command, slices.Concat([]string{"run"}, experiment, []string{"--quick", "--out", out})...)
				files, _ := filepath.Glob(filepath.Join(out, "*", "runs.json"))
				if len(files) != 1 {
					t.Fatalf("%d files runs.json", len(files))
				}
				data, err := os.ReadFile(files[0])
				if err != nil {
					t.Fatal(err)
				}
				return runID.ReplaceAllString(string(data), `"id": ""`)
			}
			if native, emulated := results(here), results(emulator, there); native != emulated {
				t.Errorf("runs.json differs: %s", firstDifference(native, emulated))
			}
		})
	}
}

// runID matches the id of a run, which depends on the program that ran it.
var runID = regexp.MustCompile(`"id": "[0-9a-f]+"`)

// buildFor builds weir with variables of the environment, such as the processor that it is for.
func buildFor(t *testing.T, binary string, environment ...string) {
	t.Helper()
	cmd := exec.Command("go", "build", "-buildvcs=false", "-o", binary, ".")
	cmd.Env = append(os.Environ(), environment...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
}

// firstDifference shows where two texts part.
func firstDifference(a, b string) string {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	from := max(i-40, 0)
	return fmt.Sprintf("%q and %q", a[from:min(i+40, len(a))], b[from:min(i+40, len(b))])
}
