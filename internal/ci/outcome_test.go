package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// events returns lines of go test -json of one package.
func events(lines ...string) string {
	var b strings.Builder
	for _, line := range lines {
		action, rest, _ := strings.Cut(line, " ")
		name, output, _ := strings.Cut(rest, " ")
		test := ""
		if name != "-" {
			test = fmt.Sprintf(`,"Test":%q`, name)
		}
		fmt.Fprintf(&b, "{\"Action\":%q,\"Package\":\"weir/a\"%s,\"Elapsed\":1.5,\"Output\":%q}\n", action, test, output)
	}
	return b.String()
}

func TestOutcome_CountsAndReportsVerdicts(t *testing.T) {
	for _, x := range []struct {
		name, events string
		strict       bool
		want         []string
		not, err     string
	}{
		{"passes", events("output TestA quiet\n", "pass TestA", "pass -"), false,
			[]string{"ok  \tweir/a\t1.5s\t1 passed, 0 failed, 0 skipped, 0 inconclusive", "1.50 s  a TestA\n",
				"in tests\n1 passed, 0 failed, 0 skipped, 0 inconclusive\n"},
			"quiet", ""},
		{"fails", events("output TestA     a_test.go:1: 1 instead of 2\n", "fail TestA", "fail -"), false,
			[]string{"1 instead of 2", "FAIL\tweir/a", "failed\n  a TestA", "1.50 s  a TestA (failed)"}, "", "1 failed"},
		{"fails in an order", events("output - -test.shuffle 17\n", "fail TestA", "output - FAIL\n", "fail -"), false,
			[]string{"-test.shuffle 17\n"}, "", "1 failed"},
		{"passes in an order", events("output - -test.shuffle 17\n", "pass TestA", "pass -"), false, nil, "shuffle", ""},
		{"a part fails", events("output TestA/x     a_test.go:1: wrong\n", "fail TestA/x", "fail TestA", "fail -"), false,
			[]string{"wrong", "a TestA/x"}, "", "2 failed"},
		{"panics", events("output TestA panic: broken\n", "fail -"), false, []string{"panic: broken"}, "", "1 failed"},
		{"is skipped", events("output TestA     a_test.go:1: needs root\n", "skip TestA", "pass TestB", "pass -"), false,
			[]string{"1 skipped\n  a TestA: needs root"}, "", ""},
		{"must not be skipped",
			events("output TestA     a_test.go:1: needs root\n", "skip TestA", "pass TestB", "pass -"), true, nil, "",
			"a TestA was skipped"},
		{"inconclusive",
			events("output TestA     realtime.go:1: inconclusive: lost frames\n", "skip TestA", "pass TestB", "pass -"), true,
			[]string{"1 inconclusive\n  a TestA: lost frames", "1.50 s  a TestA (inconclusive)",
				"1 passed, 0 failed, 0 skipped, 1 inconclusive"}, "", ""},
		{"inconclusive, with several lines", events("output TestA     realtime.go:1: inconclusive: lost frames; it found:\n",
			"output TestA         /tmp/report.html\n", "skip TestA", "pass TestB", "pass -"), true,
			[]string{"1 inconclusive\n  a TestA: lost frames; it found:\n"}, "report.html", ""},
		{"an inconclusive part", events("output TestA/x/y     a_test.go:1: inconclusive: lost frames\n", "skip TestA/x/y",
			"pass TestA/x", "pass TestA", "pass TestAB", "pass -"), true,
			[]string{"1 inconclusive\n  a TestA/x/y: lost frames\n", "1.50 s  a TestA (inconclusive)",
				"1 passed, 0 failed, 0 skipped, 1 inconclusive"}, "", ""},
		{"a reason of several lines", events("output TestA     a_test.go:1: needs root\n",
			"output TestA         to open it\n", "output TestA --- SKIP: TestA (0.00s)\n", "skip TestA", "pass TestB", "pass -"),
			false, []string{"1 skipped\n  a TestA: needs root\n"}, "", ""},
		{"no test", "", false, nil, "", "no test passed"},
		{"does not build", `{"Action":"build-output","ImportPath":"weir/a","Output":"a.go:1: no such\n"}` + "\n" +
			`{"Action":"build-fail","ImportPath":"weir/a"}` + "\n" + events("fail -"), false,
			[]string{"no such", "weir/a (build)"}, "", "failed"},
	} {
		t.Run(x.name, func(t *testing.T) {
			var out strings.Builder
			o := newOutcome(&out)
			if err := o.read(strings.NewReader(x.events)); err != nil {
				t.Fatal(err)
			}
			o.print("stage a", time.Second)
			var strict func(string) bool
			if x.strict {
				strict = func(string) bool { return true }
			}
			err := o.judge(nil, strict)
			for _, w := range x.want {
				if !strings.Contains(out.String(), w) {
					t.Errorf("the output lacks %q:\n%s", w, &out)
				}
			}
			if x.not != "" && strings.Contains(out.String(), x.not) {
				t.Errorf("the output has %q:\n%s", x.not, &out)
			}
			if (err == nil) != (x.err == "") || err != nil && !strings.Contains(err.Error(), x.err) {
				t.Errorf("error %v, want %q", err, x.err)
			}
		})
	}
}

func TestAppendSummary_AppendsEachStage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "summary")
	t.Setenv(summaryVariable, file)
	for _, title := range []string{"stage a", "stage b"} {
		o := newOutcome(io.Discard)
		if err := o.read(strings.NewReader(events("output TestA     a_test.go:1: no tshark\n", "skip TestA",
			"output TestB     a_test.go:1: inconclusive: lost frames\n", "skip TestB", "fail TestC", "fail -"))); err != nil {
			t.Fatal(err)
		}
		if err := o.appendSummary(title); err != nil {
			t.Fatal(err)
		}
	}
	const part = "stage a: 1 skipped\n  a TestA: no tshark\nstage a: 1 inconclusive\n  a TestB: lost frames\n" +
		"stage a: failed\n  a TestC\n"
	got, err := os.ReadFile(file)
	if want := part + strings.ReplaceAll(part, "stage a", "stage b"); err != nil || string(got) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}
}
