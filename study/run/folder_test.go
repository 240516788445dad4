package run

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/results"
)

// TestOpen_RestoresOutcome checks that a results folder that is opened gives the outcome that wrote it, and that
// its CSV has a line for each value of each run.
func TestOpen_RestoresOutcome(t *testing.T) {
	dir := t.TempDir()
	o := execute(t, runnable, Options{Dir: dir, Executable: "x", Command: "weir run 'x'"})
	again, err := results.Open(room(), o.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(o.JSON(), again.JSON()) || again.Missing != 0 || again.Found != len(o.Runs) {
		t.Errorf("another outcome:\n%s\n%s", o.JSON(), again.JSON())
	}
	// also data that the resolved spec lacks: the sources of values, and the command
	if !slices.Equal(o.Spec.Parameters(), again.Spec.Parameters()) || again.Command != "weir run 'x'" {
		t.Errorf("another origin: %s\n%v\n%v", again.Command, o.Spec.Parameters(), again.Spec.Parameters())
	}
	var a, b bytes.Buffer
	if o.CSV(&a) != nil || again.CSV(&b) != nil || a.String() != b.String() {
		t.Error("another CSV")
	}
	lines := strings.Split(a.String(), "\n")
	if lines[0] != "run,seed,rate,measure,group,unit,value" || !strings.HasPrefix(lines[1], o.Runs[0].ID+
		",1,500kbps,goodput,a,bps,") {
		t.Errorf("%s\n%s", lines[0], lines[1])
	}
	values := 0
	for _, r := range o.Runs {
		for _, m := range r.Measures {
			values += max(1, len(m.Groups))
		}
	}
	if len(lines) != values+2 {
		t.Errorf("%d lines for %d values", len(lines), values)
	}
	// older folders have no origin.json
	if os.Remove(filepath.Join(o.Dir, "origin.json")) != nil {
		t.Error("no origin.json")
	}
	if again, err := results.Open(room(), o.Dir); err != nil || !bytes.Equal(o.JSON(), again.JSON()) ||
		again.Command != "" {
		t.Errorf("without origin.json: %v", err)
	}
	// the resolved spec of a part of the sweep can be opened too
	o, err = Execute(t.Context(), plantest.Load(t, room(), runnable, experiment.Options{Set: []string{"rate=16Mbps"}}),
		Options{Dir: dir, Executable: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if again, err := results.Open(room(), o.Dir); err != nil || !bytes.Equal(o.JSON(), again.JSON()) {
		t.Errorf("with --set: %v", err)
	}
}

// TestReopenRefuses checks that a folder without results, or with damaged ones, is an error that names the file.
func TestReopenRefuses(t *testing.T) {
	good := execute(t, runnable, Options{Dir: t.TempDir(), Executable: "x"}).Dir
	run, _ := filepath.Glob(good + "/runs/*.json")
	for _, c := range []struct {
		name, want string
		damage     func(dir string) error
	}{
		{"empty", "runs.json:1:1: the file is missing, so this is not a results folder", func(dir string) error {
			return os.Remove(dir + "/runs.json")
		}},
		{"binary", "runs.json:1:1: the file is not one that weir writes", func(dir string) error {
			return os.WriteFile(dir+"/runs.json",
				[]byte{0, 255}, 0o666)
		}},
		{"other JSON", "runs.json:1:1: the format is missing", func(dir string) error {
			return os.WriteFile(dir+"/runs.json",
				[]byte("{}"), 0o666)
		}},
		{"no spec", "spec.yaml", func(dir string) error { return os.Remove(dir + "/spec.yaml") }},
		{"origin", "origin.json:1:1: the file is not one that weir writes", func(dir string) error {
			return os.WriteFile(dir+"/origin.json", []byte("[]"), 0o666)
		}},
		{"a run is gone", "runs/" + filepath.Base(run[0]), func(dir string) error {
			return os.Remove(dir + "/runs/" +
				filepath.Base(run[0]))
		}},
		{"a run is cut", "runs/" + filepath.Base(run[0]), func(dir string) error {
			return os.Truncate(dir+"/runs/"+
				filepath.Base(run[0]), 50)
		}},
		{"another version's spec", `unknown key "colour"`, func(dir string) error {
			data, err := os.ReadFile(dir + "/spec.yaml")
			if err == nil {
				err = os.WriteFile(dir+"/spec.yaml", append(data, "colour: blue\n"...), 0o666)
			}
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(good)); err != nil {
				t.Fatal(err)
			}
			if err := c.damage(dir); err != nil {
				t.Fatal(err)
			}
			if _, err := results.Open(room(), dir); err == nil || !strings.Contains(filepath.ToSlash(err.Error()), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}
