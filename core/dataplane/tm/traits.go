package tm

import "weir/core/unit"

// Traits describe what a scheduler does with its parameters. Its configuration returns them by a method Traits,
// unless all are zero, which means no. dataplane.Traits has the traits of programs, including these.
type Traits struct {
	// Marks: it marks packets with ECN by their delay.
	Marks bool
	// DropsEarly: it drops packets where queues grow, for any limits of queues.
	DropsEarly bool
	// TargetParam is the parameter with the delay to which it leads queues; "": it has no target.
	TargetParam string
	// Target is that delay.
	Target unit.Time
	// RaisesTarget: at slow ports it raises the target to the time of a frame.
	RaisesTarget bool
	// Turns returns the maximum number of packets that each queue of a port sends in its turn; nil: it takes no such
	// turns.
	Turns func(queues int) []int64
}
