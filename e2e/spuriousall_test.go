package e2e

import (
	"strings"
	"testing"

	"weir/app"
	"weir/core/dataplane"
	"weir/internal/testkit/plantest"
)

// TestEveryControllerSendsOnce checks that no registered controller, over each transport with a controller, causes
// a retransmission where no packet is lost or overtaken.
func TestEveryControllerSendsOnce(t *testing.T) {
	for i := range app.Registry().Controllers {
		controller := app.Registry().Controllers[i].Name
		for _, transport := range []string{"rdma: {recovery: go_back_n}",
			"rdma: {recovery: selective_repeat, reordering: adaptive}", "udp_controlled", "tcp"} {
			for _, buffer := range []string{"pfc of 32MB", "unlimited"} {
				for _, flows := range []string{"incast", "both ways"} {
					w := wait{buffer, "25Gbps", "1us", flows, transport, controller}
					t.Run(w.String(), func(t *testing.T) {
						text := w.spec()
						if controller == "hpcc_pint" {
							text = strings.Replace(text, "{format: hpcc}", "{format: hpcc, t: 9us}", 1)
						}
						sentOnce(t, text)
					})
				}
			}
		}
	}
}

// sentOnce runs an experiment whose network drops no packet, and checks that no packet is retransmitted.
func sentOnce(t *testing.T, text string) {
	t.Helper()
	c := plantest.Configure(t, app.Registry(), text)
	out := plantest.Simulate(t, c)
	for why, n := range out.Drops {
		if dataplane.Reason(why) != dataplane.NotDropped && n > 0 {
			t.Errorf("%d packets are dropped: %v", n, dataplane.Reason(why))
		}
	}
	var sent, again, timeouts int64
	for i := range out.Flows {
		f := &out.Flows[i]
		sent, again, timeouts = sent+f.Sender.SentPackets, again+f.Sender.Retransmitted, timeouts+f.Timeouts
	}
	if again > 0 || timeouts > 0 || sent < 1000 {
		t.Errorf("%d of %d packets are sent again after %d timeouts", again, sent, timeouts)
	}
}
