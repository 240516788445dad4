package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/internal/command"
	"weir/internal/revision"
)

// ran runs an experiment, and returns the results folder.
func ran(t *testing.T, out string, args ...string) string {
	t.Helper()
	before, _ := filepath.Glob(filepath.Join(out, "*"))
	code, _, stderr := weir(append([]string{"run", "--out", out}, args...)...)
	if code != command.Done {
		t.Fatalf("exit code %d, %s", code, stderr)
	}
	after, _ := filepath.Glob(filepath.Join(out, "*"))
	for _, dir := range after {
		if !strings.Contains(strings.Join(before, "\n")+"\n", dir+"\n") {
			return dir
		}
	}
	return ""
}

// TestResultsFound checks that results are found by name, with any options, and the list describes them.
func TestResultsFound(t *testing.T) {
	file, out := write(t, small), t.TempDir()
	short := ran(t, out, file, "--set", "duration=100ms", "--seed", "9")
	for _, name := range []string{file, "small", filepath.Base(short), filepath.Base(short)[:12]} {
		t.Run("one: "+filepath.Base(name), func(t *testing.T) {
			code, stdout, stderr := weir("report", name, "--out", out)
			if code != command.Done || stderr != "" || !strings.Contains(stdout, filepath.Join(short, "report.html")) {
				t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
			}
		})
	}
	old := time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)
	runs, _ := filepath.Glob(filepath.Join(short, "runs", "*"))
	for _, r := range runs {
		os.Chtimes(r, old, old)
	}
	whole := ran(t, out, file)
	code, stdout, stderr := weir("report", file, "--out", out)
	if code != command.Done || !strings.Contains(stdout, whole) ||
		!strings.HasPrefix(stderr, "notice: 2 results folders match ") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	for _, args := range [][]string{{"results", "--out", out}, {"results", "list", "small", "--out", out}} {
		t.Run(strings.Join(args[:2], " "), func(t *testing.T) {
			code, stdout, stderr := weir(args...)
			first, second := strings.Index(stdout, whole), strings.Index(stdout, short)
			if code != command.Done || stderr != "" || first < 0 || second < first || // the newest first
				!strings.Contains(stdout, "small --set duration=100ms --seed 9\n    "+old.Format("2006-01-02 15:04")+
					", 2 runs, claims: 1 holds, 1 fails\n    by "+revision.Version()+" (this program)\n    "+short+"\n") {
				t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
			}
		})
	}
	var list []struct {
		Dir, Experiment, Options, Version, Program string
		Finished                                   time.Time
		Verdicts                                   map[string]int
	}
	_, stdout, _ = weir("results", "list", "--out", out, "--json")
	if err := json.Unmarshal([]byte(stdout), &list); err != nil || len(list) != 2 || list[0].Verdicts["holds"] != 1 ||
		list[1].Options != "--set duration=100ms --seed 9" || list[1].Program != revision.This().String() ||
		list[1].Finished.After(old.Add(time.Minute)) {
		t.Errorf("%v %+v", err, list)
	}
	if code, _, stderr := weir("report", "smal", "--out", t.TempDir()); code != command.WrongInput ||
		!strings.Contains(stderr, "smal is not a results folder") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	if code, stdout, _ := weir("results", "list", "large", "--out", out); code != command.Done ||
		!strings.Contains(stdout, "no results in "+out+" of large; results exist of small") {
		t.Errorf("exit code %d, %s", code, stdout)
	}
	if code, stdout, _ := weir("results", "--out", filepath.Join(out, "none")); code != command.Done ||
		!strings.HasPrefix(stdout, "no results in ") {
		t.Errorf("exit code %d, %s", code, stdout)
	}
}

// TestFolderOfProgram checks that each program has a separate folder: folders of other programs are not changed.
func TestFolderOfProgram(t *testing.T) {
	file, out := write(t, small), t.TempDir()
	dir := ran(t, out, file)
	if !strings.HasSuffix(dir, "-"+revision.This().FolderKey()) {
		t.Errorf("%s does not end with the program's key %s", dir, revision.This().FolderKey())
	}
	origin, err := os.ReadFile(filepath.Join(dir, "origin.json"))
	if err != nil || !strings.Contains(string(origin), `"program": "`+revision.This().String()+`"`) {
		t.Errorf("%s, %v", origin, err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "report.html"))
	if err != nil || !strings.Contains(string(page), "Executed by "+revision.Version()+", program "+
		revision.This().String()+".") {
		t.Errorf("the page does not name the program, %v", err)
	}
	host, err := os.ReadFile(filepath.Join(dir, "host.json"))
	if err != nil || !strings.Contains(string(host), `"version": "`+revision.Version()+`"`) {
		t.Errorf("%s, %v", host, err)
	}
	other := strings.TrimSuffix(dir, revision.This().FolderKey()) + "0123abcd"
	if err := os.Rename(dir, other); err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(origin), revision.This().String(), "weir/cmd/weir commit:feed go1.20 linux/amd64", 1)
	changed = strings.Replace(changed, `"version": "`+revision.Version(), `"version": "commit feed`, 1)
	if err := os.WriteFile(filepath.Join(other, "origin.json"), []byte(changed), 0o644); err != nil {
		t.Fatal(err)
	}
	before := contents(t, other)
	if again := ran(t, out, file); again != dir {
		t.Errorf("it runs into %s, not %s", again, dir)
	}
	after := contents(t, other)
	for name, text := range before {
		if after[name] != text {
			t.Errorf("%s of the other program has changed", name)
		}
	}
	if len(after) != len(before) {
		t.Error("files of the other program have come or gone")
	}
	_, stdout, _ := weir("results", "--out", out)
	if !strings.Contains(stdout, "by commit feed\n") || !strings.Contains(stdout, "(this program)\n") {
		t.Error(stdout)
	}
	_, stdout, _ = weir("report", other)
	page, _ = os.ReadFile(filepath.Join(other, "report.html"))
	if !strings.Contains(string(page), "Executed by commit feed, program weir/cmd/weir commit:feed go1.20 linux/amd64. "+
		"This page was written by ") {
		t.Errorf("a report of another program's results names this one as theirs\n%s", stdout)
	}
}

// TestDiff_RefusesResultsWithoutCommonValues checks that two results without common values give an error, unlike two
// equal ones.
func TestDiff_RefusesResultsWithoutCommonValues(t *testing.T) {
	out := t.TempDir()
	a := ran(t, out, write(t, small))
	b := ran(t, out, write(t, strings.NewReplacer("title: small", "title: other", "[1Mbps, 5Mbps]", "[2Mbps, 4Mbps]").
		Replace(small[:strings.Index(small, "expect:")])))
	code, stdout, stderr := weir("diff", a, b)
	if code != command.WrongInput || !strings.Contains(stdout, "\nA and B have no value in common: ") ||
		!strings.Contains(stderr, "have no point and measure in common") ||
		!strings.Contains(stdout, "only in B: rate=4Mbps") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	if code, stdout, _ := weir("diff", a, a); code != command.Done || !strings.Contains(stdout, "0 values differ, ") {
		t.Errorf("exit code %d\n%s", code, stdout)
	}
}

// answered makes standard input return a text.
func answered(t *testing.T, text string) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	w.WriteString(text)
	w.Close()
	old := os.Stdin
	os.Stdin = r
	t.Cleanup(func() { os.Stdin = old; r.Close() })
}

// TestResultsRemove_AsksAndKeepsOtherFolders checks that removal asks for confirmation, and removes only weir's
// folders.
func TestResultsRemove_AsksAndKeepsOtherFolders(t *testing.T) {
	file, out := write(t, small), t.TempDir()
	dir := ran(t, out, file)
	there := func() bool { _, err := os.Stat(filepath.Join(dir, "runs.json")); return err == nil }
	for _, x := range []struct {
		name, answer string
		code         int
	}{{"no", "n\n", command.Done}, {"an empty answer", "\n", command.Done}, {"nobody", "", command.WrongInput},
		{"something", "maybe\n", command.Done}} {
		t.Run(x.name, func(t *testing.T) {
			answered(t, x.answer)
			code, stdout, stderr := weir("results", "remove", "small", "--out", out)
			if code != x.code || !there() || !strings.Contains(stdout, "Remove this folder? [y/N]") ||
				!strings.Contains(stdout, dir+" is kept") {
				t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
			}
		})
	}
	mine := t.TempDir()
	os.WriteFile(filepath.Join(mine, "spec.yaml"), []byte("a: b\n"), 0o644)
	link := filepath.Join(t.TempDir(), "link")
	os.Symlink(dir, link)
	for _, name := range []string{mine, link, "none", filepath.Dir(dir)} {
		t.Run("refused "+filepath.Base(name), func(t *testing.T) {
			code, stdout, stderr := weir("results", "remove", name, "--yes", "--out", out)
			if code != command.WrongInput || !there() || stderr == "" {
				t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
			}
		})
	}
	if _, err := os.Stat(filepath.Join(mine, "spec.yaml")); err != nil {
		t.Error(err)
	}
	// files that are not weir's stay, even behind a link
	os.WriteFile(filepath.Join(dir, "notes.txt"), nil, 0o644)
	os.RemoveAll(filepath.Join(dir, "plots"))
	os.Symlink(mine, filepath.Join(dir, "plots"))
	answered(t, "y\n")
	code, stdout, stderr := weir("results", "remove", dir)
	left, _ := filepath.Glob(filepath.Join(dir, "*"))
	if code != command.Done || len(left) != 2 || !strings.Contains(stdout,
		"the folder is kept, because it contains other files: notes.txt, plots") {
		t.Errorf("exit code %d, left %v\n%s%s", code, left, stdout, stderr)
	}
	if _, err := os.Stat(filepath.Join(mine, "spec.yaml")); err != nil {
		t.Error(err)
	}
	os.RemoveAll(dir)
	dir = ran(t, out, file)
	if code, _, stderr := weir("results", "remove", filepath.Base(dir), "--yes", "--out", out); code != command.Done {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the folder is there")
	}
	ran(t, out, file)
	ran(t, out, file, "--seed", "2")
	if code, _, stderr := weir("results", "remove", "small", "--yes", "--out", out); code != command.WrongInput ||
		!strings.Contains(stderr, "2 results folders match small; name one of them: ") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}

// TestResultsBundle_OpensWithSameContents checks that a bundle opens on another machine with the same contents.
func TestResultsBundle_OpensWithSameContents(t *testing.T) {
	out, other := t.TempDir(), t.TempDir()
	dir := ran(t, out, write(t, small), "--set", "duration=100ms", "--trace", "s->b")
	archive := filepath.Join(t.TempDir(), "a.tar.gz")
	code, stdout, stderr := weir("results", "bundle", "small", "--to", archive, "--out", out)
	if code != command.Done || !strings.Contains(stdout, "1 folder with ") {
		t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
	}
	code, stdout, stderr = weir("results", "open", archive, "--into", other)
	if code != command.Done || !strings.HasPrefix(stdout, "small --set duration=100ms\n") {
		t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
	}
	want, got := contents(t, out), contents(t, other)
	delete(want, filepath.Join(filepath.Base(dir), "traces", "ports")) // of those who trace at a time
	for name, text := range want {
		if got[name] != text && !strings.HasSuffix(name, "host.html") {
			t.Errorf("%s is not what it was (%d and %d bytes)", name, len(got[name]), len(text))
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d files, %d were there", len(got), len(want))
	}
	a, _ := os.Stat(filepath.Join(dir, "runs.json"))
	b, err := os.Stat(filepath.Join(other, filepath.Base(dir), "spec.yaml"))
	if err != nil || b.ModTime().Sub(a.ModTime()).Abs() > time.Hour {
		t.Error(err)
	}
	for _, x := range []struct {
		name string
		args []string
		want string
	}{
		{"it is there", []string{"open", archive, "--into", other}, "exists already"},
		{"too much", []string{"open", archive, "--into", t.TempDir(), "--most", "1kB"}, "bytes; up to 1000 are allowed"},
		{"no archive", []string{"open", filepath.Join(dir, "runs.json"), "--into", t.TempDir()},
			"it is not an archive of weir"},
		{"no file", []string{"open", "none.tar.gz"}, "no such file"},
		{"the archive is there", []string{"bundle", dir, "--to", archive}, "exists already"},
		{"nothing of that name", []string{"bundle", "none", "--to", archive + "2", "--out", out},
			"results exist of small"},
	} {
		t.Run(x.name, func(t *testing.T) {
			code, stdout, stderr := weir(append([]string{"results"}, x.args...)...)
			if code != command.WrongInput || !strings.Contains(stderr, x.want) {
				t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
			}
		})
	}
	if left, _ := filepath.Glob(filepath.Join(other, ".weir-open-*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
