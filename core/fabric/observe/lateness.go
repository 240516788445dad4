package observe

import "weir/core/unit"

// MostLateness is the most by which 99 % of the frames of an undisturbed run on real packets leave
// after their event time.
const MostLateness = 2 * unit.Millisecond
