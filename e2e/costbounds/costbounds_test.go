package costbounds_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"weir/e2e/costbounds"
)

func held(t *testing.T, text string) costbounds.Bounds {
	t.Helper()
	b, err := costbounds.Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

const log = `# a comment
2026-01-02 go1.26.1: the first of all bounds
	a instructions/hop 1000.0
	a events/hop 1.5000
	b allocations/packet 0.0000

2026-01-03 go1.26.2: arrivals are merged
	a instructions/hop 900.0
	b allocations/packet gone
`

func TestRead_KeepsLatestBounds(t *testing.T) {
	b := held(t, log)
	want := map[string]costbounds.Bound{"instructions/hop": {Value: 900, Go: "go1.26.2"}, "events/hop": {Value: 1.5,
		Go: "go1.26.1"}}
	for figure, bound := range want {
		if got := b[costbounds.BoundKey{Workload: "a", Figure: figure}]; got != bound {
			t.Errorf("%s: %v, want %v", figure, got, bound)
		}
	}
	if len(b) != len(want) {
		t.Errorf("%d bounds: %v", len(b), b)
	}
}

// TestRead_RejectsUnclearRecords checks that Read refuses a file in which a bound moves without a reason, or in a
// way that a reader of the file could miss.
func TestRead_RejectsUnclearRecords(t *testing.T) {
	const first = "2026-01-02 go1.26.1: the first of all bounds\n"
	for _, c := range []struct{ name, text, want string }{
		{"no record", "\ta events/hop 1.5000\n", "line 1: a bound before the first record's day and reason"},
		{"no reason", "2026-01-02 go1.26.1: \n", "line 1: \"2026-01-02 go1.26.1: \" is no record"},
		{"a word for a reason", "2026-01-02 go1.26.1: update\n", `line 1: "update" is no reason for new bounds`},
		{"no day", "2026-13-02 go1.26.1: the first of all bounds\n", "line 1: parsing time"},
		{"no release", "2026-01-02: the first of all bounds\n", "is no record"},
		{"an old day", first + "2026-01-01 go1.26.1: a day too early\n", "line 2: the record of 2026-01-01 is after that of"},
		{"no figure", first + "\ta hops/s 1.5\n", `line 2: "hops/s" is no figure`},
		{"no number", first + "\ta events/hop few\n", `line 2: "few" is no bound; a number of 0 or more with 4 decimals is`},
		{"negative", first + "\ta events/hop -1.0000\n", "is no bound"},
		{"not a number", first + "\ta events/hop NaN\n", "is no bound"},
		{"without end", first + "\ta events/hop +Inf\n", "is no bound"},
		{"other decimals", first + "\ta events/hop 1.5\n", "is no bound"},
		{"a word too many", first + "\ta events/hop 1.5000 packets\n", "is no bound; it has a workload"},
		{"twice", first + "\ta events/hop 1.5000\n\ta events/hop 1.6000\n", "line 3: one record moves events/hop of a twice"},
		{"not moved", log + "2026-01-04 go1.26.1: for no reason\n\ta events/hop 1.5000\n",
			"events/hop of a is 1.5000 already"},
		{"gone before", log + "2026-01-04 go1.26.1: for no reason\n\tb events/hop gone\n", "is gone, and was not there"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := costbounds.Read(strings.NewReader(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestBounds_CheckAllToleratesNoise(t *testing.T) {
	const same, patch, next = "go1.26.8", "go1.26.9", "go1.27.0"
	for _, c := range []struct {
		name, figure    string
		bound, measured float64
		present, want   string
	}{
		{"the same", "instructions/hop", 1000, 1000, same, ""},
		{"noise", "instructions/hop", 1000, 1009, same, ""},
		{"a patch of Go", "instructions/hop", 1000, 1009, patch, ""},
		{"more", "instructions/hop", 1000, 1011, patch,
			"instructions/hop is 1011.0, more than its bound of 1000.0 (+1.1 %)"},
		{"a small gain", "instructions/hop", 1000, 971, same, ""},
		{"a gain", "instructions/hop", 1000, 969, same,
			"instructions/hop is 969.0, a gain that is not held: its bound is 1000.0 (-3.1 %)"},
		{"another Go's more", "instructions/hop", 1000, 1099, next, ""},
		{"another Go's less", "instructions/hop", 1000, 500, next, ""},
		{"much more of another Go", "instructions/hop", 1000, 1101, next, "instructions/hop is 1101.0, more than its bound " +
			"of 1000.0, which go1.26.8 has set and go1.27.0 may pass by 10 % (+10.1 %)"},
		{"one event more", "events/hop", 1.5, 1.5002, next, "more than its bound of 1.5000"},
		{"rounded", "events/hop", 1.5, 1.50004, next, ""},
		{"few events less", "events/hop", 1.5, 1.49, same, ""},
		{"events less", "events/hop", 1.5, 1.4, next, "a gain that is not held"},
		{"the runtime's own", "allocations/packet", 0, 0.003, same, ""},
		{"one in a hundred packets", "allocations/packet", 0, 0.01, same, "more than its bound of 0.0000"},
		{"bytes", "bytes/host", 10000, 10101, same, "more than its bound of 10000"},
		{"one packet in two", "allocations/packet", 1, 0.5, same, "a gain that is not held"},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := costbounds.BoundKey{Workload: "a", Figure: c.figure}
			b := costbounds.Bounds{k: {Value: c.bound, Go: same}}
			wrong := strings.Join(b.CheckAll(map[costbounds.BoundKey]float64{k: c.measured}, c.present, nil), "; ")
			if (c.want == "") != (wrong == "") || !strings.Contains(wrong, c.want) {
				t.Errorf("%q, want %q", wrong, c.want)
			}
		})
	}
}

// TestJudgesWhatIsMissing checks that CheckAll reports figures without a bound, and bounds without a figure.
func TestJudgesWhatIsMissing(t *testing.T) {
	b := held(t, log)
	measured := map[costbounds.BoundKey]float64{{Workload: "a", Figure: "instructions/hop"}: 900,
		{Workload: "new", Figure: "bytes/host"}: 1}
	for skipped, want := range map[string]string{
		"":           "new: bytes/host has no bound; a: events/hop has a bound, but is not measured",
		"events/hop": "new: bytes/host has no bound",
	} {
		wrong := strings.Join(b.CheckAll(measured, "go1.26.2", func(f string) bool { return f == skipped }), "; ")
		if wrong != want {
			t.Errorf("without %q: %q, want %q", skipped, wrong, want)
		}
	}
}

// TestBounds_RecordAppendsMovedFigures checks that Record appends only the figures that have moved, and that the
// new bounds hold afterwards.
func TestBounds_RecordAppendsMovedFigures(t *testing.T) {
	b := held(t, log)
	day := time.Date(2026, 1, 4, 0, 0, 0, 0, time.UTC)
	key := func(workload, figure string) costbounds.BoundKey {
		return costbounds.BoundKey{Workload: workload, Figure: figure}
	}
	measured := map[costbounds.BoundKey]float64{key("a", "instructions/hop"): 902, key("a", "events/hop"): 1.4,
		key("c", "bytes/host"): 7}
	more, err := b.Record(measured, "go1.26.2", day, "events are merged")
	const want = "\n2026-01-04 go1.26.2: events are merged\n\ta            events/hop           1.4000\n" +
		"\tc            bytes/host           7\n"
	if err != nil || string(more) != want {
		t.Fatalf("%v: %s", err, more)
	}
	b = held(t, log+want)
	if wrong := b.CheckAll(measured, "go1.26.2", nil); wrong != nil {
		t.Errorf("after the record: %q", wrong)
	}
	if more, err = b.Record(measured, "go1.26.2", day, "nothing has moved"); err != nil || more != nil {
		t.Errorf("nothing has moved: %v, %s", err, more)
	}
	more, err = b.Record(measured, "go1.27.0", day, "another release of Go")
	if err != nil || strings.Count(string(more), "\t") != 2 || strings.Contains(string(more), "events") {
		t.Errorf("another Go: %v, %s", err, more)
	}
	delete(measured, key("c", "bytes/host"))
	more, err = b.Record(measured, "go1.26.2", day, "the workload is gone")
	if err != nil || !strings.HasSuffix(string(more), "\tc            bytes/host           gone\n") {
		t.Errorf("gone: %v, %s", err, more)
	}
	held(t, log+want+string(more))
	if _, err = b.Record(measured, "go1.26.2", day, "because"); err == nil {
		t.Error("a word is a reason")
	}
}

// TestCountsSomething checks that a run without counted instructions or packet-hops is an error and not a low
// figure.
func TestCountsSomething(t *testing.T) {
	for profile, want := range map[string]string{
		"events: Ir\n":   "callgrind has counted nothing",
		"totals: 0\n":    "callgrind has counted nothing",
		"totals: 7000\n": "no packet crossed a link",
	} {
		if _, err := costbounds.SumPerHop([]byte(profile), 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", profile, err, want)
		}
	}
	n, err := costbounds.SumPerHop([]byte("events: Ir\nsummary: 1\ntotals: 3000\nsummary: 2\ntotals: 4000\n"), 7)
	if err != nil || n != 1000 {
		t.Error(n, err)
	}
	if _, err := costbounds.CountInstructions("no-such-binary", "testdata/workloads/engine.yaml",
		t.TempDir()); err == nil {
		t.Error("a binary that is not there has a figure")
	}
}

func ExampleFigure_CheckBound() {
	f := costbounds.Figures[0]
	fmt.Println(f.CheckBound(1200, 1254, "go1.26.8", "go1.26.8"))
	// Output: instructions/hop is 1254.0, more than its bound of 1200.0 (+4.5 %)
}
