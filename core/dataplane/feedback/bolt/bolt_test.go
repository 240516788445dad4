package bolt

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/classify"
	"weir/core/dataplane/dataplanetest"
	"weir/core/dataplane/forward"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
	"weir/internal/testkit"
)

const (
	us              = unit.Microsecond
	first, last     = packet.BoltFirst, packet.BoltLast
	inc, dec, toldd = packet.BoltIncrease, packet.BoltDecrease, packet.BoltNotified
)

func TestDocNamesTests(t *testing.T) { testkit.CheckDocTests(t, 10) }

// rig is a switch with ports of 1 Gb/s, 1 µs for 125 bytes: port 0 leads to address 1, the senders', port 1 to address
// 2, port 2 to address 3.
type rig struct {
	sw      *dataplane.Switch
	program *program
	pool    packet.Pool
	book    *packet.Book
	now     unit.Time
	sent    int64
}

func newRig(t testing.TB, queues int, more []dataplane.Program, given ...string) *rig {
	t.Helper()
	var s dataplanetest.Setup
	for range 3 {
		s.Ports = append(s.Ports, dataplanetest.Port{Rate: unit.LinkRate{Bits: unit.Gbps}})
	}
	site := s.NewSite()
	site.Framing, _ = packet.FramingByName("l2")
	var routes []dataplane.Route
	for i := range 3 {
		for _, prefix := range []string{"10.0.0.%d/32", "fd00::%d/128"} {
			routes = append(routes, dataplane.Route{Prefix: netip.MustParsePrefix(fmt.Sprintf(prefix, i+1)),
				Ports: []packet.PortID{packet.PortID(i)}})
		}
	}
	var err error
	if site.Routes, err = dataplane.NewRoutes(site.Book, routes); err != nil {
		t.Fatal(err)
	}
	made, err := dataplanetest.BuildProgram(Scheme(), site, append([]string{"mtu", "1250 B"}, given...)...)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{book: site.Book, program: made.(*program)}
	var ports []*tm.Port
	for range 3 {
		ports = append(ports, tm.NewPort(tm.NewBuffer(queues, tm.Limit{}, tm.Limit{}), tm.NewStrict(),
			unit.LinkRate{Bits: unit.Gbps}))
	}
	r.sw, err = dataplane.New(dataplane.Config{Name: "s", Ports: ports, Programs: append(append([]dataplane.Program{
		forward.New(site)}, more...), made), Pool: &r.pool, Book: r.book, Random: unit.NewRandom(1, "switch")})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// data returns a packet of the given size with a request, for address 2.
func (r *rig) data(size int32, flags uint8) *packet.Packet {
	p := r.pool.Get()
	p.Kind, p.Proto, p.Version, p.HopLimit = packet.Data, packet.ProtoRDMA, 4, 64
	p.Src, p.Dst, p.SrcPort, p.DstPort = 1, 2, 5, 7
	p.Flow, p.Seq, p.Payload, p.Size = 5, r.sent, 64, size
	p.Hash = packet.FlowHash(p.Src, p.Dst, p.SrcPort, p.DstPort, p.Proto)
	p.SetBolt(&packet.Bolt{Flags: flags, Sent: uint32(1000 + r.sent)}, false)
	r.sent++
	return p
}

// come sends a packet of 1250 bytes to the switch, and returns its header as the switch has changed it. The packet
// stays in its queue.
func (r *rig) come(flags uint8) packet.Bolt {
	p := r.data(1250, flags)
	r.sw.Receive(r.now, 0, p)
	return header(p)
}

// pass is come for a packet that departs at once.
func (r *rig) pass(flags uint8) uint8 {
	h := r.come(flags)
	r.drain(1, 1)
	return h.Flags
}

func header(p *packet.Packet) (h packet.Bolt) {
	if !p.Bolt(&h, false) {
		return packet.Bolt{Flags: 0xff}
	}
	return h
}

// drain takes n packets out of a port.
func (r *rig) drain(port packet.PortID, n int) {
	for range n {
		if p, _ := r.sw.Dequeue(r.now, port); p != nil {
			r.pool.Put(p)
		}
	}
}

// listNotices returns the messages that wait at port 0: number, queue, link and time of the packets that they are
// about.
func (r *rig) listNotices() string {
	var all []string
	for {
		p, _ := r.sw.Dequeue(r.now, 0)
		if p == nil {
			return strings.Join(all, ", ")
		}
		var h packet.Bolt
		if p.Kind == packet.Notice && p.Bolt(&h, true) {
			all = append(all, fmt.Sprint(p.Seq, ": ", int64(h.Queue), " ", h.Link, " ", h.Sent))
		}
		r.pool.Put(p)
	}
}

// TestProgram_NotifiesFromThresholdOn checks that from the threshold on a packet that finds such a queue causes a
// message and loses its request. 2500 bytes are two packets.
func TestProgram_NotifiesFromThresholdOn(t *testing.T) {
	for _, threshold := range []string{"2500 B", "2 packets", "20us"} {
		t.Run(threshold, func(t *testing.T) {
			r := newRig(t, 1, nil, "threshold", threshold, "sm", "false")
			var flags []uint8
			for range 4 {
				flags = append(flags, r.come(inc).Flags)
			}
			if got, want := fmt.Sprint(flags), fmt.Sprint([]uint8{0, 0, dec | toldd, dec | toldd}); got != want {
				t.Errorf("flags %s, want %s", got, want)
			}
			if got := r.listNotices(); got != "2: 2500 1Gbps 1002, 3: 3750 1Gbps 1003" || r.program.sent != 2 {
				t.Errorf("told: %s", got)
			}
			r.drain(1, 3) // one is left
			if got := r.come(0).Flags; got != 0 || r.listNotices() != "" {
				t.Errorf("below the threshold again: %#x", got)
			}
		})
	}
}

// TestQueueOfPort checks that packets in all of the port's queues count, and packets that have departed or wait
// elsewhere do not.
func TestQueueOfPort(t *testing.T) {
	r := newRig(t, 4, nil, "threshold", "1 packet")
	p := r.data(1250, 0)
	p.Dst = 3
	r.sw.Receive(0, 0, p)
	if got := r.come(0).Flags; got != 0 {
		t.Errorf("with a queue at another port: %#x", got)
	}
	p = r.data(1250, 0)
	p.TOS = 0x60
	r.sw.Receive(0, 0, p)
	if got := header(p).Flags; got != dec|toldd {
		t.Errorf("behind a packet of another class: %#x", got)
	}
}

func testSRC(t *testing.T, version uint8, framing string, size int32) {
	t.Helper()
	r := newRig(t, 1, nil, "threshold", "1 B", "tos", "192")
	r.program.framing, _ = packet.FramingByName(framing)
	for i := range 2 {
		p := r.data(1250, inc|first)
		p.Version, p.Ack, p.TCP.Flags, p.TOS = version, 5, packet.FirstOfMessage, packet.ECT0
		r.now = unit.Time(i) * us
		p.SetExtension(packet.ExtActivity, []byte{1, 2, 3, 4})
		r.sw.Receive(r.now, 0, p)
	}
	q, _ := r.sw.Dequeue(r.now, 0)
	if q == nil {
		t.Fatal("no message")
	}
	want := packet.Bolt{Flags: first | dec | toldd, Sent: 1001, Queue: 1250, Link: unit.Gbps}
	check := func(how string) {
		var h packet.Bolt
		if q.Kind != packet.Notice || q.Src != 2 || q.Dst != 1 || q.SrcPort != 7 || q.DstPort != 5 || q.Seq != 1 ||
			q.Ack != 0 ||
			q.Payload != 0 || q.TOS != 192 || q.Version != version || q.Proto != packet.ProtoRDMA || q.HopLimit != 63 ||
			q.Hash != packet.FlowHash(2, 1, 7, 5, packet.ProtoRDMA) || !q.Bolt(&h, true) || h != want || q.IsNotification() {
			t.Errorf("IPv%d, %s: %+v, %+v", version, how, q, h)
		}
	}
	if check("as fields"); q.Size != size || q.Flow != 5 || q.Sent != us {
		t.Errorf("IPv%d, %s: %d bytes, want %d: %+v", version, framing, q.Size, size, q)
	}
	b, err := q.Emit(r.book, nil)
	if err != nil || framing == "l2" && len(b) != int(size) {
		t.Fatalf("%d bytes on the wire, it counts %d: %v", len(b), size, err)
	}
	*q = packet.Packet{}
	if err := q.Parse(r.book, b); err != nil {
		t.Fatal(err)
	}
	check("as bytes")
}

// TestProgram_SRCFramesHaveExpectedSize checks the frame size: 14 of Ethernet, 20 of IPv4, 16 of the header, 8 of UDP,
// 12 of BTH, 16 of a CNP and 4 of the ICRC.
func TestProgram_SRCFramesHaveExpectedSize(t *testing.T) {
	testSRC(t, 4, "l2", 90)
	testSRC(t, 4, "wire", 114)
	testSRC(t, 4, "hpcc", 88)
}

func TestIPv6(t *testing.T) { testSRC(t, 6, "l2", 110) }

// TestProgram_NotifiesEachPacketOnce checks that there is one message per packet: a packet with a message from an
// earlier switch causes none here, and its earlier notes stay.
func TestProgram_NotifiesEachPacketOnce(t *testing.T) {
	r := newRig(t, 1, nil, "threshold", "1 packet")
	r.come(0)
	before := packet.Bolt{Flags: dec | toldd | inc, Sent: 9}
	p := r.data(1250, 0)
	p.SetBolt(&before, false)
	r.sw.Receive(0, 0, p)
	if h := header(p); h.Flags != dec|toldd || h.Sent != 9 || r.listNotices() != "" {
		t.Errorf("%+v", h)
	}
}

// TestProgram_PRUTokensGrantIncreases checks that each packet of a last window that is not the first adds a token, only
// below the threshold and up to pru_tokens. INC uses one each. Without PRU there are none.
func TestProgram_PRUTokensGrantIncreases(t *testing.T) {
	r := newRig(t, 1, nil, "sm", "false", "pru_tokens", "3", "threshold", "2 packets")
	for range 2 {
		r.pass(last | first)
	}
	if got := r.pass(inc); got != 0 {
		t.Errorf("a flow of one window leaves a place: %#x", got)
	}
	for range 2 {
		if got := r.pass(last); got != last {
			t.Errorf("a last packet: %#x", got)
		}
	}
	if got := []uint8{r.pass(inc), r.pass(0), r.pass(inc), r.pass(inc)}; fmt.Sprint(got) != fmt.Sprint([]uint8{inc,
		0, inc, 0}) {
		t.Errorf("two places: %v", got)
	}
	for range 9 {
		r.pass(last)
	}
	n := 0
	for range 9 {
		if r.pass(inc) == inc {
			n++
		}
	}
	if n != 3 {
		t.Errorf("%d places of 9, want 3", n)
	}
	r.come(0)
	r.come(0)
	if got := r.come(last).Flags; got != last|dec|toldd {
		t.Errorf("a last packet that finds a queue: %#x", got)
	}
	r.drain(1, 3)
	if got := r.pass(inc); got != 0 {
		t.Errorf("it leaves no place: %#x", got)
	}
	r = newRig(t, 1, nil, "sm", "false", "pru", "false")
	r.pass(last)
	if got := r.pass(inc); got != 0 {
		t.Errorf("without PRU: %#x", got)
	}
}

// TestProgram_SupplyTokenGrantsIncreases checks the supply token. A port sends 1250 bytes in 10 µs, and its unused
// capacity since the last packet is at most an MTU. A packet with a request uses an MTU of it. All packets count, not
// only Bolt's.
func TestProgram_SupplyTokenGrantsIncreases(t *testing.T) {
	r := newRig(t, 1, nil)
	r.now = 100 * us
	for _, x := range []struct {
		after unit.Time
		flags uint8
		want  uint8
	}{
		{0, inc, inc},       // 12,500 − 1250, at most 1250; taken
		{10 * us, inc, 0},   // 0
		{10 * us, inc, 0},   // at the port's rate nothing is left
		{20 * us, 0, 0},     // 1250
		{10 * us, inc, inc}, // still 1250; taken
		{15 * us, inc, 0},   // 625
		{15 * us, inc, inc}, // 1250; taken
		{0, inc, 0},         // −1250
		{25 * us, inc, 0},   // 625
		{14 * us, inc, 0},   // 1125
		{11 * us, inc, inc}, // 1250
	} {
		r.now += x.after
		if got := r.pass(x.flags); got != x.want {
			t.Errorf("at %v: %#x, want %#x", r.now, got, x.want)
		}
	}
	other := r.data(1250, 0)
	other.ClearExtensions()
	r.now += 20 * us
	r.sw.Receive(r.now, 0, other)
	r.drain(1, 1)
	r.now += 9 * us
	if got := r.pass(inc); got != 0 {
		t.Errorf("after a packet that is not Bolt's: %#x", got) // 1250, 1250 − 1250 + 1125
	}
	r = newRig(t, 1, nil, "sm", "false")
	if r.now = 100 * us; r.pass(inc) != 0 {
		t.Error("without supply matching")
	}
}

// TestPort_CountsSupplyByHand follows Algorithm 3 by hand: the token after each packet, with a debt that the port's
// rate pays.
func TestPort_CountsSupplyByHand(t *testing.T) {
	p := port{supply: float64(unit.Gbps) / 8e12}
	for i, x := range []struct {
		at   unit.Time
		size int32
		want float64
	}{{0, 1000, -1000}, {4 * us, 1000, -1500}, {24 * us, 500, 500}, {44 * us, 500, 1250}, {44 * us, 250, 1000},
		{48 * us, 500, 1000}} {
		if p.countSupply(x.at, x.size, 1250); p.token < x.want-1e-6 || p.token > x.want+1e-6 {
			t.Errorf("packet %d: %v, want %v", i, p.token, x.want)
		}
	}
}

// TestNoSRC checks that without SRC the packet carries the queue that takes longest, of all ports on its way.
func TestNoSRC(t *testing.T) {
	r := newRig(t, 1, nil, "src", "false", "threshold", "1 packet")
	r.come(0)
	if h := r.come(inc); h != (packet.Bolt{Flags: dec, Sent: 1001, Queue: 1250, Link: unit.Gbps}) {
		t.Errorf("%+v", h)
	}
	for _, x := range []struct{ before, want packet.Bolt }{ // 2500 B wait here: 20 µs
		{packet.Bolt{Flags: dec, Queue: 30_000, Link: 10 * unit.Gbps}, packet.Bolt{Flags: dec, Queue: 30_000,
			Link: 10 * unit.Gbps}},
		{packet.Bolt{Flags: dec, Queue: 24_000, Link: 10 * unit.Gbps}, packet.Bolt{Flags: dec, Queue: 2500, Link: unit.Gbps}},
	} {
		p := r.data(1250, 0)
		p.SetBolt(&x.before, false)
		if r.sw.Receive(0, 0, p); header(p) != x.want {
			t.Errorf("%+v becomes %+v, want %+v", x.before, header(p), x.want)
		}
		p, _ = r.sw.Dequeue(0, 1)
		r.pool.Put(p)
	}
	if r.listNotices() != "" || r.program.sent != 0 {
		t.Error("somebody is told")
	}
}

// TestAboutWhat checks that ACKs, messages, probes, trimmed or damaged packets, and packets without a request cause no
// message and are not changed.
func TestAboutWhat(t *testing.T) {
	for what, change := range map[string]func(p *packet.Packet){
		"ACK": func(p *packet.Packet) { p.Kind = packet.Ack }, "message": func(p *packet.Packet) { p.Kind = packet.Notice },
		"probe":      func(p *packet.Packet) { p.Kind = packet.Probe },
		"no request": func(p *packet.Packet) { p.ClearExtensions() },
		"answer":     func(p *packet.Packet) { p.AnswerBolt() },
		"damaged":    func(p *packet.Packet) { p.SetExtension(packet.ExtBolt, []byte{1}) },
	} {
		t.Run(what, func(t *testing.T) {
			r := newRig(t, 1, nil, "threshold", "1 B")
			r.come(0)
			p := r.data(1250, inc)
			change(p)
			before := *p
			if r.sw.Receive(0, 0, p); r.listNotices() != "" || header(p) != header(&before) {
				t.Errorf("%+v", header(p))
			}
		})
	}
}

// TestProgram_RoutesMessagesThroughIngress checks that messages pass the ingress, which routes them and assigns the
// class of their tos. One without a route is dropped.
func TestProgram_RoutesMessagesThroughIngress(t *testing.T) {
	for tos, want := range map[string]uint8{"0": 0, "96": 3} {
		t.Run(tos, func(t *testing.T) {
			var setup dataplanetest.Setup
			setup.Ports = make([]dataplanetest.Port, 3)
			qos, err := dataplanetest.BuildProgram(classify.Scheme(), setup.NewSite())
			if err != nil {
				t.Fatal(err)
			}
			r := newRig(t, 4, []dataplane.Program{qos}, "threshold", "1 packet", "tos", tos)
			r.come(0)
			r.come(0)
			if p, _ := r.sw.Dequeue(0, 0); p == nil || p.Meta.Class != want || p.Meta.Queue != want {
				t.Errorf("%+v", p)
			}
		})
	}
	r := newRig(t, 1, nil, "threshold", "1 packet")
	for range 2 {
		p := r.data(1250, 0)
		p.Src = 9
		r.sw.Receive(0, 0, p)
	}
	if d := r.sw.DropCounts(); r.listNotices() != "" || d[dataplane.NoRoute] != 1 {
		t.Errorf("drops %v", d)
	}
}

// TestProgram_MatchesTranscriptByHand compares the program with a sequence that was calculated by hand: 1250 bytes take
// 10 µs, the threshold is 2 packets. Each line is a packet: its time, its request, the departures before it, and by
// hand the queue that it finds, sm_token after it, pru_token after it, its flags.
func TestProgram_MatchesTranscriptByHand(t *testing.T) {
	r := newRig(t, 1, nil, "threshold", "2 packets")
	for i, x := range []struct {
		at     unit.Time
		flags  uint8
		leave  int
		queue  int64
		token  float64
		tokens int32
		want   uint8
	}{
		{20 * us, first, 0, 0, 1250, 0, first},                    // 2500 − 1250
		{21 * us, first | last, 0, 1250, 125, 0, first | last},    // + 125 − 1250: a first window's end is no place
		{22 * us, inc, 0, 2500, -1000, 0, dec | toldd},            // two packets wait
		{32 * us, last, 1, 2500, -1000, 0, last | dec | toldd},    // one has left, two wait
		{42 * us, last, 2, 1250, -1000, 1, last},                  // one waits: a place
		{43 * us, inc, 0, 2500, -2125, 1, dec | toldd},            // a queue goes before places
		{60 * us, inc, 2, 1250, -1250, 0, inc},                    // 17 µs: 2125; the place is taken
		{80 * us, inc, 2, 0, 0, 0, 0},                             // 20 µs: 2500; nothing is there
		{100 * us, inc, 1, 0, 0, 0, inc},                          // 2500 − 1250, and an MTU of it is given
		{110 * us, inc, 1, 0, 0, 0, 0},                            // the port's rate: nothing
		{200 * us, last, 1, 0, 1250, 1, last},                     // a long time: an MTU at most
		{210 * us, inc, 1, 0, 1250, 0, inc},                       // the place goes first,
		{220 * us, inc, 1, 0, 0, 0, inc},                          // then the supply
		{225 * us, inc | dec | toldd, 1, 0, -625, 0, dec | toldd}, // somebody else's queue: no supply for it either
	} {
		r.now = x.at
		r.drain(1, x.leave)
		queue := int64(r.sw.Port(1).Bytes())
		h := r.come(x.flags)
		at := r.program.ports[1]
		if queue != x.queue || at.token < x.token-1e-6 || at.token > x.token+1e-6 || at.tokens != x.tokens ||
			h.Flags != x.want {
			t.Errorf("packet %d: queue %d, sm_token %v, pru_token %d, flags %#x; want %d, %v, %d, %#x", i, queue, at.token,
				at.tokens, h.Flags, x.queue, x.token, x.tokens, x.want)
		}
	}
	if got := r.listNotices(); got != "2: 2500 1Gbps 1002, 3: 2500 1Gbps 1003, 5: 2500 1Gbps 1005" {
		t.Errorf("told: %s", got)
	}
}

// TestProgram_HoldsContract checks the contract of programs: packets without requests are not changed, and books are
// balanced.
func TestProgram_HoldsContract(t *testing.T) {
	same := func(p dataplanetest.Port) dataplanetest.Port { return p }
	dataplanetest.CheckProgram(t, Scheme(), same, nil)
	dataplanetest.CheckProgram(t, Scheme(), same, nil, "src", "false", "threshold", "1 packet")
}

func TestConfig_CheckRemarksUnsuitablePorts(t *testing.T) {
	for _, x := range []struct {
		name, want string
		port       dataplane.Peer
		given      []string
	}{
		{"all is well", "", dataplane.Peer{Buffer: unit.Length{Packets: 100}}, nil},
		{"no bound", "", dataplane.Peer{Senders: 1000}, nil},
		{"a short buffer", "is full before 3028 B are queued", dataplane.Peer{Buffer: unit.Length{Packets: 2}}, nil},
		{"in bytes", "is full before 30000 B are queued", dataplane.Peer{Buffer: unit.Length{Bytes: 30_000}},
			[]string{"threshold", "30kB"}},
		{"too many", "1000 flows to x each add", dataplane.Peer{Buffer: unit.Length{Packets: 999}, Senders: 1000},
			nil},
		{"slow", "round rates up to whole Mb/s", dataplane.Peer{Rate: unit.LinkRate{Bits: 1200 * unit.Kbps}}, nil},
		{"packets a second", "is in packets/s", dataplane.Peer{Rate: unit.LinkRate{Packets: 1000}}, nil},
	} {
		t.Run(x.name, func(t *testing.T) {
			c, err := Scheme().Configure(x.given...)
			if err != nil {
				t.Fatal(err)
			}
			if x.port.To = "x"; x.port.Rate == (unit.LinkRate{}) {
				x.port.Rate.Bits = unit.Gbps
			}
			got := ""
			for _, r := range c.(*config).Check(&dataplane.SwitchContext{Ports: []dataplane.Peer{x.port}}) {
				got += r.Text
			}
			if x.want == "" && got != "" || !strings.Contains(got, x.want) {
				t.Errorf("%q, want %q", got, x.want)
			}
		})
	}
}

// TestCheck_ReportsEachWarningOnce checks that each warning is reported once, for any ports before it.
func TestCheck_ReportsEachWarningOnce(t *testing.T) {
	c, err := Scheme().Configure()
	if err != nil {
		t.Fatal(err)
	}
	bits := func(r unit.Rate) unit.LinkRate { return unit.LinkRate{Bits: r} }
	short, long := unit.Length{Packets: 2}, unit.Length{Packets: 100}
	ports := []dataplane.Peer{
		{To: "slow", Rate: bits(unit.Mbps), Buffer: short, Senders: 1000}, {To: "slow2", Rate: bits(unit.Mbps)},
		{To: "packets", Rate: unit.LinkRate{Packets: 1000}, Buffer: long, Senders: 1000},
		{To: "fast", Rate: bits(unit.Gbps), Buffer: short}, {To: "many", Rate: bits(unit.Gbps), Buffer: long, Senders: 1000},
	}
	for _, x := range []struct {
		name  string
		ports []dataplane.Peer
		want  []string
	}{
		{"all of one port", ports[:2], []string{"to slow has 1Mbps", "to slow is full", "1000 flows to slow each add"}},
		{"each of another port", ports[1:], []string{"is in packets/s", "to slow2 has 1Mbps", "to fast is full",
			"1000 flows to many each add"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			all := c.(*config).Check(&dataplane.SwitchContext{Ports: x.ports})
			for i, r := range all {
				if i < len(x.want) && !strings.Contains(r.Text, x.want[i]) {
					t.Errorf("%q, want %q", r.Text, x.want[i])
				}
			}
			if len(all) != len(x.want) {
				t.Errorf("%d remarks, want %d: %v", len(all), len(x.want), all)
			}
		})
	}
}

func TestScheme_RejectsBadParameters(t *testing.T) {
	setup := dataplanetest.Setup{Ports: make([]dataplanetest.Port, 2)}
	for _, given := range [][]string{{"tos", "1"}, {"threshold", "0 B"}, {"pru_tokens", "0"}} {
		if p, err := dataplanetest.BuildProgram(Scheme(), setup.NewSite(), given...); err == nil || p != nil {
			t.Errorf("%v is taken", given)
		}
	}
	c := scheme.Defaults[config]()
	if c.Traits().WhyNotStandalone == "" {
		t.Error("hosts have to know its messages")
	}
}

func TestNoAllocation(t *testing.T) {
	r := newRig(t, 1, nil, "threshold", "1 packet")
	r.come(0)
	if n := testing.AllocsPerRun(2000, func() {
		r.now += us
		r.come(inc)
		r.drain(1, 1)
		r.drain(0, 1)
	}); n != 0 || r.program.sent < 2000 {
		t.Errorf("%g allocations, %d messages", n, r.program.sent)
	}
}
