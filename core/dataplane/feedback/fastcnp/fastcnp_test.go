package fastcnp

import (
	"fmt"
	"net/netip"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/aqm/ecn"
	"weir/core/dataplane/classify"
	"weir/core/dataplane/dataplanetest"
	"weir/core/dataplane/forward"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
	"weir/internal/testkit"
)

const us = unit.Microsecond

func TestDocNamesTests(t *testing.T) { testkit.CheckDocTests(t, 7) }

// rig is a switch. Its port 0 leads to address 1, the senders', and port 1 to address 2.
type rig struct {
	sw   *dataplane.Switch
	pool packet.Pool
	book *packet.Book
	now  unit.Time
}

func step(length unit.Bytes) []ecn.Curve {
	return []ecn.Curve{{}, {Kmin: length, Kmax: length, Pmax: 1}} // port 0 is congested with any queue
}

func config() Config {
	return Config{Curves: step(4000), Enqueue: true, Interval: 50 * us, Flows: 4096, Random: unit.NewRandom(1, "marks")}
}

func newRig(t testing.TB, queues int, programs ...dataplane.Program) *rig {
	t.Helper()
	s := dataplanetest.Setup{Ports: []dataplanetest.Port{{Rate: unit.LinkRate{Bits: unit.Gbps}},
		{Rate: unit.LinkRate{Bits: unit.Gbps}}}}
	site := s.NewSite()
	var err error
	site.Routes, err = dataplane.NewRoutes(site.Book, []dataplane.Route{
		{Prefix: netip.MustParsePrefix("10.0.0.1/32"), Ports: []packet.PortID{0}},
		{Prefix: netip.MustParsePrefix("fd00::1/128"), Ports: []packet.PortID{0}},
		{Prefix: netip.MustParsePrefix("10.0.0.2/32"), Ports: []packet.PortID{1}},
		{Prefix: netip.MustParsePrefix("fd00::2/128"), Ports: []packet.PortID{1}},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{book: site.Book}
	var ports []*tm.Port
	for range 2 {
		ports = append(ports, tm.NewPort(tm.NewBuffer(queues, tm.Limit{}, tm.Limit{}), tm.NewStrict(),
			unit.LinkRate{Bits: unit.Gbps}))
	}
	sw, err := dataplane.New(dataplane.Config{Name: "s", Ports: ports,
		Programs: append([]dataplane.Program{forward.New(site)}, programs...),
		Pool:     &r.pool, Book: r.book, Random: unit.NewRandom(1, "switch")})
	if err != nil {
		t.Fatal(err)
	}
	r.sw = sw
	return r
}

// data is a packet of 1000 bytes of RDMA's flow from port i.
func (r *rig) data(i int) *packet.Packet {
	p := r.pool.Get()
	p.Kind, p.Proto, p.Version, p.TOS, p.HopLimit = packet.Data, packet.ProtoRDMA, 4, packet.ECT0, 64
	p.Src, p.Dst, p.SrcPort, p.DstPort = 1, 2, uint16(i), 7
	p.Flow, p.Seq, p.Payload, p.Size = packet.FlowID(i), int64(1000*i), 950, 1000
	p.Hash = packet.FlowHash(p.Src, p.Dst, p.SrcPort, p.DstPort, p.Proto)
	return p
}

func (r *rig) arrive(p *packet.Packet) { r.sw.Receive(r.now, 0, p) }

// leave takes the next packet out of a port, or nil. It must be given back.
func (r *rig) leave(port packet.PortID) *packet.Packet {
	p, _ := r.sw.Dequeue(r.now, port)
	return p
}

// listNotifiedFlows returns the flows of the CNPs that wait at port 0.
func (r *rig) listNotifiedFlows() (flows []int) {
	for p := r.leave(0); p != nil; p = r.leave(0) {
		if p.Kind == packet.Notice {
			flows = append(flows, int(p.Flow))
		}
		r.pool.Put(p)
	}
	return flows
}

// TestNotifier_ReadsQueueAtChosenSide checks both positions of the egress queue's length: as packets find it, or as
// they leave it.
func TestNotifier_ReadsQueueAtChosenSide(t *testing.T) {
	r := newRig(t, 1, New(config()))
	for i := range 10 {
		r.arrive(r.data(i)) // finds i·1000 bytes
	}
	if got := fmt.Sprint(r.listNotifiedFlows()); got != "[5 6 7 8 9]" {
		t.Errorf("at enqueue CNPs are about %s", got)
	}
	c := config()
	c.Enqueue = false
	r = newRig(t, 1, New(c))
	for i := range 10 {
		r.arrive(r.data(i))
	}
	if got := r.listNotifiedFlows(); got != nil {
		t.Errorf("before anything leaves there are CNPs: %v", got)
	}
	for range 10 {
		r.pool.Put(r.leave(1)) // packet i leaves 9−i behind
	}
	if got := fmt.Sprint(r.listNotifiedFlows()); got != "[0 1 2 3 4]" {
		t.Errorf("at dequeue CNPs are about %s", got)
	}
	if r.pool.LiveCount() != 0 {
		t.Errorf("%d packets are lost", r.pool.LiveCount())
	}
}

// TestWhenInPackets checks that a queue in packets equals one in bytes, for any sizes: packets do not find themselves.
func TestWhenInPackets(t *testing.T) {
	for _, enqueue := range []bool{true, false} {
		t.Run(fmt.Sprint("enqueue ", enqueue), func(t *testing.T) {
			c := config()
			c.Enqueue, c.Curves = enqueue, []ecn.Curve{{Packets: true}, {Kmin: 4, Kmax: 4, Pmax: 1, Packets: true}}
			r, want := newRig(t, 1, New(c)), "[5 6 7 8 9]"
			for i := range 10 {
				r.arrive(r.data(i)) // finds i packets
			}
			if !enqueue {
				for range 10 {
					r.pool.Put(r.leave(1)) // packet i leaves 9−i behind
				}
				want = "[0 1 2 3 4]"
			}
			if got := fmt.Sprint(r.listNotifiedFlows()); got != want {
				t.Errorf("CNPs are about %s, want %s", got, want)
			}
		})
	}
}

// TestNotifier_NotifiesWhatECNMarks checks that with the same draws CNPs are sent about exactly the packets that ecn
// marks.
func TestNotifier_NotifiesWhatECNMarks(t *testing.T) {
	for _, at := range []string{"enqueue", "dequeue"} {
		curve := []string{"kmin", "10 kB", "kmax", "200 kB", "pmax", "50%", "at", at}
		outcome := func(s dataplane.Scheme, udp bool, given ...string) (marked string, told []int) {
			setup := dataplanetest.Setup{Ports: make([]dataplanetest.Port, 2)}
			site := setup.NewSite()
			site.Random = func(string) unit.Random { return unit.NewRandom(3, "the same") }
			p, err := dataplanetest.BuildProgram(s, site, append(given, curve...)...)
			if err != nil {
				t.Fatal(err)
			}
			r := newRig(t, 1, p)
			for i := range 300 {
				p := r.data(i)
				if udp {
					p.Proto = packet.ProtoUDP
				}
				r.arrive(p)
			}
			for p := r.leave(1); p != nil; p = r.leave(1) {
				if p.TOS&packet.ECN == packet.CE {
					marked += fmt.Sprint(p.Flow, " ")
				}
				r.pool.Put(p)
			}
			return marked, r.listNotifiedFlows()
		}
		want, none := outcome(ecn.Scheme(), false)
		if want == "" || none != nil {
			t.Fatalf("%s: ecn marks %q", at, want)
		}
		listed := func(flows []int) (out string) {
			for _, f := range flows {
				out += fmt.Sprint(f, " ")
			}
			return
		}
		if marked, told := outcome(Scheme(), false); marked != "" || listed(told) != want {
			t.Errorf("%s: told %v, marked %q, ecn marks %q", at, told, marked, want)
		}
		if marked, told := outcome(Scheme(), false, "mark", "true"); marked != want || listed(told) != want {
			t.Errorf("%s, mark: told %v, marked %q, ecn marks %q", at, told, marked, want)
		}
		if marked, told := outcome(Scheme(), true); marked != want || told != nil {
			t.Errorf("%s, UDP: told %v, marked %q, ecn marks %q", at, told, marked, want)
		}
		if _, told := outcome(Scheme(), false, "flows", "4"); len(told) != 4 {
			t.Errorf("%s: %d flows told, there is room for 4", at, len(told))
		}
	}
}

// TestAboutWhat checks the packets that never cause a CNP: CNPs, ACKs, NACKs, probes, packets that a switch made or
// trimmed, packets of another transport, not ECN-capable ones (RFC 3168 §5), and packets marked before.
func TestAboutWhat(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(p *packet.Packet)
		marked bool
	}{
		{"ACK", func(p *packet.Packet) { p.Kind = packet.Ack }, true},
		{"NACK", func(p *packet.Packet) { p.Kind = packet.Nack }, true},
		{"CNP", func(p *packet.Packet) { p.Kind = packet.Notice }, true},
		{"probe", func(p *packet.Packet) { p.Kind = packet.Probe }, true},
		{"another switch's notice", func(p *packet.Packet) { p.SetNotification(&packet.Notification{}) }, true},
		{"no payload", func(p *packet.Packet) { p.Payload = 0 }, true},
		{"trimmed", func(p *packet.Packet) { p.Meta.Flags |= packet.Trimmed }, true},
		{"made by a switch", func(p *packet.Packet) { p.Meta.Flags |= packet.Internal }, true},
		{"TCP", func(p *packet.Packet) { p.Proto = packet.ProtoTCP }, true},
		{"UDP", func(p *packet.Packet) { p.Proto = packet.ProtoUDP }, true},
		{"not ECN-capable", func(p *packet.Packet) { p.TOS = packet.NotECT }, false},
		{"marked", func(p *packet.Packet) { p.TOS |= packet.CE }, true},
	} {
		r := newRig(t, 1, New(config()))
		for i := range 8 {
			p := r.data(i)
			c.change(p)
			r.arrive(p)
		}
		if told := r.listNotifiedFlows(); told != nil {
			t.Errorf("%s: CNPs about %v", c.name, told)
		}
		marked := false
		for p := r.leave(1); p != nil; p = r.leave(1) {
			marked = marked || p.TOS&packet.ECN == packet.CE
			r.pool.Put(p)
		}
		if marked != c.marked {
			t.Errorf("%s: marked: %v", c.name, marked)
		}
	}
	// CNPs in a congested queue: port 0 sends one for any packet that finds another
	r := newRig(t, 1, New(config()))
	for i := range 40 {
		r.arrive(r.data(i))
	}
	if n := len(r.listNotifiedFlows()); n != 35 {
		t.Errorf("%d CNPs about 35 packets", n)
	}
}

// TestTable_LimitsCNPsPerInterval checks DCQCN §3.1: at most one CNP per flow and interval, and one as soon as it is
// over.
func TestTable_LimitsCNPsPerInterval(t *testing.T) {
	p := New(config()).(*enqueue)
	r := newRig(t, 1, p)
	for range 6 {
		r.arrive(r.data(99))
	}
	r.listNotifiedFlows()
	for _, c := range []struct {
		at   unit.Time
		want string
	}{{100 * us, "[1 2]"}, {100*us + 1, "[]"}, {150*us - 1, "[]"}, {150 * us, "[1 2]"}, {180 * us, "[]"},
		{900 * us, "[1 2]"}} {
		r.now = c.at
		r.arrive(r.data(1))
		r.arrive(r.data(2))
		if got := fmt.Sprint(r.listNotifiedFlows()); got != c.want {
			t.Errorf("at %v CNPs are about %s, want %s", c.at, got, c.want)
		}
	}
	if p.SentCount() != 7 || p.recent.suppressed != 6 || p.recent.crowded != 0 {
		t.Errorf("%d sent, %d suppressed, %d crowded out", p.SentCount(), p.recent.suppressed, p.recent.crowded)
	}
}

// TestTable_MatchesModelOfEveryFlow compares the table with a model that stores every flow. The table never allows a
// flow two CNPs within an interval, and counts the others that it denies. With fewer flows than entries it denies
// almost none. Its memory is fixed.
func TestTable_MatchesModelOfEveryFlow(t *testing.T) {
	for _, c := range []struct {
		flows, room int
		most        float64 // share of the due ones that are crowded out
	}{{1, 1, 0}, {2, 4, 0}, {100, 4096, 0}, {1024, 4096, 0.01}, {5000, 64, 1}, {1000, 1 << 20, 0}} {
		tab := newTable(c.room, 50*us, 7)
		last := map[uint32]unit.Time{}
		random := unit.NewRandom(uint64(c.flows), "table")
		now, due, denied := unit.Time(0), 0, uint64(0)
		for range 200000 {
			now += unit.Time(random.Int64N(int64(2 * 50 * us / unit.Time(c.flows))))
			flow := packet.FlowHash(1, 2, uint16(random.IntN(c.flows)), 7, packet.ProtoRDMA)
			at, before := last[flow]
			free := !before || now-at >= 50*us
			if free {
				due++
			}
			switch got := tab.recordIfDue(now, flow); {
			case got && !free:
				t.Fatalf("%d flows in %d: a flow has CNPs %v apart", c.flows, c.room, now-at)
			case got:
				last[flow] = now
			case free:
				denied++
			}
		}
		if denied != tab.crowded || float64(denied) > c.most*float64(due) {
			t.Errorf("%d flows in %d: %d of %d denied, %d counted", c.flows, c.room, denied, due, tab.crowded)
		}
		if want := (c.room + 3) / 4 * 4; len(tab.entries) != want || cap(tab.entries) != want {
			t.Errorf("%d entries, want %d", len(tab.entries), want)
		}
	}
}

func FuzzTable_NeverRepeatsWithinInterval(f *testing.F) {
	f.Add(uint16(4), []byte{1, 1, 2, 1, 200, 1, 3, 9})
	f.Fuzz(func(t *testing.T, room uint16, steps []byte) {
		if room == 0 || len(steps) > 4000 {
			return
		}
		tab := newTable(int(room), 100, 1)
		last := map[uint32]unit.Time{}
		now := unit.Time(0)
		for i := 0; i+1 < len(steps); i += 2 {
			now += unit.Time(steps[i])
			flow := uint32(steps[i+1])
			if tab.recordIfDue(now, flow) {
				if at, before := last[flow]; before && now-at < 100 {
					t.Fatalf("flow %d has CNPs at %v and %v", flow, at, now)
				}
				last[flow] = now
			}
		}
	})
}

// The packet that notifies, of either version of IP, counted by each framing, and behind the codec.
func testPacket(t *testing.T, version uint8, signed bool, framing string, size int32) {
	t.Helper()
	c := config()
	c.Framing, _ = packet.FramingByName(framing)
	c.Signed, c.Switch, c.TOS = signed, 77, 0xc0
	r := newRig(t, 1, New(c))
	for i := range 6 {
		p := r.data(i)
		p.Version = version
		p.Ack, p.TCP.Flags = 5, packet.ECE
		p.SetExtension(packet.ExtActivity, []byte{1, 2, 3, 4})
		r.now = unit.Time(i) * us
		r.arrive(p)
	}
	q := r.leave(0)
	if q == nil {
		t.Fatal("no CNP")
	}
	want := packet.Notification{Cause: packet.CauseMarked, Signed: signed}
	if signed {
		want.Switch = 77
	}
	check := func(how string) {
		var n packet.Notification
		if q.Kind != packet.Notice || q.Src != 2 || q.Dst != 1 || q.SrcPort != 7 || q.DstPort != 5 || q.Seq != 5000 ||
			q.Ack != 0 || q.Payload != 0 || q.TOS != 0xc0 || q.TCP.Flags != 0 ||
			q.Version != version || q.Proto != packet.ProtoRDMA || q.HopLimit != 63 || q.Hash != packet.FlowHash(2, 1, 7, 5,
			packet.ProtoRDMA) || !q.Notification(&n) || n != want {
			t.Errorf("IPv%d, %s: %+v, %+v", version, how, q, n)
		}
	}
	if check("as fields"); q.Size != size || q.Flow != 5 || q.Sent != 5*us || q.Meta.Class != 0 {
		t.Errorf("IPv%d, %s: %d bytes, want %d: %+v", version, framing, q.Size, size, q)
	}
	b, err := q.Emit(r.book, nil)
	if err != nil {
		t.Fatal(err)
	}
	if framing == "l2" && len(b) != int(size) {
		t.Errorf("IPv%d: %d bytes on the wire, it counts %d", version, len(b), size)
	}
	*q = packet.Packet{}
	if err := q.Parse(r.book, b); err != nil {
		t.Fatal(err)
	}
	check("as bytes")
}

// TestNotifier_CNPFramesHaveExpectedSize checks the frame size: 14 of Ethernet, 20 of IPv4, 16 of the extension (2
// head, 14 option), 8 of UDP, 12 of BTH, 16 of a CNP and 4 of the ICRC. The switch's name makes the extension 24.
// hpcc's frames without data have 88 bytes.
func TestNotifier_CNPFramesHaveExpectedSize(t *testing.T) {
	testPacket(t, 4, false, "l2", 90)
	testPacket(t, 4, true, "l2", 98)
	testPacket(t, 4, false, "wire", 114)
	testPacket(t, 4, false, "hpcc", 88)
}

func TestIPv6(t *testing.T) {
	testPacket(t, 6, false, "l2", 110)
	testPacket(t, 6, true, "wire", 142)
}

// TestNotifier_RoutesCNPsThroughIngress checks that CNPs pass the ingress, which routes them and assigns the class of
// their tos, before data where class 0 goes first. One without a route is dropped.
func TestNotifier_RoutesCNPsThroughIngress(t *testing.T) {
	for tos, want := range map[uint8]uint8{0: 0, 3 << 5: 3} {
		c := config()
		c.TOS = tos
		setup := dataplanetest.Setup{Ports: make([]dataplanetest.Port, 2)}
		qos, err := dataplanetest.BuildProgram(classify.Scheme(), setup.NewSite())
		if err != nil {
			t.Fatal(err)
		}
		r := newRig(t, 4, qos, New(c))
		back := r.data(1) // data that waits at port 0
		back.Src, back.Dst, back.TOS = 2, 1, 1<<5
		r.arrive(back)
		for i := range 6 {
			r.arrive(r.data(i))
		}
		first := r.leave(0)
		if got := first.Kind == packet.Notice; got != (want == 0) {
			t.Errorf("tos %d: %+v goes first", tos, first)
		}
		if cnp := first; want == 0 && cnp.Meta.Class != 0 {
			t.Errorf("tos %d: class %d", tos, cnp.Meta.Class)
		}
		if cnp := r.leave(0); want == 3 && (cnp.Kind != packet.Notice || cnp.Meta.Class != 3 || cnp.Meta.Queue != 3) {
			t.Errorf("tos %d: %+v", tos, cnp)
		}
	}
	r := newRig(t, 1, New(config()))
	for i := range 6 {
		p := r.data(i)
		p.Src = 3
		r.arrive(p)
	}
	if d := r.sw.DropCounts(); r.listNotifiedFlows() != nil || d[dataplane.NoRoute] != 1 {
		t.Errorf("drops %v", d)
	}
}

func TestOptions_RejectBadValues(t *testing.T) {
	for name, change := range map[string]func(o *Options){
		"interval": func(o *Options) { o.Interval = 0 }, "flows": func(o *Options) { o.Flows = 0 },
		"too many flows": func(o *Options) { o.Flows = maxFlows + 1 }, "tos": func(o *Options) { o.TOS = int(packet.ECT0) },
	} {
		t.Run(name, func(t *testing.T) {
			o := scheme.Defaults[Options]()
			if err := scheme.Validate(&o); err != nil {
				t.Fatal(err)
			}
			if change(&o); scheme.Validate(&o) == nil {
				t.Errorf("%+v is taken", o)
			}
		})
	}
	setup := dataplanetest.Setup{Ports: make([]dataplanetest.Port, 2)}
	for _, given := range [][]string{{"kmin", "2 kB", "kmax", "1 kB"}, {"tos", "1"}, {"pmax_map", "10Gbps: 200%"}} {
		if p, err := dataplanetest.BuildProgram(Scheme(), setup.NewSite(), given...); err == nil || p != nil {
			t.Errorf("%v is taken", given)
		}
	}
}

func TestNoAllocation(t *testing.T) {
	c := config()
	c.Interval = 1
	r := newRig(t, 1, New(c))
	for i := range 10 {
		r.arrive(r.data(i))
	}
	r.listNotifiedFlows()
	told := 0
	if n := testing.AllocsPerRun(2000, func() {
		r.now += us
		r.arrive(r.data(1))
		r.pool.Put(r.leave(1))
		if p := r.leave(0); p != nil {
			told++
			r.pool.Put(p)
		}
	}); n != 0 || told < 2000 {
		t.Errorf("%g allocations, %d CNPs", n, told)
	}
}

func BenchmarkDue(b *testing.B) {
	tab := newTable(4096, 50*us, 1)
	now := unit.Time(0)
	for b.Loop() {
		now += 80 * unit.Nanosecond
		tab.recordIfDue(now, uint32(now/unit.Nanosecond)&1023)
	}
}
