//go:build system

package cli

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"weir/internal/command"
)

// TestBackEnds checks that a sweep writes the same files and prints the same tables wherever its runs are executed:
// in this process, by workers, and as tasks of Slurm.
func TestBackEnds(t *testing.T) {
	file, dir := write(t, strings.Replace(sweepOfTwo, "repeat: 1", "repeat: 6", 1)), t.TempDir()
	must := func(args ...string) string {
		t.Helper()
		code, text, errs := weir(args...)
		if code != command.Done {
			t.Fatalf("%v: exit code %d\n%s%s", args, code, text, errs)
		}
		return text
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	want := must("run", file, "--out", at("local"), "--csv")
	got := map[string]string{"jetstream": must("run", file, "--out", at("jetstream"), "--csv", "--workers", "127.0.0.1:0")}
	must("export", "slurm", file, "--to", at("job"), "--slurm-task", "1ms")
	tasks := 0
	for ; ; tasks++ {
		if code, _, _ := weir("task", at("job"), "--index", fmt.Sprint(tasks)); code != command.Done {
			break
		}
	}
	got["slurm"] = must("collect", at("job"), "--out", at("slurm"), "--csv")
	if strings.Count(want, "\n") < 12 || tasks < 2 {
		t.Errorf("%d tasks\n%s", tasks, want)
	}
	files := under(t, at("local"))
	for name, text := range got {
		if text != want {
			t.Errorf("%s: %s, not %s", name, text, want)
		}
		if !maps.Equal(under(t, at(name)), files) {
			t.Errorf("%s: the files differ", name)
		}
	}
}

// TestBackEndsTrace checks that workers return traces where the experiment bounds them.
func TestBackEndsTrace(t *testing.T) {
	file, dir := write(t, sweepOfTwo), t.TempDir()
	var files []map[string]string
	for name, more := range map[string][]string{"local": nil, "jetstream": {"--workers", "127.0.0.1:0"}} {
		args := append([]string{"run", file, "--trace", "s->*", "--set", "trace_quota=10MB", "--csv", "--out",
			filepath.Join(dir, name)}, more...)
		if code, text, errs := weir(args...); code != command.Done {
			t.Fatalf("%v: exit code %d\n%s%s", args, code, text, errs)
		}
		files = append(files, under(t, filepath.Join(dir, name)))
	}
	traces := 0
	for name := range files[0] {
		if strings.Contains(name, "traces") {
			traces++
		}
	}
	if traces < 8 || !maps.Equal(files[0], files[1]) {
		t.Errorf("%d files of traces, or they differ", traces)
	}
	code, _, errs := weir("run", file, "--trace", "s->*", "--workers", "127.0.0.1:0", "--out", filepath.Join(dir, "no"))
	if code != command.WrongInput || !strings.Contains(errs, "the size of its traces has no limit") ||
		!strings.Contains(errs, "trace_quota") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

// under returns the files of a folder, except those that record the machine and the command of the runs.
func under(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasPrefix(e.Name(), "host.") {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		all[rel] = string(data)
		return err
	})
	if err != nil || len(all) < 12 {
		t.Fatalf("%v, %d files", err, len(all))
	}
	return all
}
