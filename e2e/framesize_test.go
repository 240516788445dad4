package e2e

import (
	"fmt"
	"testing"

	"weir/app"
	"weir/core/packet"
	"weir/core/telemetry"
	"weir/core/transport"
	"weir/core/unit"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/worlds/sim"
)

// measured is a receiver that keeps the length of the largest packet that arrives.
type measured struct {
	transport.Endpoint
	largest int32 // bytes of IP
}

func (m *measured) Receive(now unit.Time, p *packet.Packet) bool {
	m.largest = max(m.largest, p.Size-packet.EthernetHeader)
	return m.Endpoint.Receive(now, p)
}

// TestFramesFitMTU checks that all packets fit into the MTU at the end of their path, with a controller of each
// scheme over each transport that asks for telemetry, in each format. If all switches write a record, a full packet
// fills the MTU, except for the padding of headers.
func TestFramesFitMTU(t *testing.T) {
	const mtu = 1500
	registry, fitted := app.Registry(), map[string]int{}
	for i := range registry.Transports {
		tr := &registry.Transports[i]
		if tr.Config == nil {
			continue
		}
		if transport.TraitsOf(tr.Config()).Telemetry == nil {
			continue
		}
		for k := range registry.Controllers {
			control := registry.Controllers[k].Name
			for _, format := range telemetry.Profiles {
				for _, asks := range []string{transport.AskPacket, transport.AskCongestion} {
					for _, ip := range []int{4, 6} {
						name := fmt.Sprintf("%s %s %s %s ip%d", tr.Name, control, format.Name, asks, ip)
						c := loadFrames(registry, tr.Name, control, format.Name, asks, ip, mtu)
						if c == nil { // check refuses them together
							continue
						}
						largest := largestPacket(t, c)
						if largest > mtu || asks == transport.AskPacket && largest < mtu-8 {
							t.Errorf("%s: the largest packet has %d B, the MTU is %d B", name, largest, mtu)
						}
						fitted[control]++
					}
				}
			}
		}
	}
	for _, control := range []string{"hpcc", "rx_hpcc", "hpcc_pint", "powertcp", "cubic", "dcqcn", "bolt"} {
		if fitted[control] < 12 {
			t.Errorf("%s is in %d cases", control, fitted[control])
		}
	}
}

// loadFrames returns a run of two flows over two switches; nil: it is refused.
func loadFrames(r *experiment.Registry, transport, control, format, asks string, ip, mtu int) *sim.Config {
	s, err := plan.Load(r, &experiment.Source{Name: "test", File: "test.yaml", Data: fmt.Appendf(nil, `duration: 200us
topology: {dumbbell: {hosts: 2, rate: 10Gbps, delay: 1us, bottleneck: 5Gbps}}
mtu: %d B
switch: [forward, {telemetry: {format: %s, t: 9us}}]
traffic: [{name: x, from: "left*", to: right0, ip: %d, transport: {%s: {telemetry: %s}}, cc: %s, start: 0s}]
measure: [goodput]
`, mtu, format, ip, transport, asks, control)}, experiment.Options{})
	if err != nil {
		return nil
	}
	c, err := plan.ListRuns(s)[0].Config()
	if err != nil || c.MakeEndpoints() != nil {
		return nil
	}
	return c
}

// largestPacket returns the largest packet that arrives at a receiver.
func largestPacket(t *testing.T, c *sim.Config) (largest int32) {
	t.Helper()
	var all []*measured
	for i := range c.Flows {
		m := &measured{Endpoint: c.Endpoints[i].Receiver}
		c.Endpoints[i].Receiver, all = m, append(all, m)
	}
	if _, err := sim.Run(c); err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		largest = max(largest, m.largest)
	}
	return largest
}
