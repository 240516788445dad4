package ndp

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/transport"
	"weir/core/unit"
	"weir/internal/testkit"
)

func TestDocNamesTests(t *testing.T) { testkit.CheckDocTests(t, 12) }

// TestSender_MatchesTracesByHand checks NDP §3.2 against traces that were verified by hand. The first window goes at
// line rate, then one packet per PULL. Each arriving packet causes a PULL and an ACK; after the last packet the rest of
// the flow causes no PULL.
func TestSender_MatchesTracesByHand(t *testing.T) {
	for name, c := range map[string]struct {
		size   unit.Bytes
		window int
		data   func(n int) fate // by data packet sent, from 0
	}{
		"plain":    {7500, 4, nil},
		"short":    {2500, 30, nil},
		"trimmed":  {6000, 4, func(n int) fate { return fate{copies: 1, trim: n == 1 || n == 3 || n == 5} }},
		"returned": {6000, 4, func(n int) fate { return fate{copies: 1, back: n == 1 || n == 2} }},
		"all-back": {3000, 30, func(n int) fate { return fate{copies: 1, back: n < 3} }},
		"lost":     {3000, 2, func(n int) fate { return fate{copies: 1 - min(n%2, 1)*max(0, 1-n/2)} }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newPipe(t, []unit.Bytes{c.size}, func(_ int, f *Config) { f.Window, f.RTOMin = c.window, 100*us })
			w.log, w.wire = &strings.Builder{}, true
			if n := -1; c.data != nil {
				w.onData = func(*packet.Packet) fate { n++; return c.data(n) }
			}
			w.runUntil(unit.Never - 1)
			w.done()
			testkit.Golden(t, name+".txt", w.log.String())
			if wants := name == "lost"; (w.timeouts() > 0) != wants {
				t.Errorf("%s: %d timeouts", name, w.timeouts())
			}
		})
	}
}

// TestFirstWindow checks NDP §3.2: at most initial_window packets go without a PULL. 0 is a BDP.
func TestFirstWindow(t *testing.T) {
	// 10 Gb/s × 4 µs = 5000 B: 5 frames of 1050 B
	for _, c := range []struct{ window, want int }{{30, 30}, {1, 1}, {0, 5}} {
		t.Run(fmt.Sprint("initial window ", c.window), func(t *testing.T) {
			s, _, err := New(newFlow(0, 100_000, nil), Config{Window: c.window, RTOMin: unit.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			sent := 0
			for ; s.NextSend() == 0; sent++ {
				s.Emit(0, &packet.Packet{})
			}
			if sent != c.want || s.NextSend() != unit.Never {
				t.Errorf("initial window %d: %d packets sent, want %d", c.window, sent, c.want)
			}
		})
	}
}

func answer(kind packet.Kind, seq, ack int64) *packet.Packet {
	return &packet.Packet{Kind: kind, Seq: seq, Ack: ack, SrcPort: 20, DstPort: 10, Proto: packet.ProtoOwn}
}

// TestPullNumbers checks NDP §3.2: PULLs have numbers, so lost, doubled and reordered ones do no harm.
func TestPullNumbers(t *testing.T) {
	s, _, _ := New(newFlow(0, 1_000_000, nil), Config{Window: 2, RTOMin: unit.Millisecond})
	sent := func() (n int) {
		for ; s.NextSend() == 0; n++ {
			s.Emit(1, &packet.Packet{})
		}
		return n
	}
	if n := sent(); n != 2 {
		t.Fatal(n)
	}
	for i, c := range []struct {
		pull int64
		want int
	}{{1, 1}, {1, 0}, {4, 3}, {3, 0}, {2, 0}, {5, 1}, {maxOutstanding + 6, 0}, {-1, 0}} {
		s.Receive(1, answer(packet.Notice, c.pull, 0))
		if n := sent(); n != c.want {
			t.Errorf("step %d, PULL %d: %d packets sent, want %d", i, c.pull, n, c.want)
		}
	}
}

// TestRepairsFirst checks NDP §3.2: NACKed packets go before new ones, in the order of the NACKs.
func TestRepairsFirst(t *testing.T) {
	s, _, _ := New(newFlow(0, 1_000_000, nil), Config{Window: 6, RTOMin: unit.Millisecond})
	for s.NextSend() == 0 {
		s.Emit(0, &packet.Packet{})
	}
	for _, n := range []int64{4, 1} {
		s.Receive(1, answer(packet.Nack, n*payload, 0))
	}
	if s.NextSend() != unit.Never {
		t.Fatal("a NACKed packet goes without a PULL")
	}
	s.Receive(2, answer(packet.Notice, 3, 0))
	for _, want := range []int64{4, 1, 6} {
		p := &packet.Packet{}
		if s.Emit(3, p); p.Seq != want*payload {
			t.Errorf("of packets 4, 1 and 6 %d is due, %d is sent", want, p.Seq/payload)
		}
	}
	if s.Counters().Retransmitted != 2 || s.NextSend() != unit.Never {
		t.Errorf("%d sent again, next at %v", s.Counters().Retransmitted, s.NextSend())
	}
}

// TestSender_ResendsReturnedHeader checks NDP §3.2.4: a returned header is resent at once if no other packet is in
// flight and no PULL is due. Otherwise it waits for a PULL, and a message reports it to the receiver, which has not
// received it.
func TestSender_ResendsReturnedHeader(t *testing.T) {
	back := func(n int64) *packet.Packet {
		p := answer(packet.Data, n*payload, 0)
		p.TCP.Flags = packet.Returned
		return p
	}
	s, r, _ := New(newFlow(0, 3000, nil), Config{Window: 3, RTOMin: unit.Millisecond})
	for s.NextSend() == 0 {
		s.Emit(0, &packet.Packet{})
	}
	for n := range int64(3) {
		if s.NextSend() != unit.Never {
			t.Fatal("with others out, a returned packet is sent at once")
		}
		s.Receive(1, back(n))
	}
	p := &packet.Packet{}
	if s.NextSend() != 0 {
		t.Fatal("all came back, and nothing is sent")
	}
	if s.Emit(2, p); p.Seq != 0 || p.Ack != 3 || s.NextSend() != unit.Never {
		t.Errorf("packet at %d, %d returned, next at %v; the first, 3 and never were expected", p.Seq, p.Ack, s.NextSend())
	}
	r.Receive(3, p)
	s.Receive(4, p)
	if r.member.wants != 3 { // three are owed; the first of these is what was sent at once
		t.Errorf("%d PULLs are wanted, 3 were expected", r.member.wants)
	}
	for want := int64(1); s.una < s.packets; {
		q := &packet.Packet{}
		r.Emit(5, q)
		s.Receive(5, q)
		for s.NextSend() == 0 && s.una < s.packets {
			p = &packet.Packet{}
			if s.Emit(5, p); p.Seq != want*payload {
				t.Fatalf("packet at %d, want %d", p.Seq, want*payload)
			}
			want++
			r.Receive(5, p)
			s.Receive(5, p)
		}
	}
	if s.Timeouts() != 0 || s.Counters().Retransmitted != 3 {
		t.Errorf("%d timeouts, %d sent again", s.Timeouts(), s.Counters().Retransmitted)
	}
	// a packet that a PULL requested is sent again at once, in its place
	s, _, _ = New(newFlow(0, 10_000, nil), Config{Window: 2, RTOMin: unit.Millisecond})
	for s.NextSend() == 0 {
		s.Emit(0, &packet.Packet{})
	}
	s.Receive(1, answer(packet.Notice, 1, 0))
	s.Emit(1, p)
	if s.Receive(2, back(2)); s.NextSend() != 0 {
		t.Fatal("what a PULL has asked for came back, and is not sent again")
	}
	if s.Emit(2, p); p.Seq != 2000 || p.Ack != 0 || s.bounced != 1 || s.NextSend() != unit.Never {
		t.Errorf("packet at %d, %d returned; next at %v", p.Seq, p.Ack, s.NextSend())
	}
	// forged: not out, or not returned
	s, _, _ = New(newFlow(0, 3000, nil), Config{Window: 3, RTOMin: unit.Millisecond})
	s.Emit(0, &packet.Packet{})
	s.Receive(1, back(1))
	s.Receive(1, answer(packet.Data, 0, 0))
	if s.bounced != 0 {
		t.Error("a header that was never out counts as returned")
	}
}

// TestPulls_PacedAndInTurn checks NDP §3.2: the PULLs of one host are the time of a full frame apart, in turn among its
// flows. Those with priority go first.
func TestPulls_PacedAndInTurn(t *testing.T) {
	w := newPipe(t, []unit.Bytes{100_000, 100_000, 100_000, 20_000}, func(i int, c *Config) {
		c.Window, c.Priority = 10, i == 3
	})
	n := 0
	w.onData = func(*packet.Packet) fate { n++; return fate{copies: 1, trim: n%4 > 0 && n < 200} }
	w.runUntil(unit.Never - 1)
	w.done()
	for i := 1; i < len(w.pulls); i++ {
		if d := w.pulls[i] - w.pulls[i-1]; d < gap {
			t.Fatalf("PULLs %d and %d are %v apart, want %v", i-1, i, d, gap)
		}
	}
	total := (w.pulls[len(w.pulls)-1] - w.pulls[0]) / gap
	if busy := float64(len(w.pulls)) / float64(total); busy < 0.95 || w.timeouts() != 0 {
		t.Errorf("%d PULLs in the time of %d, %d timeouts", len(w.pulls), total, w.timeouts())
	}
	// in turn: while three flows need PULLs, no flow gets two more than another
	var counts [4]int
	for _, f := range w.of[60:150] {
		counts[f]++
	}
	if counts[0] < 25 || counts[1] < 25 || counts[2] < 25 {
		t.Errorf("PULLs by flow: %v", counts)
	}
	if p := w.s[3].Counters().Finished; p >= w.s[0].Counters().Finished/2 {
		t.Errorf("with priority a fifth of the bytes ends at %v, the others at %v", p, w.s[0].Counters().Finished)
	}
}

// TestPullQueue checks a host's pull queue in the order of calls.
func TestPullQueue(t *testing.T) {
	q := &pulls{}
	m := []*member{{flow: 0, ring: 1}, {flow: 1, ring: 1}, {flow: 2, ring: 1}, {flow: 3}}
	for i, x := range m {
		q.addPulls(100, x, int64(i+1)) // 1, 2, 3, and 4 with priority
	}
	q.limitPulls(m[2], 2)
	q.limitPulls(m[3], 1)
	var got []packet.FlowID
	for q.nextMember() != nil {
		got = append(got, q.nextMember().flow)
		q.sendPull(q.pacer.NextPull(), 10)
	}
	if fmt.Sprint(got) != "[3 0 1 2 1 2]" || q.pacer.NextPull() != 160 {
		t.Errorf("PULLs go to %v, the next may go at %v", got, q.pacer.NextPull())
	}
	q.addPulls(500, m[0], 1) // after a pause, at once, and then a gap again
	if q.pacer.NextPull() != 500 {
		t.Errorf("the next may go at %v", q.pacer.NextPull())
	}
	q.addPulls(500, m[1], 1)
	if q.sendPull(505, 10); q.pacer.NextPull() != 510 { // late by less than a gap: no rate is lost
		t.Errorf("the next may go at %v", q.pacer.NextPull())
	}
	if q.sendPull(600, 10); q.pacer.NextPull() != 600 || q.nextMember() != nil {
		t.Errorf("the next may go at %v", q.pacer.NextPull())
	}
}

// TestLastPackets checks NDP §3.2: each packet of a flow that fits into the first window carries FIN, and no PULL is
// sent. A longer flow's PULLs for the last window are sent until FIN arrives.
func TestLastPackets(t *testing.T) {
	for _, c := range []struct {
		size  unit.Bytes
		pulls int64
	}{{30_000, 0}, {1000, 0}, {31_000, 30}, {130_000, 129}} {
		t.Run(fmt.Sprint("flow of ", c.size), func(t *testing.T) {
			w := newPipe(t, []unit.Bytes{c.size}, nil)
			w.runUntil(unit.Never - 1)
			w.done()
			if got := w.r[0].pulled; got != c.pulls {
				t.Errorf("%d B: %d PULLs, want %d", c.size, got, c.pulls)
			}
		})
	}
}

// TestSender_TimeoutDoubles checks that the timeout doubles after a lost last PULL, and on a path that loses everything
// for a while.
func TestSender_TimeoutDoubles(t *testing.T) {
	w := newPipe(t, []unit.Bytes{10_000}, func(_ int, c *Config) { c.Window, c.RTOMin = 4, 100*us })
	dead := unit.Time(0)
	w.onData = func(*packet.Packet) fate {
		if w.now < dead {
			return fate{}
		}
		return fate{copies: 1}
	}
	dead = 2 * unit.Millisecond
	w.runUntil(unit.Never - 1)
	w.done()
	if n := w.timeouts(); n < 4 || n > 12 { // 100 µs, doubled: at 0.1, 0.3, 0.7, 1.5, 3.1 ms
		t.Errorf("%d timeouts", n)
	}
	if end := w.s[0].Counters().Finished; end > 4*unit.Millisecond {
		t.Errorf("the end is at %v", end)
	}
	w = newPipe(t, []unit.Bytes{10_000}, func(_ int, c *Config) { c.Window, c.RTOMin = 1, 100*us })
	pulls := 0
	w.onBack = func(p *packet.Packet) fate {
		if p.Kind == packet.Notice {
			if pulls++; pulls == 4 {
				return fate{}
			}
		}
		return fate{copies: 1}
	}
	w.runUntil(unit.Never - 1)
	w.done()
	if w.timeouts() != 1 {
		t.Errorf("a lost PULL gives %d timeouts", w.timeouts())
	}
}

// TestSender_IgnoresForeignPackets checks that packets of other flows, and packets with impossible values, change no
// state.
func TestSender_IgnoresForeignPackets(t *testing.T) {
	s, r, _ := New(newFlow(0, 100_000, nil), Config{Window: 5, RTOMin: unit.Millisecond})
	for s.NextSend() == 0 {
		s.Emit(0, &packet.Packet{})
	}
	for _, change := range []func(p *packet.Packet){
		func(p *packet.Packet) { p.SrcPort = 1 },
		func(p *packet.Packet) { p.DstPort = 1 },
		func(p *packet.Packet) { p.Proto = packet.ProtoUDP },
		func(p *packet.Packet) { p.Ack = 6000 },
		func(p *packet.Packet) { p.Ack = 1 },
		func(p *packet.Packet) { p.Kind = packet.Probe },
		func(p *packet.Packet) { p.Payload = 7 },
		func(p *packet.Packet) { p.SetNotification(&packet.Notification{Cause: packet.CauseMarked}) },
	} {
		for _, kind := range []packet.Kind{packet.Ack, packet.Nack, packet.Notice} {
			p := answer(kind, 1000, 0)
			change(p)
			if before := *s; s.Receive(5, p) || s.una != before.una || s.inFlight != before.inFlight ||
				s.credit != before.credit || s.refused != before.refused {
				t.Errorf("%+v was taken", p)
			}
		}
	}
	data := func() *packet.Packet {
		return &packet.Packet{Kind: packet.Data, Seq: 1000, Payload: payload, SrcPort: 10, DstPort: 20,
			Proto: packet.ProtoOwn}
	}
	for _, change := range []func(p *packet.Packet){
		func(p *packet.Packet) { p.SrcPort = 1 },
		func(p *packet.Packet) { p.Proto = packet.ProtoTCP },
		func(p *packet.Packet) { p.Kind = packet.Ack },
		func(p *packet.Packet) { p.Payload = 999 },
		func(p *packet.Packet) { p.Seq = 1001 },
		func(p *packet.Packet) { p.Seq = 100_000 },
		func(p *packet.Packet) { p.Seq = -1000 },
	} {
		p := data()
		if change(p); r.Receive(5, p) || r.counters.ReceivedBytes > 0 || r.queue.nextMember() != nil {
			t.Errorf("%+v was taken", p)
		}
	}
	if p := data(); !r.Receive(5, p) || p.Kind != packet.Ack {
		t.Error("data was not taken")
	}
}

// TestEnds_FindPacketBeyondWrap checks that flows without an end continue beyond 2^40 bytes, where sequence numbers on
// the wire wrap.
func TestEnds_FindPacketBeyondWrap(t *testing.T) {
	e := newEnds(&transport.Flow{Payload: 1000, Version: 6}, false)
	for _, near := range []int64{0, 1 << 30, 1 << 40} {
		t.Run(fmt.Sprint("near packet ", near), func(t *testing.T) {
			for _, d := range []int64{0, 1, 1000, 1 << 20} {
				n := near + d
				if got := e.findPacket(n*1000&(1<<40-1), near); got != n {
					t.Errorf("packet %d near %d is taken for %d", n, near, got)
				}
			}
		})
	}
	if e.packets <= 1<<40 || e.packetSeq(e.packets) != math.MaxInt64 || e.headers != 70 {
		t.Errorf("%+v", e)
	}
}

// TestSender_StopsWithApplication checks that a flow stops when its application does. Packets in flight are still
// delivered.
func TestSender_StopsWithApplication(t *testing.T) {
	f := newFlow(0, 0, nil)
	f.Start, f.Stop = 10*us, 500*us
	s, r, err := New(f, defaults())
	if err != nil {
		t.Fatal(err)
	}
	w := newPipe(t, []unit.Bytes{1000}, nil)
	w.s[0], w.r[0] = s, r
	w.runUntil(5 * unit.Millisecond)
	sent, came := s.Counters(), r.Counters()
	if want := unit.Bytes(490 * us / gap * payload); sent.SentBytes != came.ReceivedBytes ||
		sent.SentBytes < want*95/100 || sent.SentBytes > want+30_000 {
		t.Errorf("%d bytes sent, %d came, about %d were expected", sent.SentBytes, came.ReceivedBytes, want)
	}
	if s.NextTimer() != unit.Never || s.NextSend() != unit.Never {
		t.Errorf("stopped, and yet: timer %v, next %v", s.NextTimer(), s.NextSend())
	}
}

func TestBadInput(t *testing.T) {
	for name, change := range map[string]func(f *transport.Flow, c *Config){
		"payload 0": func(f *transport.Flow, _ *Config) { f.Payload = 0 },
		"payload":   func(f *transport.Flow, _ *Config) { f.Payload = 70_000 },
		"size":      func(f *transport.Flow, _ *Config) { f.Size = -1 },
		"no BDP":    func(f *transport.Flow, c *Config) { c.Window, f.Path.BaseRTT = 0, 0 },
		"no rate":   func(f *transport.Flow, _ *Config) { f.Path.ReceiverRate = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			f, c := newFlow(0, 1000, nil), defaults()
			change(&f, &c)
			if _, _, err := New(f, c); err == nil || !strings.Contains(err.Error(), "transport ndp") {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	for name, change := range map[string]func(c *Config){
		"initial_window": func(c *Config) { c.Window = -1 },
		"pull_rate":      func(c *Config) { c.PullRate = -1 },
		"rto_min":        func(c *Config) { c.RTOMin = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			c := defaults()
			change(&c)
			if err := scheme.Validate(&c); err == nil || !strings.HasPrefix(err.Error(), name) {
				t.Error(err)
			}
		})
	}
	c, err := Scheme().Configure("priority", "true", "rto_min", "1ms")
	if err != nil {
		t.Fatal(err)
	}
	if _, r, err := Scheme().Build(newFlow(0, 1000, nil), c); err != nil || r.(*Receiver).member.ring != 0 {
		t.Error(err)
	}
}

// TestNoAllocation checks that no packet allocates memory.
func TestNoAllocation(t *testing.T) {
	s, r, _ := New(newFlow(0, 0, nil), Config{Window: 30, RTOMin: unit.Millisecond})
	now, p, q := unit.Time(0), &packet.Packet{}, &packet.Packet{}
	n := 0
	one := func() {
		for now += gap; s.NextSend() <= now; n++ {
			*p = packet.Packet{Src: 2, Dst: 1, Sent: now}
			if s.Emit(now, p); n%5 == 0 {
				p.Payload = 0
			}
			r.Receive(now, p)
			s.Receive(now, p)
		}
		if r.NextSend() <= now {
			*q = packet.Packet{}
			r.Emit(now, q)
			s.Receive(now, q)
		}
		r.Rescheduled()
	}
	for range 10_000 {
		one()
	}
	if a := testing.AllocsPerRun(2000, one); a != 0 {
		t.Errorf("%g allocations a packet", a)
	}
}

func ExampleNew() {
	f := transport.Flow{SrcPort: 10, DstPort: 20, Version: 4, Size: 3000, Payload: 1000, Framing: packet.Framings[0],
		Path: cc.Path{ReceiverRate: 10 * unit.Gbps}}
	s, r, err := New(f, Config{Window: 2, RTOMin: unit.Millisecond})
	if err != nil {
		fmt.Println(err)
		return
	}
	for s.Counters().Finished == unit.Never {
		for s.NextSend() == 0 {
			p := &packet.Packet{}
			s.Emit(0, p)
			fmt.Println("data", p.Seq)
			r.Receive(0, p)
			s.Receive(0, p)
		}
		if r.NextSend() != unit.Never {
			p := &packet.Packet{}
			r.Emit(0, p)
			fmt.Println("pull", p.Seq)
			s.Receive(0, p)
		}
	}
	// Output:
	// data 0
	// data 1000
	// pull 1
	// data 2000
}

// TestNICDelays checks that a NIC delays ACKs and NACKs by a time for each kind. They report the state at their
// packets' arrival, and PULLs do not wait for them.
func TestNICDelays(t *testing.T) {
	s, r, _ := New(newFlow(0, 100_000, nil), Config{Window: 6, RTOMin: unit.Millisecond, PullRate: lineRate,
		NIC: transport.NICDelays{Ack: 30 * us, Nack: 20 * us}})
	for i := range 3 {
		p := &packet.Packet{}
		if s.Emit(0, p); i == 1 {
			p.Payload = 0
		}
		if r.Receive(unit.Time(10+i)*us, p) {
			t.Fatalf("packet %d is answered at once", i)
		}
	}
	for i, want := range []struct {
		at       unit.Time
		kind     packet.Kind
		seq, ack int64
	}{{10 * us, packet.Notice, 1, payload}, {10*us + 840_000, packet.Notice, 2, payload},
		{10*us + 2*840_000, packet.Notice, 3, payload}, {31 * us, packet.Nack, payload, payload},
		{40 * us, packet.Ack, 0, payload}, {42 * us, packet.Ack, 2 * payload, payload}} {
		at := r.NextSend()
		p := &packet.Packet{}
		r.Emit(at, p)
		if at != want.at || p.Kind != want.kind || p.Seq != want.seq || p.Ack != want.ack {
			t.Errorf("%d: at %v kind %d, %d, %d; want %+v", i, at, p.Kind, p.Seq, p.Ack, want)
		}
	}
	if r.NextSend() != unit.Never {
		t.Error("something is left")
	}
}
