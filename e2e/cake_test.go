package e2e

import (
	"fmt"
	"math"
	"testing"

	"weir/app"
	"weir/core/unit"
	"weir/internal/testkit/plantest"
)

// TestCakeShares checks the shares of sixteen flows of TCP from one host and a datagram flow from another that
// could fill the link. Under cake they are equal by host, and 16 : 1 with fairness per flow, over a range of rates.
func TestCakeShares(t *testing.T) {
	const text = `duration: 8s
warmup: 3s
topology: {dumbbell: {hosts: 2, rate: 10Gbps, bottleneck: %v, delay: 5ms, buffer: 2000 packets}}
switches: {"*": {programs: [forward], scheduler: {cake: {isolation: %s}}}}
traffic:
  - {name: many, from: left0, to: right0, transport: tcp, cc: cubic, flows: 16, start: 0s..10ms}
  - {name: one, from: left1, to: right0, transport: udp, rate: %[1]v, payload: 1448 B}
measure: [goodput]
`
	for _, x := range []struct {
		isolation string
		ratio     float64
	}{{"dual-srchost", 1}, {"flows", 16}} {
		for _, rate := range []unit.Rate{5 * unit.Mbps, 50 * unit.Mbps, 500 * unit.Mbps} {
			t.Run(fmt.Sprintf("%s, %v", x.isolation, rate), func(t *testing.T) {
				c := plantest.Configure(t, app.Registry(), fmt.Sprintf(text, rate, x.isolation))
				out := plantest.Simulate(t, c)
				var bytes [2]float64
				for i := range out.Flows {
					n := 0
					if i == len(out.Flows)-1 {
						n = 1
					}
					bytes[n] += float64(out.Flows[i].Receiver.ReceivedBytes)
				}
				used := (bytes[0] + bytes[1]) * 8 / float64(rate) / out.Measured.Seconds()
				t.Logf("%.2f : 1, %.3f of the link", bytes[0]/bytes[1], used)
				if r := bytes[0] / bytes[1] / x.ratio; math.Abs(r-1) > 0.15 || used < 0.9 {
					t.Errorf("%.2f : 1, want %g : 1; %.2f of the link are used", bytes[0]/bytes[1], x.ratio, used)
				}
			})
		}
	}
}
