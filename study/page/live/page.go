package live

import (
	"context"
	"io/fs"
	"net"

	"weir/internal/linked"
	"weir/study/experiment"
	"weir/study/results"
	"weir/study/run"
)

// Options configures a Server.
type Options struct {
	Registry   *experiment.Registry
	Files      []string // experiments outside of the library: files that are read on each request
	ResultsDir string   // folder of results
	Executable string   // revision.Executable of the program
	Version    string
	Docs       fs.FS    // README.md and docs/*.md; nil: no documentation
	Hosts      []string // names of the server apart from addresses, localhost and this host's name
	// Jobs, Report and Runner are as in Config.
	Jobs   func(s *experiment.Spec) (n int, notice string, err error)
	Report func(*results.Outcome) error
	Runner func(jobs int, report func(WorkersStatus), notice func(string)) (run.Runner, func() error, error)
	Join   string // command by which workers join Runner; "": not known
	// Account returns the executions of the results folder of a running or killed sweep; nil: no account.
	Account func(dir string) []results.Execution
	// Speed returns the speed of a core of this machine relative to the reference machine; nil: plan.MachineSpeed
	// measures it for each estimate.
	Speed func() float64
	// Machine is the memory in bytes that a run must fit into; 0: a usual machine's.
	Machine float64
}

// Server is the web server of the workbench. Package page implements it.
type Server interface {
	// Serve answers the connections of a listener until ctx ends.
	Serve(ctx context.Context, l net.Listener) error
	// Address returns the URL of the page for a server that listens at the given address.
	Address(at net.Addr) string
	// Close stops the job in progress and keeps finished runs.
	Close()
}

// Page holds the linked-in constructor of a Server. An import of weir/app/page sets it.
var Page = linked.New[func(Options) (Server, error)]("the page of weir serve", "weir/app/page")
