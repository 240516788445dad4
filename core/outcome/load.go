package outcome

import (
	"weir/core/jobs/job"
	"weir/core/unit"
)

// Load is what the network of a run carries.
type Load struct {
	Flows []Flow
	Jobs  []Job
	// Ideal, if given, carries the jobs in place of packets. It does not carry flows.
	Ideal job.Ideal
}

// Flow is a flow of a run.
type Flow struct {
	Group            int // index of its traffic in the experiment
	Src, Dst         int // NICs, numbered as topology.NICs does
	Start            unit.Time
	Size             unit.Bytes // 0: no end
	Stop             unit.Time  // when the application of a flow without a size stops; 0: with the run
	SrcPort, DstPort uint16
	// Class is the priority class of its packets at the hosts' NICs, 0 … 7, unless an endpoint is transport.Classed.
	Class uint8

	// After lists flows that must arrive completely at Src before this one begins. Each has a size, and its Dst is this
	// flow's Src, so that the host learns of their end from their packets. With After, Start is the earliest time.
	After []int
}

// Job is a job with its ranks at hosts.
type Job struct {
	Group   int // index of its traffic in the experiment
	Program job.Program
	Hosts   []int // nodes by rank, each a different one
	Start   unit.Time
	// Timeline, if given, records the activities of the ranks over time.
	Timeline *job.Timeline
}
