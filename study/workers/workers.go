// Package workers lets other machines run experiments: command-line flags, and interfaces that imports implement.
package workers

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"time"

	"weir/internal/command"
	"weir/internal/linked"
	"weir/study/experiment"
	"weir/study/page/live"
	"weir/study/results"
	"weir/study/run"
)

// ServerFlags name a running NATS server.
type ServerFlags struct {
	NATS  string `name:"nats" placeholder:"URL" help:"URL of NATS servers to use; they need JetStream."`
	Creds string `placeholder:"FILE" help:"Credentials file of NATS (.creds) for --nats."`
}

// Flags are the flags of weir run for runs on other machines.
type Flags struct {
	Workers string `placeholder:"ADDR" help:"${runWorkers}"`
	ServerFlags
	NoOwn   bool   `name:"no-own" help:"Workers: run no simulations on this machine."`
	Metrics string `placeholder:"ADDR" help:"Workers: serve metrics at http://ADDR/metrics."`
	Verify  string `enum:"sample,all" default:"sample" help:"${runVerify}"`
}

// UsesWorkers reports whether the flags ask for runs on other machines.
func (f *Flags) UsesWorkers() bool { return f.Workers != "" || f.NATS != "" || f.Creds != "" }

// CheckUnused returns an error if a flag is set that needs workers. It is called for flags without workers.
func (f *Flags) CheckUnused() error {
	if f.NoOwn || f.Metrics != "" {
		return fmt.Errorf("%w: --no-own and --metrics need --workers or --nats; add one, or leave them out", command.ErrInput)
	}
	if f.Verify == "all" {
		return fmt.Errorf("%w: --verify needs --workers or --nats; add one, or leave out --verify", command.ErrInput)
	}
	return nil
}

// WorkerFlags are the flags of weir worker.
type WorkerFlags struct {
	Join string `placeholder:"FILE" help:"File that weir run --workers wrote for workers."`
	ServerFlags
	Jobs   int           `help:"Concurrent runs; 0: one per core."`
	Memory float64       `placeholder:"MB" help:"${workerMemory}"`
	Time   time.Duration `placeholder:"DURATION" help:"Max duration of a run; 0: no limit."`
	Disk   float64       `placeholder:"MB" help:"Max size of an input or a result, in MB; 0: no limit."`
	Name   string        `help:"Name of the worker in reports. Default: host and process."`
}

// Machine describes this machine and its outputs.
type Machine struct {
	Registry  *experiment.Registry
	Available float64 // bytes of memory; 0: not known
	Stderr    io.Writer
	Notice    func(text string)
	Status    func(short string) // shows the progress of a sweep
}

// MemoryPerRun returns the bytes of memory for each of the given number of concurrent runs; 0: unknown. The argument
// jobs is as for ConcurrentRuns.
func (m *Machine) MemoryPerRun(jobs int) float64 {
	if m.Available <= 0 {
		return 0
	}
	return m.Available / float64(ConcurrentRuns(jobs))
}

// ConcurrentRuns returns the number of concurrent runs for a value of --jobs; 0 means one per core, and a negative
// value one run.
func ConcurrentRuns(jobs int) int {
	if jobs == 0 {
		return runtime.GOMAXPROCS(0)
	}
	return max(jobs, 1)
}

// Page holds the functions that the page of weir serve needs for workers.
type Page struct {
	Join    string // file to join with; "": workers know the server's address
	Account func(dir string) []results.Execution
	// Runner returns the runner of a job of the page, and a function to call after the job, which frees what Runner has
	// started.
	Runner func(jobs int, report func(live.WorkersStatus), notice func(string)) (run.Runner, func() error, error)
}

// Driver runs experiments on other machines. Package workers/jetstream implements it.
type Driver interface {
	// Runner returns the runner of weir run, and a function to call after the sweep. That prints a summary and frees what
	// Runner has started.
	Runner(f *Flags, m *Machine, jobs int) (run.Runner, func() error, error)
	// Page returns the page's functions for these flags. out is the folder of results.
	Page(f *Flags, m *Machine, out string) (*Page, error)
	// Account returns the executions of the sweep in a results folder, which may be in progress or killed.
	Account(dir string) []results.Execution
	// Work executes runs for others until ctx ends.
	Work(ctx context.Context, f *WorkerFlags, m *Machine) error
}

// Remote holds the linked-in Driver. An import of weir/app/jetstream sets it.
var Remote = linked.New[Driver]("JetStream", "weir/app/jetstream")
