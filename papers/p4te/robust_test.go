package p4te

import (
	"fmt"
	"hash/crc32"
	"net/netip"
	"strings"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/balance/ecmp"
	"weir/core/dataplane/dataplanetest"
	"weir/core/dataplane/tm"
	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/trace"
	"weir/core/unit"
	"weir/worlds/sim"
)

// mixed is traffic of all classes, with and without TCP, over two leaves and two spines.
func mixed(program string, ip int) string { return mixedFor("25ms", program, ip) }

// mixedFor is mixed with a duration.
func mixedFor(duration, program string, ip int) string {
	return fmt.Sprintf(`
duration: %s
addresses: hierarchical
topology: {leaf_spine: {leaves: 2, spines: 2, hosts: 3, rate: 1Gbps, uplink: 500Mbps, delay: 10us, buffer: 40 packets}}
switch: [%s]
traffic:
  - {name: large, from: [h0, h1, h2], to: random, transport: tcp, cc: cubic, tos: 0x08, start: 0s, size: 3MB, ip: %d}
  - {name: short, from: [h3, h4, h5], to: random, transport: tcp, cc: dctcp, tos: 0x10, start: 1ms, size: 200KB, ip: %d}
  - {name: rest, from: h1, to: h4, transport: udp, rate: 80Mbps, start: 0s, ip: %d}
  - {name: same, from: h0, to: h1, transport: tcp, cc: reno, tos: 0x10, start: 0s, ip: %d}
`, duration, program, ip, ip, ip, ip)
}

type records struct{ list []trace.Record }

func (r *records) Write(x *trace.Record) error {
	y := *x
	y.Frame = append([]byte(nil), x.Frame...)
	r.list = append(r.list, y)
	return nil
}

// traced is a run with all its events.
func (n *network) traced() (*outcome.Result, []trace.Record) {
	n.t.Helper()
	ports := sim.TracePorts(n.Wiring.Network)
	trace.MarkPorts(ports, "*")
	all := &records{}
	c := trace.Config{Ports: ports, Book: n.Wiring.Hosts, Frames: true, Sinks: []trace.Sink{all}}
	for _, x := range n.Wiring.Network.Nodes {
		c.Nodes = append(c.Nodes, x.Name)
	}
	n.Trace = trace.NewCollector(c)
	r := n.runNetwork()
	if err := n.Trace.Err(); err != nil {
		n.t.Fatal(err)
	}
	return r, all.list
}

func eventsOf(list []trace.Record) string {
	var b strings.Builder
	for i := range list {
		fmt.Fprintf(&b, "%s %d %08x\n", trace.AppendText(nil, &list[i]), list[i].FrameBytes,
			crc32.ChecksumIEEE(list[i].Frame))
	}
	return b.String()
}

// TestWireMode checks that wire mode, which serialises and parses every packet at every hop, gives the same trace to
// the byte, over IPv4 and IPv6. Headers are only on links between switches, on all packets of hosts there. A frame
// counts its header, and all checksums are right.
func TestWireMode(t *testing.T) { wireMode(t, "15ms", []int{4}, []int{6}) }

// wireMode runs three programs for some time: the first over IPv4 and IPv6, the others over the given
// versions.
func wireMode(t *testing.T, duration string, second, third []int) {
	t.Helper()
	for program, versions := range map[string][]int{"{p4te: {burst: 1ms, gap: 200us, delay_delta: 100us}}": {4, 6},
		"{p4te: {burst: 1ms, rate: next_byte}}":                            second,
		"{p4te: {burst: 1ms, rate: enforced, member: flowlet, gap: 50us}}": third} {
		t.Run(program, func(t *testing.T) {
			for _, ip := range versions {
				n, wired := build(t, mixedFor(duration, program, ip)), build(t, mixedFor(duration, program, ip))
				wired.Wire = true
				_, want := n.traced()
				_, got := wired.traced()
				if x, y := eventsOf(want), eventsOf(got); x != y {
					a, b := strings.Split(x, "\n"), strings.Split(y, "\n")
					for i := range a {
						if i >= len(b) || a[i] != b[i] {
							t.Fatalf("%s, IPv%d: event %d is\n%s\nwith wire mode\n%s", program, ip, i, a[i], b[min(i, len(b)-1)])
						}
					}
				}
				k := n.counts()
				if k != wired.counts() || k.Lower == 0 || k.Raise == 0 || k.ToControl == 0 || k.Recirculated == 0 ||
					strings.Contains(program, "delay_delta") && k.ToNeighbour == 0 {
					t.Errorf("%s, IPv%d: %+v; with wire mode %+v", program, ip, k, wired.counts())
				}
				fakes, bytes, header := 0, int64(0), int64(0)
				for _, x := range got {
					if x.Kind != trace.Transmit {
						continue
					}
					x.Frame = append(x.Frame, make([]byte, int(x.FrameBytes)-len(x.Frame))...) // payload, of zeros
					var p packet.Packet
					if err := p.Parse(n.Wiring.Hosts, x.Frame); err != nil {
						t.Fatal(err)
					}
					ends := strings.Split(x.Port, "->")
					between := ends[0][0] != 'h' && ends[1][0] != 'h'
					var h Header
					switch has := h.ReadFrom(&p); {
					case p.Kind == packet.Probe: // feedback
						continue
					case has != between || !between && p.HasExtensions():
						t.Fatalf("%s, IPv%d: header %v at %s: %s", program, ip, has, x.Port, trace.AppendText(nil, &x))
					case has && h.Fake:
						fakes++
					}
					if x.Size != int64(len(x.Frame)) {
						t.Fatalf("%s, IPv%d: a frame of %d bytes counts %d", program, ip, len(x.Frame), x.Size)
					}
					if between {
						bytes += x.Size
						header += int64(p.ExtensionBytes())
						if p.Proto == packet.ProtoTCP {
							checksums(t, x.Frame)
						}
					}
				}
				if share := float64(header) / float64(bytes); fakes == 0 || share < 0.02 || share > 0.05 {
					t.Errorf("%s, IPv%d: %d fake ACKs on links, headers are %.1f %% of bytes between switches", program, ip,
						fakes, 100*share)
				}
			}
		})
	}
}

// TestProgram_DisabledPartsStayOff checks that parts that are off have no effect. Without monitoring no value is
// measured, sent or added, and frames are as with ECMP. Without path control no table changes. With rate: off no flow's
// cell is kept, and the header is the short one.
func TestProgram_DisabledPartsStayOff(t *testing.T) {
	n := build(t, mixed("{p4te: {monitoring: false, burst: 1ms}}", 6))
	n.Tally = true
	if r := n.runNetwork(); n.counts() != (PacketCounters{}) || r.Tally.Extensions != 0 ||
		r.Tally.Kinds[packet.Probe] != 0 {
		t.Errorf("without monitoring: %+v, %d bytes of headers", n.counts(), r.Tally.Extensions)
	}
	n = build(t, mixed("{p4te: {monitoring: false, paths: false}}", 6))
	r := n.runNetwork()
	e := build(t, mixed("ecmp", 6)).runNetwork()
	for i := range r.Flows {
		if x, y := r.Flows[i].Sender.SentPackets, e.Flows[i].Sender.SentPackets; x < y/2 { // other hashes, other paths
			t.Errorf("flow %d sends %d packets, with ecmp %d", i, x, y)
		}
	}
	n = build(t, mixed("{p4te: {paths: false, burst: 1ms}}", 6))
	n.runNetwork()
	if k := n.counts(); k.ToControl == 0 || k.Lower == 0 {
		t.Errorf("without paths: %+v", k)
	}
	for _, p := range n.programs {
		for m := range MetricCount {
			if p != nil && len(p.place.Up) > 0 && len(p.upward[m].Group(0)) != len(p.place.Up) {
				t.Errorf("without paths a port has left group 0 of the %v", m)
			}
		}
	}
	n = build(t, mixed("{p4te: {rate: off, burst: 1ms}}", 6))
	_, list := n.traced()
	for _, x := range list {
		var p packet.Packet
		var h Header
		x.Frame = append(x.Frame, make([]byte, int(x.FrameBytes)-len(x.Frame))...)
		if err := p.Parse(n.Wiring.Hosts, x.Frame); err == nil && h.ReadFrom(&p) && (h.Rated || h.Allowed || h.Fake) {
			t.Fatalf("rate: off: %+v", h)
		}
	}
	if k := n.counts(); k.Lower+k.Raise+k.LoweredWindows+k.Repeated != 0 || k.ToControl == 0 {
		t.Errorf("rate: off: %+v", k)
	}
}

// TestRecirculationExhausted checks that the ingress receives colours through the recirculation port. One that is too
// slow loses copies, and port_utilizations becomes stale: the ports are over-utilised without the ingress's notice.
// Fake ACKs, with port and register in the ingress, also use it (P4TE §4.6).
func TestRecirculationExhausted(t *testing.T) {
	stale := func(rate unit.Rate) (wrong, lost, fakes int) {
		n := build(t, mixed("{p4te: {burst: 1ms, bytes: 5000 B, gap: 40ms, delay_delta: 15ms}}", 6))
		leaf := n.node("leaf0")
		if rate > 0 {
			n.Wiring.Switches[leaf].Recirculation = dataplane.Recirculation{Rate: unit.LinkRate{Bits: rate}, Queue: 2}
		}
		h := n.hooks[leaf]
		look := 0
		h.ingress = func(_ *dataplane.Env, q *packet.Packet) dataplane.Verdict {
			x := n.programs[leaf]
			if q.Kind == packet.Probe { // the copy itself
				return dataplane.Accept
			}
			for _, p := range x.place.Up {
				look++
				if x.utilisation[p] != x.colours.Colour(p) {
					wrong++
				}
			}
			return dataplane.Accept
		}
		r := n.runNetwork()
		for _, s := range n.senders {
			if s != nil {
				fakes += s.fakes
			}
		}
		return wrong * 1000 / look, int(r.Drops[dataplane.RecirculationFull]), fakes
	}
	wrong, lost, all := stale(0)
	if wrong > 0 || lost > 0 || all == 0 {
		t.Errorf("without a limit: wrong at %d ‰ of the packets, %d copies lost, %d fake ACKs", wrong, lost, all)
	}
	if wrong, lost, _ = stale(10 * unit.Gbps); wrong > 20 || lost > 0 {
		t.Errorf("10 Gb/s: wrong at %d ‰ of the packets, %d copies lost", wrong, lost)
	}
	wrong, lost, few := stale(100 * unit.Kbps)
	if wrong < 50 || lost < 10 || few > all*9/10 {
		t.Errorf("100 kb/s: wrong at %d ‰ of the packets, %d copies lost, %d fake ACKs where there were %d", wrong,
			lost, few, all)
	}
}

// TestFeedbackLost checks that lost feedback to neighbours leaves their tables unchanged. All flows still end.
func TestFeedbackLost(t *testing.T) {
	moved := func(lose bool) int {
		n := build(t, mixed("{p4te: {burst: 1ms, delay_delta: 100us, control_latency: 10us, table_write: 1us}}", 6))
		n.Duration = 2 * unit.Second
		moved := 0
		for node, h := range n.hooks {
			h.ingress = func(_ *dataplane.Env, p *packet.Packet) dataplane.Verdict {
				if x := n.programs[node]; len(x.place.Up) > 0 {
					moved = max(moved, len(x.place.Up)-len(x.upward[Delay].Group(0)))
				}
				if p.Kind == packet.Probe && p.Meta.In != packet.NoPort && lose {
					return dataplane.Drop(dataplane.InputLoss)
				}
				return dataplane.Accept
			}
		}
		r := n.runNetwork()
		if n.counts().ToNeighbour == 0 || len(r.Unfinished) > 0 || lose != (r.Drops[dataplane.InputLoss] > 0) {
			t.Errorf("lost %v: %d messages to neighbours, unfinished flows %v", lose, n.counts().ToNeighbour, r.Unfinished)
		}
		return moved
	}
	if with, without := moved(false), moved(true); with == 0 || without != 0 {
		t.Errorf("ports out of the delay's first group: %d, with all feedback lost %d", with, without)
	}
}

// failing is two spines with a link that fails at 100 ms and returns at 400 ms.
const failing = `
duration: 900ms
addresses: hierarchical
topology: {leaf_spine: {leaves: 2, spines: 2, hosts: 4, rate: 1Gbps, delay: 10us, buffer: 100 packets}}
switch: [{p4te: {burst: 1ms, gap: $gap, detect: 5ms, control_latency: 1ms}}]
traffic:
  - {name: all, from: [h0, h1, h2, h3], to: [h4, h5, h6, h7], transport: {udp: {rate: 100Mbps}}, start: 0s, tos: 0x08}
events:
  - {at: 100ms, link: [leaf0, spine0], down: true}
  - {at: 400ms, link: [leaf0, spine0], down: false}
`

// TestLinkFailure checks P4TE §6.5: a failed link leaves its groups within detect, latency and writes. Its leaf then
// loses no further packets, also of continuing flowlets, and when it returns new flowlets use it. Only its own ends
// detect it: packets of another leaf to the spine beyond it are lost there, because downward there is no choice.
func TestLinkFailure(t *testing.T) {
	lost := func(gap string, from, to unit.Time) (uint64, uint64) {
		n := build(t, strings.Replace(failing, "$gap", gap, 1))
		n.Warmup, n.Duration = from, to
		r := n.runNetwork()
		p := n.port(r, "leaf0", "spine0")
		return p.Lost, p.TxPackets
	}
	if l, sent := lost("1ms", 90*ms, 110*ms); l == 0 || sent == 0 {
		t.Errorf("around the failure %d packets are lost of %d; the failure is not felt", l, sent)
	}
	if l, sent := lost("1ms", 110*ms, 400*ms); l > 0 || sent > 0 {
		t.Errorf("10 ms after the failure %d packets are sent to the link, %d lost", sent, l)
	}
	if l, sent := lost("100us", 420*ms, 900*ms); l > 0 || sent == 0 {
		t.Errorf("20 ms after it is back %d packets take it, %d are lost", sent, l)
	}
}

// TestRateChange checks P4TE §6.1.3: meters' rates are fixed "over the whole life cycle". A link that becomes slower is
// full at a load that its meter counts as low: green, while its queue grows, which the depth monitor detects.
func TestRateChange(t *testing.T) {
	n := build(t, `
duration: 200ms
addresses: hierarchical
topology: {leaf_spine: {leaves: 2, spines: 2, hosts: 2, rate: 1Gbps, delay: 10us, buffer: 100 packets}}
switch: [{p4te: {burst: 1ms, gap: 1ms, control_latency: 10us}}]
traffic:
  - {name: all, from: h0, to: h2, transport: {udp: {rate: 150Mbps}}, start: 0s}
events:
  - {at: 50ms, link: [leaf0, spine0], rate: 100Mbps}
  - {at: 50ms, link: [leaf0, spine1], rate: 100Mbps}
`)
	leaf := n.node("leaf0")
	colours, deepest := dataplane.Green, 0
	n.hooks[leaf].ingress = func(env *dataplane.Env, _ *packet.Packet) dataplane.Verdict {
		x := n.programs[leaf]
		for _, p := range x.place.Up {
			colours = max(colours, x.colours.Colour(p))
			if len(x.upward[QueueDepth].Group(0)) == 0 {
				deepest++
			}
		}
		return dataplane.Accept
	}
	r := n.runNetwork()
	if colours != dataplane.Green || deepest == 0 || n.port(r, "leaf0", "spine0").TxPackets == 0 ||
		n.port(r, "leaf0", "spine1").TxPackets == 0 {
		t.Errorf("a full link is %v; both ports out of the depth's first group for %d packets", colours, deepest)
	}
}

// TestNoAllocationPerPacket checks that no packet allocates memory, on any path.
func TestNoAllocationPerPacket(t *testing.T) {
	for _, given := range [][]string{nil, {"rate", "enforced"}, {"rate", "off"}, {"monitoring", "false"},
		{"paths", "false"}} {
		x := newStation(t, 1, append([]string{"bytes", "1 B", "delay_delta", "1ns", "gap", "1ns", "control_latency", "0s",
			"table_write", "0s"}, given...)...)
		x.handshake(100, 900)
		seq := uint32(101)
		step := func() {
			for _, p := range []struct {
				in packet.PortID
				*packet.Packet
			}{{0, x.segment(a, c, seq, 901, 1000, packet.ACK)}, {2, x.ack(901, seq, 300, 1, 1)},
				{1, x.segment(b, d, 1, 1, 1000, packet.ACK)}} {
				x.now += unit.Microsecond
				x.Receive(x.now, p.in, p.Packet)
			}
			seq += 1000
			x.Advance(x.now)
			for out := range packet.PortID(4) {
				for {
					p, _ := x.Dequeue(x.now, out)
					if p == nil {
						break
					}
					x.pool.Put(p)
				}
			}
			for {
				if _, woken := x.Wants().NextWoken(); !woken {
					break
				}
			}
		}
		for range 100 {
			step()
		}
		if k := testing.AllocsPerRun(1000, step); k > 0 {
			t.Errorf("%v: %g allocations for three packets", given, k)
		}
	}
}

// BenchmarkPacket measures a leaf's work on one packet from a host, of a flow with a cell, against ECMP's.
func BenchmarkPacket(bench *testing.B) {
	for _, name := range []string{"ecmp", "p4te", "last_ack_off", "unmonitored"} {
		bench.Run(name, func(bench *testing.B) {
			var x *station
			switch name {
			case "last_ack_off":
				x = newStation(bench, 1, "rate", "off")
			case "unmonitored":
				x = newStation(bench, 1, "monitoring", "false")
			default:
				x = newStation(bench, 1)
			}
			sw := x.Switch
			if name == "ecmp" {
				sw = plain(bench, x)
			} else {
				x.class = dataplane.Green
				x.handshake(100, 900)
				x.pass(2, x.ack(901, 101, 300, 1, 1))
			}
			seq := uint32(101)
			for bench.Loop() {
				x.now += unit.Microsecond
				p := x.segment(a, c, seq, 901, 1000, packet.ACK)
				p.TOS = 0x10
				seq += 1000
				sw.Receive(x.now, 0, p)
				for out := packet.PortID(2); out < 4; out++ {
					for {
						p, _ := sw.Dequeue(x.now, out)
						if p == nil {
							break
						}
						x.pool.Put(p)
					}
				}
				for {
					if _, woken := sw.Wants().NextWoken(); !woken {
						break
					}
				}
			}
		})
	}
}

// plain is the leaf with ECMP.
func plain(t testing.TB, x *station) *dataplane.Switch {
	up := []packet.PortID{2, 3}
	var routes []dataplane.Route
	for i := range 4 {
		routes = append(routes, dataplane.Route{Prefix: netip.PrefixFrom(x.book.V6(packet.Addr(i+1)), 128), Ports: up})
	}
	table, err := dataplane.NewRoutes(x.book, routes)
	if err != nil {
		t.Fatal(err)
	}
	site := &dataplane.Site{Switch: "s", Ports: 4, Book: x.book, Routes: table, Random: func(e string) unit.Random {
		return unit.NewRandom(1, e)
	}}
	program, err := dataplanetest.BuildProgram(ecmp.Scheme(), site)
	if err != nil {
		t.Fatal(err)
	}
	var ports []*tm.Port
	for range 4 {
		ports = append(ports, tm.NewPort(tm.NewBuffer(1, tm.Limit{}, tm.Limit{}), tm.NewFIFO(),
			unit.LinkRate{Bits: 10 * unit.Gbps}))
	}
	s, err := dataplane.New(dataplane.Config{Name: "s", Ports: ports, Programs: []dataplane.Program{program},
		Pool: &x.pool, Book: x.book, Random: unit.NewRandom(1, "s")})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// BenchmarkFatTree runs a fat tree of k = 16 at 60 % load, the same flows with ECMP and with P4TE: at most twice ECMP's
// time.
func BenchmarkFatTree(bench *testing.B) {
	for _, program := range []string{"ecmp", "p4te"} {
		bench.Run(program, func(bench *testing.B) {
			for range bench.N {
				bench.StopTimer()
				n := build(bench, fmt.Sprintf(`
duration: 1ms
addresses: hierarchical
topology: {fat_tree: {k: 16, rate: 10Gbps, delay: 1us, buffer: 200 packets}}
switch: [%s]
traffic:
  - {name: short, from: "*", to: random, transport: tcp, cc: cubic, size: 50KB, load: 40%%,
     arrivals: poisson, tos: 0x10}
  - {name: large, from: "*", to: random, transport: tcp, cc: cubic, size: 256KB, load: 20%%,
     arrivals: poisson, tos: 0x08}
`, program))
				bench.StartTimer()
				r := n.runNetwork()
				bench.ReportMetric(float64(r.PacketHops)/bench.Elapsed().Seconds()*float64(bench.N)/1e6, "Mhops/s")
			}
		})
	}
}
