package tm

import (
	"weir/core/scheme"
	"weir/core/unit"
)

// Scheme is a scheduler that an experiment can name.
type Scheme struct {
	scheme.Scheme
	// Build makes the scheduler of a port with this many queues and this rate.
	Build func(queues int, rate unit.LinkRate, v scheme.Values) (Scheduler, error)
}
