package slurm

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestReadQueue checks that the output of squeue of Slurm 22.05 is parsed, and that lines without a task are
// skipped.
func TestReadQueue(t *testing.T) {
	const out = `1|11|PENDING|JobHeldUser|/home/me/a|b c
12|3|RUNNING|None|/tmp
12|[4-6,9]|PENDING|ReqNodeNotAvail, UnavailableNodes:n1|/tmp
13|N/A|RUNNING|None|/tmp
slurm_load_jobs error
0|1|RUNNING|None|/tmp
`
	want := []queuedTask{{1, 11, "PENDING", "JobHeldUser", "/home/me/a|b c"}, {12, 3, "RUNNING", "None", "/tmp"}}
	for _, i := range []int{4, 5, 6, 9} {
		want = append(want, queuedTask{12, i, "PENDING", "ReqNodeNotAvail, UnavailableNodes:n1", "/tmp"})
	}
	if got := readQueue(out); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestParseIndices_ReadsRanges(t *testing.T) {
	for text, want := range map[string][]int{"3": {3}, "[0-2,5]": {0, 1, 2, 5}, "0-10:5%2": {0, 5, 10}, " 7 ": {7},
		"": nil, "N/A": nil, "3-1": nil, "-1": nil, "1-99999999": nil, "0-9:0": nil, "0-4194303,0-4194303": nil} {
		if got := parseIndices(text); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	if got := formatIndices([]int{9, 1, 4, 5, 6, 5}); got != "1,4-6,9" {
		t.Error(got)
	}
}

func TestReadSubmitted(t *testing.T) {
	for out, want := range map[string]int{"12\n": 12, "12;fast\n": 12, "Your account has 3 hours left.\n12\n": 12, "": 0,
		"Submitted batch job 12\n": 0, "-3\n": 0} {
		if got, err := readSubmitted(out); got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %d, %v", out, got, err)
		}
	}
}

func TestReadEnds(t *testing.T) {
	accounts := "12_3|FAILED|1:0\n12_4|CANCELLED by 1000|0:15\n12_[5-6]|PENDING|0:0\n12_7|OUT_OF_MEMORY|0:125\n" +
		"13_3|COMPLETED|0:0\n12_3.batch|FAILED|1:0\nbroken\n"
	want := map[int]string{3: "FAILED (exit code 1)", 4: "CANCELLED by 1000 (signal 15)", 5: "PENDING", 6: "PENDING",
		7: "OUT_OF_MEMORY (signal 125)"}
	if got := readAccounts(accounts, 12); !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
	control := "JobId=1 ArrayJobId=1 ArrayTaskId=7 JobName=a ArrayTaskId=9 UserId=root(0) JobState=COMPLETED " +
		"Reason=None ExitCode=0:0 Command=/tmp/x JobState=no\n" +
		"JobId=8 ArrayJobId=1 ArrayTaskId=6 JobState=FAILED Reason=NonZeroExitCode ExitCode=1:0\n" +
		"JobId=9 ArrayJobId=1 ArrayTaskId=2-3%1 JobState=TIMEOUT Reason=TimeLimit ExitCode=0:15\n" +
		"JobId=2 ArrayJobId=2 ArrayTaskId=1 JobState=FAILED Reason=None ExitCode=1:0\nslurm_load_jobs error\n"
	want = map[int]string{7: "COMPLETED", 6: "FAILED (exit code 1)", 2: "TIMEOUT (signal 15, TimeLimit)",
		3: "TIMEOUT (signal 15, TimeLimit)"}
	if got := readControl(control, 1); !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

// FuzzReaders_StayWithinBounds checks that values read from any output of Slurm's commands are within bounds, and
// that formatted indices can be read back.
func FuzzReaders_StayWithinBounds(f *testing.F) {
	f.Add("1|11|PENDING|None|/a|b\n")
	f.Add("12_[4-6]|FAILED|1:0\n")
	f.Add("JobId=9 ArrayJobId=12 ArrayTaskId=2-3%1 JobState=TIMEOUT ExitCode=0:15\n")
	f.Add("12;x\n")
	f.Fuzz(func(t *testing.T, out string) {
		for _, q := range readQueue(out) {
			if q.job < 1 || q.task < 0 || q.task >= maxIndices {
				t.Errorf("%+v", q)
			}
		}
		for _, all := range []map[int]string{readAccounts(out, 12), readControl(out, 12)} {
			for i, how := range all {
				if i < 0 || i >= maxIndices || strings.Contains(how, "\n") {
					t.Errorf("%d %q", i, how)
				}
			}
		}
		if job, err := readSubmitted(out); err == nil && job < 1 {
			t.Error(job)
		}
		all := parseIndices(out)
		slices.Sort(all)
		if all = slices.Compact(all); len(all) < 1000 && !slices.Equal(parseIndices(formatIndices(all)), all) {
			t.Errorf("%v %q", all, formatIndices(all))
		}
	})
}

// TestListEnds_FallsBackToController checks that the ends of tasks come from accounting or, without it, from the
// controller.
func TestListEnds_FallsBackToController(t *testing.T) {
	c := newCluster(t)
	all := commands(c.call)
	if got := all.listEnds(t.Context(), 3); got != nil {
		t.Error(got)
	}
	c.replace("sacct", "", errors.New("sacct: Slurm accounting storage is disabled"))
	c.replace("scontrol", "ArrayJobId=3 ArrayTaskId=1 JobState=NODE_FAIL Reason=None ExitCode=0:0\n", nil)
	if got := all.listEnds(t.Context(), 3); got[1] != "NODE_FAIL" {
		t.Error(got)
	}
	c.replace("sacct", "3_1|TIMEOUT|0:0\n", nil)
	if got := all.listEnds(t.Context(), 3); got[1] != "TIMEOUT" {
		t.Error(got)
	}
}

// TestNoSlurm checks that a command that this machine lacks is an error that names the way without it.
func TestNoSlurm(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := commands(nil).listQueue(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "this machine has no squeue; ") {
		t.Error(err)
	}
}
