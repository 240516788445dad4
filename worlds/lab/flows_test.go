package lab

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/forward"
	"weir/core/fabric/wiring"
	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/topology"
	"weir/core/trace"
	"weir/core/transport"
	"weir/core/transport/udp"
	"weir/core/unit"
	"weir/internal/testkit/plantest"
	"weir/worlds/sim"
)

// teller answers every tenth datagram with a notice to its sender, and has a separate queue for every third one, so
// that datagrams arrive in another order than they were sent.
type teller struct{}

func (teller) Name() string { return "teller" }
func (teller) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if p.Kind == packet.Data && p.Seq%10 == 0 {
		n := env.NewPacket()
		n.Kind, n.Flow, n.Src, n.Dst, n.SrcPort, n.DstPort = packet.Nack, p.Flow, p.Src, p.Dst, p.SrcPort, p.DstPort
		n.Proto, n.Version, n.Size, n.Seq, n.HopLimit = packet.ProtoRDMA, 4, 64, p.Seq, 9
		n.SwapEnds()
		env.SendPacket(n, p.Meta.In, 0)
	}
	if p.Seq%3 == 0 {
		p.Meta.Class = 1
	}
	return dataplane.Accept
}

// both returns one experiment for both drivers: a – s1 – s2 – b and c at s1, datagrams from a and c to b (IPv4 and
// IPv6) and from b to a. Links have loss, jitter and a rate in packets, and one changes its rate and goes down.
func both(t testing.TB) (*Config, *sim.Config, []Arriving) {
	n := &topology.Network{
		Nodes: []topology.Node{{Name: "a"}, {Name: "c"}, {Name: "b"}, {Name: "s1", Switch: true}, {Name: "s2", Switch: true}},
		Links: []topology.Link{
			{Ends: [2]int{0, 3}, Rate: unit.LinkRate{Bits: 100 * unit.Mbps}, Delay: unit.Millisecond, Loss: 0.05},
			{Ends: [2]int{1, 3}, Rate: unit.LinkRate{Packets: 5000}, Delay: unit.Millisecond, Buffer: unit.Length{Packets: 20}},
			{Ends: [2]int{3, 4}, Rate: unit.LinkRate{Bits: 20 * unit.Mbps}, Delay: unit.Millisecond,
				Buffer: unit.Length{Packets: 20}},
			{Ends: [2]int{4, 2}, Rate: unit.LinkRate{Bits: 50 * unit.Mbps}, Delay: unit.Millisecond,
				Jitter: 3 * unit.Millisecond, Buffer: unit.Length{Packets: 20}},
		},
	}
	book, routes := n.Addresses(), n.Routes()
	switches := make([]wiring.SwitchConfig, len(n.Nodes))
	for i := 3; i < 5; i++ {
		switches[i] = wiring.SwitchConfig{Routes: dataplane.HostRoutes(book, routes.PathsFrom(i)), Queues: 2,
			Programs: func(site *dataplane.Site) ([]dataplane.Program, error) {
				return []dataplane.Program{forward.New(site), teller{}}, nil
			}}
	}
	events := []wiring.Event{{At: 300 * unit.Millisecond, Link: 2, Rate: unit.LinkRate{Bits: 10 * unit.Mbps}},
		{At: 600 * unit.Millisecond, Link: 0, Down: true}, {At: 700 * unit.Millisecond, Link: 0}}
	watches := []outcome.Watch{
		{What: outcome.QueuePackets, Index: 4, Every: 3 * unit.Millisecond}, {What: outcome.QueueBytes, Index: 4,
			Every: 3 * unit.Millisecond},
		{What: outcome.SentBytes, Index: 6, Every: 100 * unit.Millisecond}, {What: outcome.SentPackets, Index: 0,
			Every: 7 * unit.Millisecond},
		{What: outcome.BufferBytes, Index: 3, Every: 5 * unit.Millisecond},
	}
	framing, _ := packet.FramingByName("l2")
	c := &Config{Wiring: wiring.Config{Seed: 7, Network: n, Switches: switches, Hosts: book, Events: events,
		Framing: framing},
		Selection: outcome.Selection{Watches: watches, Delays: true, Tally: true, Notices: true, Ordering: true},
		Warmup:    200 * unit.Millisecond, Duration: unit.Second}
	s := &sim.Config{Wiring: wiring.Config{Seed: 7, Network: n, Switches: switches, Hosts: book, Events: events,
		Framing: framing, MaxFrame: 1514}, Selection: outcome.Selection{Watches: watches, Delays: true, Tally: true,
		Notices: true, Ordering: true}, Warmup: c.Warmup, Duration: c.Duration}
	var script []Arriving
	for i, f := range []Flow{
		{Src: 0, Dst: 2, SrcPort: 1000, DstPort: 7, Version: 4}, {Group: 1, Src: 1, Dst: 2, SrcPort: 1000, DstPort: 7,
			Version: 6},
		{Group: 1, Src: 2, Dst: 0, SrcPort: 7, DstPort: 1001, Version: 6},
	} {
		f.Proto = packet.ProtoUDP
		c.Flows = append(c.Flows, f)
		tf := transport.Flow{ID: packet.FlowID(i), Src: packet.Addr(f.Src + 1), Dst: packet.Addr(f.Dst + 1),
			SrcPort: f.SrcPort, DstPort: f.DstPort,
			Version: f.Version, Payload: 1000, Stop: unit.Never, Framing: framing}
		ends := func() (transport.Endpoint, transport.Endpoint) {
			tf.Random = unit.NewRandom(uint64(i), "sender")
			sender, receiver, err := udp.New(tf, udp.Config{Rate: 9 * unit.Mbps, Pattern: udp.Poisson})
			if err != nil {
				t.Fatal(err)
			}
			return sender, receiver
		}
		sf := outcome.Flow{Group: f.Group, Src: f.Src, Dst: f.Dst, SrcPort: f.SrcPort, DstPort: f.DstPort}
		sender, receiver := ends()
		s.Add(sf, sender, receiver)
		for kernel, _ := ends(); kernel.NextSend() < c.Duration; {
			at := kernel.NextSend()
			// A kernel's timestamps have nanoseconds at best, but a script's are exact.
			p := packet.Packet{Src: tf.Src, Dst: tf.Dst}
			kernel.Emit(at, &p)
			p.Sent = 0x7777777777777777 // what a kernel's application writes there is its own business
			b, err := p.Emit(book, nil)
			if err != nil {
				t.Fatal(err)
			}
			script = append(script, Arriving{at, f.Src, b})
		}
	}
	slices.SortStableFunc(script, func(a, b Arriving) int { return int(a.At - b.At) })
	return c, s, script
}

// TestAsInSimulator checks that the lab measures switches, links and packets as the simulator does where both run the
// same: every count, delay and sample, on links that lose and delay by chance, count in packets, change their rate and
// go down.
func TestAsInSimulator(t *testing.T) {
	for name, x := range map[string]struct{ step, lead unit.Time }{"often": {step: 777 * unit.Microsecond},
		"once": {step: 2 * unit.Second}, "later": {777 * unit.Microsecond, 333 * unit.Millisecond}} {
		c, s, script := both(t)
		step := x.step
		c.Lead = x.lead // all that the experiment has in store comes so much later, and is the same
		for i := range script {
			script[i].At += x.lead
		}
		want := plantest.Simulate(t, s)
		r, _ := Scripted(t, c, script, func(now unit.Time) unit.Time { return now + step }, 2*unit.Second)
		b, err := json.Marshal(r) // as it comes from the process
		got := &Report{}
		if err == nil {
			err = json.Unmarshal(b, got)
		}
		if err != nil {
			t.Fatal(err)
		}
		if got.Measured != want.Measured || !reflect.DeepEqual(got.Ports, want.Ports) || got.Drops != want.Drops {
			t.Errorf("%s: measured %v, want %v;\nports %+v\nwant %+v;\ndrops %v\nwant %v", name, got.Measured, want.Measured,
				got.Ports, want.Ports, got.Drops, want.Drops)
		}
		if !reflect.DeepEqual(got.Watched, want.Watched) {
			t.Errorf("%s: watched %v\nwant %v", name, got.Watched, want.Watched)
		}
		if got.Tally != want.Tally || got.Tally.Payload == 0 {
			t.Errorf("%s: tally %+v, want %+v", name, got.Tally, want.Tally)
		}
		for i := range want.Delays {
			if !reflect.DeepEqual(got.Delays[i].Classes(), want.Delays[i].Classes()) || want.Delays[i].Count() < 100 {
				t.Errorf("%s: delays of %d: %v\nwant %v", name, i, got.Delays[i].Classes(), want.Delays[i].Classes())
			}
		}
		for i, f := range want.Flows {
			x, w := got.Flows[i], f.Receiver
			if x.Packets != w.ReceivedPackets || x.Bytes != w.ReceivedBytes || x.DelaySum != w.DelaySum ||
				x.DelayMin != w.DelayMin || x.DelayMax != w.DelayMax || x.Jitter != w.Jitter ||
				x.Reordering != want.Reordering[i] || x.Packets < 100 {
				t.Errorf("%s: flow %d: %+v, want %+v, %+v", name, i, x, w, want.Reordering[i])
			}
		}
		if x, w := got.Notices, want.Notices; x.Made != w.Made || x.Dropped != w.Dropped || x.Delivered != w.Delivered ||
			x.DelaySum != w.DelaySum || x.DelayMax != w.DelayMax || x.Delivered < 50 || x.Dropped == 0 {
			t.Errorf("%s: notices %+v, want %+v", name, x, w)
		}
		if got.Flows[0].Reordering.Reordered == 0 || got.Drops[dataplane.LinkLost] == 0 ||
			got.Drops[dataplane.LinkDown] == 0 || got.Drops[dataplane.PortPacketLimit] == 0 {
			t.Errorf("%s: nothing has happened: %+v, %v", name, got.Flows[0].Reordering, got.Drops)
		}
	}
}

// line is a path from a host over a switch to another host, with impairments on both links.
func line(change func(l *topology.Link)) *Config {
	c := dumbbell()
	for i := range c.Wiring.Network.Links {
		l := &c.Wiring.Network.Links[i]
		l.Rate, l.Delay, l.Buffer = unit.LinkRate{Bits: unit.Gbps}, unit.Millisecond, unit.Length{}
	}
	change(&c.Wiring.Network.Links[1])
	c.Observer = nil
	return c
}

// through sends n datagrams, one each 100 µs, and returns when each arrives, by its number; 0: never.
func through(t *testing.T, c *Config, n int) ([]unit.Time, *Report) {
	var script []Arriving
	for k := range n {
		script = append(script, Arriving{unit.Time(k) * 100 * unit.Microsecond, 0, datagram(t, c, int64(k), 1000)})
	}
	out := &arrived{at: make([]unit.Time, n)}
	c.Observer = out
	r, _ := Scripted(t, c, script, func(now unit.Time) unit.Time { return now + 5*unit.Millisecond }, 5*unit.Second)
	return out.at, r
}

// TestPlane_LosesShareOfLink checks that a link loses its given share of frames: of 20000 at 10 %, 2000 ± 5 standard
// deviations of 42.4. The same seed loses the same ones.
func TestPlane_LosesShareOfLink(t *testing.T) {
	c := line(func(l *topology.Link) { l.Loss = 0.1 })
	c.Warmup, c.Duration = 0, 5*unit.Second
	at, r := through(t, c, 20000)
	lost := 0
	for _, x := range at {
		if x == 0 {
			lost++
		}
	}
	if math.Abs(float64(lost)-2000) > 5*42.4 || r.Ports[2].Lost != uint64(lost) ||
		r.Drops[dataplane.LinkLost] != uint64(lost) || r.Ports[2].TxPackets != 20000 {
		t.Errorf("%d were lost; %+v", lost, r.Ports[2])
	}
	again, _ := through(t, line(func(l *topology.Link) { l.Loss = 0.1 }), 20000)
	if !slices.Equal(at, again) {
		t.Error("others are lost with the same seed")
	}
}

// TestPlane_AddsJitterWithoutReordering checks that a link's jitter adds up to its value to the delay, uniformly,
// without reordering.
func TestPlane_AddsJitterWithoutReordering(t *testing.T) {
	const jitter = 50 * unit.Microsecond // less than the time between frames: no frame waits for another
	at, _ := through(t, line(func(l *topology.Link) { l.Jitter = jitter }), 10000)
	sum, least, most := 0.0, unit.Never, unit.Time(0)
	for k, x := range at {
		d := x - unit.Time(k)*100*unit.Microsecond - 2*(unit.Millisecond+8336*unit.Nanosecond) // 1042 bytes at 1 Gb/s
		least, most = min(least, d), max(most, d)
		sum += float64(d)
	}
	mean := sum / float64(len(at)) / float64(jitter)
	if least < 0 || least > jitter/100 || most > jitter || most < jitter*99/100 || math.Abs(mean-0.5) > 5*0.2887/100 {
		t.Errorf("%v to %v, %.3f of %v on average", least, most, mean, jitter)
	}
	at, _ = through(t, line(func(l *topology.Link) { l.Jitter = 10 * unit.Millisecond }), 2000)
	if !slices.IsSorted(at) {
		t.Error("jitter has reordered frames")
	}
}

// TestPacketRate checks that a link of 4000 packets/s takes 250 µs for each, for any length, and reports its capacity
// in packets.
func TestPacketRate(t *testing.T) {
	c := line(func(l *topology.Link) { l.Rate = unit.LinkRate{Packets: 4000} })
	c.Warmup, c.Duration = 100*unit.Millisecond, 350*unit.Millisecond
	at, r := through(t, c, 2000)
	const first = 2*unit.Millisecond + 8336*unit.Nanosecond // at the host's link of 1 Gb/s
	for k, x := range at {
		if want := first + unit.Time(k+1)*250*unit.Microsecond; x != want {
			t.Fatalf("frame %d came at %v, want %v", k, x, want)
		}
	}
	if p := r.Ports[2]; p.TxPackets != 1000 || p.Capacity != 1000 || p.TxBytes != 1042*1000 {
		t.Errorf("%+v", p)
	}
}

// TestFlowTable_IdentifiesFramesOfFlows checks that damaged frames, fragments and foreign frames belong to no flow.
// Frames of a flow belong to it, in both directions, also with shared port numbers.
func TestFlowTable_IdentifiesFramesOfFlows(t *testing.T) {
	c, _, script := both(t)
	for i := range uint16(3000) {
		for _, proto := range []uint8{packet.ProtoTCP, packet.ProtoUDP} {
			c.Flows = append(c.Flows, Flow{Src: int(i) % 2, Dst: 2, SrcPort: i, DstPort: 40000 + i%3, Version: 4 + uint8(i%2)*2,
				Proto: proto})
		}
	}
	c.Flows = append(c.Flows, Flow{Src: 0, Dst: 2, SrcPort: 1, DstPort: 2}) // no kernel sends it
	d := parsing(t, c)
	for i, f := range c.Flows[3:6003] {
		for back := range 2 {
			p := packet.Packet{Src: packet.Addr(f.Src + 1), Dst: packet.Addr(f.Dst + 1), SrcPort: f.SrcPort, DstPort: f.DstPort,
				Version: f.Version, Proto: f.Proto, TOS: 0x2a, HopLimit: 3}
			if p.TCP.Flags = 0x10; back == 0 {
				p.Payload = 77
			} else {
				if p.SwapEnds(); f.Proto == packet.ProtoTCP {
					p.Kind = packet.Ack
				}
			}
			b, err := p.Emit(c.Wiring.Hosts, nil)
			if err != nil {
				t.Fatal(err)
			}
			q := packet.Packet{Data: b}
			if d.parse(&q); q.Flow != packet.FlowID(i+3) || !q.IsParsed() || q.Src != p.Src || q.Dst != p.Dst ||
				q.SrcPort != p.SrcPort || q.DstPort != p.DstPort || q.Kind != p.Kind || q.Payload != p.Payload {
				t.Fatalf("flow %d: %+v, want %+v", i+3, q, p)
			}
		}
	}
	none := func(what string, b []byte) {
		p := packet.Packet{Data: b}
		if d.parse(&p); p.Flow != packet.NoFlow {
			t.Errorf("%s: of flow %d", what, p.Flow)
		}
	}
	for _, a := range script[:2] {
		for n := packet.EthernetHeader; n < len(a.Frame); n++ {
			none("cut off", a.Frame[:n])
		}
	}
	if script[0].Frame[12] != 0x08 {
		t.Fatal("the first frame is not IPv4")
	}
	b := slices.Clone(script[0].Frame)
	b[14+6] |= 0x20 // more fragments
	none("a fragment", b)
	b = slices.Clone(script[0].Frame)
	b[14+9] = packet.ProtoICMP
	none("ICMP", b)
	b = slices.Clone(script[0].Frame)
	b[35]++ // source port
	none("another port", b)

	c.Flows = append(c.Flows, c.Flows[1])
	if _, err := newFlowTable(c); err == nil {
		t.Error("two flows that nothing distinguishes")
	}
}

// parsing returns a plane with the flows of a configuration.
func parsing(t testing.TB, c *Config) *plane {
	t.Helper()
	s, err := newFlowTable(c)
	if err != nil {
		t.Fatal(err)
	}
	return &plane{config: c, flows: s}
}

// parse reads a frame and finds its flow, as live.Plane does.
func (d *plane) parse(p *packet.Packet) {
	if p.Flow = packet.NoFlow; p.Parse(d.config.Wiring.Hosts, p.Data) == nil {
		p.Flow = d.Identify(p)
	}
}

// BenchmarkParse measures parsing a frame and finding its flow among a thousand.
func BenchmarkParse(b *testing.B) {
	c, _, script := both(b)
	for i := range uint16(1000) {
		c.Flows = append(c.Flows, Flow{Src: 0, Dst: 2, SrcPort: i, DstPort: 40000, Version: 4 + uint8(i%2)*2,
			Proto: packet.ProtoTCP})
	}
	d := parsing(b, c)
	var p packet.Packet
	for k := range b.N {
		p.Data = script[k%64].Frame
		d.parse(&p)
	}
}

// arrived records the arrival times of datagrams at the last host.
type arrived struct{ at []unit.Time }

func (a *arrived) Observe(e trace.Event, p *packet.Packet) {
	if e.Kind == trace.Arrive && e.Port == 2 {
		a.at[p.Seq] = e.At
	}
}
