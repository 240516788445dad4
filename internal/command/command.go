// Package command holds what the program weir shares with its small privileged programs, weir-switch and weir-agent:
// exit codes, flags, and the places of the commands that an import links in. Its structs of flags have the tags of
// package kong, which parses the command line of weir. The small programs parse theirs with package flag, because kong
// calls methods by name: then the linker keeps every exported method of the program, which is 2.8 MB.
package command

import (
	"errors"
	"io"
	"time"

	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/scheme"
	"weir/internal/document"
	"weir/internal/linked"
)

// Exit codes.
const (
	Done        = 0
	RunFailed   = 1 // a run failed or was cut short
	WrongInput  = 2
	ClaimFailed = 3 // with --check
	Unjudged    = 4 // with --check: no claim fails, the worlds do not differ, and something is undecided
	Interrupted = 130
)

// ErrInput marks errors of what a user gave.
var ErrInput = errors.New("invalid input")

// Environment is what a command works with.
type Environment struct {
	Stdout, Stderr io.Writer // what is written to them cannot act on a terminal
	Pipe           io.Writer // standard output as it is, for messages between the program's own processes
	Version        string    // of the program
	Warn           func(...document.Warning)
	Programs       []dataplane.Scheme // that a switch's file can name
	Schedulers     []tm.Scheme
	Entry          func(columns int, name, text string) // prints an entry of a list
}

// Target is the file or folder that a flag names to write into. An empty one, such as a shell makes of a
// variable that is not set, would be the current folder.
type Target string

// SwitchFlags are the flags of weir switch.
type SwitchFlags struct {
	Config  string `short:"c" placeholder:"FILE" help:"Configuration file of the switch (docs/switch.md)."`
	Check   bool   `help:"Validate the file, inspect the interfaces, and print what a start would do."`
	Bypass  bool   `help:"Let a bridge of the kernel forward when the switch ends for any reason."`
	Restore bool   `help:"Only restore the offloads that dead switches left disabled."`
}

// Names of the hidden commands by which a switch's process starts the next one.
const (
	SwitchSupervisor = "switch-supervisor"
	SwitchDataplane  = "switch-dataplane"
)

// Switch runs a switch on its own. Package worlds/switch/command has it.
type Switch interface {
	Run(flags *SwitchFlags, e *Environment) error
	// Supervise is what the switch's process becomes when it has given root up.
	Supervise(state int, e *Environment) error
	// Serve is the process of the data plane, which the supervisor starts.
	Serve(e *Environment) error
	// WarningKinds returns the kinds of warnings that a switch issues.
	WarningKinds() []scheme.WarningKind
}

// SwitchCommand is the place of the Switch.
var SwitchCommand = linked.New[Switch]("the switch", "weir/app/softswitch")

// AgentFlags are the flags of weir agent.
type AgentFlags struct {
	Interface string        `placeholder:"NAME" help:"Only connections through this interface. Default: all."`
	Cgroup    string        `placeholder:"PATH" help:"Only connections of programs in this cgroup. Default: all."`
	Follow    string        `default:"hpcc" help:"Protocol: hpcc (telemetry of switches), ncf (their NACKs) or both."`
	Nacks     *string       `placeholder:"HOW" help:"Take NACKs as loss (default), or as offered rates (supply)."`
	Metrics   string        `placeholder:"ADDR" help:"Serve metrics at this address and port, as http://ADDR/metrics."`
	Eta       *string       `placeholder:"SHARE" help:"Target utilisation (draft-miao §4.1). Default: 95%."`
	Flows     *int          `placeholder:"N" help:"Flows N in W_ai = W_init·(1−eta)/N (draft-miao §5). Default: 8."`
	MaxStage  *int          `placeholder:"N" help:"maxStage, additive increases in a row (draft-miao §4.1). Default: 5."`
	Increase  *string       `placeholder:"BYTES" help:"W_ai in bytes. Default: the value by --flows."`
	RTT       *string       `name:"rtt" placeholder:"TIME" help:"Base round-trip time. Default: the minimum measured."`
	Rate      *string       `placeholder:"RATE" help:"Rate of this host's link, an upper bound. Default: no bound."`
	Every     time.Duration `default:"1s" help:"Interval at which connections are listed; 0s: never."`
}

// Agent has this host's own TCP follow HPCC++ or NCF. Package worlds/agent/command has it.
type Agent interface {
	Run(flags *AgentFlags, e *Environment) error
}

// AgentCommand is the place of the Agent.
var AgentCommand = linked.New[Agent]("the agent", "weir/app/agent")

// DocsFlags are the flags of weir docs.
type DocsFlags struct {
	Page string `arg:"" optional:"" help:"${docsPage}"`
	Site Target `placeholder:"DIR" help:"${docsSite}"`
}

// Docs shows the documentation. Package internal/docsite has it.
type Docs interface {
	Run(flags *DocsFlags, e *Environment) error
	// SchemePage returns the Markdown of the page about a scheme without its title, or "" if it has no page.
	SchemePage(name string) string
}

// DocsCommand is the place of the Docs.
var DocsCommand = linked.New[Docs]("the reader of the documentation", "weir/app/page")
