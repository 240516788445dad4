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

	"weir/internal/command"
	"weir/internal/testkit"
	"weir/study/experiment"
)

// checkStderr runs a command line that must give this exit code and print to stderr only. It returns stderr without the
// folder's name, the spec's hash and the runs' ids.
func checkStderr(t *testing.T, code int, dir string, args ...string) string {
	t.Helper()
	return checkStderrOf(t, Registry(), code, dir, args...)
}

// checkStderrOf runs a command with the given registry. It checks the exit code and returns the output.
func checkStderrOf(t *testing.T, r *experiment.Registry, code int, dir string, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if got := Run(r, args, &stdout, &stderr, false); got != code {
		t.Errorf("weir %s: exit code %d, want %d", args[0], got, code)
	}
	if stdout.Len() > 0 {
		t.Errorf("weir %s: stdout: %s", args[0], stdout.String())
	}
	text := strings.ReplaceAll(stderr.String(), dir, "DIR")
	text = regexp.MustCompile(`small-[0-9a-f]{12}-[0-9a-f]{8}`).ReplaceAllString(text, "small-HASH")
	runs, _ := filepath.Glob(filepath.Join(dir, "*", "runs", "*"))
	for i, r := range runs {
		text = strings.ReplaceAll(text, strings.TrimSuffix(filepath.Base(r), ".json"), fmt.Sprintf("RUN%d", i))
	}
	return text
}

// runs returns the files of the runs of a results folder, by name.
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

// contents returns all files of a folder, by name.
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
	if code := Run(Registry(), []string{"run", file, "--out", out}, &stdout, &stderr, false); code != command.Done {
		t.Fatal(stderr.String())
	}
	dirs, _ := filepath.Glob(filepath.Join(out, "small-*"))
	if len(dirs) != 1 {
		t.Fatalf("folders %v", dirs)
	}
	return file, out, dirs[0]
}

// TestFolderName_EscapesControlCharacters checks that characters that act on a terminal are escaped in a folder's name,
// and reports find the folder.
func TestFolderName_EscapesControlCharacters(t *testing.T) {
	for name, want := range map[string]string{
		"a\x1b[31mb": "a-u001b[31mb", "a\u202eb": "a-u202eb", "a\u200bb": "a-u200bb", "a\u009bb": "a-u009bb",
		"a\nb":  "a-u000ab",
		"a b~ä": "a b~ä",
	} {
		t.Run(want, func(t *testing.T) {
			dir := t.TempDir()
			file, out := filepath.Join(dir, name+".yaml"), filepath.Join(dir, "out")
			if err := os.WriteFile(file, []byte(small), 0o644); err != nil {
				t.Fatal(err)
			}
			if code, _, stderr := weir("run", file, "--out", out, "--set", "duration=1s"); code != command.Done {
				t.Fatal(stderr)
			}
			entries, err := os.ReadDir(out)
			if err != nil || len(entries) != 1 || !strings.HasPrefix(entries[0].Name(), want+"-") {
				t.Fatalf("%q, %v", entries, err)
			}
			if code, _, stderr := weir("report", filepath.Join(out, entries[0].Name())); code != command.Done {
				t.Error(stderr)
			}
		})
	}
}

// TestFolderInTheWay checks that run refuses a results folder before the first run, and leaves it unchanged, when a
// folder is in the place of a file or a file in the place of a folder. A report that finds a folder in its place
// names it in the error.
func TestFolderInTheWay(t *testing.T) {
	const folder, file = "it is a folder, not a regular file", "the path is a file; a folder is needed here"
	experiment, out, results := finished(t)
	id := ""
	for name := range runs(t, results) {
		id = strings.TrimSuffix(strings.TrimPrefix(name, "runs/"), ".json")
	}
	if err := os.Remove(filepath.Join(results, "host.json")); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ place, why string }{
		{"runs/" + id + ".json", folder}, {"runs/.new-" + id, folder}, {"traces/" + id + ".pcapng", folder},
		{"traces/" + id + ".sha256", folder}, {"runs.json", folder}, {"host.json", folder}, {"report.html", folder},
		{"host.html", folder},
		{"spec.yaml", folder}, {"origin.json", folder}, {"flows.parquet", folder}, {"traces", file},
	} {
		t.Run(strings.ReplaceAll(x.place, id, "ID"), func(t *testing.T) {
			place := filepath.Join(results, x.place)
			os.Rename(place, place+"~")
			defer os.Rename(place+"~", place)
			defer os.RemoveAll(place)
			thing := place
			if x.why == folder {
				thing = filepath.Join(place, "mine")
			}
			if err := errors.Join(os.MkdirAll(filepath.Dir(thing), 0o777), os.WriteFile(thing, nil, 0o644)); err != nil {
				t.Fatal(err)
			}
			before := contents(t, out)
			code, stdout, stderr := weir("run", experiment, "--out", out, "--trace", "*")
			want := "weir: " + place + ":1:1: " + x.why + "; allowed: another folder (--out), or move the file elsewhere\n"
			if code != command.WrongInput || stdout != "" || untraced(stderr) != want {
				t.Errorf("exit code %d\n%s%s\nwant %s", code, stdout, stderr, want)
			}
			if now := contents(t, out); fmt.Sprint(now) != fmt.Sprint(before) {
				t.Error("the folder is not what it was")
			}
			if x.place != "report.html" {
				return
			}
			if _, _, stderr := weir("report", results); stderr != "weir: "+place+": the file cannot be written: "+folder+"\n" {
				t.Errorf("report: %s", stderr)
			}
		})
	}
}

// TestInputsAreKept checks that a results folder has all its inputs: report works without the files that the experiment
// names, and the page is the same.
func TestInputsAreKept(t *testing.T) {
	dir := t.TempDir()
	text := strings.NewReplacer("net.txt", "../"+filepath.Base(dir)+"/net.txt", "200ms", "5ms").Replace(fromFiles)
	for name, text := range map[string]string{"kept.yaml": text, "net.txt": files["net.txt"],
		"list.flow": files["list.flow"], "matrix.cm": files["matrix.cm"], "sizes.cdf": files["sizes.cdf"]} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out := t.TempDir()
	var first, again, stderr bytes.Buffer
	if code := Run(Registry(), []string{"run", filepath.Join(dir, "kept.yaml"), "--out", out}, &first, &stderr,
		false); code != command.Done {
		t.Fatal(stderr.String())
	}
	for name := range files {
		os.Remove(filepath.Join(dir, name))
	}
	dirs, _ := filepath.Glob(filepath.Join(out, "kept-*"))
	if code := Run(Registry(), []string{"report", dirs[0]}, &again, &stderr, false); code != command.Done ||
		first.String() != again.String() {
		t.Errorf("exit code %d, %s\n%s\nwant\n%s", code, stderr.String(), again.String(), first.String())
	}
}

// full is a standard output on a full disk: every write fails.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// TestFullOutput checks that a full disk behind standard output is an error, too.
func TestFullOutput(t *testing.T) {
	file := write(t, small)
	for _, format := range []string{"--json", "--csv", "--seed=1"} {
		t.Run(format, func(t *testing.T) {
			var stderr bytes.Buffer
			code := Run(Registry(), []string{"run", file, "--out", t.TempDir(), format}, full{}, &stderr, false)
			if code != command.RunFailed || !strings.Contains(stderr.String(), "no space left on device") {
				t.Errorf("%s: exit code %d, %s", format, code, stderr.String())
			}
		})
	}
}

// TestUnwritableFolder checks that a folder that cannot be written is an error that names it, before the first run.
func TestUnwritableFolder(t *testing.T) {
	file := write(t, small)
	below := filepath.Join(filepath.Dir(file), "small.yaml", "results") // below a file
	said := checkStderr(t, command.RunFailed, filepath.Dir(file), "run", file, "--out", below)
	if !strings.HasPrefix(said, "weir: DIR/small.yaml/results/small-") ||
		!strings.HasSuffix(said, ": the results folder cannot be created: not a directory\n") {
		t.Error(said)
	}
}

// otherVersion is a results folder in which a file is changed.
type otherVersion struct {
	name, file  string
	change      func(string) string
	run, report int    // exit codes
	full        string // the command whose error the golden file has in full
}

// otherVersions returns folders that another version has written, or that are damaged.
func otherVersions(t *testing.T) []otherVersion {
	replace := func(old, new string) func(string) string {
		return func(text string) string {
			if !strings.Contains(text, old) {
				t.Errorf("%q is not in %s", old, text)
			}
			return strings.Replace(text, old, new, 1)
		}
	}
	resealed := func(change func(string) string) func(string) string {
		return func(text string) string { return testkit.ReplaceDigest(change(text)) }
	}
	return []otherVersion{
		{"runs.json of a newer format", "runs.json", replace(`"format": 2`, `"format": 3`), command.WrongInput,
			command.WrongInput, "run"},
		{"runs.json without format", "runs.json", replace(`  "format": 2,`+"\n", ""), command.WrongInput, command.WrongInput,
			"report"},
		{"runs.json that was cut", "runs.json", func(s string) string { return s[:50] }, command.Done, command.WrongInput,
			"report"},
		{"a run of a newer format", "runs/*.json", replace(`"format": 2`, `"format": 3`), command.WrongInput,
			command.WrongInput, "run"},
		{"a run without format", "runs/*.json", replace(`  "format": 2,`+"\n", ""), command.WrongInput, command.WrongInput,
			""},
		{"a run with an unknown key", "runs/*.json", resealed(replace(`"format": 2`, `"format": 2, "colour": "blue"`)),
			command.WrongInput, command.WrongInput, ""},
		{"a run with values missing", "runs/*.json", resealed(replace(`"Groups":[`, `"Groups":["y",`)), command.WrongInput,
			command.WrongInput, "report"},
		{"a run that was changed", "runs/*.json", replace(`"seed": `, `"seed": 1`), command.Done, command.WrongInput,
			"report"},
		{"a run of the format before", "runs/*.json", replace(`"format": 2`, `"format": 1`), command.WrongInput,
			command.WrongInput, ""},
		{"a run that was cut", "runs/*.json", func(s string) string { return s[:50] }, command.Done, command.WrongInput, ""},
		{"spec.yaml with an unknown key", "spec.yaml", replace("duration", "colour: blue\nduration"), command.WrongInput,
			command.WrongInput, "report"},
		{"spec.yaml with an unknown scheme", "spec.yaml", replace("forward", "backward"), command.WrongInput,
			command.WrongInput, "diff"},
		{"spec.yaml that was cut", "spec.yaml", func(s string) string { return s[:60] }, command.WrongInput,
			command.WrongInput, "run"},
		{"spec.yaml is binary", "spec.yaml", func(string) string { return binary }, command.WrongInput, command.WrongInput,
			""},
	}
}

// TestOtherVersion checks that run, report and diff refuse a results folder of another version and name the file,
// and that run does not write into it. A file that was cut is written again. The golden file has the full text of a
// marked case.
func TestOtherVersion(t *testing.T) {
	var texts, others testkit.ErrorTexts
	more := withDummies()
	for _, c := range otherVersions(t) {
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
			texts.Heading(c.name)
			others.Heading(c.name)
			add := func(code int, args ...string) string {
				text := checkStderr(t, code, out, args...)
				texts.AddError(t, args[0], text, args[0] == c.full)
				others.AddError(t, args[0], checkStderrOf(t, more, code, out, args...), args[0] == c.full)
				return text
			}
			for _, args := range [][]string{{"report", results}, {"diff", results, results}} {
				text := add(c.report, args...)
				if name := strings.Replace(c.file, "*", "RUN0", 1); !strings.Contains(filepath.ToSlash(text), name) {
					t.Errorf("it does not name %s: %s", name, text)
				}
			}
			if c.run == command.Done {
				var stdout, stderr bytes.Buffer
				if code := Run(Registry(), []string{"run", file, "--out", out}, &stdout, &stderr, false); code != command.Done {
					t.Errorf("run: exit code %d, %s", code, stderr.String())
				}
				if _, err := os.Stat(names[0]); errors.Is(err, fs.ErrNotExist) {
					t.Error(err)
				}
				if code := Run(Registry(), []string{"report", results}, &stdout, &stderr, false); code != command.Done {
					t.Errorf("report after the run: exit code %d, %s", code, stderr.String())
				}
				return
			}
			add(c.run, "run", file, "--out", out)
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
	testkit.Golden(t, "otherversion.txt", texts.String())
	if !testkit.IsUpdating() {
		testkit.Golden(t, "otherversion.txt", others.String()) // with other names in the registry
	}
}

// untraced returns the output of a command without the estimate of the size of its traces.
func untraced(said string) string {
	if rest, is := strings.CutPrefix(said, "notice: the traces of all runs take about "); is {
		_, said, _ = strings.Cut(rest, "\n")
	}
	return said
}
