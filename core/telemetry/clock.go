package telemetry

import "weir/core/unit"

// Clock is a switch's clock. The zero value is exact. Senders only use differences between readings of one clock. So
// Offset has no effect on them, while Resolution and Drift have.
type Clock struct {
	Resolution unit.Time // a reading is a multiple of it, rounded down; 0: picoseconds
	Offset     unit.Time // at time 0; may be negative
	Drift      float64   // in millionths (ppm): 100 gains 100 µs a second; above −1000000
}

// Read returns the clock's reading at time now. Readings never decrease.
func (c *Clock) Read(now unit.Time) unit.Time {
	t := now + c.Offset
	if c.Drift != 0 {
		t += unit.Time(float64(now) * (c.Drift / 1e6))
	}
	if c.Resolution > 1 {
		rest := t % c.Resolution
		if rest < 0 {
			rest += c.Resolution
		}
		t -= rest
	}
	return t
}
