// Package slowest is a measure: the goodput of the slowest flow, which averages hide.
package slowest

import (
	"math"

	"weir/core/transport"
	"weir/core/unit"
	"weir/study/measure"
)

// Definition returns the measure for experiments: measure: [slowest].
func Definition() measure.Definition {
	return measure.Definition{Name: "slowest", Doc: "goodput of the slowest flow, by traffic [bit/s]",
		New: func() measure.Measure { return slowest{} }}
}

// slowest has no options and needs only the standard counts, in both worlds. Methods of its own replace those of a
// plain measure.
type slowest struct{ measure.Plain }

// AddValues adds a number for each traffic; NaN, a dash in tables, without flows.
func (slowest) AddValues(e *measure.Evaluation) {
	e.AddByTraffic("slowest", "bps", func(t int) float64 {
		least := math.NaN()
		e.VisitFlows(t, func(_ *transport.Sent, receiver *transport.Received, _ unit.Time) {
			rate := float64(receiver.ReceivedBytes) * 8 / e.Result.Measured.Seconds()
			if !(rate >= least) {
				least = rate
			}
		})
		return least
	})
}
