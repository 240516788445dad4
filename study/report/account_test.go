package report

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"weir/internal/testkit"
	"weir/study/results"
)

// eventful has one of all that an account can have.
func eventful() []results.Execution {
	at := func(s int) time.Time {
		return time.Date(2026, 11, 24, 23, 59, 0, 0, time.UTC).Add(time.Duration(s) * time.Second)
	}
	const revision = "weir/cmd/weir commit:0123456789abcdef0123456789abcdef01234567 go1.26.8 linux/amd64 GOAMD64=v1"
	return []results.Execution{
		{ID: "a", By: results.ByWorkers, Place: "nats://10.0.0.1:4222", Host: "desk", Revision: revision, Begun: at(0),
			Ended: at(95), Interrupted: true, Runs: 47, Checked: 3, Settled: 1, Lost: 1, Twice: 2, FurtherEvents: 12,
			Workers: []results.Worker{
				{ID: "1", Name: "this process", Host: "desk", Revision: revision, Jobs: 2, Runs: 12},
				{ID: "2", Name: "honest", Host: "rack1", Revision: revision, Jobs: 8, Runs: 35, Compared: 4, Reconnections: 2},
				{ID: "3", Name: "liar", Host: "rack2", Revision: revision, Jobs: 8, Discarded: 21, Errors: 1,
					SetAside: "its result of rate=1Mbps seed 4 differs from the result of the run"},
				{ID: "4", Name: "a-machine-with-a-long-name.of.some.department.example.org/12345",
					Host: "a-machine-with-a-long-name.of.some.department.example.org", Revision: revision, Jobs: 64, Lost: 1},
				{ID: "5", Name: "evil\x1b[2J", Host: "<script>", Revision: "weir/cmd/weir - go1.26.8 linux/m68k",
					Refused: "it has architecture m68k, not amd64"}},
			Failed: []results.FailedRun{{Run: "rate=2Mbps seed 1", Error: "panic: a mistake of the scheme"}},
			Waits: []results.IdlePeriod{{From: at(40), To: at(85),
				Why: []string{"JetStream has stopped, for it cannot write into " +
					"results/x/queue: everything waits for space there", "the server does not answer"}},
				{From: at(90), Why: []string{"the server does not answer"}}},
			Events: []results.TimedNotice{{At: at(3), Text: "liar is set aside"}, {At: at(70), Text: "honest is back"}}},
		{ID: "b", By: results.ByWorkers, Host: "desk", Revision: revision, Begun: at(200), Runs: 1,
			Workers: []results.Worker{{Name: "honest", Runs: 1}}},
		{ID: "c", By: results.BySlurm, Host: "login", Revision: revision, Begun: at(300), Ended: at(302), Runs: 5, Lost: 2,
			Workers: []results.Worker{{Name: "job 7", Host: "n1, n2", Jobs: 7, Runs: 5, Lost: 2}}},
		{ID: "d", By: results.ByHere, Host: "desk", Revision: revision, Begun: at(400), Ended: at(401), Runs: 2},
	}
}

// TestAccount_ListsEventsWithinWidth checks that an account has all events within a terminal's width. So has the page,
// with texts escaped.
func TestAccount_ListsEventsWithinWidth(t *testing.T) {
	o := outcome(t)
	if got := Account(o); got != "" {
		t.Errorf("nothing is known, and told: %s", got)
	}
	o.Hosts = results.NewHosts(results.Machine{Host: "desk", OS: "linux", Arch: "amd64", CPUs: 2, Go: "go1.26.8",
		Revision: "r", Jobs: 2}, eventful())
	got := Account(o)
	for _, line := range strings.Split(got, "\n") {
		if n := utf8.RuneCountInString(line); n > DefaultWidth {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	testkit.Golden(t, "account.txt", got)
	page, err := hostHTML(o, Page{Version: "of tests"})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"desk: linux/amd64, 2 CPUs", "47 runs by workers", "interrupted", "liar was excluded",
		"rate=2Mbps seed 1 failed: panic: a mistake", "23:59:40 to 2026-11-25 00:00:25 (45s)", "honest is back",
		"&lt;script&gt;", `evil\u001b[2J`, "killed at an unknown time", "job 7", "5 runs by jobs of Slurm", "and 12 more"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if strings.ContainsAny(string(page), "\x1b") || strings.Contains(string(page), "<script") {
		t.Error("something acts on the page")
	}
}

// TestManyWorkers checks that workers are listed by their runs, up to a limit, and that the rest is counted.
func TestManyWorkers(t *testing.T) {
	e := results.Execution{ID: "a", By: results.ByWorkers}
	for i := range maxWorkers + 2 {
		e.Workers = append(e.Workers, results.Worker{Name: "w", Runs: i + 1})
	}
	a := newAccount(&e)
	if len(a.Rows) != maxWorkers || a.Rows[0][1] != "102" || a.More != "and 2 more with 3 runs" {
		t.Errorf("%d rows, %v, %s", len(a.Rows), a.Rows[0], a.More)
	}
}
