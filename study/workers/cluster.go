package workers

import (
	"context"
	"time"

	"weir/internal/linked"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/study/run"
)

// Defaults of a cluster's options: tasks of some minutes, and the number of tasks that an unconfigured Slurm allows.
const (
	DefaultTaskTime = 10 * time.Minute
	DefaultMaxTasks = 1000
)

// ClusterOptions configures how runs become tasks of a cluster.
type ClusterOptions struct {
	Task       time.Duration // approximate duration of a task; short runs share a task
	Tasks      int           // maximum number of tasks, over all arrays
	Threads    int           // threads and processors of each task
	Sbatch     []string      // options of sbatch, such as partition=short
	AnyProgram bool          // a program other than the one that wrote the folder may run tasks
}

// ClusterArray is a job array of tasks with equal requirements.
type ClusterArray struct {
	Script      string // script for sbatch
	Tasks, Runs int
	MemoryBytes int64 // of each task
	Minutes     int
}

// ExportedFolder is a folder written for a cluster.
type ExportedFolder struct {
	Dir    string
	Arrays []ClusterArray
}

// Collector collects the results of a folder.
type Collector interface {
	run.Runner
	// DescribeMissing describes the runs without a result, and how to continue.
	DescribeMissing(ctx context.Context) []string
}

// ClusterFolder is a folder with the input that a cluster needs to run an experiment, and the results of tasks.
type ClusterFolder interface {
	// CheckProgram returns an error if this program is not the one that wrote the folder.
	CheckProgram() error
	Spec() *experiment.Spec
	// Origin returns the command that created the folder, and the digest of its program.
	Origin() (command, executable string)
	Tasks() int
	// ExecuteTask runs one task with the given threads and returns the number of failed runs.
	ExecuteTask(ctx context.Context, task, threads int, report func(text string)) (failed int, err error)
	Collector() Collector
}

// Cluster runs experiments on a cluster. Package workers/slurm implements it.
type Cluster interface {
	// Check returns an error for invalid options.
	Check(o ClusterOptions) error
	// Runner returns a runner that submits tasks and waits for them.
	Runner(o ClusterOptions, notice func(text string)) run.Runner
	// Export writes a folder for a cluster. executable is the program that the cluster runs.
	Export(dir string, w *run.Work, runs []*plan.Run, executable string, o ClusterOptions) (*ExportedFolder, error)
	// Open reads a folder that Export has written.
	Open(r *experiment.Registry, dir string) (ClusterFolder, error)
}

// Slurm holds the linked-in Cluster. An import of weir/app/slurm sets it.
var Slurm = linked.New[Cluster]("Slurm", "weir/app/slurm")
