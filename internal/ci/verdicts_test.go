package main

import (
	"strings"
	"testing"
)

const someVerdicts = verdictsHead + `a/one  one.high  holds      1
a/one  one.low   fails      3  | the queue is longer
b/two  two.flat  undecided  1
`

// TestVerdictsKept checks that the file of verdicts is parsed, that unchanged verdicts are written back unchanged,
// and that a bad line is an error.
func TestVerdictsKept(t *testing.T) {
	all, err := parseVerdicts(someVerdicts)
	if err != nil || len(all) != 3 || all[1] != (claimVerdict{"a/one", "one.low", "fails", 3, "the queue is longer", ""}) {
		t.Fatalf("%+v, %v", all, err)
	}
	for _, ran := range []map[string]bool{nil, {"a/one": true}, {"a/one": true, "b/two": true}} {
		var found []claimVerdict
		for _, v := range all {
			if ran[v.experiment] {
				v.because = ""
				found = append(found, v)
			}
		}
		if text, err := updateVerdicts(all, found, ran, ""); err != nil || text != someVerdicts {
			t.Errorf("%v: %v\n%s", ran, err, text)
		}
		if rows := compareVerdicts(all, found, ran); len(rows) > 0 {
			t.Errorf("%v: %q", ran, rows)
		}
	}
	for _, line := range []string{"a/one one.high holds", "a/one one.high holds many"} {
		if _, err := parseVerdicts("# x\n" + line + "\n"); err == nil || !strings.Contains(err.Error(), ":2: ") {
			t.Errorf("%q: %v", line, err)
		}
	}
}

// TestVerdictsChanged checks that a changed verdict is listed with the previous one and the deciding numbers, and
// so are new and removed claims, only for the experiments that ran. The file accepts a change only with its reason.
func TestVerdictsChanged(t *testing.T) {
	all, err := parseVerdicts(someVerdicts)
	if err != nil {
		t.Fatal(err)
	}
	found := []claimVerdict{{"a/one", "one.high", "fails", 1, "", "3 > 2"}, {"a/one", "one.new", "holds", 1, "", "1 < 2"}}
	ran := map[string]bool{"a/one": true}
	const want = "a/one one.high: fails (runs: 1), was holds (runs: 1): 3 > 2\n" +
		"a/one one.new: holds (runs: 1), and not in the file: 1 < 2\n" +
		"a/one one.low: no such claim"
	if rows := strings.Join(compareVerdicts(all, found, ran), "\n"); rows != want {
		t.Errorf("%s\nwant\n%s", rows, want)
	}
	if _, err := updateVerdicts(all, found, ran, ""); err == nil || !strings.Contains(err.Error(), "-because") {
		t.Errorf("without a reason: %v", err)
	}
	text, err := updateVerdicts(all, found, ran, "timers back off")
	const changed = verdictsHead + `a/one  one.high  fails      1  | timers back off
a/one  one.new   holds      1
b/two  two.flat  undecided  1
`
	if err != nil || text != changed {
		t.Errorf("%v\n%s", err, text)
	}
	found[0].verdict, found[0].runs = "holds", 3 // more runs alone need no reason, and are a difference
	if rows := compareVerdicts(all, found[:1], map[string]bool{}); len(rows) != 1 {
		t.Errorf("%q", rows)
	}
	if _, err := updateVerdicts(all, found[:1], map[string]bool{"a/one": true}, ""); err != nil {
		t.Error(err)
	}
}
