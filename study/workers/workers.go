// Package workers is how a program has other machines carry runs out: flags, and the place of what an import links in.
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

// ServerFlags name a server of NATS that runs already.
type ServerFlags struct {
	NATS  string `name:"nats" placeholder:"URL" help:"Use the NATS servers at this URL, with JetStream."`
	Creds string `placeholder:"FILE" help:"Credentials for --nats, as NATS has them (.creds)."`
}

// Flags are the flags of weir run for runs that other machines carry out.
type Flags struct {
	Workers string `placeholder:"ADDR" help:"${runWorkers}"`
	ServerFlags
	NoOwn   bool   `name:"no-own" help:"Workers: carry out no runs here."`
	Metrics string `placeholder:"ADDR" help:"Workers: serve metrics, as http://ADDR/metrics."`
	Verify  string `enum:"sample,all" default:"sample" help:"${runVerify}"`
}

// Wanted reports whether other machines carry runs out.
func (f *Flags) Wanted() bool { return f.Workers != "" || f.NATS != "" || f.Creds != "" }

// Unused returns an error if a flag has no meaning without workers.
func (f *Flags) Unused() error {
	if f.NoOwn || f.Metrics != "" {
		return fmt.Errorf("%w: --no-own and --metrics are for --workers and --nats", command.ErrInput)
	}
	if f.Verify == "all" {
		return fmt.Errorf("%w: --verify is for --workers and --nats", command.ErrInput)
	}
	return nil
}

// WorkerFlags are the flags of weir worker.
type WorkerFlags struct {
	Join string `placeholder:"FILE" help:"What weir run --workers has written to join with."`
	ServerFlags
	Jobs   int           `help:"Runs at a time; 0 means one a core."`
	Memory float64       `placeholder:"MB" help:"For a run, at most; 0 means what is available, divided by --jobs."`
	Time   time.Duration `placeholder:"DURATION" help:"A run may take so long; 0 means no limit."`
	Disk   float64       `placeholder:"MB" help:"An input or a result may be so large; 0 means no limit."`
	Name   string        `help:"For people; host and process if it is not given."`
}

// Machine is what runs have on this machine.
type Machine struct {
	Registry  *experiment.Registry
	Available float64 // bytes of memory; 0: not known
	Stderr    io.Writer
	Notice    func(text string)
	Status    func(short string) // shows how far a sweep is
}

// Memory returns the bytes that each of a number of runs at a time may take; 0: not known.
func (m *Machine) Memory(jobs int) float64 {
	if m.Available <= 0 {
		return 0
	}
	return m.Available / float64(AtATime(jobs))
}

// AtATime returns how many runs a number of jobs is.
func AtATime(jobs int) int {
	if jobs == 0 {
		return runtime.GOMAXPROCS(0)
	}
	return max(jobs, 1)
}

// Page is what the page of weir serve has of workers.
type Page struct {
	Join    string // file to join with; "": workers know the server
	Account func(dir string) []results.Execution
	Runner  func(jobs int, tell func(live.Sweep), notice func(string)) (run.Runner, func() error, error)
}

// Driver has other machines carry runs out. Package workers/jetstream has one.
type Driver interface {
	// Runner returns the runner of weir run, and what ends it.
	Runner(f *Flags, m *Machine, jobs int) (run.Runner, func() error, error)
	// Page returns what weir serve has with these flags and its folder of results.
	Page(f *Flags, m *Machine, out string) (*Page, error)
	// Account returns what happened to a sweep that goes on, or was killed.
	Account(dir string) []results.Execution
	// Work carries runs out for others until the context ends.
	Work(ctx context.Context, f *WorkerFlags, m *Machine) error
}

// Remote is the place of the Driver, which an import links in.
var Remote = linked.New[Driver]("JetStream", "weir/app/jetstream")
