package sim

import (
	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/fabric/observe"
	"weir/core/fabric/wiring"
	"weir/core/jobs/job"
	"weir/core/packet"
	"weir/core/trace"
	"weir/core/transport"
	"weir/core/unit"
	"weir/core/workload"
)

// Config is one run, resolved: everything that decides its outcome.
type Config struct {
	Wiring
	Selection
	Duration unit.Time // the run ends then at the latest
	Warmup   unit.Time // measures begin then
	// UntilDone ends the run when every flow with an end is finished.
	UntilDone bool

	Flows []Flow
	Jobs  []Job
	// Repeat has iterations of a job that recur exactly taken from the one that was carried out. It changes speed only.
	Repeat bool
	// Anew has all random draws of links, switches and messages begin anew where the network is idle between two
	// iterations of a job. Restarts must be set as well.
	Anew bool
	// Ideal carries the jobs in place of packets, if there is one. Flows have no part in that.
	Ideal job.Ideal
	Ends  Ends // makes the endpoints of flows; nil: each has its own
	// Triggers begin flows when others have ended, wherever that is, and at once: what no message could do. If they
	// join different hosts, one thread carries out the run.
	Triggers []workload.Trigger
	Stalls   Stalls  // when hosts stand still
	Onsets   []Onset // beginnings of congestion, after which senders' reductions are looked for
	Peaks    bool    // keep what each sender had in flight at most
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

// What the lab has as well: links and switches, what of them is observed, what runs in a switch,
// what happens to links, what a port's outcome is.
type (
	Wiring       = wiring.Config
	Selection    = observe.Selection
	SwitchConfig = wiring.SwitchConfig
	Event        = wiring.Event
	PortResult   = wiring.PortResult
)

// Stalls halt all hosts together now and then, as in a lab whose machine's cores are taken by its
// hypervisor or another process. Arriving packets wait and reach the endpoints when the stall ends, all at
// once. Senders, timers, NICs and their pauses continue. A stall that begins during another prolongs it.
type Stalls struct {
	Every  unit.Time // mean of the exponentially distributed gaps between beginnings
	Length unit.Time // of each; 0: there are none
}

// Flow is one flow: two endpoints at two hosts. Config.Ends makes those that it does not bring along.
type Flow struct {
	Group            int // index of its traffic in the spec
	Src, Dst         int // nodes
	Start            unit.Time
	Size             unit.Bytes // 0: no end
	Stop             unit.Time  // when the application of a flow without a size stops; 0: with the run
	Sender, Receiver transport.Endpoint
	SrcPort, DstPort uint16
	// priority class of its packets at the hosts' NICs, 0 … 7, where an endpoint that is there is not transport.Classed
	Class uint8

	// After are flows that have to arrive at Src, whole, before this one begins. Each has a
	// size, and its Dst is this flow's Src: so the host learns of their end from their packets
	// alone. With After, Start is the earliest time.
	After []int
}

// SenderClass is the priority class of what the flow's sender sends.
func (f *Flow) SenderClass() uint8 { return class(f.Sender, f.Class) }

// PFCEvent is a Pause or Resume frame that came in at a port, by which what leaves there
// is held or goes on, or the end of a pause whose time is over.
type PFCEvent struct {
	At     unit.Time
	Node   int           // that is notified
	Port   packet.PortID // where: links are numbered at each node in the network's order
	Class  uint8
	Paused bool
}

// Watch is a quantity that is looked at every so often from the warm-up's end on.
type (
	Watch   = observe.Watch
	Watched = observe.Watched
)

// What can be watched.
const (
	QueuePackets  = observe.QueuePackets
	QueueBytes    = observe.QueueBytes
	SentBytes     = observe.SentBytes
	SentPackets   = observe.SentPackets
	ReceivedBytes = observe.ReceivedBytes
	Window        = observe.Window
	Rate          = observe.Rate
	InFlight      = observe.InFlight
	RTT           = observe.RTT
	DeliveryRate  = observe.DeliveryRate
	BufferBytes   = observe.BufferBytes
	ProgramMetric = observe.ProgramMetric
	MessageBytes  = observe.MessageBytes
)

// EndReason is why a run ended.
type EndReason string

// Why a run ends.
const (
	AllDone     EndReason = "all flows done"
	TimeUp      EndReason = "time up"
	NoProgress  EndReason = "no progress"
	Deadlock    EndReason = "pfc deadlock"  // ports hold each other in a cycle: Result.Stuck
	Starved     EndReason = "class starved" // flows are unfinished, and a queue was not served: Result.Stuck
	Interrupted EndReason = "interrupted"
	// Misdelivered is a run in which packets of a flow arrived, but not at its receiver: Result.Strays.
	Misdelivered EndReason = "packets misdelivered"
	Violated     EndReason = "packets unaccounted for" // a mistake in a program or in Weir: Result.Violation
)

// Result is what a run gives. Counters of flows and ports are differences
// between the end and the warm-up's end, but for FCTs, which are whole.
type Result struct {
	End        EndReason
	Time       unit.Time // when the run ended
	Measured   unit.Time // length of the measured part: Time − Warmup
	Flows      []FlowResult
	Ports      []PortResult
	Drops      [dataplane.Reasons]uint64 // all switches, links and NICs, measured part
	Unfinished []int                     // flows with an end that did not reach it
	Delivered  []unit.Bytes              // of each of these, what has arrived, whole run
	// of a Deadlock, a cycle of ports in its order; with Starved, the queues that were
	Stuck  []Stuck
	Strays []Stray // with Misdelivered: the flows and messages, and where their packets arrived
	Waits  []Wait  // what the first Unfinished flows were waiting for, unless all is done
	// JobWaits, by Config.Jobs, explains up to 3 messages that did not end of each unfinished job.
	JobWaits  [][]MessageWait
	Jobs      []job.Outcome // by Config.Jobs, whole run
	JobGroups []int         // by Config.Jobs, Job.Group
	// Times are those of messages, by Config.Jobs, where packets carry them: from when the transport has one until
	// it is over at its sender, whole run.
	Times     []unit.Histogram
	Messages  [][]Carried      // by Config.Jobs and rank, measured part; of jobs without packets, whole run
	Repeated  *Repetition      // of the iterations of a job; nil: it has none, or does not say what they are
	Violation string           // with Violated, where packets are missing or too many
	Watched   [][]int64        // by Config.Watches: sample k is of the time Begins(Warmup) + k·Every
	Delays    []unit.Histogram // with Config.Delays: one-way delays of data packets, measured part, by Flow.Group
	Tally     Tally            // with Config.Tally: of all frames that were sent on any link, measured part
	Onsets    []OnsetResult    // by Config.Onsets
	// of hosts without their network (Edge): what senders did, for each onset at a port, in the order of Config.Onsets
	Changes [][]Change
	// with Config.Ordering: by flow, measured part
	Reordering []Reordering
	// with Config.Peaks: by flow, what a sender that is transport.Gauged had in flight at most, measured part
	Peaks    []unit.Bytes
	Notices  Notices               // with Config.Notices
	Steering []*dataplane.Steering // with Config.Steers: by node; nil: a host, or no control plane that tells
	Taken    []*dataplane.Taken    // with Config.Taken: by node; nil: a host, or a program does not tell

	Events     uint64 // of the event loop, whole run
	PacketHops uint64 // packets that arrived over a link, whole run
}

// FlowResult is one flow's outcome. There are as many as flows, so it has only what measures need.
type FlowResult struct {
	Start    unit.Time          // when it began; unit.Never if what it comes after did not arrive
	Sender   transport.Sent     // by its sender, measured part
	Receiver transport.Received // by its receiver, measured part
	FCT      unit.Time          // start to finish as the sender sees it; unit.Never if unfinished or endless
	Arrived  unit.Time          // when the receiver had all; unit.Never if it has not, or the flow is endless
	Timeouts int64              // of a sender that is a transport.Retransmitter, measured part
	// start to the return of the application's last write; unit.Never if it has not, or there is no send buffer
	Written unit.Time
}

// Stuck is a queue that is not served.
type Stuck struct {
	Port   int // index into Result.Ports
	Queue  tm.QueueID
	Since  unit.Time // its head waits since then
	Paused bool      // PFC holds it
}
