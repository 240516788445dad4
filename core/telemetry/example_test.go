package telemetry_test

import (
	"fmt"

	"weir/core/telemetry"
	"weir/core/unit"
)

// computeLoad returns how much of a port's capacity is used between two records of it: what it sent, and the queue over
// what it can send in a round trip (HPCC's U, draft-miao §4.1).
func computeLoad(before, now *telemetry.Hop, rtt unit.Time) float64 {
	sent := float64(8*(now.TxBytes-before.TxBytes)) / (now.Time - before.Time).Seconds()
	queued := float64(8*min(before.Queue, now.Queue)) / rtt.Seconds()
	return (sent + queued) / float64(now.Rate)
}

// Example compares the records of two packets of a flow, hop by hop, as a telemetry law does. A Format writes records
// into packets and reads them. Its Wraparound gives the widths at which fields wrap, and an Unwrapper makes them
// continuous.
func Example() {
	format := telemetry.NewHPCC(1)
	unwrap := telemetry.Unwrapper{Span: format.WrapSpan()}
	var last telemetry.Records
	for i, h := range []telemetry.Hop{
		{Switch: 1, Time: 10 * unit.Microsecond, TxBytes: 100_000, Queue: 10_000, Rate: 100 * unit.Gbps},
		{Switch: 1, Time: 20 * unit.Microsecond, TxBytes: 200_000, Queue: 25_000, Rate: 100 * unit.Gbps},
	} {
		header := make([]byte, telemetry.HPCCBytes)
		format.Push(header, &h) // by the switch
		var r telemetry.Records
		if err := format.Decode(header, &r); err != nil { // by the sender
			fmt.Println(err)
			return
		}
		unwrap.Unwrap(h.Time, &r)
		if i > 0 {
			fmt.Printf("U = %.2f\n", computeLoad(last.At(0), r.At(0), 10*unit.Microsecond))
		}
		last = r
	}
	// Output: U = 0.88
}
