package telemetry

import "weir/core/unit"

// FieldUnits returns the units of the format's time stamps and byte counters. A reader's results repeat at a later time
// only if the time and the bytes in between are multiples of these. 0: the format has no such field.
func (f *Format) FieldUnits() (stamp unit.Time, bytes unit.Bytes) {
	switch {
	case f.codec == codecRelative:
		return 0, 0
	case f.codec == codecHPCC:
		return unit.Nanosecond, unit.Bytes(f.HPCC.Multi) * hpccBytesUnit
	case f.Microseconds:
		return unit.Microsecond, 1
	}
	return unit.Nanosecond, 1
}
