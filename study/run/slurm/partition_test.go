package slurm

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestPartition_KeepsLimitsOfTasks checks tasks of random runs. Each run is in one task, arrays have all tasks in
// sequence, and the number of tasks is within the limit. Each task gets more memory and time than its runs take,
// and tasks of an array differ by at most one run.
func TestPartition_KeepsLimitsOfTasks(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		all := make([]load, 1+r.IntN(400))
		of := map[string]load{}
		for i := range all {
			all[i] = load{fmt.Sprint(i), r.ExpFloat64() * 100, 35e6 + r.ExpFloat64()*float64(r.IntN(2))*8e9}
			of[all[i].id] = all[i]
		}
		o := Options{Task: time.Duration(1+r.IntN(1000)) * time.Second, Tasks: 20 + r.IntN(100), Threads: 1}
		arrays, tasks := partition(all, o)
		if len(tasks) > o.Tasks {
			t.Fatalf("seed %d: %d tasks of %d", seed, len(tasks), o.Tasks)
		}
		next, seen := 0, map[string]bool{}
		for _, a := range arrays {
			if a.First != next || a.Last < a.First {
				t.Fatalf("seed %d: array %+v begins not at %d", seed, a, next)
			}
			next = a.Last + 1
			least, most, largest := 1e18, 0.0, 0.0
			for _, ids := range tasks[a.First:next] {
				seconds := 0.0
				for _, id := range ids {
					l := of[id]
					if seen[id] || float64(a.MemoryBytes) < memoryMargin*l.memory {
						t.Fatalf("seed %d: %+v in %+v, seen %v", seed, l, a, seen[id])
					}
					seen[id], seconds, largest = true, seconds+l.seconds, max(largest, l.seconds)
				}
				least, most = min(least, seconds), max(most, seconds)
				if 60*float64(a.Minutes) < timeMargin*seconds {
					t.Fatalf("seed %d: %g s in %d min", seed, seconds, a.Minutes)
				}
				if !slices.IsSortedFunc(ids, func(x, y string) int { return int(1e6 * (of[y].seconds - of[x].seconds)) }) {
					t.Errorf("seed %d: %v does not begin with the largest", seed, ids)
				}
			}
			if most-least > largest*(1+1e-9) {
				t.Errorf("seed %d: tasks of %g to %g s, the largest run takes %g", seed, least, most, largest)
			}
		}
		if next != len(tasks) || len(seen) != len(all) {
			t.Fatalf("seed %d: %d of %d tasks, %d of %d runs", seed, next, len(tasks), len(seen), len(all))
		}
	}
}

// TestPartitionClasses checks that short runs share a task of the requested length, and that runs that need much
// memory are in a separate array.
func TestPartitionClasses(t *testing.T) {
	var all []load
	for i := range 100 {
		all = append(all, load{fmt.Sprint(i), 6, 50e6})
	}
	all = append(all, load{"large", 6, 20e9})
	arrays, tasks := partition(all, Options{Task: time.Minute, Tasks: 1000})
	if len(arrays) != 2 || len(tasks) != 11 || len(tasks[0]) != 10 || tasks[10][0] != "large" {
		t.Fatalf("%+v %v", arrays, tasks)
	}
	if a := arrays[0]; a.Script != "sweep-1.sbatch" || a.MemoryBytes != 384<<20 || a.Minutes != 9 {
		t.Errorf("%+v", a)
	}
	if a := arrays[1]; a.First != 10 || a.MemoryBytes < 40e9 || a.MemoryBytes > 41e9 {
		t.Errorf("%+v", a)
	}
}

func TestOptions_CheckRejectsBadValues(t *testing.T) {
	for _, c := range []struct {
		change func(*Options)
		want   string
	}{
		{func(*Options) {}, ""},
		{func(o *Options) { o.Task = 0 }, "1ms to 1000h is allowed"},
		{func(o *Options) { o.Tasks = 0 }, "the number of tasks is 0; 1 to 1000000 is allowed"},
		{func(o *Options) { o.Threads = 2000 }, "the number of threads is 2000; 1 to 1024 is allowed"},
		{func(o *Options) { o.Sbatch = []string{"-p short"} },
			`"-p short" is not an option of sbatch; options such as partition=short`},
		{func(o *Options) { o.Sbatch = []string{""} }, `"" is not an option`},
		{func(o *Options) { o.Sbatch = []string{"array=0-3"} },
			`"array" cannot be set: weir sets the array of tasks`},
		{func(o *Options) { o.Sbatch = []string{"--output=x"} }, `"output" cannot be set`},
		{func(o *Options) { o.Sbatch = []string{"comment=a\n#SBATCH --array=1"} }, "has a control character"},
		{func(o *Options) { o.Sbatch = []string{"--partition=short", "exclusive", "comment=any ' \" text"} }, ""},
	} {
		o := DefaultOptions
		c.change(&o)
		if err := o.Check(); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

func TestJobName(t *testing.T) {
	for experiment, want := range map[string]string{"p4abc/fig5": "weir-p4abc-fig5", "a b;\x1b[1m'é": "weir-a-b---1m--",
		strings.Repeat("x", 100): "weir-" + strings.Repeat("x", 43)} {
		if got := jobName(experiment); got != want {
			t.Errorf("%q: %q, want %q", experiment, got, want)
		}
	}
}
