package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"weir/internal/testutil"
)

// mounted is a folder with a file system of its own of so many bytes; the test is
// skipped where that is not permitted.
func mounted(t *testing.T, size int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "disk")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("none", dir, "tmpfs", 0, fmt.Sprintf("size=%d", size)); err != nil {
		t.Skip("a small file system cannot be mounted here: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// told runs a command line that must give this exit code and nothing on stdout, and
// returns stderr with the folder's name, the spec's hash and the runs' ids taken out.
func told(t *testing.T, code int, dir string, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if got := Run(Registry(), args, &stdout, &stderr, false); got != code {
		t.Errorf("weir %s: exit code %d, want %d", args[0], got, code)
	}
	if stdout.Len() > 0 {
		t.Errorf("weir %s: stdout: %s", args[0], stdout.String())
	}
	text := strings.ReplaceAll(stderr.String(), dir, "DIR")
	text = regexp.MustCompile(`small-[0-9a-f]{12}`).ReplaceAllString(text, "small-HASH")
	runs, _ := filepath.Glob(filepath.Join(dir, "*", "runs", "*"))
	for i, r := range runs {
		text = strings.ReplaceAll(text, strings.TrimSuffix(filepath.Base(r), ".json"), fmt.Sprintf("RUN%d", i))
	}
	return text
}

// runs are the files of a results folder's runs, by name.
func runs(t *testing.T, results string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for name, text := range contents(t, results) {
		if strings.HasPrefix(name, "runs/") {
			out[name] = text
		}
	}
	return out
}

// contents are all files of a folder, by name.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		out[filepath.ToSlash(name)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// finished runs the experiment small and returns its file, the folder that results go
// into, and the results folder below it.
func finished(t *testing.T) (file, out, results string) {
	t.Helper()
	file, out = write(t, small), t.TempDir()
	var stdout, stderr bytes.Buffer
	if code := Run(Registry(), []string{"run", file, "--out", out}, &stdout, &stderr, false); code != Done {
		t.Fatal(stderr.String())
	}
	dirs, _ := filepath.Glob(filepath.Join(out, "small-*"))
	if len(dirs) != 1 {
		t.Fatalf("folders %v", dirs)
	}
	return file, out, dirs[0]
}

// A full disk is an error that names the file; finished runs are kept, and when there is
// room again the same command does the rest.
func TestFullDisk(t *testing.T) {
	const room = 1 << 20
	disk := mounted(t, room)
	// a run of small leaves about 1 kB; ten of them and what is derived do not fit
	// into what the ballast leaves
	file := write(t, small+"repeat: 5\n")
	ballast := filepath.Join(disk, "ballast")
	page := os.Getpagesize() // tmpfs gives whole pages, and some to folders
	if err := os.WriteFile(ballast, make([]byte, room-8*page), 0o644); err != nil {
		t.Fatal(err)
	}
	said := told(t, RunFailed, disk, "run", file, "--out", disk, "--jobs", "1")
	dirs, _ := filepath.Glob(filepath.Join(disk, "small-*"))
	if len(dirs) != 1 {
		t.Fatalf("folders %v, %s", dirs, said)
	}
	kept := runs(t, dirs[0])
	if n := len(kept); n < 1 || n > 9 {
		t.Fatalf("%d runs are kept: %s", n, said)
	}
	if want := fmt.Sprintf("it cannot be written: no space left on device; %d of 10 runs are finished and kept; the same command goes on with the rest\n", len(kept)); !strings.HasPrefix(said, "weir: DIR/small-") || !strings.HasSuffix(said, want) {
		t.Errorf("%s\nwant …%s", said, want)
	}
	for name := range contents(t, dirs[0]) {
		if strings.Contains(name, ".new-") {
			t.Errorf("%s is left", name)
		}
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	if code := Run(Registry(), []string{"run", file, "--out", disk}, &stdout, &stderr, false); code != Done || !strings.Contains(stdout.String(), fmt.Sprintf("%d of the runs were there already", len(kept))) {
		t.Errorf("exit code %d\n%s%s", code, stdout.String(), stderr.String())
	}
	for name, text := range runs(t, dirs[0]) {
		if old, ok := kept[name]; ok && old != text {
			t.Errorf("%s has changed", name)
		}
	}

	// report on a disk that is full again: the old page stays whole
	old := contents(t, dirs[0])
	fill, err := os.Create(ballast)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := fill.Write(make([]byte, room)); err == nil; _, err = fill.Write(make([]byte, page)) {
	}
	fill.Close()
	said = told(t, RunFailed, disk, "report", dirs[0])
	if !strings.HasSuffix(said, "it cannot be written: no space left on device\n") {
		t.Errorf("report: %s", said)
	}
	for name, text := range contents(t, dirs[0]) {
		if old[name] != text {
			t.Errorf("%s has changed", name)
		}
	}
}

// A results folder has all that it is made of: report works where the files that the
// experiment names are gone, and the page is the same.
func TestInputsAreKept(t *testing.T) {
	dir := t.TempDir()
	text := strings.NewReplacer("net.txt", "../"+filepath.Base(dir)+"/net.txt", "200ms", "5ms").Replace(fromFiles)
	for name, text := range map[string]string{"kept.yaml": text, "net.txt": files["net.txt"], "list.flow": files["list.flow"], "matrix.cm": files["matrix.cm"], "sizes.cdf": files["sizes.cdf"]} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out := t.TempDir()
	var first, again, stderr bytes.Buffer
	if code := Run(Registry(), []string{"run", filepath.Join(dir, "kept.yaml"), "--out", out}, &first, &stderr, false); code != Done {
		t.Fatal(stderr.String())
	}
	for name := range files {
		os.Remove(filepath.Join(dir, name))
	}
	dirs, _ := filepath.Glob(filepath.Join(out, "kept-*"))
	if code := Run(Registry(), []string{"report", dirs[0]}, &again, &stderr, false); code != Done || first.String() != again.String() {
		t.Errorf("exit code %d, %s\n%s\nwant\n%s", code, stderr.String(), again.String(), first.String())
	}
}

// full is a standard output that takes nothing.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// Standard output on a full disk is an error too.
func TestFullOutput(t *testing.T) {
	file := write(t, small)
	for _, format := range []string{"--json", "--csv", "--seed=1"} {
		var stderr bytes.Buffer
		code := Run(Registry(), []string{"run", file, "--out", t.TempDir(), format}, full{}, &stderr, false)
		if code != RunFailed || !strings.Contains(stderr.String(), "no space left on device") {
			t.Errorf("%s: exit code %d, %s", format, code, stderr.String())
		}
	}
}

// A folder that cannot be written is an error that names it, before anything is run; what
// was finished stays, and can be read.
func TestUnwritableFolder(t *testing.T) {
	file := write(t, small)
	below := filepath.Join(filepath.Dir(file), "small.yaml", "results") // below a file
	said := told(t, RunFailed, filepath.Dir(file), "run", file, "--out", below)
	if !strings.HasPrefix(said, "weir: DIR/small.yaml/results/small-") || !strings.HasSuffix(said, ": the results folder cannot be made: not a directory\n") {
		t.Error(said)
	}

	t.Run("read-only", func(t *testing.T) {
		disk := mounted(t, 1<<20)
		var stdout, stderr bytes.Buffer
		if code := Run(Registry(), []string{"run", file, "--out", disk}, &stdout, &stderr, false); code != Done {
			t.Fatal(stderr.String())
		}
		dirs, _ := filepath.Glob(filepath.Join(disk, "small-*"))
		old := contents(t, disk)
		if err := syscall.Mount("none", disk, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
			t.Skip("it cannot be made read-only here: ", err)
		}
		for _, c := range []struct {
			args []string
			want string
		}{
			{[]string{"run", file, "--out", disk}, "/spec.yaml: it cannot be written: read-only file system\n"},
			{[]string{"run", file, "--out", disk, "--seed", "9"}, ": the results folder cannot be made: read-only file system\n"},
			{[]string{"report", dirs[0]}, "it cannot be written: read-only file system\n"},
		} {
			if said := told(t, RunFailed, disk, c.args...); !strings.HasPrefix(said, "weir: DIR/small-") || !strings.HasSuffix(said, c.want) {
				t.Errorf("weir %s: %s", c.args[0], said)
			}
		}
		stdout.Reset()
		if code := Run(Registry(), []string{"diff", dirs[0], dirs[0]}, &stdout, &stderr, false); code != Done || !strings.Contains(stdout.String(), "0 values differ") {
			t.Errorf("diff: exit code %d, %s%s", code, stdout.String(), stderr.String())
		}
		for name, text := range contents(t, disk) {
			if old[name] != text {
				t.Errorf("%s has changed", name)
			}
		}
	})
}

// A results folder of another version is refused by run, report and diff with the name of
// the file; run writes nothing into it. What was cut is made anew.
func TestOtherVersion(t *testing.T) {
	var said strings.Builder
	replace := func(old, new string) func(string) string {
		return func(text string) string {
			if !strings.Contains(text, old) {
				t.Errorf("%q is not in %s", old, text)
			}
			return strings.Replace(text, old, new, 1)
		}
	}
	for _, c := range []struct {
		name, file  string
		change      func(string) string
		run, report int // exit codes
	}{
		{"runs.json of a newer format", "runs.json", replace(`"format": 1`, `"format": 2`), WrongInput, WrongInput},
		{"runs.json without format", "runs.json", replace(`  "format": 1,`+"\n", ""), WrongInput, WrongInput},
		{"runs.json that was cut", "runs.json", func(s string) string { return s[:50] }, Done, WrongInput},
		{"a run of a newer format", "runs/*.json", replace(`"format": 1`, `"format": 2`), WrongInput, WrongInput},
		{"a run without format", "runs/*.json", replace(`  "format": 1,`+"\n", ""), WrongInput, WrongInput},
		{"a run with an unknown key", "runs/*.json", replace(`"format": 1`, `"format": 1, "colour": "blue"`), WrongInput, WrongInput},
		{"a run with values missing", "runs/*.json", replace(`"Groups": [`, `"Groups": ["y",`), WrongInput, WrongInput},
		{"a run that was cut", "runs/*.json", func(s string) string { return s[:50] }, Done, WrongInput},
		{"spec.yaml with an unknown key", "spec.yaml", replace("duration", "colour: blue\nduration"), WrongInput, WrongInput},
		{"spec.yaml with an unknown scheme", "spec.yaml", replace("forward", "backward"), WrongInput, WrongInput},
		{"spec.yaml that was cut", "spec.yaml", func(s string) string { return s[:60] }, WrongInput, WrongInput},
		{"spec.yaml is binary", "spec.yaml", func(string) string { return binary }, WrongInput, WrongInput},
	} {
		t.Run(c.name, func(t *testing.T) {
			file, out, results := finished(t)
			names, _ := filepath.Glob(filepath.Join(results, filepath.FromSlash(c.file)))
			data, err := os.ReadFile(names[0])
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(names[0], []byte(c.change(string(data))), 0o644); err != nil {
				t.Fatal(err)
			}
			old := contents(t, out)
			fmt.Fprintf(&said, "# %s\n", c.name)
			for _, args := range [][]string{{"report", results}, {"diff", results, results}} {
				text := told(t, c.report, out, args...)
				fmt.Fprintf(&said, "%s: %s", args[0], text)
				if name := strings.Replace(c.file, "*", "RUN0", 1); !strings.Contains(filepath.ToSlash(text), name) {
					t.Errorf("it does not name %s: %s", name, text)
				}
			}
			if c.run == Done {
				var stdout, stderr bytes.Buffer
				if code := Run(Registry(), []string{"run", file, "--out", out}, &stdout, &stderr, false); code != Done {
					t.Errorf("run: exit code %d, %s", code, stderr.String())
				}
				if _, err := os.Stat(names[0]); errors.Is(err, fs.ErrNotExist) {
					t.Error(err)
				}
				if code := Run(Registry(), []string{"report", results}, &stdout, &stderr, false); code != Done {
					t.Errorf("report after the run: exit code %d, %s", code, stderr.String())
				}
				return
			}
			fmt.Fprintf(&said, "run: %s", told(t, c.run, out, "run", file, "--out", out))
			for name, text := range contents(t, out) {
				if old[name] != text {
					t.Errorf("%s has changed", name)
				}
			}
			if len(contents(t, out)) != len(old) {
				t.Error("files have come or gone")
			}
		})
	}
	testutil.Golden(t, "otherversion.txt", said.String())
}
