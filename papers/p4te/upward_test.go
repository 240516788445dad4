package p4te

import (
	"fmt"
	"testing"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/unit"
)

// TestProgram_SelectsPathByAlgorithm3 checks figure 6 and algorithm 3, lines 8 to 33: the tables' ports are 4 (delay),
// 5 (queue depth) and 6 (utilisation). A flowlet of a low-delay flow uses the port with the lowest delay while its
// colour at ingress is green, the shallowest queue if it is yellow, and the lowest utilisation if red. A large flow
// begins with the lowest utilisation and ends with the lowest delay. Others use the shallowest queue.
func TestProgram_SelectsPathByAlgorithm3(t *testing.T) {
	const green, yellow, red = dataplane.Green, dataplane.Yellow, dataplane.Red
	const low, shallow, idle packet.PortID = 4, 5, 6
	for _, s := range []struct {
		tos               uint8
		delay, depth, use dataplane.Colour // port_utilizations of the ports
		want              packet.PortID
	}{
		{0x10, green, red, red, low}, {0x10, yellow, red, green, shallow}, {0x10, red, green, red, idle},
		{0x08, red, red, green, idle}, {0x08, green, red, yellow, shallow}, {0x08, red, green, red, low},
		{0, red, red, green, shallow}, {0x20, green, green, green, shallow},
	} {
		t.Run(fmt.Sprintf("TOS %#x, delay %v, depth %v, use %v", s.tos, s.delay, s.depth, s.use), func(t *testing.T) {
			p := tables(t, low, shallow, idle)
			p.utilisation[low], p.utilisation[shallow], p.utilisation[idle] = s.delay, s.depth, s.use
			x := &packet.Packet{TOS: s.tos, Hash: 7}
			if got, ok := p.selectPath(0, x, p.config.Class[s.tos>>2]); !ok || got != s.want {
				t.Errorf("TOS %#x, colours %v %v %v: port %d, want %d", s.tos, s.delay, s.depth, s.use, got, s.want)
			}
		})
	}
}

// TestFlowletStays checks lines 17 to 19 and 29 to 31: within the gap a flowlet keeps its port for any colours and
// tables, and every packet extends it. After a gap a new one begins. Lines 32, 33: packets without a class have no
// flowlets.
func TestFlowletStays(t *testing.T) {
	for _, tos := range []uint8{0x10, 0x08, 0} {
		t.Run(fmt.Sprintf("TOS %#x", tos), func(t *testing.T) {
			p := tables(t, 4, 5, 6)
			class := p.config.Class[tos>>2]
			x := &packet.Packet{TOS: tos, Hash: 7}
			at := func(now unit.Time) packet.PortID {
				port, _ := p.selectPath(now, x, class)
				return port
			}
			first := at(0)
			for m := range MetricCount {
				p.upward[m].Apply(Write{Metric: m, Group: 0, Port: 7, Enter: true})
				p.upward[m].Apply(Write{Metric: m, Group: 0, Port: first})
				p.upward[m].Apply(Write{Metric: m, Group: 0, Port: first + 1})
				p.upward[m].Apply(Write{Metric: m, Group: 0, Port: max(first, 5) - 1})
			}
			gap := p.config.FlowletGap
			if tos == 0 {
				if got := at(1); got != 7 {
					t.Errorf("a packet of no class goes by %d, want 7", got)
				}
				return
			}
			for _, now := range []unit.Time{gap - 1, 2*gap - 2, 3*gap - 3} {
				if got := at(now); got != first {
					t.Errorf("TOS %#x at %v: the flowlet goes by %d, want %d", tos, now, got, first)
				}
			}
			if got := at(4 * gap); got != 7 {
				t.Errorf("TOS %#x: a new flowlet goes by %d, want 7", tos, got)
			}
		})
	}
}

// tables returns a leaf. Its tables have one port each in the group of the highest priority, and the others of its
// ports 4 to 7 in the next.
func tables(t *testing.T, delay, depth, use packet.PortID) *Program {
	p, _ := paperSwitch(t, 8, 1)
	for m, first := range [MetricCount]packet.PortID{Delay: delay, QueueDepth: depth, Utilisation: use} {
		for _, port := range p.place.Up {
			if port != first {
				p.upward[m].Apply(Write{Metric: Metric(m), Group: 0, Port: port})
				p.upward[m].Apply(Write{Metric: Metric(m), Group: 1, Port: port, Enter: true})
			}
		}
	}
	return p
}

// TestOneGroupIsECMP checks P4TE §6.3 and §6.5: with all ports in any one group, flows are shared as by ECMP. Each port
// is equally likely, and a flow keeps its port.
func TestOneGroupIsECMP(t *testing.T) {
	for group := range 3 {
		p, _ := paperSwitch(t, 8, 1)
		for m := range MetricCount {
			for _, port := range p.place.Up {
				p.upward[m].Apply(Write{Metric: m, Group: 0, Port: port})
				p.upward[m].Apply(Write{Metric: m, Group: group, Port: port, Enter: true})
			}
		}
		count := map[packet.PortID]int{}
		for flow := range uint32(4000) {
			x := &packet.Packet{TOS: 0x10, Hash: flow}
			now := unit.Time(flow) * 10 * unit.Second // flows that share a cell
			first, _ := p.selectPath(now, x, LowDelay)
			for _, colour := range []dataplane.Colour{dataplane.Yellow, dataplane.Red} {
				p.utilisation[first] = colour
				if again, _ := p.selectPath(now+unit.Second*unit.Time(colour), x, LowDelay); again != first {
					t.Fatalf("group %d: a flowlet goes by %d, one before by %d", group, again, first)
				}
			}
			count[first]++
		}
		for port, n := range count {
			if n < 900 || n > 1100 {
				t.Errorf("group %d: %d of 4000 flows go by port %d", group, n, port)
			}
		}
	}
}

// TestThreeTiers checks P4TE §6.2.1.1 and figure 2, a to c: in three tiers all packets arrive, downward by prefix.
// Leaves and spines receive their uplinks' delay from above; super spines have no switches above them.
func TestThreeTiers(t *testing.T) { threeTiers(t, "100KB", "25KB") }

// threeTiers sends flows of the given sizes through a fat tree, over IPv4 and IPv6.
func threeTiers(t *testing.T, large, short string) {
	t.Helper()
	text := `
duration: 400ms
addresses: hierarchical
topology: {fat_tree: {k: 4, rate: 1Gbps, delay: 10us, buffer: 100 packets}}
switch: [{p4te: {burst: 1ms, delay_delta: 50us, gap: 200us, control_latency: 10us, table_write: 1us}}]
traffic:
  - {name: large, from: [h0, h1, h4, h5], to: [h8, h9, h12, h13], transport: tcp, cc: cubic, tos: 0x08,
     start: 0s, size: %s, ip: %d}
  - {name: short, from: [h8, h10, h2, h3], to: [h0, h6, h1, h2], transport: tcp, cc: dctcp, tos: 0x10,
     start: 1ms, size: %s, ip: %d}
`
	for _, ip := range []int{4, 6} {
		n, wired := build(t, fmt.Sprintf(text, large, ip, short, ip)),
			build(t, fmt.Sprintf(text, large, ip, short, ip))
		wired.Wire = true
		r, list := n.traced()
		if _, got := wired.traced(); eventsOf(list) != eventsOf(got) {
			t.Errorf("IPv%d: another trace in wire mode", ip)
		}
		if len(r.Unfinished) > 0 || r.Drops[dataplane.NoRoute] > 0 {
			t.Errorf("IPv%d: unfinished %v, %d packets without a route", ip, r.Unfinished, r.Drops[dataplane.NoRoute])
		}
		var told, heard, depths [4]uint64
		for _, p := range n.programs {
			if p != nil {
				told[p.place.Tier] += p.counts.ToNeighbour
				heard[p.place.Tier] += p.counts.ToControl
				for _, port := range p.place.Down {
					if p.control.Group(Delay, port) >= 0 {
						depths[p.place.Tier]++
					}
				}
			}
		}
		if told[1] > 0 || told[2] == 0 || told[3] == 0 || heard[1] == 0 || heard[2] == 0 || heard[3] > 0 ||
			depths != [4]uint64{} {
			t.Errorf("IPv%d: by tier, feedback sent down %v, events at the control plane %v, groups of downward ports %v", ip,
				told, heard, depths)
		}
	}
}

// TestHopByHop checks P4TE §6.1.2: T^Source is of the last switch, so each switch sees the delay of one hop: on idle
// links 1014 + 16 bytes at 1 Gb/s and 10 us. It includes clock differences.
func TestHopByHop(t *testing.T) {
	n := build(t, `
duration: 3ms
addresses: hierarchical
topology: {fat_tree: {k: 4, rate: 1Gbps, delay: 10us, buffer: 100 packets}}
switch: [{p4te: {delay_delta: 15us, gap: 40ms}}]
traffic:
  - {name: slow, from: h0, to: h15, transport: {udp: {rate: 10Mbps}}, start: 0s, tos: 0x10}
`)
	n.runNetwork()
	var seen [4]int
	for _, p := range n.programs {
		if p == nil {
			continue
		}
		for _, port := range p.place.Down {
			if m := p.links.ports[port]; m.isSet {
				seen[p.place.Tier]++
				if d := stampDifference(0, m.difference); d < 18*unit.Microsecond || d > 24*unit.Microsecond {
					t.Errorf("a switch of tier %d has seen %v", p.place.Tier, d)
				}
			}
		}
	}
	if seen != [4]int{0, 0, 1, 1} {
		t.Errorf("ports that have seen a delay, by tier: %v; want one of a spine and one of a super spine", seen)
	}
}

// TestControlPlane_OverloadBoundsWaitingWrites checks overload: at most one feedback packet per Δ holds only for the
// queue's depth. Under a load that stays above a meter's rate the colour changes with every few packets
// (TestColours_ReportChangesOnce), so the control plane has events without end. Events that it cannot write are lost,
// and the waiting ones are bounded.
func TestControlPlane_OverloadBoundsWaitingWrites(t *testing.T) {
	n := build(t, `
duration: 20ms
addresses: hierarchical
topology: {leaf_spine: {leaves: 2, spines: 2, hosts: 4, rate: 10Gbps, delay: 1us, buffer: 200 packets}}
switch: [{p4te: {burst: 100us, gap: 100us, control_latency: 10us, table_write: 10us, control_queue: 16}}]
traffic:
  - {name: all, from: [h0, h1, h2, h3], to: [h4, h5, h6, h7], transport: {udp: {rate: 4800Mbps}}, start: 0s, tos: 0x10}
`)
	leaf, waiting := n.node("leaf0"), 0
	n.hooks[leaf].ingress = func(*dataplane.Env, *packet.Packet) dataplane.Verdict {
		waiting = max(waiting, len(n.programs[leaf].writes)-n.programs[leaf].written)
		return dataplane.Accept
	}
	r := n.runNetwork()
	k := n.programs[leaf].Counts()
	packets := n.port(r, "leaf0", "spine0").TxPackets + n.port(r, "leaf0", "spine1").TxPackets
	t.Logf("%d packets up, %+v, at most %d writes waiting", packets, k, waiting)
	if k.Recirculated*20 < packets || k.Lost < k.ToControl/10 || waiting == 0 || waiting > 2*17 {
		t.Errorf("%d packets up, %+v, %d writes wait", packets, k, waiting)
	}
}
