package tm

import "weir/core/unit"

// Traits describe what a scheduler does with its parameters. Its configuration returns them by a method Traits, if one
// of them is not zero, which means no. dataplane.Traits has the traits of programs, and these among them.
type Traits struct {
	// Marks: it marks packets with ECN by their delay.
	Marks bool
	// DropsEarly: it drops packets where queues grow, whatever the limits of queues are.
	DropsEarly bool
	// TargetParam is the parameter with the delay to which it leads queues; "": it has no target.
	TargetParam string
	// Target is that delay.
	Target unit.Time
	// RaisesTarget: at slow ports it raises the target to the time of a frame.
	RaisesTarget bool
	// Turns returns how many packets each queue of a port sends in its turn at most; nil: it takes no such turns.
	Turns func(queues int) []int64
}
