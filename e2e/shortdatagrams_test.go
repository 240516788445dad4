package e2e

import (
	"fmt"
	"testing"

	"weir/app"
	"weir/core/unit"
	"weir/internal/testkit/plantest"
)

// TestReportsOfShortDatagrams checks that reports that are longer than their datagrams do not queue at the
// receiver's NIC. At line rate they would arrive after the sender's timeout.
func TestReportsOfShortDatagrams(t *testing.T) {
	for _, payload := range []int{1, 20, 30, 36, 100} {
		text := fmt.Sprintf("duration: 20ms\ntopology: {star: {hosts: 2, rate: 10Gbps, delay: 1us, buffer: 100kB}}\n"+
			"switch: [forward]\ntraffic:\n  - {name: x, from: h0, to: h1, size: %d B, payload: %d B, "+
			"transport: udp_controlled, cc: none, start: 0s}\nmeasure: [goodput]\n", 50_000*payload, payload)
		c := plantest.Configure(t, app.Registry(), text)
		out := plantest.Simulate(t, c)
		f := &out.Flows[0]
		if late := f.FCT - f.Arrived; f.Timeouts > 0 || f.Arrived == 0 || late > 100*unit.Microsecond {
			t.Errorf("payload of %d bytes: %d timeouts; the sender ends %v after the receiver", payload, f.Timeouts, late)
		}
	}
}
