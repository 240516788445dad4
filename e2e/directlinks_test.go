package e2e

import (
	"testing"

	"weir/app"
	"weir/internal/testkit/plantest"
	"weir/worlds/sim"
)

// TestEveryTransportOverDirectLinks checks that all flows arrive between two hosts with direct links over each
// registered transport. One of the hosts has a link to a switch as well.
func TestEveryTransportOverDirectLinks(t *testing.T) {
	keys := map[string]string{"udp": "transport: {udp: {rate: 1Gbps}}, flows: 30, start: 0s",
		"window": "transport: {window: {window: 24 packets}}, size: 50kB, flows: 30, start: 0s"}
	for _, x := range app.Registry().Transports {
		t.Run(x.Name, func(t *testing.T) {
			traffic := keys[x.Name]
			if traffic == "" {
				traffic = "transport: " + x.Name + ", size: 50kB, flows: 30, start: 0s"
			}
			text := `duration: 20ms
topology:
  hosts: [a, b]
  switches: [x]
  links:
    - {ends: [a, b], rate: 100Gbps, delay: 1us, bundle: 2}
    - {ends: [x, b], rate: 100Gbps, delay: 1us}
switches: {"*": {queues: 2, programs: [ecmp, trimming]}}
traffic: [{name: j, from: a, to: b, ` + traffic + `}]
measure: [fct]
`
			if x.Name == "udp" {
				text = text[:len(text)-len("fct]\n")] + "loss]\n"
			}
			c := plantest.Configure(t, app.Registry(), text)
			out, err := sim.Run(c)
			if err != nil || len(out.Flows) != 30 {
				t.Fatal(len(out.Flows), err)
			}
			for i := range out.Flows {
				f := &out.Flows[i]
				if missing := f.Sender.SentPackets - f.Receiver.ReceivedPackets; missing > 1 || f.Receiver.ReceivedBytes < 50_000 {
					t.Errorf("flow %d: %v are received, %d of %d packets", i, f.Receiver.ReceivedBytes, f.Receiver.ReceivedPackets,
						f.Sender.SentPackets)
				}
			}
		})
	}
}
