package uet

import (
	"fmt"
	"strings"
	"testing"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/transport"
	"weir/core/unit"
	"weir/internal/testkit"
)

func TestDocNamesTests(t *testing.T) { testkit.CheckDocTests(t, 20) }

// ends makes the two ends of a flow.
func both(t testing.TB, size unit.Bytes, change func(c *Config)) (*Sender, *Receiver) {
	t.Helper()
	c := Defaults()
	if change != nil {
		change(&c)
	}
	s, r, err := New(newFlow(0, size, &cc.Host{}), c)
	if err != nil {
		t.Fatal(err)
	}
	return s, r
}

// sent are packets that a sender sends at now.
func sent(s *Sender, now unit.Time) (all []*packet.Packet) {
	for s.NextSend() <= now {
		p := &packet.Packet{Src: 2, Dst: 1, Sent: now}
		s.Emit(now, p)
		all = append(all, p)
	}
	return all
}

// data is packet n of the first flow, as its sender would send it.
func data(s *Sender, n int64, flags uint8) *packet.Packet {
	p := &packet.Packet{Src: 2, Dst: 1, Seq: n}
	s.fillHeaders(p, packet.Data, s.first, true, payload, packet.Trimmable|flags)
	return p
}

// ackOf returns the content of an acknowledgement, or nil if p is no acknowledgement.
func ackOf(p *packet.Packet) *answer {
	var a answer
	if p.Kind != packet.Ack || !a.readFrom(p) {
		return nil
	}
	return &a
}

// TestAckPolicy checks that a receiver acknowledges the first packet, marked ones, those that request it, duplicates,
// and a packet that closes the last hole after a request. Otherwise it acknowledges after ack_bytes.
func TestAckPolicy(t *testing.T) {
	s, r := both(t, 1_000_000, func(c *Config) { c.AckBytes = 4 * 1050 })
	var got []string
	take := func(n int64, flags uint8, mark bool) {
		p := data(s, n, flags)
		if mark {
			p.TOS |= packet.CE
		}
		if r.Receive(us, p) {
			a := ackOf(p)
			got = append(got, fmt.Sprintf("%d: %d", n, a.expected))
			if a.flags&echoes != 0 != mark || a.ev != s.first {
				t.Errorf("packet %d: %+v", n, a)
			}
		}
	}
	for n := range int64(10) { // the first, and every fourth from then on
		take(n, 0, false)
	}
	take(10, 0, true)      // marked
	take(11, 0, false)     //
	take(11, 0, false)     // a duplicate
	take(13, asks, false)  // asks, and 12 is missing
	take(14, 0, false)     //
	take(12, 0, false)     // closes the hole
	take(15, 0, false)     //
	take(16, again, false) // sent again, without asking
	if want := "0: 1 4: 5 8: 9 10: 11 11: 12 13: 12 12: 15"; strings.Join(got, " ") != want {
		t.Errorf("%s, want %s", strings.Join(got, " "), want)
	}
}

// TestReceiver_BitmapStartsAtCause checks that the bitmap begins with the packet that is marked or requests it.
// Otherwise it begins 63 packets earlier, but after the first missing one.
func TestReceiver_BitmapStartsAtCause(t *testing.T) {
	s, r := both(t, 1_000_000, nil)
	for n := int64(1); n < 100; n += 2 {
		r.Receive(us, data(s, n, 0))
	}
	for _, c := range []struct {
		n      int64
		flags  uint8
		base   int64
		bitmap uint64
	}{{99, 0, 36, 0xaaaaaaaaaaaaaaaa}, {99, 0, 36, 0xaaaaaaaaaaaaaaaa}, {20, asks, 20, 0xaaaaaaaaaaaaaaab},
		{120, asks, 120, 1}, {30, 0, 1, 0x5555555575595555 &^ 0}} {
		p := data(s, c.n, c.flags)
		if !r.Receive(us, p) {
			p = data(s, c.n, 0)
			r.Receive(us, p) // as a duplicate
		}
		a := ackOf(p)
		if a == nil || a.base != c.base || c.n != 30 && a.bitmap != c.bitmap || a.expected != 0 {
			t.Errorf("packet %d: %+v, want base %d and %x", c.n, a, c.base, c.bitmap)
			continue
		}
		for i := range int64(64) {
			if want := a.base+i != 0 && r.arrived.Has(a.base+i); want != (a.bitmap>>i&1 != 0) {
				t.Errorf("packet %d: bit of packet %d", c.n, a.base+i)
			}
		}
	}
}

// TestSender_AsksForAcknowledgements checks that a packet requests its acknowledgement if it is the last one, fills the
// window, uses the last credit, or is a retransmission.
func TestSender_AsksForAcknowledgements(t *testing.T) {
	for _, control := range []string{bySender, byReceiver} {
		t.Run(control, func(t *testing.T) {
			s, _ := both(t, 1_000_000, func(c *Config) { c.Control = control })
			all := sent(s, 0)
			for i, p := range all {
				last := i == len(all)-1
				if p.TCP.Flags&asks != 0 != last {
					t.Errorf("packet %d of %d: flags %b", i, len(all), p.TCP.Flags)
				}
			}
			short, _ := both(t, 2500, func(c *Config) { c.Control = control })
			if all = sent(short, 0); len(all) != 3 || all[2].TCP.Flags&asks == 0 || all[2].Payload != 500 ||
				all[1].TCP.Flags&asks != 0 {
				t.Errorf("%d packets", len(all))
			}
		})
	}
}

// deliver gives a sender an acknowledgement.
func deliver(s *Sender, now unit.Time, a answer) {
	p := &packet.Packet{Src: 1, Dst: 2}
	a.penalty = noPenalty
	if a.ev == 0 {
		a.ev = s.first
	}
	r := s.ends
	r.src, r.dst = s.dst, s.src
	a.writeTo(&r, p)
	s.Receive(now, p)
}

// TestInFlight checks that the flight falls by the receiver's counts and by NACKed packets. A packet that arrives
// although a retransmission was due is counted back.
func TestInFlight(t *testing.T) {
	s, _ := both(t, 1_000_000, nil)
	n := int64(len(sent(s, 0)))
	if s.inFlight != n*1050 {
		t.Fatalf("%d bytes of %d packets", s.inFlight, n)
	}
	deliver(s, 10*us, answer{caused: 2, expected: 1, base: 2, bitmap: 1, got: 3 * 1050})
	if s.inFlight != (n-3)*1050 {
		t.Errorf("%d bytes after three have come", s.inFlight)
	}
	// no packet is sent meanwhile, as the window is full or not: NACK of packet 4
	before := s.inFlight
	deliver(s, 11*us, answer{nack: true, caused: 4})
	if s.inFlight != before-1050 || s.waits != 1 {
		t.Errorf("%d after a NACK, %d wait", s.inFlight, s.waits)
	}
	deliver(s, 12*us, answer{caused: 5, expected: 6, got: 6 * 1050})
	if s.waits != 0 || s.inFlight != before-3*1050 {
		t.Errorf("%d bytes and %d waiting after it has come", s.inFlight, s.waits)
	}
}

// TestSender_SamplesUnambiguousRoundTrips checks that a round trip is known of packets that were sent once, or twice if
// the acknowledgement is of the second.
func TestSender_SamplesUnambiguousRoundTrips(t *testing.T) {
	s, _ := both(t, 1_000_000, nil)
	sent(s, 0)
	take := func(now unit.Time, flags uint8) unit.Time {
		s.timer.Trip = transport.RoundTrip{}
		deliver(s, now, answer{caused: 3, expected: 0, base: 1, flags: flags})
		return s.timer.Trip.Smoothed
	}
	if rtt := take(10*us, again); rtt != 0 {
		t.Errorf("an echo of a packet sent once: %v", rtt)
	}
	if rtt := take(10*us, 0); rtt != 10*us {
		t.Errorf("%v", rtt)
	}
	for i, want := range []struct{ plain, echo unit.Time }{{0, 4 * us}, {0, 0}} {
		at := unit.Time(i+2) * 20 * us
		deliver(s, at, answer{nack: true, caused: 3})
		s.inFlight = 0
		if all := sent(s, at); len(all) == 0 || all[0].Seq != 3 || all[0].TCP.Flags&again == 0 {
			t.Fatal("packet 3 does not go again")
		}
		if rtt := take(at+4*us, 0); rtt != want.plain {
			t.Errorf("%d repairs, without echo: %v", i+1, rtt)
		}
		if rtt := take(at+4*us, again); rtt != want.echo {
			t.Errorf("%d repairs, with echo: %v", i+1, rtt)
		}
	}
}

// TestSender_NackedPacketsGoFirst checks that NACKed packets are resent at once, by their numbers, before new ones, and
// request an acknowledgement. NACKs of packets that are not in flight change no state.
func TestSender_NackedPacketsGoFirst(t *testing.T) {
	s, _ := both(t, 1_000_000, nil)
	n := int64(len(sent(s, 0)))
	for _, k := range []int64{7, 3, 5, 3, n, -1} {
		deliver(s, 10*us, answer{nack: true, caused: k})
	}
	s.inFlight = 0
	got := ""
	for _, p := range sent(s, 10*us)[:4] {
		got += fmt.Sprint(p.Seq, p.TCP.Flags&again != 0, p.TCP.Flags&asks != 0, " ")
	}
	if want := fmt.Sprintf("3 true true 5 true true 7 true true %d false false ", n); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if c := s.Counters(); c.NacksTaken != 3 || c.NacksRefused != 3 || c.Retransmitted != 3 {
		t.Errorf("%+v", c.Sent)
	}
}

// TestSender_TimeoutResendsOldestPacket checks that the timer runs on the oldest packet in flight: 15 us and six
// products. It resends only that packet, and the window shrinks.
func TestSender_TimeoutResendsOldestPacket(t *testing.T) {
	s, _ := both(t, 1_000_000, nil)
	sent(s, 0)
	// a product of 10 Gb/s and 5 us is 6250 B, in whole frames 6300 B: 5.04 us
	if want := 15*us + 6*5040*unit.Nanosecond; s.NextTimer() != want {
		t.Errorf("%v, want %v", s.NextTimer(), want)
	}
	deliver(s, 10*us, answer{caused: 7, expected: 0, base: 1, bitmap: 127, got: 7 * 1050})
	window, at := s.law.Window(), s.NextTimer()
	s.Advance(at - 1)
	if s.Timeouts() != 0 {
		t.Error("too early")
	}
	s.Advance(at)
	all := sent(s, at)
	if s.Timeouts() != 1 || len(all) == 0 || all[0].Seq != 0 || s.law.Window() != window-1050 {
		t.Errorf("%d timeouts, %d packets, window %d of %d", s.Timeouts(), len(all), s.law.Window(), window)
	}
}

// TestSender_RequestsCreditAfterTimeout checks that a sender that may not resend a packet after its timeout requests
// credit, once a round trip. The receiver acknowledges that at once and gives credit.
func TestSender_RequestsCreditAfterTimeout(t *testing.T) {
	s, r := both(t, 1_000_000, func(c *Config) { c.Control = byReceiver })
	n := len(sent(s, 0))
	at := s.NextTimer()
	s.Advance(at)
	all := sent(s, at)
	if len(all) != 1 || all[0].Payload != 0 || all[0].Kind != packet.Data || all[0].Seq != int64(n) || all[0].Ack == 0 {
		t.Fatalf("%d packets: %+v", len(all), all)
	}
	for s.NextTimer() < at+s.config.Network {
		s.Advance(s.NextTimer())
	}
	if all = sent(s, at+s.config.Network-1); len(all) != 0 {
		t.Errorf("%d requests in a round trip", len(all))
	}
	p := &packet.Packet{Src: 2, Dst: 1, Seq: int64(n), Ack: 100}
	s.fillHeaders(p, packet.Data, s.first, true, 0, 0)
	if !r.Receive(at, p) || ackOf(p) == nil || ackOf(p).flags&requests == 0 || r.NextSend() == unit.Never {
		t.Errorf("%+v for a request, PULL at %v", ackOf(p), r.NextSend())
	}
}

// TestSender_EstimatedTimeoutDoubles checks that estimated timeouts follow the round trip, with a floor, and double up
// to 64 times until an answer arrives.
func TestSender_EstimatedTimeoutDoubles(t *testing.T) {
	s, _ := both(t, 1_000_000, func(c *Config) { c.RTO, c.RTOMin = estimatedRTO, 20*us })
	sent(s, 0)
	deliver(s, 10*us, answer{caused: 1, expected: 2, got: 2100})
	sent(s, 10*us)
	if got := s.timer.Timeout(); got != 30*us { // SRTT 10 us and RTTVAR 5 us
		t.Errorf("%v", got)
	}
	lost, doubled := 0, 0
	for doubled < 8 && lost < 200 { // what one window has lost doubles it once
		before, at := s.timer.Timeout(), s.NextTimer()
		s.Advance(at)
		sent(s, at)
		if lost++; s.timer.Timeout() != before {
			if doubled++; s.timer.Timeout() != 2*before || doubled > 6 {
				t.Errorf("after %d losses %v, %v before", lost, s.timer.Timeout(), before)
			}
		}
	}
	if doubled != 6 || s.timer.Timeout() != 30*us<<6 {
		t.Errorf("doubled %d times, to %v", doubled, s.timer.Timeout())
	}
	deliver(s, 3000*us, answer{caused: 1, expected: 2, got: 2100})
	if s.timer.Timeout() != 30*us {
		t.Errorf("%v after something was heard", s.timer.Timeout())
	}
}

// TestEstimatedLongPath checks a receiver that acknowledges several packets by the last of them. Where round trips do
// not vary, the first of them must not be taken for lost.
func TestEstimatedLongPath(t *testing.T) {
	s, _ := both(t, 10_000_000, func(c *Config) { c.RTO, c.RTOMin = estimatedRTO, 100*us })
	s.timer.Trip = transport.RoundTrip{}
	for range 60 {
		s.timer.Trip.AddSample(220 * us)
	}
	sent(s, 0)
	if got := s.NextTimer(); got != 275*us || s.timer.Trip.Variation > us {
		t.Errorf("RTTVAR %v, timeout at %v", s.timer.Trip.Variation, got)
	}
}

// TestSender_SleekDetectsLossWithoutTrimming checks that without trimming a window's worth of packets out of order is a
// loss, and the missing ones are resent. After a round trip without an acknowledgement a probe is sent. If it returns
// without delay, the complete flight is lost.
func TestSender_SleekDetectsLossWithoutTrimming(t *testing.T) {
	sleek := func(c *Config) { c.Sleek = true }
	s, _ := both(t, 20_000, sleek)
	n := int64(len(sent(s, 0))) // 10 packets fill 9375 B but for some
	deliver(s, 10*us, answer{caused: n - 1, expected: 1, base: 2, bitmap: 1<<(n-2) - 1, got: (n - 1) * 1050, ahead: 9})
	if all := sent(s, 10*us); len(all) == 0 || all[0].Seq != 1 || all[0].TCP.Flags&again == 0 {
		t.Errorf("what is missing does not go again: %d packets, %d out", len(all), n)
	}
	s, r := both(t, 20_000, sleek)
	sent(s, 0)
	deliver(s, 10*us, answer{caused: 0, expected: 1, got: 1050})
	sent(s, 10*us)
	at := s.NextTimer()
	if at >= s.timer.Floor {
		t.Fatalf("no probe before the timeout: %v", at)
	}
	s.Advance(at)
	all := sent(s, at)
	if len(all) != 1 || all[0].TCP.Flags&probing == 0 || all[0].Payload != 0 {
		t.Fatalf("%d packets", len(all))
	}
	if p := all[0]; !r.Receive(at+2*us, p) || ackOf(p) == nil || ackOf(p).flags&probing == 0 {
		t.Error("the receiver does not answer a probe")
	} else {
		p.Ack = 1 // packet 0 has come
		s.Receive(at+4*us, p)
	}
	if all = sent(s, at+4*us); len(all) == 0 || all[0].Seq != 1 || all[0].TCP.Flags&again == 0 {
		t.Errorf("%d packets after the probe", len(all))
	}
}

// TestSender_SpendsCreditOfPulls checks that a sender begins with one and a half products of credit, which ends with
// the first answer. Then it has the credit of PULLs, at most as much, and may fall below 0 by a packet.
func TestSender_SpendsCreditOfPulls(t *testing.T) {
	s, _ := both(t, 1_000_000, func(c *Config) { c.Control = byReceiver })
	all := sent(s, 0)
	if n := len(all); n != 9 { // 9375 B: 8 frames of 1050 B, and one more
		t.Errorf("%d packets", n)
	}
	for i, p := range all { // what is asked for: what was spent, at least a packet, in units of 256 B
		if want := (max(int64(i+1)*1050, 1050) + 255) / 256; p.Ack != want {
			t.Errorf("packet %d asks for %d, want %d", i, p.Ack, want)
		}
	}
	s, _ = both(t, 1_000_000, func(c *Config) { c.Control = byReceiver })
	p := &packet.Packet{}
	s.Emit(0, p)
	pull := func(n int64) {
		p := &packet.Packet{Kind: packet.Notice, Seq: n, SrcPort: s.port, DstPort: 77, Proto: packet.ProtoOwn}
		s.Receive(us, p)
	}
	pull(0)
	if s.credit != 0 || s.NextSend() != unit.Never {
		t.Errorf("credit %d after the first PULL", s.credit)
	}
	pull(5) // 1280 B: two packets
	if n := len(sent(s, us)); n != 2 || s.credit != 1280-2100 {
		t.Errorf("%d packets, credit %d", n, s.credit)
	}
	pull(5)
	pull(3)
	if n := len(sent(s, us)); n != 0 {
		t.Errorf("%d packets for old PULLs", n)
	}
	if pull(5_000); s.credit != s.maxCredit {
		t.Errorf("credit %d, at most %d", s.credit, s.maxCredit)
	}
}

// TestPacer_ServesFlowsInTurn checks that a pacer serves flows in turn, at its share of the link, up to their targets.
// It serves flows without advance requests while no other flow waits.
func TestPacer_ServesFlowsInTurn(t *testing.T) {
	x := &pacer{}
	member := func(id int) *member { return &member{flow: packet.FlowID(id), perQuantum: 1000, maxAhead: 100} }
	a, b := member(1), member(2)
	a.target, b.target = 100, 64
	x.requestCredit(0, a)
	x.requestCredit(0, b)
	var got []string
	now := unit.Time(0)
	for range 9 {
		if x.nextMember() == nil {
			break
		}
		now = max(now, x.NextPull())
		id := x.nextMember().flow
		got = append(got, fmt.Sprintf("%d %d@%d", id, x.sendCredit(now, 64, 4), now))
	}
	// 64 to each, the 36 that are left, then ahead in turn until 100 are
	want := "1 64@0 2 64@64000 1 100@128000 2 128@164000 1 164@228000 2 192@292000 1 228@356000"
	if s := strings.Join(got, " "); s != want {
		t.Errorf("%s\nwant %s", s, want)
	}
	// a PULL that gives no credit takes the time of four units
	c := member(3)
	x.requestCredit(now, c)
	x.RecordPull(1_000_000, 0)
	if x.sendCredit(1_000_000, 64, 4); x.NextPull() != 1_004_000 {
		t.Errorf("%d after a PULL that gives nothing", x.NextPull())
	}
	// a member with a finished flow has no turn
	if x.removeMember(c); x.nextMember() == c {
		t.Error("a flow that is over has its turn")
	}
}

// TestReceiver_DelaysAcksAndNacks checks that a NIC delays acknowledgements and NACKs by a time for each kind.
func TestReceiver_DelaysAcksAndNacks(t *testing.T) {
	s, r := both(t, 1_000_000, func(c *Config) { c.AckDelay, c.NackDelay = 3*us, us })
	p := data(s, 0, 0)
	if r.Receive(10*us, p) || r.NextSend() != 13*us {
		t.Fatalf("an acknowledgement at %v", r.NextSend())
	}
	p = data(s, 1, 0)
	p.Size, p.Payload = p.Size-p.Payload, 0
	if r.Receive(11*us, p) || r.NextSend() != 12*us {
		t.Fatalf("a NACK at %v", r.NextSend())
	}
	for i, want := range []packet.Kind{packet.Nack, packet.Ack} {
		q := &packet.Packet{}
		if r.Emit(unit.Time(12+i)*us, q); q.Kind != want {
			t.Errorf("%d: kind %d", i, q.Kind)
		}
	}
	if r.NextSend() != unit.Never {
		t.Error("something is left")
	}
}

// TestSender_IgnoresForeignPackets checks that packets of another flow, and damaged or forged ones, change no state.
func TestSender_IgnoresForeignPackets(t *testing.T) {
	s, r := both(t, 1_000_000, nil)
	sent(s, 0)
	before := *s
	good := answer{caused: 1, expected: 2, got: 2100, ev: s.first}
	for name, change := range map[string]func(p *packet.Packet){
		"port":        func(p *packet.Packet) { p.SrcPort++ },
		"entropy":     func(p *packet.Packet) { p.DstPort ^= 0x8000 },
		"protocol":    func(p *packet.Packet) { p.Proto = packet.ProtoUDP },
		"payload":     func(p *packet.Packet) { p.Payload = 1 },
		"never sent":  func(p *packet.Packet) { p.Seq = 1000 },
		"beyond":      func(p *packet.Packet) { p.Ack = 1000 },
		"no bitmap":   func(p *packet.Packet) { p.ClearExtensions() },
		"kind":        func(p *packet.Packet) { p.Kind = packet.Probe },
		"own":         func(p *packet.Packet) { p.Kind = packet.Data },
		"old pull":    func(p *packet.Packet) { p.Kind, p.Seq = packet.Notice, -5 },
		"huge pull":   func(p *packet.Packet) { p.Kind, p.Seq = packet.Notice, 1<<39 },
		"other nacks": func(p *packet.Packet) { p.Kind, p.Seq = packet.Nack, 500 },
	} {
		t.Run(name, func(t *testing.T) {
			p := &packet.Packet{}
			e := s.ends
			good.writeTo(&e, p)
			change(p)
			s.Receive(us, p)
			if s.inFlight != before.inFlight || s.una != before.una || s.waits != 0 || s.pulled != 0 {
				t.Errorf("in flight %d, una %d, %d waiting", s.inFlight, s.una, s.waits)
			}
		})
	}
	for name, change := range map[string]func(p *packet.Packet){
		"port":     func(p *packet.Packet) { p.DstPort++ },
		"entropy":  func(p *packet.Packet) { p.SrcPort ^= 0x8000 },
		"kind":     func(p *packet.Packet) { p.Kind = packet.Ack },
		"far away": func(p *packet.Packet) { p.Seq = 1 << 30 },
	} {
		t.Run("receiver "+name, func(t *testing.T) {
			p := data(s, 0, 0)
			if change(p); r.Receive(us, p) || r.got != 0 {
				t.Error("it is taken")
			}
		})
	}
}

// TestBadInput checks that impossible input is refused with its name.
func TestBadInput(t *testing.T) {
	for name, c := range map[string]struct {
		change func(f *transport.Flow, c *Config)
		want   string
	}{
		"payload":     {func(f *transport.Flow, _ *Config) { f.Payload = 0 }, "payload"},
		"size":        {func(f *transport.Flow, _ *Config) { f.Size = -1 }, "size"},
		"no rate":     {func(f *transport.Flow, _ *Config) { f.Path.NICRate = 0 }, "rate"},
		"no receiver": {func(f *transport.Flow, c *Config) { f.Path.ReceiverRate, c.Control = 0, byBoth }, "receiver"},
		"no trip":     {func(f *transport.Flow, _ *Config) { f.Path.BaseRTT = 0 }, "network_rtt"},
	} {
		t.Run(name, func(t *testing.T) {
			f, own := newFlow(0, 1000, nil), Defaults()
			c.change(&f, &own)
			if _, _, err := New(f, own); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
	for name, change := range map[string]func(c *Config){
		"paths":   func(c *Config) { c.Paths = 48 },
		"control": func(c *Config) { c.Control = "me" },
		"sleek":   func(c *Config) { c.Sleek, c.Control = true, byReceiver },
		"balance": func(c *Config) { c.Balance = "fair" },
		"gamma":   func(c *Config) { c.Law.Gamma = 7 },
	} {
		t.Run("config "+name, func(t *testing.T) {
			c := Defaults()
			change(&c)
			if err := scheme.Validate(&c); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%v", err)
			}
		})
	}
}

// Example sends a flow of three packets, one trimmed by a switch.
func Example() {
	s, r, err := New(newFlow(0, 3000, nil), Defaults())
	if err != nil {
		fmt.Println(err)
		return
	}
	var p packet.Packet
	s.Emit(0, &p)
	p.Size, p.Payload = p.Size-p.Payload, 0 // the switch
	fmt.Println(r.Receive(2*us, &p), p.Kind == packet.Nack)
	s.Receive(4*us, &p)
	p = packet.Packet{}
	s.Emit(4*us, &p)
	fmt.Println("again:", p.Seq)
	// Output:
	// true true
	// again: 0
}
