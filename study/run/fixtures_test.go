package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/results"
)

// fixtures are shared by tests: outcomes that are made once (whole, home, ahead), in a folder that TestMain
// removes.
var fixtures = sharedFixtures{wholes: map[string]*results.Outcome{}, files: map[string]map[string]string{},
	homes: map[string]map[string]string{}}

type sharedFixtures struct {
	dir    string
	folder int
	wholes map[string]*results.Outcome
	files  map[string]map[string]string // contents of each folder of wholes when it was made
	homes  map[string]map[string]string // contents of results folders, by the experiment's text
	ahead  string                       // the folder in which a part of an experiment is; "": it is not made yet
}

// newDir makes a folder.
func (f *sharedFixtures) newDir(t *testing.T) string {
	t.Helper()
	if f.dir == "" {
		dir, err := os.MkdirTemp("", "weir-run-test")
		if err != nil {
			t.Fatal(err)
		}
		f.dir = dir
	}
	f.folder++
	return filepath.Join(f.dir, strconv.Itoa(f.folder))
}

func TestMain(m *testing.M) {
	code := m.Run()
	for key, o := range fixtures.wholes {
		if files, err := readContents(o.Dir); err != nil || !maps.Equal(files, fixtures.files[key]) {
			fmt.Fprintf(os.Stderr, "a test has changed the shared outcome %s: %v\n", key, err)
			code = 1
		}
	}
	if fixtures.dir != "" {
		os.RemoveAll(fixtures.dir)
	}
	os.Exit(code)
}

// whole returns the outcome of an experiment on one machine, with traces, in a folder of the test's own. Each outcome
// is made once for all tests: the folder can have hard links to its files, so a test that changes a file replaces it
// (put).
func whole(t *testing.T, o experiment.Options, executable string) *results.Outcome {
	t.Helper()
	seed := uint64(0)
	if o.Seed != nil {
		seed = *o.Seed
	}
	key := fmt.Sprint(seed, o.Set, executable)
	made, ok := fixtures.wholes[key]
	if !ok {
		made = makeWhole(t, o, executable)
		fixtures.wholes[key], fixtures.files[key] = made, contents(t, made.Dir)
	}
	own := *made
	own.Dir = filepath.Join(t.TempDir(), filepath.Base(made.Dir))
	linkWithout(t, own.Dir, made.Dir, nil)
	return &own
}

// makeWhole runs an experiment on one machine, with traces.
func makeWhole(t *testing.T, o experiment.Options, executable string) *results.Outcome {
	t.Helper()
	command := "weir run x.yaml"
	if o.Seed != nil {
		command += fmt.Sprintf(" --seed %d", *o.Seed)
	}
	for _, s := range o.Set {
		command += " --set " + s
	}
	out, err := Execute(context.Background(), plantest.Load(t, room(), runnable, o), Options{Dir: fixtures.newDir(t),
		Executable: executable, Command: command, Trace: []string{"s->c"}, Report: page})
	if err != nil || out.Missing > 0 || len(out.Failed) > 0 {
		t.Fatal(err, out)
	}
	return out
}

// linkWithout makes a folder with hard links to the files of another, or copies, except for the named files.
func linkWithout(t *testing.T, to, from string, without map[string]bool) {
	t.Helper()
	err := filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil || without[name] {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o777)
		}
		return linkOrCopy(name, filepath.Join(to, rel))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// linkOrCopy makes a hard link to a file. Where that is impossible, as between two file systems or on one without
// links, it makes a copy. With GOTMPDIR, t.TempDir can be on another file system than the shared outcomes.
func linkOrCopy(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o644)
}

// put writes a file. One that is there is replaced, because it may be a hard link to a file of another folder.
func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
