package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestStageOfFile(t *testing.T) {
	const body = "package x\nimport \"testing\"\nfunc TestA(t *testing.T) {}\nfunc Testb(t *testing.T) {}\n" +
		"func TestMain(m *testing.M) {}\nfunc FuzzC(f *testing.F) {}\nfunc helper() {}\n" +
		"func ExampleD() {\n\t// Output: 1\n}\nfunc ExampleE() {}\n"
	for _, x := range []struct{ name, header, stage string }{
		{"no tag", "", "go"},
		{"one tag", "//go:build lab\n\n", "lab"},
		{"with a system", "//go:build system && linux\n\n", "system"},
		{"with a comment in front", "// A comment.\n\n//go:build slow && !race\n\n", "slow"},
		{"another tag", "//go:build linux || darwin\n\n", "go"},
	} {
		t.Run(x.name, func(t *testing.T) {
			tests, err := testsOf("a/x_test.go", []byte(x.header+body))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, test := range tests {
				got = append(got, test.String())
			}
			want := "a TestA " + x.stage + ",a FuzzC " + x.stage + ",a ExampleD " + x.stage
			if strings.Join(got, ",") != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
	if _, err := testsOf("a/x_test.go", []byte("//go:build lab || system\n\n"+body)); err == nil ||
		!strings.Contains(err.Error(), "several stages: lab, system") {
		t.Errorf("a file of two stages: %v", err)
	}
	tests, err := testsOf("a/x_test.go", []byte("//go:build lab || system\n\npackage x\nfunc helper() {}\n"))
	if err != nil || tests != nil {
		t.Errorf("helpers of two stages: %v, %v", tests, err)
	}
}

func TestGoFiles(t *testing.T) {
	got := goFiles([]string{"a.go", "a.md", "go.mod", "x/testdata/b.go", "x/_y/c.go", ".z/d.go", "examples/own/go.mod",
		"examples/own/e.go", "examples/other/f.go"})
	if strings.Join(got, " ") != "a.go examples/other/f.go" {
		t.Errorf("got %v", got)
	}
}

func TestSelection_SkipsTestsOfOtherStages(t *testing.T) {
	s := selection{stages: []string{"lab"}, tests: []test{{"a", "TestA", "go"}, {"a", "TestB", "lab"},
		{"a", "TestC", "system"}, {"b", "TestD", "go"}, {"c", "TestE", "lab"}}}
	folders, skip := s.packages()
	// TestC is not compiled with the tag lab.
	if strings.Join(folders, " ") != "a c" || skip["a"] != "^(TestA)$" || skip["c"] != "" {
		t.Errorf("folders %v, skip %v", folders, skip)
	}
}

func TestPureRules(t *testing.T) {
	for _, x := range []struct{ name, imports, body, want string }{
		{"clean", `import "os"`, `func f() { os.ReadFile("x") }`, ""},
		{"program", `import "os/exec"`, ``, "imports os/exec"},
		{"sleep", `import "time"`, `func f() { time.Sleep(1) }`, "wall clock"},
		{"duration", `import "time"`, `var x = 2 * time.Second`, ""},
		{"port of the kernel", `import "net"`, `func f() { net.Listen("tcp", "127.0.0.1:0") }`, ""},
		{"fixed port", `import "net"`, `func f() { net.Listen("tcp", "127.0.0.1:80") }`, "port"},
		{"user", `import "os"`, `func f() { os.Geteuid() }`, "user"},
		{"another name", `import clock "time"`, `func f() { clock.Sleep(1) }`, "wall clock"},
		{"a function as a value", `import "time"`, `var now = time.Now`, "wall clock"},
		{"a name of another package", `import "x/time"`, `func f() { time.Now() }`, ""},
		{"no name", `import . "time"`, `func f() { Sleep(1) }`, "without its name"},
		{"timeout", `import "context"`, `func f() { context.WithTimeout(nil, 1) }`, "wall clock"},
		{"deadline", `import "context"`, `func f() { context.WithDeadline(nil, x) }`, "wall clock"},
		{"TCP", `import "net"`, `func f() { net.ListenTCP("tcp", &net.TCPAddr{IP: x}) }`, ""},
		{"TCP with a port", `import "net"`, `func f() { net.ListenTCP("tcp", &net.TCPAddr{IP: x, Port: 80}) }`, "port"},
		{"UDP without an address", `import "net"`, `func f() { net.ListenUDP("udp", nil) }`, ""},
		{"unix", `import "net"`, `func f() { net.Listen("unix", name) }`, ""},
		{"listen as a value", `import "net"`, `var f = net.Listen`, "port"},
		{"dial a listener", `import "net"`, `func f() { net.Dial("tcp", l.Addr().String()) }`, ""},
		{"dial a fixed address", `import "net"`, `func f() { net.Dial("tcp", "127.0.0.1:80") }`, "fixed address"},
		{"server", `import "net/http"`, `func f() { http.ListenAndServe(":80", nil) }`, "port"},
		{"server's method", `import "net/http"`, `func f(s *http.Server) { s.ListenAndServe() }`, "port"},
		{"fork", `import "syscall"`, `func f() { syscall.ForkExec("a", nil, nil) }`, "program"},
		{"process", `import "os"`, `func f() { os.StartProcess("a", nil, nil) }`, "program"},
		{"unix user", `import "golang.org/x/sys/unix"`, `func f() { unix.Geteuid() }`, "user"},
		{"home", `import "os"`, `func f() { os.UserHomeDir() }`, "user"},
		{"file of the system", `import "os"`, `func f() { os.ReadFile("/etc/passwd") }`, "file of the system"},
		{"file of the system as data", `import "os"`, `var link = "/etc/passwd"`, ""},
		{"skip", `import "testing"`, `func f(t *testing.T) { t.Skip("needs root") }`, "skips"},
		{"skip with a reason", `import "testing"`, "func f(t *testing.T) {\n//weir:impure x\nt.Skip() }", ""},
		{"git", `import "weir/internal/testkit"`, `func f() { testkit.TrackedFiles(t, ".") }`, "git"},
		{"with a reason", `import "time"`, "func f() {\n//weir:impure a bound in a message\ntime.Now() }", ""},
		{"without a reason", `import "time"`, "func f() {\n//weir:impure \ntime.Now() }", "wall clock"},
	} {
		t.Run(x.name, func(t *testing.T) {
			found, err := findImpurities("a/x_test.go", []byte("package x\n"+x.imports+"\n"+x.body))
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(found, "\n"); (x.want == "") != (got == "") || !strings.Contains(got, x.want) {
				t.Errorf("found %q, want %q", got, x.want)
			}
			tagged, err := findImpurities("a/x_test.go", []byte("//go:build lab\n\npackage x\n"+x.imports+"\n"+x.body))
			if err != nil || len(tagged) > 0 {
				t.Errorf("with a tag: %v, %v", tagged, err)
			}
		})
	}
}

func TestStartsGoroutines(t *testing.T) {
	root := t.TempDir()
	for name, body := range map[string]string{"a/a.go": "func f() { go f() }", "b/b_test.go": "func f(w w) { w.Go(nil) }",
		"c/c.go": "func f() { defer f() }"} {
		writeFile(t, root, name, "package x\n"+body)
	}
	starts, err := startsGoroutines(root, []string{"a/a.go", "b/b_test.go", "c/c.go"})
	if err != nil || !starts["a"] || !starts["b"] || starts["c"] {
		t.Errorf("%v, %v", starts, err)
	}
}

// writeFile writes a file below a folder.
func writeFile(t *testing.T, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestListDiffers(t *testing.T) {
	root := t.TempDir()
	const want = "a TestA go\na TestB lab\n"
	for _, x := range []struct{ name, text, err string }{
		{"the same", want, ""},
		{"a test is missing", "a TestA go\n", "missing: a TestB lab"},
		{"a test is gone", want + "a TestC go\n", "no such test: a TestC go"},
		{"another stage", "a TestA go\na TestB go\n", "missing: a TestB lab\nno such test: a TestB go"},
		{"another order", "a TestB lab\na TestA go\n", "the order differs"},
	} {
		t.Run(x.name, func(t *testing.T) {
			writeFile(t, root, testListFile, x.text)
			err := checkTestList(root, want)
			if (err == nil) != (x.err == "") || err != nil && !strings.Contains(err.Error(), x.err) {
				t.Errorf("error %v, want %q", err, x.err)
			}
		})
	}
}

func TestLanguageCounts(t *testing.T) {
	root := t.TempDir()
	writeFile(t, root, "a.go", "package a\n\n// heed is that of a port, of which nothing is told.\nfunc heed() {}\n\n"+
		"// parseAll parses.\nfunc parseAll() {}\n\ntype shelfKind int\n")
	counts, err := languageCounts(root, []string{"a.go"})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"comments: say, tell": 1, "comments: that of, those of": 1,
		"comments: of which, of whom, of whose": 1, "comments: nothing, none, nobody, whoever": 1,
		"names: words of the dialect": 2, "names: functions of one word, per mille": 500} {
		if counts[name] != want {
			t.Errorf("%s: %d, want %d", name, counts[name], want)
		}
	}
}

func TestReadBounds(t *testing.T) {
	bounds, err := readBounds(languageFile, "3 comments: ours\n12 names: words\n")
	if err != nil || bounds["comments: ours"] != 3 || bounds["names: words"] != 12 {
		t.Errorf("%v, %v", bounds, err)
	}
	if _, err := readBounds(languageFile, "3 a\nb\n"); err == nil || !strings.Contains(err.Error(), "language.txt:2") {
		t.Errorf("error %v", err)
	}
}

func TestMovedMeasures(t *testing.T) {
	parse := func(text string) *outcomeFile {
		o := &outcomeFile{}
		if err := json.Unmarshal([]byte(text), o); err != nil {
			t.Fatal(err)
		}
		return o
	}
	const run = `{"point":{"n":"%[1]s"},"measures":{"goodput_bps":{"a":%[2]s,"b":10},"jain":%[3]s,"queue":[7,%[2]s]}}`
	before := parse(`{"runs":[` + fmt.Sprintf(run, "1", "100", "0.5") + "," + fmt.Sprintf(run, "1", "200", "0.5") + "," +
		fmt.Sprintf(run, "2", "50", "null") + `],"claims":[{"id":"x","verdict":"holds"},{"id":"y","verdict":"holds"}]}`)
	after := parse(`{"runs":[` + fmt.Sprintf(run, "1", "100", "0.5") + "," + fmt.Sprintf(run, "1", "206", "0.504") + "," +
		fmt.Sprintf(run, "2", "60", "0.1") + `],"claims":[{"id":"x","verdict":"fails"},{"id":"z","verdict":"holds"}]}`)
	got := fmt.Sprint(append(changedVerdicts("e", before, after), movedMeasures("e", before, after)...))
	want := "[{e claim x holds fails } {e claim y holds – } {e claim z – holds } " +
		"{e goodput_bps.a 50 60 2 of 2 points, most at n=2} {e jain – 0.1 1 of 2 points, most at n=2} " +
		"{e queue 50 60 2 of 4 points, most at n=2 [1]}]"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestPureBubbles checks that a file may sleep if it has bubbles itself, or is in a listed folder.
func TestPureBubbles(t *testing.T) {
	root := t.TempDir()
	const sleep = "import \"time\"\nfunc f() { time.Sleep(1) }\n"
	writeFile(t, root, "a/a_test.go", "package a\nimport \"testing/synctest\"\n"+sleep)
	writeFile(t, root, "a/b_test.go", "package a\n"+sleep)
	writeFile(t, root, "study/run/jetstream/b_test.go", "package jetstream\n"+sleep)
	if err := checkPure(root, []string{"a/a_test.go", "study/run/jetstream/b_test.go"}); err != nil {
		t.Error(err)
	}
	if err := checkPure(root, []string{"a/a_test.go", "a/b_test.go"}); err == nil ||
		!strings.Contains(err.Error(), "a/b_test.go:3") {
		t.Errorf("a sleep outside of bubbles passes: %v", err)
	}
}

func TestRealTimeFolders(t *testing.T) {
	root := t.TempDir()
	const netns = "import _ \"weir/internal/netns\"\n"
	files := map[string]string{
		"a/a_slow_test.go":       "//go:build slow\n\npackage x\n" + netns,
		"b/b_slow_test.go":       "//go:build slow\n\npackage x\n",
		"c/help_test.go":         "//go:build lab || slow\n\npackage x\n" + netns,
		"d/d_slow_linux_test.go": "//go:build slow\n\npackage x\n",
		"e/e_lab_test.go":        "//go:build lab\n\npackage x\n" + netns,
		"f/f.go":                 "package x\n" + netns,
	}
	for name, text := range files {
		writeFile(t, root, name, text)
	}
	folders, err := realTimeFolders(root, slices.Collect(maps.Keys(files)), "slow")
	if err != nil || fmt.Sprint(folders) != "map[a:true c:true d:true]" {
		t.Errorf("%v, %v", folders, err)
	}
}

func TestJoinPasses(t *testing.T) {
	wrong := errors.New("wrong")
	for _, x := range []struct{ first, second, want error }{
		{nil, nil, nil}, {errNoTest, nil, nil}, {nil, errNoTest, nil}, {errNoTest, errNoTest, errNoTest},
		{errNoTest, wrong, wrong}, {wrong, errNoTest, wrong}, {wrong, nil, wrong},
	} {
		if got := joinPasses(x.first, x.second); !errors.Is(got, x.want) {
			t.Errorf("%v and %v: %v", x.first, x.second, got)
		}
	}
}

func TestCompareCoverage(t *testing.T) {
	for _, x := range []struct {
		name, pkg     string
		before, after float64 // negative: none
		exists        bool
		lost          bool
	}{
		{"the same", "weir/core/a", 80, 80, true, false},
		{"two points", "weir/core/a", 80.3, 78.3, true, false},
		{"more", "weir/papers/a", 80.3, 78.2, true, true},
		{"another layer", "weir/worlds/a", 80, 10, true, false},
		{"a new package", "weir/study/a", -1, 10, true, false},
		{"a removed package", "weir/study/a", 80, -1, false, false},
		{"a package whose tests fail", "weir/study", 80, -1, true, true},
	} {
		t.Run(x.name, func(t *testing.T) {
			before, after := map[string]float64{}, map[string]float64{}
			if x.before >= 0 {
				before[x.pkg] = x.before
			}
			if x.after >= 0 {
				after[x.pkg] = x.after
			}
			err := compareCoverage(io.Discard, before, after, func(string) bool { return x.exists })
			if (err != nil) != x.lost {
				t.Errorf("error %v", err)
			}
		})
	}
}
