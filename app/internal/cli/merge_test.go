package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"weir/internal/command"
)

// ranMerge runs an experiment with other seeds, as another machine does, and returns its results folder.
func ranMerge(t *testing.T, file string, flags ...string) string {
	t.Helper()
	out := t.TempDir()
	var stdout, stderr bytes.Buffer
	if code := Run(Registry(), append([]string{"run", file, "--out", out}, flags...), &stdout, &stderr, false); code !=
		command.Done {
		t.Fatal(stderr.String())
	}
	dirs, _ := filepath.Glob(filepath.Join(out, "*"))
	if len(dirs) != 1 {
		t.Fatalf("folders %v", dirs)
	}
	return dirs[0]
}

// TestResultsMerge checks that weir results merge gives the folder of weir run --seed with all seeds, which report,
// diff and run accept.
func TestResultsMerge(t *testing.T) {
	file := write(t, small)
	a, b := ranMerge(t, file, "--seed", "1", "--set", "repeat=2"), ranMerge(t, file, "--seed", "3", "--set", "repeat=1")
	want := ranMerge(t, file, "--seed", "1", "--set", "repeat=3")
	into := t.TempDir()
	code, out, stderr := weir("results", "merge", b, a, "--into", into)
	if code != command.Done || stderr != "" ||
		!strings.HasPrefix(out, "6 of 6 runs are present, merged from 2 folders; 6 are new\n\nsmall\n") {
		t.Fatalf("exit code %d\n%s%s", code, out, stderr)
	}
	dir := filepath.Join(into, filepath.Base(want))
	if !strings.HasSuffix(out, "\n"+filepath.Join(dir, "report.html")+"\n") {
		t.Errorf("the page is not named: %s", out)
	}
	got := contents(t, dir)
	for name, text := range contents(t, want) {
		if got[name] != text && !strings.HasPrefix(name, "host.") {
			t.Errorf("%s differs", name)
		}
	}
	for _, args := range [][]string{{"report", dir}, {"diff", dir, want}, {"run", file, "--seed", "1", "--set", "repeat=3",
		"--out", into}} {
		if code, out, stderr := weir(args...); code != command.Done || stderr != "" ||
			args[0] == "run" && !strings.Contains(out, "6 runs reused from earlier") ||
			args[0] == "diff" && !strings.Contains(out, "0 values differ") {
			t.Errorf("%s: exit code %d\n%s%s", args[0], code, out, stderr)
		}
	}
	code, out, _ = weir("results", "merge", a, want, "--into", into)
	if want := "6 of 6 runs are present, merged from 2 folders; 0 are new; 4 occur in several folders with identical " +
		"bytes\n"; code !=
		command.Done || !strings.HasPrefix(out, want) {
		t.Errorf("exit code %d, %s\nwant %s", code, out, want)
	}
}

// TestResultsMergeRefuses checks that wrong input gives exit code 2, and that no file is written. The cases are a
// missing --into, a folder without results, a target that is a results folder itself, and inputs that differ.
func TestResultsMergeRefuses(t *testing.T) {
	dir, a := t.TempDir(), ""
	for name, text := range map[string]string{"kept.yaml": strings.Replace(fromFiles, "200ms", "5ms", 1),
		"net.txt": files["net.txt"], "list.flow": files["list.flow"], "matrix.cm": files["matrix.cm"],
		"sizes.cdf": files["sizes.cdf"]} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	a = ranMerge(t, filepath.Join(dir, "kept.yaml"))
	b := filepath.Join(t.TempDir(), filepath.Base(a))
	if err := os.CopyFS(b, os.DirFS(a)); err != nil {
		t.Fatal(err)
	}
	inputs, _ := filepath.Glob(filepath.Join(b, "inputs", "*-sizes.cdf"))
	if len(inputs) != 1 {
		t.Fatal(inputs)
	}
	if err := os.WriteFile(inputs[0], []byte("0 0\n7 100\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	input := filepath.Join("inputs", filepath.Base(inputs[0]))
	into := filepath.Join(t.TempDir(), "into")
	for _, c := range []struct {
		want string
		args []string
	}{
		{"missing flags: --into", []string{a}},
		{"expected \"<dir> ...\"", []string{"--into", into}},
		{filepath.Join(dir, "spec.yaml") + ":1:1: the file is missing, so this is not a results folder",
			[]string{dir, "--into", into}},
		{a + ":1:1: this folder is itself a results folder; allowed: the parent folder of", []string{b, "--into", a}},
		{filepath.Join(b, input) + ":1:1: the file differs from " + filepath.Join(a, input) +
			", so the runs have different inputs",
			[]string{a, b, "--into", into}},
		{"--revisions must be one of", []string{a, "--into", into, "--revisions", "some"}},
	} {
		var stdout, stderr bytes.Buffer
		code := Run(Registry(), append([]string{"results", "merge"}, c.args...), &stdout, &stderr, false)
		if code != command.WrongInput || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("exit code %d, %s\nwant %s", code, stderr.String(), c.want)
		}
	}
	if _, err := os.Stat(into); err == nil {
		t.Error("something is written")
	}
}
