// Package slowest is a measure: what the flow gets that gets least, which means hide.
package slowest

import (
	"math"

	"weir/core/transport"
	"weir/core/unit"
	"weir/study/measure"
)

// Definition is what an experiment names: measure: [slowest].
func Definition() measure.Definition {
	return measure.Definition{Name: "slowest", Doc: "goodput of the slowest flow, by traffic [bit/s]",
		New: func() measure.Measure { return slowest{} }}
}

// slowest has no options and needs nothing that is not counted anyway, in both worlds: what
// differs from a plain measure has a method of its own.
type slowest struct{ measure.Plain }

// Evaluate adds a number for each traffic; NaN, a dash in tables, for one without flows.
func (slowest) Evaluate(e *measure.Evaluation) {
	e.ByTraffic("slowest", "bps", func(t int) float64 {
		least := math.NaN()
		e.Each(t, func(_ *transport.Sent, receiver *transport.Received, _ unit.Time) {
			rate := float64(receiver.ReceivedBytes) * 8 / e.Result.Measured.Seconds()
			if !(rate >= least) {
				least = rate
			}
		})
		return least
	})
}
