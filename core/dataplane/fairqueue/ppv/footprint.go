package ppv

import (
	"weir/core/dataplane"
	"weir/core/dataplane/users"
)

// Footprint returns the use by the marker, with a rate for each user, and by the port: the queue's least packet, or
// PIE and two histograms of values.
func (x *program) Footprint() dataplane.Footprint {
	const in = dataplane.InIngress
	f := dataplane.Footprint{Stages: []dataplane.Stage{dataplane.UserStage(x.rates.Table),
		{Name: "value of the packet", Gress: in, Registers: []dataplane.RegisterUse{{Name: "rates of users",
			Cells: x.rates.StateCount(), Bits: dataplane.WidthOf(users.Rate{}), Reads: 1, Writes: 1}},
			Operations: []dataplane.Operation{
				{Kind: dataplane.Transcendental, What: "decay exp(-T/K), logarithm of the throughput", Times: 2},
				{Kind: dataplane.Dividing, What: "l/T, T/K, by the weight", Times: 3},
				{Kind: dataplane.FloatingPoint, What: "rate, number drawn", Times: 4}}}}}
	if x.config.Smallest {
		f.Stages = append(f.Stages, dataplane.Stage{Name: "least value of the buffer", Gress: dataplane.InManager,
			Operations: []dataplane.Operation{{Kind: dataplane.TouchingTail, What: "any packet that waits gives way",
				Times: 1}}})
		return f
	}
	var k portState
	n := x.config.regionCount()
	f.Stages = append(f.Stages, dataplane.Stage{Name: "histogram", Gress: in, Registers: []dataplane.RegisterUse{
		{Name: "bytes by value", Cells: 2 * n * len(x.ports), Bits: 64, Reads: 1, Writes: 1}}},
		dataplane.Stage{Name: "threshold", Gress: in, Registers: []dataplane.RegisterUse{{Name: "threshold and its part",
			Cells: len(x.ports), Bits: dataplane.WidthOf(k.threshold) + dataplane.WidthOf(k.partAtThreshold), Reads: 1}}},
		dataplane.Stage{Name: "PIE and quantile", Gress: dataplane.InControl, Registers: []dataplane.RegisterUse{
			{Name: "probability, delay, times", Cells: len(x.ports), Bits: dataplane.WidthOf(k.probability) +
				dataplane.WidthOf(k.delay) + dataplane.WidthOf(k.nextUpdate) + dataplane.WidthOf(k.windowEnd), Reads: 1,
				Writes: 1}},
			Operations: []dataplane.Operation{{Kind: dataplane.Timing, What: "an update a period", Times: 1},
				{Kind: dataplane.Looping, What: "over all values", Times: n}}})
	return f
}
