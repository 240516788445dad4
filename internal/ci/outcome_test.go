package main

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// events are lines of go test -json of one package.
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

func TestOutcome(t *testing.T) {
	for _, x := range []struct {
		name, events string
		strict       bool
		want         []string
		not, err     string
	}{
		{"passes", events("output TestA quiet\n", "pass TestA", "pass -"), false,
			[]string{"ok  \tweir/a\t1.5s\t1 passed, 0 skipped, 0 failed", "1.50 s  a TestA", "1 passed, 0 failed, 0 skipped"},
			"quiet", ""},
		{"fails", events("output TestA     a_test.go:1: 1 instead of 2\n", "fail TestA", "fail -"), false,
			[]string{"1 instead of 2", "FAIL\tweir/a", "failed\n  a TestA"}, "", "1 failed"},
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
			[]string{"1 inconclusive\n  a TestA: lost frames"}, "", ""},
		{"inconclusive, with several lines", events("output TestA     realtime.go:1: inconclusive: lost frames; it found:\n",
			"output TestA         /tmp/report.html\n", "skip TestA", "pass TestB", "pass -"), true,
			[]string{"1 inconclusive\n  a TestA: lost frames; it found:\n"}, "report.html", ""},
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
			err := o.verdict(nil, strict)
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
