package report_test

import (
	"strings"
	"testing"

	"weir/study/report"
	"weir/study/results"
)

// TestAlignedNamed checks that a report names each job with aligned iterations once, and the measures that include its
// waiting.
func TestAlignedNamed(t *testing.T) {
	run := func(a ...results.Aligned) *results.Run {
		return &results.Run{End: results.End{Reason: "all flows done", Aligned: a}}
	}
	train, other := results.Aligned{Traffic: "train", PeriodS: .002}, results.Aligned{Traffic: "other", PeriodS: .0004}
	text := report.DescribeStatus(&results.Outcome{Runs: []*results.Run{run(), run(train), run(train, other)}})
	got := strings.Join(strings.Fields(text), " ")
	for _, want := range []string{"iterations of job train begin at multiples of 0.002 s (align); only the measures job " +
		"and job_waiting include the time waited for this", "iterations of job other begin at multiples of 0.0004 s"} {
		if strings.Count(got, want) != 1 {
			t.Errorf("it does not say %q once:\n%s", want, text)
		}
	}
}

// TestDescribeStatus_ReportsSkippedIterations checks that the end of a report has the number of a job's iterations that
// were taken from another one, or why there is none. It reports the same text once, with the number of its runs.
func TestDescribeStatus_ReportsSkippedIterations(t *testing.T) {
	run := func(i *results.Iterations) *results.Run {
		return &results.Run{End: results.End{Reason: "all flows done", Iterations: i}}
	}
	differs := &results.Iterations{Why: "leaf0.queue: 2, and 0 before"}
	text := report.DescribeStatus(&results.Outcome{Runs: []*results.Run{run(nil), run(differs), run(differs),
		run(&results.Iterations{Repeated: 97, First: 3, Cycle: 1, PeriodS: .0004, Words: 18826}),
		run(&results.Iterations{Repeated: 96, First: 4, Cycle: 2, PeriodS: .0008, Words: 7})}})
	got := strings.Join(strings.Fields(text), " ")
	for _, want := range []string{
		"iterations of the job, in 2 runs: all were simulated: leaf0.queue: 2, and 0 before",
		"iterations of the job, in 1 run: 97, from number 3 on, repeat the one before them every 0.0004 s and were not " +
			"simulated, because all 18826 words of the network's state recurred",
		"iterations of the job, in 1 run: 96, from number 4 on, repeat the 2 before them every 0.0008 s " +
			"and were not simulated, because all 7"} {
		if strings.Count(got, want) != 1 {
			t.Errorf("it does not say %q once:\n%s", want, text)
		}
	}
}

// TestDescribeStatus_ReportsUnexpectedPackets checks that a run in which packets arrived where no endpoint expects them
// is named, with their number.
func TestDescribeStatus_ReportsUnexpectedPackets(t *testing.T) {
	of := func(drops ...results.Count) *results.Run {
		return &results.Run{Seed: 3, End: results.End{Reason: "all flows done"}, Drops: drops}
	}
	const want = "seed 3: 2 packets arrived where no endpoint expects them (drops.not_expected)"
	text := report.DescribeStatus(&results.Outcome{Runs: []*results.Run{of(), of(results.Count{Name: "link loss",
		Count: 5}),
		of(results.Count{Name: "not expected", Count: 2})}})
	if strings.Count(strings.Join(strings.Fields(text), " "), want) != 1 || strings.Contains(text, "5 packets") {
		t.Errorf("it does not say %q once:\n%s", want, text)
	}
}

// TestUnfinishedJobsNamed checks that a report names unfinished jobs, 20 of them, with what they wait for and their
// messages in flight.
func TestUnfinishedJobsNamed(t *testing.T) {
	run := &results.Run{Seed: 1, End: results.End{Reason: "time up", Jobs: []results.UnfinishedJob{
		{Traffic: "j", WaitsFor: []string{"12 operations", "a", "b", "c", "d", "e"},
			Messages: []string{"rank 0 (a) → rank 1 (b), 0 of 9 bytes; it waited for m"}},
		{Traffic: "k", WaitsFor: []string{"1 operation", "f"}},
	}}}
	const want = "unfinished: seed 1: job j: 12 operations\na\nb\nc\n… and 2 more lines, in runs.json\n" +
		"unfinished message: rank 0 (a) → rank 1 (b), 0 of 9 bytes; it waited for m\n" +
		"unfinished: seed 1: job k: 1 operation\nf\n"
	got := report.DescribeStatus(&results.Outcome{Runs: []*results.Run{run}})
	if got = strings.ReplaceAll(got, "\n    ", " "); !strings.Contains(got, want) {
		t.Errorf("%q", got)
	}
	for range 20 {
		run.End.Jobs = append(run.End.Jobs, run.End.Jobs[1])
	}
	got = report.DescribeStatus(&results.Outcome{Runs: []*results.Run{run}})
	if !strings.Contains(got, "… and 2 more unfinished jobs, in runs.json\n") {
		t.Errorf("%q", got)
	}
}

// TestIdealNetworksNamed checks that a report names the ideal networks of its runs, each with their number.
func TestIdealNetworksNamed(t *testing.T) {
	run := func(name string) *results.Run {
		return &results.Run{End: results.End{Reason: "time up", Network: name}}
	}
	got := report.DescribeStatus(&results.Outcome{Runs: []*results.Run{run("m, form: a"), run(""), run("m, form: b"),
		run("m, form: a")}})
	if want := "4 runs: all ran for the full duration\nnetwork: m, form: a, in 2 runs\n" +
		"network: m, form: b, in 1 run\n"; got != want {
		t.Errorf("%q, not %q", got, want)
	}
}
