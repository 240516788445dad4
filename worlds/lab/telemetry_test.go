package lab

import (
	"fmt"
	"slices"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/feedback/inband"
	"weir/core/dataplane/forward"
	"weir/core/fabric/wiring"
	"weir/core/packet"
	"weir/core/telemetry"
	"weir/core/topology"
	"weir/core/unit"
	"weir/internal/testkit/wiretest"
)

// paces are the rates of the chain's links by switch, in turns: queues grow where the next one is slower.
var paces = []unit.Rate{40 * unit.Mbps, 25 * unit.Mbps, 50 * unit.Mbps}

// snapshot is the state of a port when a packet departed.
type snapshot struct {
	now, enqueued unit.Time
	sent          uint64
	queue         unit.Bytes
	rate          unit.Rate
	node          int
	in, out       packet.PortID
	hops, tos     uint8
}

// witness is a program that records the state of ports, by the packets' numbers.
type witness struct {
	node int
	of   map[int64][]snapshot
}

func (w *witness) Name() string { return "witness" }

func (w *witness) Egress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	out := env.Port(p.Meta.Out)
	w.of[p.Seq] = append(w.of[p.Seq], snapshot{env.Now(), p.Enqueued, out.TxBytes(), out.Bytes(), out.Rate().Bits, w.node,
		p.Meta.In, p.Meta.Out, p.HopLimit, p.TOS})
	return dataplane.Accept
}

// chain has two hosts with the given number of switches between them, which write telemetry in a format.
func chain(t testing.TB, switches int, format inband.Config, mtu int) (c *Config, of map[int64][]snapshot) {
	t.Helper()
	n := &topology.Network{Nodes: []topology.Node{{Name: "from"}}}
	for i := range switches {
		n.Nodes = append(n.Nodes, topology.Node{Name: fmt.Sprint("s", i+1), Switch: true})
	}
	n.Nodes = append(n.Nodes, topology.Node{Name: "to"})
	for i := range switches + 1 {
		rate := 50 * unit.Mbps
		if i > 0 {
			rate = paces[(i-1)%len(paces)]
		}
		n.Links = append(n.Links, topology.Link{Ends: [2]int{i, i + 1}, Rate: unit.LinkRate{Bits: rate},
			Delay: 100 * unit.Microsecond})
	}
	book, routes := n.Addresses(), n.Routes()
	of = map[int64][]snapshot{}
	c = &Config{Wiring: wiring.Config{Seed: 1, Network: n, Hosts: book, Switches: make([]wiring.SwitchConfig,
		len(n.Nodes))},
		Duration: unit.Second, MTU: mtu}
	c.Wiring.Framing, _ = packet.FramingByName("l2")
	for i := 1; i <= switches; i++ {
		c.Wiring.Switches[i] = wiring.SwitchConfig{Routes: dataplane.HostRoutes(book, routes.PathsFrom(i)),
			Programs: func(site *dataplane.Site) ([]dataplane.Program, error) {
				p, err := inband.Scheme().Build(site, &format)
				return []dataplane.Program{forward.New(site), &witness{i, of}, p}, err
			}}
	}
	return c, of
}

// payloads make a segment of TCP, a datagram, and the packets of a message of RDMA.
var payloads = map[string]func(p *packet.Packet){
	"tcp": func(p *packet.Packet) {
		p.Proto, p.Seq = packet.ProtoTCP, 1000*p.Seq
		p.TCP.Flags, p.TCP.Window, p.TCP.Present = packet.ACK, 500, packet.HasTimestamps
	},
	"udp": func(p *packet.Packet) { p.Proto = packet.ProtoUDP },
	"rdma": func(p *packet.Packet) {
		p.Proto, p.DstPort = packet.ProtoRDMA, 77
		switch p.Seq {
		case 0:
			p.TCP.Flags, p.Message = packet.FirstOfMessage, 8000
		case sends - 1:
			p.TCP.Flags = packet.LastOfMessage
		}
	},
}

// sends is the number of packets that pass the chain, one right after the other.
const sends = 8

// asking returns a frame through the chain that requests telemetry.
func asking(t testing.TB, c *Config, f *telemetry.Format, transport string, version uint8, seq int64, size int32) (
	frame []byte) {
	t.Helper()
	p := packet.Packet{Src: 1, Dst: packet.Addr(len(c.Wiring.Network.Nodes)), Version: version, HopLimit: 64, TOS: 0x2a,
		SrcPort: uint16(1000 + seq), DstPort: 2000, Seq: seq, Payload: size}
	payloads[transport](&p)
	if f != nil && !f.AddRequest(&p, telemetry.HopRecords, false) {
		t.Fatal("no room for telemetry")
	}
	frame, err := p.Emit(c.Wiring.Hosts, nil)
	if err != nil {
		t.Fatal(err)
	}
	return frame
}

// passed sends frames through a network at once, and returns the frames that its last host gets.
func passed(t testing.TB, c *Config, frames [][]byte) (got [][]byte, r *Report) {
	t.Helper()
	now := unit.Time(0)
	d, gates := memory(t, c, &now)
	for _, f := range frames {
		gates[0].Frames, gates[0].Stamps = append(gates[0].Frames, f), append(gates[0].Stamps, unit.Millisecond)
	}
	for now < unit.Second/2 {
		now += 10 * unit.Millisecond
		if err := d.Step(now); err != nil {
			t.Fatal(err)
		}
	}
	r = d.buildReport(now)
	return gates[len(gates)-1].Sent, r
}

// options are a reader's configuration for a format: the speeds that have codes. After those of int-header.h, and
// of IFA and Weir, the network's own speeds have codes, in order.
func options(format string, c *Config) wiretest.Options {
	o := wiretest.Options{IFA: true, Rates: []int64{10e9, 25e9, 40e9, 50e9, 100e9, 200e9, 400e9, 800e9, 1600e9}}
	if format == "hpcc" {
		o.Rates = []int64{25e9, 50e9, 100e9, 200e9, 400e9}
	}
	for _, r := range rates(c) {
		o.Rates = append(o.Rates, int64(r))
	}
	return o
}

// rates returns the rates of a network's links, ascending.
func rates(c *Config) (all []unit.Rate) {
	for _, l := range c.Wiring.Network.Links {
		all = append(all, l.Rate.Bits)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// formats are the formats with records, with the maximum number of hops in a packet.
var formats = []struct {
	name string
	hops int
}{{"hpcc", 5}, {"int-md", 16}, {"ioam", 5}, {"ioam-gafni", 5}, {"ifa", 16}, {"ifa-ext", 16}}

// TestTelemetryOnTheWire checks by the specifications that telemetry on the lab's links has the ports' values at each
// frame's departure: with payload of TCP, of UDP and of RDMA, over IPv4 and IPv6, after 1 to 5 hops and after more than
// there is room for. All lengths and sums are right, which Decode checks, and no other part of a frame has changed.
func TestTelemetryOnTheWire(t *testing.T) {
	for _, f := range formats {
		for _, hops := range []int{1, 2, 3, 4, 5, f.hops + 2} {
			for transport := range payloads {
				for _, version := range []uint8{4, 6} {
					t.Run(fmt.Sprint(f.name, "/", hops, " hops/", transport, version), func(t *testing.T) {
						along(t, inband.Config{Format: f.name, Multi: 1, Base: 1.05}, hops, f.hops, transport, version)
					})
				}
			}
		}
	}
}

func along(t *testing.T, config inband.Config, hops, most int, transport string, version uint8) {
	c, of := chain(t, hops, config, 0)
	f, err := config.Telemetry(rates(c))
	if err != nil {
		t.Fatal(err)
	}
	var frames, plain [][]byte
	for i := range int64(sends) {
		size := int32(1300 - 101*i)
		frames = append(frames, asking(t, c, &f, transport, version, i, size))
		plain = append(plain, asking(t, c, nil, transport, version, i, size))
	}
	got, report := passed(t, c, frames)
	if len(got) != len(frames) || report.Counts.Unwritable > 0 {
		t.Fatalf("%d frames of %d arrive: %+v", len(got), len(frames), report.Drops)
	}
	queued := false
	for i := range got {
		o := options(config.Format, c)
		x, err := wiretest.Decode(got[i], o)
		if err != nil {
			t.Fatalf("frame %d: %v\n% x", i, err, got[i])
		}
		was, err := wiretest.Decode(plain[i], wiretest.Options{})
		if err != nil {
			t.Fatal(err)
		}
		seq := int64(i)
		if transport == "tcp" {
			seq *= 1000
		}
		checkPath(t, x, o, of[seq], config.Format, most)
		unchanged(t, x, was, hops, len(got[i])-len(plain[i]))
		for _, k := range of[seq] {
			queued = queued || k.queue > 0 && k.enqueued < k.now
		}
		if transport == "udp" && version == 4 && !x.Summed {
			t.Error("the datagram has lost its checksum")
		}
	}
	if !queued {
		t.Error("nothing waited anywhere")
	}
}

// unchanged compares a frame without its telemetry with the one that was sent without.
func unchanged(t *testing.T, x, was *wiretest.Frame, hops, longer int) {
	t.Helper()
	if x.Telemetry != longer || x.Answer || x.TooLong {
		t.Errorf("telemetry of %d bytes made the frame %d longer", x.Telemetry, longer)
	}
	if string(x.Payload) != string(was.Payload) || x.RoCE != was.RoCE || x.TOS != was.TOS || x.DstPort != was.DstPort ||
		x.SrcPort != was.SrcPort || x.Src != was.Src || x.Dst != was.Dst || x.Proto != was.Proto ||
		int(x.HopLimit) != int(was.HopLimit)-hops {
		t.Errorf("the packet became %+v\nwant %+v", x, was)
	}
}

// checkPath compares the records of a frame with the states of the ports.
func checkPath(t *testing.T, x *wiretest.Frame, o wiretest.Options, want []snapshot, format string, most int) {
	t.Helper()
	n := min(len(want), most)
	if x.Format != format || len(x.Hops) != n || x.Left != most-n {
		t.Fatalf("%s with %d hops and room for %d, want %s with %d and %d", x.Format, len(x.Hops), x.Left, format, n, most-n)
	}
	over, path := len(want)-n, uint16(0)
	for _, k := range want {
		path ^= uint16(k.node)
	}
	switch format {
	case "hpcc":
		if x.Missed != over || x.Path != path {
			t.Errorf("%d hops missed, path %#x; want %d, %#x", x.Missed, x.Path, over, path)
		}
	case "ifa", "ifa-ext":
		if x.Missed != over {
			t.Errorf("%d hops missed, want %d", x.Missed, over)
		}
	default:
		if x.Full != (over > 0) {
			t.Errorf("the flag of an overflow is %v", x.Full)
		}
	}
	for i := range x.Hops {
		if got, want := x.Hops[i], record(&want[i], format, o.Rates); got != want {
			t.Errorf("hop %d is %+v\nwant %+v", i+1, got, want)
		}
	}
}

// record returns the values of a hop in a format, by its specification.
func record(k *snapshot, format string, speeds []int64) wiretest.Hop {
	const no = -1
	ns := func(t unit.Time) int64 { return int64(t / unit.Nanosecond) }
	left := ns(k.now)
	h := wiretest.Hop{Node: int64(k.node), In: int64(k.in), Out: int64(k.out), HopLimit: no, Arrived: no, Left: left,
		Residence: no,
		QueueID:   no, Queue: int64(k.queue), Cells: no, Sent: int64(k.sent), Rate: int64(k.rate), Fraction: no,
		Local: no, ECN: no, Errors: no, Speed: no}
	switch format {
	case "hpcc": // 24 bits of ns, 20 of 128 B, 17 of 80 B; no identity
		h.Node, h.In, h.Out, h.Left = no, no, no, left&(1<<24-1)
		h.Sent, h.Queue = h.Sent/128%(1<<20)*128, min(h.Queue/80, 1<<17-1)*80
	case "int-md":
		h.QueueID = 0
	case "ioam", "ioam-gafni":
		if h.HopLimit, h.Fraction = int64(k.hops), left%1e9; format == "ioam-gafni" {
			h.Errors = 0
		}
	case "ifa", "ifa-ext":
		h.HopLimit, h.QueueID, h.Cells, h.Local = int64(k.hops), 0, (h.Queue+255)/256, 0
		h.Speed = int64(slices.Index(speeds, int64(k.rate)))
		h.Arrived, h.ECN = ns(k.enqueued), int64(k.tos&3)
		h.Residence = left - h.Arrived
		if h.Local = 1; format == "ifa" {
			h.Sent, h.Local = no, 0
		}
	}
	return h
}

// TestTelemetryOverflows checks that a record that would make a frame longer than the MTU of the next link is not
// added: INT reports it by its flag M, IFA by the hop limit. Frames with room from the sender on, and those that are
// already too long, pass unchanged.
func TestTelemetryOverflows(t *testing.T) {
	const hops, mtu = 3, 1400
	for _, f := range formats {
		for _, version := range []uint8{4, 6} {
			t.Run(fmt.Sprint(f.name, " over IPv", version), func(t *testing.T) {
				config := inband.Config{Format: f.name, Multi: 1, Base: 1.05}
				c, of := chain(t, hops, config, 0)
				for i := 1; i <= hops; i++ {
					c.Wiring.Switches[i].MTUs = []int32{mtu, mtu}
				}
				format, err := config.Telemetry(rates(c))
				if err != nil {
					t.Fatal(err)
				}
				empty := asking(t, c, &format, "udp", version, 0, 0)
				var frames [][]byte
				for i := range int64(hops + 1) { // of which so many records make a frame that is as long as it may be
					size := mtu + packet.EthernetHeader - len(empty) - int(format.Bytes(int(i))-format.Bytes(0))
					frames = append(frames, asking(t, c, &format, "udp", version, i, int32(size)))
				}
				got, _ := passed(t, c, frames)
				if len(got) != len(frames) {
					t.Fatalf("%d frames of %d arrive", len(got), len(frames))
				}
				for i := range got {
					room, grows := i, format.Bytes(1) > format.Bytes(0)
					if !grows {
						room = hops
					}
					overflowed(t, got[i], options(f.name, c), of[int64(i)], room, mtu)
				}
			})
		}
	}
}

// overflowed checks a frame that can hold the given number of records.
func overflowed(t *testing.T, frame []byte, o wiretest.Options, want []snapshot, room, mtu int) {
	t.Helper()
	x, err := wiretest.Decode(frame, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(frame) > mtu+packet.EthernetHeader || len(x.Hops) != min(room, len(want)) {
		t.Errorf("%d records and %d bytes; there is room for %d", len(x.Hops), len(frame), room)
	}
	over := max(len(want)-room, 0)
	if x.Format == "int-md" && x.TooLong != (over > 0) || x.TooLong && x.Format != "int-md" || x.Full || x.Missed > 0 &&
		x.Missed != over || over > 0 && !x.TooLong && x.Missed == 0 {
		t.Errorf("%d hops without room: M is %v, E or O %v, %d are missed", over, x.TooLong, x.Full, x.Missed)
	}
	for i := range x.Hops {
		if got, want := x.Hops[i], record(&want[i], x.Format, o.Rates); got != want {
			t.Errorf("hop %d is %+v\nwant %+v", i+1, got, want)
		}
	}
}
