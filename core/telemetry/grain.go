package telemetry

import "weir/core/unit"

// Grain is of what the format's stamps and counters of sent bytes are multiples: what a reader makes of them is the
// same at another time only if that is as many of these later. 0: it has none of them.
func (f *Format) Grain() (stamp unit.Time, bytes unit.Bytes) {
	switch {
	case f.codec == codecRelative:
		return 0, 0
	case f.codec == codecHPCC:
		return unit.Nanosecond, unit.Bytes(f.HPCC.Multi) * hpccBytesUnit
	case f.Micro:
		return unit.Microsecond, 1
	}
	return unit.Nanosecond, 1
}
