package outcome

import (
	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/jobs/job"
	"weir/core/transport"
	"weir/core/unit"
)

// Result is what a run returns. Counters of flows and ports are differences between the end and the warm-up's end. FCTs
// are whole.
type Result struct {
	End        EndReason
	Time       unit.Time // when the run ended
	Measured   unit.Time // length of the measured part: Time − warm-up
	Flows      []FlowResult
	Ports      []PortResult
	Drops      [dataplane.Reasons]uint64 // all switches, links and NICs, measured part
	Unfinished []int                     // flows with an end that did not reach it
	Delivered  []unit.Bytes              // by Unfinished: payload that has arrived, whole run
	// Stuck is a cycle of ports in its order, after a Deadlock, or the queues that were Starved.
	Stuck  []Stuck
	Strays []Stray // with Misdelivered: the flows and messages, and where their packets arrived
	Waits  []Wait  // what the first Unfinished flows were waiting for, unless all is done
	// JobWaits, by Load.Jobs, explains up to 3 messages that did not end of each unfinished job.
	JobWaits  [][]MessageWait
	Jobs      []job.Outcome // by Load.Jobs, whole run
	JobGroups []int         // by Load.Jobs, Job.Group
	// Times are the times of messages, by Load.Jobs, where packets carry them: from when the transport has one until it
	// is over at its sender, whole run.
	Times []unit.Histogram
	// Messages are by Load.Jobs and rank, measured part. Without packets they are of the whole run.
	Messages  [][]RankCounters
	Repeated  *Repetition      // of the iterations of a job; nil: no job has iterations
	Violation string           // with Violated, where packets are missing or too many
	Watched   [][]int64        // by Selection.Watches: sample k was taken at Watch.FirstSample + k·Every
	Delays    []unit.Histogram // with Selection.Delays: one-way delays of data packets, measured part, by Flow.Group
	Tally     FrameTally       // with Selection.Tally: all frames that were sent on any link, measured part
	Onsets    []OnsetResult    // by Selection.Onsets
	// Changes, of hosts without their network, are what senders did, by the onsets of Selection.Onsets at ports.
	Changes    [][]Change
	Reordering []Reordering          // with Selection.Ordering: by flow, measured part
	Peaks      []unit.Bytes          // with Selection.Peaks: by flow with a transport.Gauged sender, measured part
	Notices    Notices               // with Selection.Notices
	Steering   []*dataplane.Steering // with Selection.Steers: by node; nil: a host, or no control plane reports
	Usage      []*dataplane.Usage    // with Selection.Usage: by node; nil: a host, or a program does not report

	Events     uint64 // of the event loop, whole run
	PacketHops uint64 // packets that arrived over a link, whole run
}

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

// FlowResult is one flow's outcome. There are as many as flows, so it has only what measures need.
type FlowResult struct {
	Start    unit.Time          // when it began; unit.Never if a flow that it comes after did not arrive
	Sender   transport.Sent     // by its sender, measured part
	Receiver transport.Received // by its receiver, measured part
	FCT      unit.Time          // start to finish at the sender; unit.Never if unfinished or endless
	Arrived  unit.Time          // when the receiver had all; unit.Never if it has not, or the flow is endless
	Timeouts int64              // of a sender that is a transport.Retransmitter, measured part
	// Written is the time from the start to the return of the application's last write; unit.Never if it has not
	// returned, or there is no send buffer.
	Written unit.Time
}

// PortResult is one egress port's outcome.
type PortResult struct {
	Node, Link, End int    // node it belongs to; index into Network.Links and which end
	TxBytes         uint64 // measured part
	TxPackets       uint64
	Lost            uint64 // on the link
	Drops           [dataplane.Reasons]uint64
	// Pauses is what PFC did to the port, in the measured part: Pause frames that came
	// in, and the time for which they held it.
	Pauses tm.Pauses
	// Capacity is what the link could have carried in the measured part: bits or, if its rate is in
	// packets, packets. It follows the events that change the rate. A link that is down still takes
	// frames, and loses them.
	Capacity float64
}

// Job returns the outcome of a traffic's job, by the traffic's index (Job.Group); nil if the traffic has no job.
func (r *Result) Job(group int) *job.Outcome {
	for i := range r.Jobs {
		if r.JobGroups[i] == group {
			return &r.Jobs[i]
		}
	}
	return nil
}

// MessageTimes returns the times of the messages of a traffic's job, by the traffic's index; nil if it has no job, or
// no packets carry it.
func (r *Result) MessageTimes(group int) *unit.Histogram {
	for i := range r.Times {
		if r.JobGroups[i] == group {
			return &r.Times[i]
		}
	}
	return nil
}

// RankCounters returns, by rank, what the messages of a traffic's job have counted in the measured part; group is the
// traffic's index. It is nil if the traffic has no job.
func (r *Result) RankCounters(group int) []RankCounters {
	for i := range r.Messages {
		if r.JobGroups[i] == group {
			return r.Messages[i]
		}
	}
	return nil
}
