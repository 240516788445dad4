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

// Options control how runs become job arrays.
type Options struct {
	Task    time.Duration // target duration of a task; short runs share one
	Tasks   int           // limit for all arrays
	Threads int           // of each task, and its processors
	Sbatch  []string      // options of sbatch, as partition=short
	// AnyProgram lets a program with another revision than the folder's execute tasks.
	AnyProgram bool
}

// DefaultOptions are the default options: tasks of minutes, within the size limit of arrays in Slurm's default
// configuration.
var DefaultOptions = Options{Task: 10 * time.Minute, Tasks: maxTasks, Threads: 1}

// maxTasks is the size limit of an array in Slurm's default configuration. MaxArraySize is one more than the largest
// index.
const maxTasks = 1000

// Check returns an error if an option is out of range.
func (o *Options) Check() error {
	switch {
	case o.Task < time.Millisecond || o.Task > 1000*time.Hour:
		return fmt.Errorf("a task takes %v; 1ms to 1000h is allowed", o.Task)
	case o.Tasks < 1 || o.Tasks > 1_000_000:
		return fmt.Errorf("the number of tasks is %d; 1 to 1000000 is allowed", o.Tasks)
	case o.Threads < 1 || o.Threads > 1024:
		return fmt.Errorf("the number of threads is %d; 1 to 1024 is allowed", o.Threads)
	}
	_, err := parseDirectives(o.Sbatch)
	return err
}

// Array is a range of tasks with the same script and resources.
type Array struct {
	Script      string `json:"script"`
	First       int    `json:"first"`
	Last        int    `json:"last"`
	MemoryBytes int64  `json:"memory_bytes"`
	Minutes     int    `json:"minutes"`
}

// load is the estimated cost of a run, in seconds and bytes.
type load struct {
	id              string
	seconds, memory float64
}

// estimateLoads returns the estimated costs of runs, in their order. All seeds of a point share one estimate.
func estimateLoads(runs []*plan.Run, executable string) []load {
	all := make([]load, len(runs))
	of := map[int]load{}
	for i, r := range runs {
		l, ok := of[r.Index]
		if !ok {
			l = load{seconds: plan.EstimateTime(r) + runOverhead, memory: plan.EstimateMemory(r)}
			of[r.Index] = l
		}
		l.id = r.ID(executable)
		all[i] = l
	}
	return all
}

// Safety margins: estimates of time and memory are accurate within a factor of four, and better for long runs. A task
// that is killed early costs more than one with too large a grant.
const (
	runOverhead    = 0.05 // seconds for a run's file on a shared file system
	taskOverhead   = 5    // minutes for the start of the program
	timeMargin     = 4
	memoryMargin   = 2
	memoryOverhead = 256 << 20
	memoryStep     = 64 << 20
	// usualMemory is the minimum grant, about a cluster's memory per processor. Larger runs are in separate arrays, each
	// for a range up to classStep times as much.
	usualMemory = 2 << 30
	classStep   = 4
)

// grantMemory returns the memory in bytes that a run is granted.
func grantMemory(l load) int64 {
	return int64(math.Ceil((memoryMargin*l.memory+memoryOverhead)/memoryStep)) * memoryStep
}

// memoryClass returns the array class of a grant: 0 up to usualMemory, 1 up to classStep times that, and so on.
func memoryClass(bytes int64) (n int) {
	for limit := int64(usualMemory); bytes > limit && n < 20; limit *= classStep {
		n++
	}
	return n
}

// partition assigns each run to a task, so that the tasks of an array take about Options.Task each. Runs of different
// memory classes are in different arrays. It makes longer tasks if more than Options.Tasks are needed. A task executes
// its longest runs first.
func partition(all []load, o Options) (arrays []Array, tasks [][]string) {
	var classes [][]load
	for _, l := range all {
		n := memoryClass(grantMemory(l))
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
		if sum > o.Tasks { // fewer and longer tasks
			n = n * o.Tasks / sum
		}
		a := Array{Script: "sweep.sbatch", First: len(tasks)}
		if len(classes) > 1 {
			a.Script = fmt.Sprintf("sweep-%d.sbatch", i+1)
		}
		longest := 0.0
		for _, b := range distributeEvenly(c, max(n, 1)) {
			tasks = append(tasks, b.ids)
			longest = max(longest, b.seconds)
		}
		for _, l := range c {
			a.MemoryBytes = max(a.MemoryBytes, grantMemory(l))
		}
		a.Last = len(tasks) - 1
		a.Minutes = int(math.Ceil(timeMargin*longest/60)) + taskOverhead
		arrays = append(arrays, a)
	}
	return arrays, tasks
}

// bin is a task that is being filled.
type bin struct {
	index   int
	seconds float64
	ids     []string
}

// bins is a heap with the shortest task on top.
type bins []*bin

func (b bins) Len() int { return len(b) }
func (b bins) Less(i, j int) bool {
	return b[i].seconds < b[j].seconds || b[i].seconds == b[j].seconds && b[i].index < b[j].index
}
func (b bins) Swap(i, j int) { b[i], b[j] = b[j], b[i] }
func (b *bins) Push(x any)   { *b = append(*b, x.(*bin)) }
func (b *bins) Pop() (x any) {
	last := len(*b) - 1
	x, *b = (*b)[last], (*b)[:last]
	return x
}

// distributeEvenly distributes runs to n tasks: the longest run first, each to the task with the shortest total. It
// drops empty tasks.
func distributeEvenly(all []load, n int) []*bin {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b load) int { return cmp.Compare(b.seconds, a.seconds) })
	var open bins
	for i := range n {
		open = append(open, &bin{index: i})
	}
	for _, l := range all {
		b := open[0]
		b.ids, b.seconds = append(b.ids, l.id), b.seconds+l.seconds
		heap.Fix(&open, 0)
	}
	slices.SortFunc(open, func(a, b *bin) int { return cmp.Compare(a.index, b.index) })
	return slices.DeleteFunc(open, func(b *bin) bool { return len(b.ids) == 0 })
}

// jobName returns the name of an experiment's job in the queue: "weir-" and the name, with - for special characters, at
// most 48 bytes.
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
