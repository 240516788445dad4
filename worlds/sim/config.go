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

// Config is the resolved configuration of one run. It determines the outcome.
type Config struct {
	Wiring wiring.Config
	outcome.Load
	outcome.Selection
	Duration unit.Time // the run ends at this time at the latest
	Warmup   unit.Time // measures begin at this time
	// UntilDone ends the run when every flow with an end is finished.
	UntilDone bool

	// SkipRepeated takes iterations of a job that recur exactly from the one that was run. It changes speed only.
	SkipRepeated bool
	// RestartDraws restarts all random draws of links, switches and messages where the network is idle between two
	// iterations of a job. Restarts must be set as well.
	RestartDraws bool
	// Endpoints, by flow, are made by the caller. EndpointFactory makes all others.
	Endpoints              []transport.EndpointPair
	EndpointFactory        EndpointFactory        // makes the endpoints of flows; nil: Endpoints has them all
	MessageEndpointFactory MessageEndpointFactory // makes the endpoints of the messages of jobs
	// Triggers begin flows when others have ended, at any host and at once, which no message could do. If they join
	// different hosts, one thread executes the run.
	Triggers []workload.Trigger
	Stalls   Stalls // pauses of all hosts
	// Threads is the maximum number of threads of the run; 0: one. With Yields the run uses one thread for as long as
	// that is faster. Both change speed only.
	Threads int
	Yields  bool
	Window  unit.Time // > 0: execution window to use instead of the shortest link delay (tests)
	// Wire makes every packet cross every link in wire form: serialised and parsed at each hop. It gives the same result
	// as the fast mode, but is slower. It tests the codecs.
	Wire bool
	// Trace collects the events of the ports that it traces; nil: no trace.
	Trace *trace.Collector
	// Stopped is called repeatedly; true ends the run as interrupted.
	Stopped func() bool
	sweeps  int // ends are released after this number of finished flows, instead of at the best time for speed (tests)
	// OnPFC is called for every PFC event at a port; calls for one node are in order of time. It may be nil.
	OnPFC func(e PFCEvent)
	// Progress is called with the progress of the run after every window.
	Progress func(p Progress)
	// View is called after every window with the network of that time. It may read it until it returns, and must not
	// change anything, so that it does not affect results.
	View func(v *View)
}

// Progress is the progress of a run.
type Progress struct {
	Time       unit.Time // all earlier events have happened
	PacketHops uint64    // total so far
}

// Stalls halt all hosts together at random times, as in a lab when the hypervisor or another process takes the cores of
// the machine. Arriving packets wait, and reach the endpoints when the stall ends, all at once. Senders, timers, NICs
// and their pauses continue. A stall that begins during another prolongs it.
type Stalls struct {
	Every  unit.Time // mean of the exponentially distributed gaps between beginnings
	Length unit.Time // of each; 0: no stalls
}

// PFCEvent is the arrival of a Pause or Resume frame at a port, which stops or restarts a class of the packets sent
// there, or the expiry of a pause.
type PFCEvent struct {
	At     unit.Time
	Node   int           // that received the frame
	Port   packet.PortID // links are numbered at each node in the network's order
	Class  uint8
	Paused bool
}
