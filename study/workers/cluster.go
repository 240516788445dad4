package workers

import (
	"context"
	"time"

	"weir/internal/linked"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/study/run"
)

// Standards of the options of a cluster: tasks of minutes, as many as a Slurm allows that nobody has configured.
const (
	StandardTask  = 10 * time.Minute
	StandardTasks = 1000
)

// ClusterOptions are how runs become tasks of a cluster.
type ClusterOptions struct {
	Task       time.Duration // of a task, about: short runs share one
	Tasks      int           // limit of tasks, of all arrays
	Threads    int           // and processors of each task
	Sbatch     []string      // options of sbatch, as partition=short
	AnyProgram bool          // another program may run tasks than the one that made the folder
}

// ClusterArray is a job of tasks that need the same.
type ClusterArray struct {
	Script      string // for sbatch
	Tasks, Runs int
	MemoryBytes int64 // of a task
	Minutes     int
}

// Exported is a folder for a cluster.
type Exported struct {
	Dir    string
	Arrays []ClusterArray
}

// Collector takes results of a folder.
type Collector interface {
	run.Runner
	// Missing describes the runs that have no result, and what to do.
	Missing(ctx context.Context) []string
}

// ClusterFolder is a folder with what a cluster needs to run an experiment, and the results of tasks.
type ClusterFolder interface {
	// Fits returns an error if this program is not the one that wrote the folder.
	Fits() error
	Spec() *experiment.Spec
	// Origin returns the command that the folder was asked for by, and the digest of its program.
	Origin() (command, executable string)
	Tasks() int
	// Carry runs one task, and returns how many of its runs failed.
	Carry(ctx context.Context, task, threads int, report func(text string)) (failed int, err error)
	Collector() Collector
}

// Cluster has a cluster carry runs out. Package workers/slurm has one.
type Cluster interface {
	// Check returns what is wrong with options.
	Check(o ClusterOptions) error
	// Runner returns a runner that submits tasks and waits for them.
	Runner(o ClusterOptions, notice func(text string)) run.Runner
	// Export writes a folder for a cluster. executable is the program that it is to run.
	Export(dir string, w *run.Work, runs []*plan.Run, executable string, o ClusterOptions) (*Exported, error)
	// Open reads such a folder.
	Open(r *experiment.Registry, dir string) (ClusterFolder, error)
}

// Slurm is the place of the Cluster, which an import links in.
var Slurm = linked.New[Cluster]("Slurm", "weir/app/slurm")
