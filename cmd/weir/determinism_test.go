package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// built are the binaries of these tests, by the flags of go build, in a folder of their own.
var built = struct {
	sync.Mutex
	dir   string
	names map[string]string
}{names: map[string]string{}}

func TestMain(m *testing.M) {
	code := m.Run()
	if built.dir != "" {
		os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

// build makes the binary, once; extra are flags of go build.
func build(t *testing.T, extra ...string) string {
	t.Helper()
	built.Lock()
	defer built.Unlock()
	flags := strings.Join(extra, " ")
	if name := built.names[flags]; name != "" {
		return name
	}
	if built.dir == "" {
		var err error
		if built.dir, err = os.MkdirTemp("", "weir"); err != nil {
			t.Fatal(err)
		}
	}
	name := filepath.Join(built.dir, fmt.Sprint("weir", len(built.names)))
	args := append(append([]string{"build", "-buildvcs=false"}, extra...), "-o", name, ".")
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	built.names[flags] = name
	return name
}

// results runs an experiment in a process of its own and returns every result file
// but host.json and host.html.
func results(t *testing.T, binary string, env []string, args ...string) map[string]string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command(binary, append([]string{"run", "p4abc/fig4", "--quick", "--set", "duration=3s", "--trace",
		"s1->server", "--out", dir}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v %v: %v\n%s", env, args, err, out)
	}
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), "host.") {
			return err
		}
		data, err := os.ReadFile(name)
		rel, _ := filepath.Rel(dir, name)
		files[rel] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func same(a, b map[string]string) error {
	for name, x := range a {
		if y, ok := b[name]; !ok {
			return fmt.Errorf("%s is missing", name)
		} else if x != y {
			return fmt.Errorf("%s differs", name)
		}
	}
	if len(a) != len(b) {
		return fmt.Errorf("%d files, %d files", len(a), len(b))
	}
	return nil
}

// The promise: the same executable, spec and seed give the same bytes in every
// result file, whatever --jobs, GOMAXPROCS, GOGC and process.
func TestSameBytes(t *testing.T) {
	binary := build(t)
	want := results(t, binary, nil, "--jobs", "1")
	if len(want) < 21 { // spec, runs, four runs with three files of their traces, report, two plots
		t.Fatalf("only %d result files", len(want))
	}
	for _, c := range []struct {
		env  []string
		args []string
	}{
		{nil, []string{"--jobs", "1"}},
		{nil, []string{"--jobs", "2"}},
		{[]string{"GOMAXPROCS=1"}, []string{"--jobs", "2"}},
		{[]string{"GOMAXPROCS=2"}, nil},
		{[]string{"GOGC=1"}, nil},
		{[]string{"GOGC=off", "GOMAXPROCS=1"}, []string{"--jobs", "4"}},
	} {
		t.Run(fmt.Sprint(c.env, c.args), func(t *testing.T) {
			if err := same(want, results(t, binary, c.env, c.args...)); err != nil {
				t.Errorf("%v %v: %v", c.env, c.args, err)
			}
		})
	}
}
