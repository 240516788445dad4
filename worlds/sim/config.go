package sim

import (
	"weir/core/fabric/wiring"
	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/trace"
	"weir/core/transport"
	"weir/core/unit"
	"weir/core/workload"
)

// Config is one run, resolved: everything that decides its outcome.
type Config struct {
	Wiring
	outcome.Load
	outcome.Selection
	Duration unit.Time // the run ends then at the latest
	Warmup   unit.Time // measures begin then
	// UntilDone ends the run when every flow with an end is finished.
	UntilDone bool

	// Repeat has iterations of a job that recur exactly taken from the one that was carried out. It changes speed only.
	Repeat bool
	// Anew has all random draws of links, switches and messages begin anew where the network is idle between two
	// iterations of a job. Restarts must be set as well.
	Anew bool
	// Endpoints, by flow, are those that the configuration brings along. EndpointFactory makes all others.
	Endpoints              []transport.EndpointPair
	EndpointFactory        EndpointFactory        // makes the endpoints of flows; nil: Endpoints has them all
	MessageEndpointFactory MessageEndpointFactory // makes the endpoints of the messages of jobs
	// Triggers begin flows when others have ended, wherever that is, and at once: what no message could do. If they
	// join different hosts, one thread carries out the run.
	Triggers []workload.Trigger
	Stalls   Stalls // when hosts stand still
	// Threads is how many carry out the run at the same time, at most; 0: one. With Yields the run does with one for as
	// long as that is faster. Both change speed only.
	Threads int
	Yields  bool
	Window  unit.Time // > 0: execution window to use instead of the shortest link delay (tests)
	// Wire makes every packet cross every link in wire form: serialised and parsed
	// at each hop. It gives the same result as the fast mode, only slower; it is
	// how the codecs are proved.
	Wire bool
	// Trace, if given, gets the events of the ports that it traces.
	Trace *trace.Collector
	// Stopped is asked now and then; true ends the run as interrupted.
	Stopped func() bool
	sweeps  int // ends are given back when so many flows have finished, in place of what is best for speed (tests)
	// OnPFC is called for everything that PFC does at a port; calls for one node are in order of time. It
	// may be nil.
	OnPFC func(e PFCEvent)
	// Progress is called with how far the run is after every window.
	Progress func(p Progress)
	// View is called after every window with the network as it is then. It may look at it, until it returns, and must
	// not change anything: what it sees reaches no result.
	View func(v *View)
}

// Progress is how far a run is.
type Progress struct {
	Time       unit.Time // before which everything has happened
	PacketHops uint64    // up to now
}

// What the lab has as well: links and switches, what runs in a switch, what happens to links.
type (
	Wiring       = wiring.Config
	SwitchConfig = wiring.SwitchConfig
	event        = wiring.Event
)

// Stalls halt all hosts together now and then, as in a lab whose machine's cores are taken by its
// hypervisor or another process. Arriving packets wait and reach the endpoints when the stall ends, all at
// once. Senders, timers, NICs and their pauses continue. A stall that begins during another prolongs it.
type Stalls struct {
	Every  unit.Time // mean of the exponentially distributed gaps between beginnings
	Length unit.Time // of each; 0: there are none
}

// PFCEvent is a Pause or Resume frame that came in at a port, by which what leaves there
// is held or goes on, or the end of a pause whose time is over.
type PFCEvent struct {
	At     unit.Time
	Node   int           // that is notified
	Port   packet.PortID // where: links are numbered at each node in the network's order
	Class  uint8
	Paused bool
}
