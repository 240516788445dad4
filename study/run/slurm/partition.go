package slurm

import (
	"cmp"
	"container/heap"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"weir/study/plan"
)

// Options say how runs become an array.
type Options struct {
	Task    time.Duration // that a task takes about: short runs share one
	Tasks   int           // at most, of all arrays
	Threads int           // and processors of each task
	Sbatch  []string      // options of sbatch, as partition=short
	// AnyProgram lets another program carry out tasks than the one that the folder was made by.
	AnyProgram bool
}

// Standard are the options without a wish: tasks of minutes, and no more of them than a Slurm as it comes allows.
var Standard = Options{Task: 10 * time.Minute, Tasks: mostTasks, Threads: 1}

// mostTasks is how many tasks an array has where nobody has set MaxArraySize, which is one more than the largest index.
const mostTasks = 1000

// Check is an error if an option is out of its bounds.
func (o *Options) Check() error {
	switch {
	case o.Task < time.Millisecond || o.Task > 1000*time.Hour:
		return fmt.Errorf("a task of %v; 1ms … 1000h are allowed", o.Task)
	case o.Tasks < 1 || o.Tasks > 1_000_000:
		return fmt.Errorf("%d tasks; 1 … 1000000 are allowed", o.Tasks)
	case o.Threads < 1 || o.Threads > 1024:
		return fmt.Errorf("%d threads; 1 … 1024 are allowed", o.Threads)
	}
	_, err := directives(o.Sbatch)
	return err
}

// Array is a part of the tasks with what each of them needs: one script.
type Array struct {
	Script      string `json:"script"`
	First       int    `json:"first"`
	Last        int    `json:"last"`
	MemoryBytes int64  `json:"memory_bytes"`
	Minutes     int    `json:"minutes"`
}

// load is what a run takes, about.
type load struct {
	id              string
	seconds, memory float64
}

// loads are what runs take; seeds do not change it.
func loads(runs []*plan.Run, executable string) []load {
	all := make([]load, len(runs))
	of := map[int]load{}
	for i, r := range runs {
		l, ok := of[r.Index]
		if !ok {
			l = load{seconds: plan.EstimateTime(r) + aroundRun, memory: plan.EstimateMemory(r)}
			of[r.Index] = l
		}
		l.id = r.ID(executable)
		all[i] = l
	}
	return all
}

// Margins: estimates of time and memory are within a factor of four of what a machine like this project's takes, and
// nearer for what takes long. A task that ends too early costs more than one that is granted too much.
const (
	aroundRun    = 0.05 // seconds: its file, on a file system that machines share
	aroundTask   = 5    // minutes: the program is read and begins
	timeMargin   = 4
	memoryMargin = 2
	memoryAround = 256 << 20
	memoryStep   = 64 << 20
	// Below usualMemory a smaller wish gets nothing: it is about what clusters have for each processor. Runs that need
	// more are in arrays of their own, each for up to four times as much.
	usualMemory = 2 << 30
	classStep   = 4
)

// grant is the memory that a run is granted.
func grant(l load) int64 {
	return int64(math.Ceil((memoryMargin*l.memory+memoryAround)/memoryStep)) * memoryStep
}

// class is the row of a grant among those of usualMemory, four times that, and so on.
func class(bytes int64) (n int) {
	for limit := int64(usualMemory); bytes > limit && n < 20; limit *= classStep {
		n++
	}
	return n
}

// partition assigns each run to a task, so that tasks of an array take about the same time. A task runs its largest
// runs first.
func partition(all []load, o Options) (arrays []Array, tasks [][]string) {
	var classes [][]load
	for _, l := range all {
		n := class(grant(l))
		for len(classes) <= n {
			classes = append(classes, nil)
		}
		classes[n] = append(classes[n], l)
	}
	classes = slices.DeleteFunc(classes, func(c []load) bool { return len(c) == 0 })
	want, sum := make([]int, len(classes)), 0
	for i, c := range classes {
		seconds := 0.0
		for _, l := range c {
			seconds += l.seconds
		}
		want[i] = int(min(math.Ceil(seconds/o.Task.Seconds()), float64(len(c))))
		sum += want[i]
	}
	for i, c := range classes {
		n := want[i]
		if sum > o.Tasks { // fewer, and longer
			n = n * o.Tasks / sum
		}
		a := Array{Script: "sweep.sbatch", First: len(tasks)}
		if len(classes) > 1 {
			a.Script = fmt.Sprintf("sweep-%d.sbatch", i+1)
		}
		longest := 0.0
		for _, b := range even(c, max(n, 1)) {
			tasks = append(tasks, b.ids)
			longest = max(longest, b.seconds)
		}
		for _, l := range c {
			a.MemoryBytes = max(a.MemoryBytes, grant(l))
		}
		a.Last = len(tasks) - 1
		a.Minutes = int(math.Ceil(timeMargin*longest/60)) + aroundTask
		arrays = append(arrays, a)
	}
	return arrays, tasks
}

// bin is a task that is being filled.
type bin struct {
	n       int
	seconds float64
	ids     []string
}

// bins has the one with the least on top.
type bins []*bin

func (b bins) Len() int { return len(b) }
func (b bins) Less(i, j int) bool {
	return b[i].seconds < b[j].seconds || b[i].seconds == b[j].seconds && b[i].n < b[j].n
}
func (b bins) Swap(i, j int) { b[i], b[j] = b[j], b[i] }
func (b *bins) Push(x any)   { *b = append(*b, x.(*bin)) }
func (b *bins) Pop() (x any) {
	last := len(*b) - 1
	x, *b = (*b)[last], (*b)[:last]
	return x
}

// even deals runs out to n tasks: the largest first, each to the task that has the least.
func even(all []load, n int) []*bin {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b load) int { return cmp.Compare(b.seconds, a.seconds) })
	var open bins
	for i := range n {
		open = append(open, &bin{n: i})
	}
	for _, l := range all {
		b := open[0]
		b.ids, b.seconds = append(b.ids, l.id), b.seconds+l.seconds
		heap.Fix(&open, 0)
	}
	slices.SortFunc(open, func(a, b *bin) int { return cmp.Compare(a.n, b.n) })
	return slices.DeleteFunc(open, func(b *bin) bool { return len(b.ids) == 0 })
}

// jobName is what the queue shows of an experiment.
func jobName(experiment string) string {
	const longest = 48
	name := "weir-" + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.' {
			return r
		}
		return '-'
	}, experiment)
	return name[:min(len(name), longest)]
}
