package observe

import "weir/core/unit"

// MaxLateness limits the lateness of an undisturbed run on real packets: the time after their event time by which 99
// % of the frames leave.
const MaxLateness = 2 * unit.Millisecond
