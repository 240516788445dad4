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

// Options are what a Server shows and does.
type Options struct {
	Registry   *experiment.Registry
	Files      []string // experiments beside the library: files, which are read anew whenever they are looked at
	Out        string   // folder of results
	Executable string   // revision.Executable of the program
	Version    string
	Docs       fs.FS    // README.md and docs/*.md; nil: no documentation
	Hosts      []string // names under which the server may be asked for, beside addresses, localhost and this host's name
	// Jobs and Report are as Config has them.
	Jobs   func(s *experiment.Spec) (n int, notice string, err error)
	Report func(*results.Outcome) error
	Runner func(jobs int, tell func(Sweep), notice func(string)) (run.Runner, func() error, error)
	Join   string // command by which workers join Runner; "": it is not known before, or there is none
	// Account is what happened to a sweep that goes on, or was killed, by its folder of results; nil: nothing.
	Account func(dir string) []results.Execution
	// Speed is the speed of a core of this machine relative to the reference machine; nil: plan.MachineSpeed measures it
	// for each estimate.
	Speed func() float64
	// Machine is the memory that a run must fit into, in bytes; 0: that of a usual machine.
	Machine float64
}

// Server is the page. Package page has one.
type Server interface {
	// Serve answers the connections of a listener until ctx ends.
	Serve(ctx context.Context, l net.Listener) error
	// Address returns the URL of the page of a server that listens at an address.
	Address(at net.Addr) string
	Close()
}

// Page is the place of what makes a Server, which an import links in.
var Page = linked.New[func(Options) (Server, error)]("the page of weir serve", "weir/app/page")
