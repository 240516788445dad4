package live_test

import (
	"fmt"

	"weir/core/dataplane"
	"weir/core/fabric/wiring"
	"weir/core/packet"
	"weir/core/unit"
	"weir/internal/testkit/gatetest"
	"weir/worlds/live"
)

// across is a program that forwards frames between two ports.
type across struct{}

func (across) Name() string { return "across" }

func (across) Ingress(_ *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	p.Meta.Out = 1 - p.Meta.In
	return dataplane.Accept
}

// frames is a codec that reads no header.
type frames struct{}

func (frames) Parse(unit.Time, packet.PortID, *packet.Packet) error { return nil }
func (frames) Deparse(*packet.Packet) error                         { return nil }
func (frames) Opposite(*packet.Packet) uint32                       { return 0 }

// ExampleNewBridge forwards frames when their last bit would have left at the port's rate, in the event time of the
// stamps.
func ExampleNewBridge() {
	now := unit.Time(0)
	l2, _ := packet.FramingByName("l2")
	config := live.BridgeConfig{
		Name: "bridge", MaxFrame: 1514, Framing: l2, Book: packet.NewBook(),
		Ports: []live.BridgePort{{Name: "lan", Rate: unit.LinkRate{Bits: unit.Gbps}},
			{Name: "wan", Rate: unit.LinkRate{Bits: 10 * unit.Mbps}}},
		SwitchConfig: wiring.SwitchConfig{Codec: frames{},
			Programs: func(*dataplane.Site) ([]dataplane.Program, error) { return []dataplane.Program{across{}}, nil }},
	}
	var lan, wan gatetest.Script[live.GateCounts]
	bridge, err := live.NewBridge(config, []live.Gate{&lan, &wan}, func() unit.Time { return now })
	if err != nil {
		fmt.Println(err)
		return
	}
	lan.Add(unit.Millisecond, make([]byte, 1250)) // takes 1 ms at 10 Mb/s
	for _, now = range []unit.Time{unit.Millisecond, 1900 * unit.Microsecond, 2100 * unit.Microsecond} {
		if err := bridge.Step(now); err != nil {
			fmt.Println(err)
		}
		fmt.Printf("%v: %d sent, %d in the bridge\n", now, len(wan.Sent), bridge.WaitingPackets())
	}
	// Output:
	// 1ms: 0 sent, 1 in the bridge
	// 1.9ms: 0 sent, 1 in the bridge
	// 2.1ms: 1 sent, 0 in the bridge
}
