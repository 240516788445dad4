package unit

import "math"

// Time is a point in, or a length of, simulated or event time in picoseconds.
// One byte at 400 Gb/s lasts 20 ps; the range is ±106 days.
type Time int64

// Units of Time.
const (
	Picosecond  Time = 1
	Nanosecond       = 1000 * Picosecond
	Microsecond      = 1000 * Nanosecond
	Millisecond      = 1000 * Microsecond
	Second           = 1000 * Millisecond
)

// Never is later than every event. A state machine returns it as its next time if it has no event.
const Never Time = math.MaxInt64

// Seconds returns t in seconds, for measures and plots; the nearest float64.
func (t Time) Seconds() float64 { return float64(t) / 1e12 }

// RoundRough returns t for a sentence: rounded up to whole microseconds or milliseconds if it exceeds ten of them.
func (t Time) RoundRough() Time {
	for _, whole := range []Time{Microsecond, Millisecond} {
		if t > 10*whole {
			t = (t + whole - 1) / whole * whole
		}
	}
	return t
}
