package e2e

import (
	"fmt"
	"strings"
	"testing"

	"weir/app"
	"weir/internal/testkit"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
)

// TestSuppliedByProtocol checks which NACKs of NCF count as the congestion signal of a controller without another
// one. TCP accepts the supply in NACKs, but not copies of acknowledgements. UDP needs a switch that answers it.
// With nack: none there is no signal.
func TestSuppliedByProtocol(t *testing.T) {
	for _, x := range []struct {
		transport, ncf string
		supplied       bool
	}{
		{"{tcp: {stack: weir, nacks: supply}}", "{}", true},
		{"{tcp: {stack: weir, nacks: supply}}", "{form: extension}", true},
		{"{tcp: {stack: weir, nacks: supply}}", "{form: ece}", false},
		{"{tcp: {stack: weir, nacks: supply}}", "{nack: none}", false},
		{"{tcp: {stack: weir, nacks: loss}}", "{}", false},
		{"{rdma: {nacks: supply}}", "{}", true},
		{"{rdma: {nacks: supply}}", "{form: ece}", true},
		{"{rdma: {nacks: supply}}", "{nack: none}", false},
		{"{udp_controlled: {nacks: supply}}", "{}", false},
		{"{udp_controlled: {nacks: supply}}", "{udp: true}", true},
		{"{udp_controlled: {nacks: supply}}", "{udp: true, nack: none}", false},
	} {
		t.Run(x.transport+x.ncf, func(t *testing.T) {
			text := fmt.Sprintf(`duration: 1ms
topology: {star: {hosts: 3, rate: 100Gbps, delay: 1us, buffer: 1MB}}
switch: [forward]
switches: {s: {queues: 3, scheduler: ncf, programs: [forward, {ncf: %s}]}}
traffic: [{name: x, from: [h0, h1], to: h2, transport: %s, cc: powertcp, start: 0s}]
measure: [goodput]
`, x.ncf, x.transport)
			s := plantest.Load(t, app.Registry(), text, experiment.Options{})
			all := strings.Join(testkit.FormatAll(s.Warnings()), "\n")
			if strings.Contains(all, "the path has no congestion signal for it") == x.supplied {
				t.Errorf("supplied: %t, warnings: %s", x.supplied, all)
			}
		})
	}
}
