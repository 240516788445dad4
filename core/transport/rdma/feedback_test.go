package rdma

import (
	"fmt"
	"strings"
	"testing"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/telemetry"
	"weir/core/transport"
	"weir/core/unit"
)

// TestReceiver_EchoesMarksExactly checks RFC 8257 §3.2: each ACK reports whether its packets were marked. A change
// causes an ACK of the earlier packets.
func TestReceiver_EchoesMarksExactly(t *testing.T) {
	for _, every := range []int{1, 3} {
		t.Run(fmt.Sprint("ACK every ", every), func(t *testing.T) {
			w := newPipe(t, 60_000, func(c *Config) { c.AckEvery = every }, &fixed{window: 1 << 20, keep: true}, cc.DCTCPMode)
			marked := 0
			w.onData = func(p *packet.Packet) (int, unit.Time) {
				if p.TOS&packet.ECN != packet.ECT0 {
					t.Fatalf("data is sent with ECN %d", p.TOS&packet.ECN)
				}
				if n := p.Seq; n%7 == 0 || n >= 20 && n < 29 {
					p.TOS |= packet.CE
					marked++
				}
				return 1, 0
			}
			w.runUntil(unit.Second)
			w.done(60_000)
			if got := w.c.acks[len(w.c.acks)-1].ECN.Delivered; got != int64(marked) {
				t.Errorf("an ACK of %d: %d marks are echoed of %d", every, got, marked)
			}
			if w.r.CNPs() != 0 {
				t.Error("CNPs were made")
			}
		})
	}
	w := newPipe(t, 2000, nil, &fixed{window: 1 << 20}, cc.AsConfigured)
	w.onData = func(p *packet.Packet) (int, unit.Time) {
		if p.TOS&packet.ECN != packet.NotECT {
			t.Error("ECN is used")
		}
		return 1, 0
	}
	w.runUntil(unit.Second)
}

// TestEchoReduces checks RFC 8257 §3.3: one reduction per window of data, for any number of marks. A loss within it is
// reported separately. With CNPs there is no reduction by echoes.
func TestEchoReduces(t *testing.T) {
	w := newPipe(t, 0, nil, &fixed{window: 4000, keep: true}, cc.DCTCPMode)
	for range 4 {
		w.s.Emit(0, &packet.Packet{})
	}
	marked := func(kind packet.Kind, ack, about int64) *packet.Packet {
		p := answer(kind, ack, about)
		p.TCP.Flags = packet.ECE
		return p
	}
	w.s.Receive(us, marked(packet.Ack, 1000, 0))
	w.s.Receive(2*us, marked(packet.Ack, 2000, 1000))
	if w.s.control.State != cc.Reduced {
		t.Errorf("state %v", w.s.control.State)
	}
	w.s.Emit(2*us, &packet.Packet{})
	w.s.Receive(3*us, marked(packet.Ack, 4000, 3000))
	w.s.Receive(4*us, marked(packet.Nack, 4000, 4000))
	want := "1us ecn-echo, 3us recovered, 3us ecn-echo, 4us loss-in-reduction"
	if got := strings.Join(w.c.log, ", "); got != want || w.s.control.State != cc.Recovery {
		t.Errorf("%v: %s, want %s", w.s.control.State, got, want)
	}
	w = newPipe(t, 0, nil, &fixed{window: 4000, keep: true}, cc.CNPMode)
	w.s.Emit(0, &packet.Packet{})
	w.s.Receive(us, marked(packet.Ack, 1000, 0))
	if len(w.c.log) > 0 || !w.c.acks[0].ECN.Echo {
		t.Errorf("%v, echo %v", w.c.log, w.c.acks[0].ECN.Echo)
	}
}

// TestReceiver_LimitsCNPRate checks DCQCN §3.1: at most one CNP of a flow in 50 µs, at once with the first mark.
func TestReceiver_LimitsCNPRate(t *testing.T) {
	w := newPipe(t, 10_000_000, nil, &fixed{window: 50_000}, cc.CNPMode)
	var at []unit.Time
	w.onData = func(p *packet.Packet) (int, unit.Time) { p.TOS |= packet.CE; return 1, 0 }
	w.onBack = func(p *packet.Packet) (int, unit.Time) {
		if p.Kind == packet.Notice {
			at = append(at, w.now)
			if p.Size != 50 || p.TOS&packet.ECN != 0 {
				t.Errorf("a CNP of %d bytes, ECN %d", p.Size, p.TOS&3)
			}
		}
		return 1, 0
	}
	w.runUntil(unit.Second)
	w.done(10_000_000)
	end := w.r.Counters().Finished
	for i := 1; i < len(at); i++ {
		if gap := at[i] - at[i-1]; gap < 50*us || gap > 50*us+100*unit.Nanosecond {
			t.Errorf("CNPs %v apart", gap)
		}
	}
	if want := int(end/(50*us)) - 1; len(at) < want || w.c.notices != len(at) {
		t.Errorf("%d CNPs in %v, %d came to the controller", len(at), end, w.c.notices)
	}
}

// TestSender_ChecksNotices checks that notices are verified (draft-miao §9.1): the flow is known, the packet is in
// flight, and the notice is no replay. Notices that fail change no state.
func TestSender_ChecksNotices(t *testing.T) {
	w := newPipe(t, 50_000, repeat, &fixed{window: 10_000}, cc.CNPMode)
	for range 5 {
		w.s.Emit(0, &packet.Packet{})
	}
	w.s.Receive(us, answer(packet.Ack, 1000, 0))
	w.s.Receive(us, answer(packet.Nack, 1000, 3000))
	for i, x := range []struct {
		seq  int64
		port uint16
		want int
	}{
		// acknowledged, never sent, no packet of the flow, SACKed
		{0, 20, 0}, {5000, 20, 0}, {-1000, 20, 0}, {51_000, 20, 0}, {payload << 22, 20, 0}, {3000, 20, 0},
		{2000, 21, 0}, {2000, 20, 1}, {2000, 20, 1}, {4000, 20, 2},
	} {
		p := answer(packet.Notice, 0, x.seq)
		p.SrcPort = x.port
		w.s.Receive(2*us, p)
		if w.c.notices != x.want || int(w.s.Notices()) != x.want {
			t.Errorf("notice %d, for %d from port %d: %d have come through, want %d", i, x.seq, x.port, w.c.notices, x.want)
		}
	}
	w.s.Emit(3*us, &packet.Packet{}) // 1000 and 2000 go again, and can be marked again
	w.s.Emit(3*us, &packet.Packet{})
	w.s.Receive(4*us, answer(packet.Notice, 0, 2000))
	if w.c.notices != 3 {
		t.Errorf("%d notices", w.c.notices)
	}
}

// TestSender_IgnoresForgedAcknowledgements checks that impossible acknowledgements change no state: of packets never
// sent, of another flow, replays.
func TestSender_IgnoresForgedAcknowledgements(t *testing.T) {
	w := newPipe(t, 50_000, repeat, &fixed{window: 10_000}, 0)
	for range 5 {
		w.s.Emit(0, &packet.Packet{})
	}
	w.s.Receive(us, answer(packet.Nack, 1000, 3000))
	before, losses := *w.s, w.c.losses
	ring := records(w.s)
	other := answer(packet.Ack, 4000, 3000)
	other.DstPort++
	tcp := answer(packet.Ack, 4000, 3000)
	tcp.Proto = packet.ProtoTCP
	for _, p := range []*packet.Packet{answer(packet.Ack, 6000, 0), answer(packet.Ack, payload<<22, 0),
		answer(packet.Ack, -1000,
			0), answer(packet.Ack, 51_000, 2000),
		answer(packet.Nack, 1000, 3000), answer(packet.Nack, 0, 3000), answer(packet.Ack, 1000, 0), answer(packet.Nack, 1000,
			5000), answer(packet.Data, 4000, 0), other, tcp} {
		w.s.Receive(2*us, p)
		after := *w.s
		after.counters, after.report = before.counters, before.report
		after.ring = transport.Ring[sent]{}
		b := before
		b.ring = transport.Ring[sent]{}
		if !same(&after, &b) || w.c.losses != losses {
			t.Errorf("%s changes the sender:\n%+v\n%+v", describe(p), after, b)
		}
		for i, x := range records(w.s) {
			if ring[i] != x {
				t.Errorf("%s changes packet %d", describe(p), i)
			}
		}
	}
	// and to the receiver: no packet's start, wrong length, too far ahead
	for _, p := range []*packet.Packet{{Seq: packet.PSNMask, Payload: payload}, {Seq: 1, Payload: 999},
		{Seq: 50, Payload: payload}, {Seq: -1, Payload: payload}, {Seq: 0, Payload: payload, Kind: packet.Ack}} {
		p.SrcPort, p.DstPort, p.Proto = 10, 20, packet.ProtoRDMA
		if w.r.Receive(0, p) || w.r.firstMissing() != 0 || w.r.NextSend() != unit.Never {
			t.Errorf("the receiver takes %s", describe(p))
		}
	}
}

func same(a, b *Sender) bool {
	return a.una == b.una && a.next == b.next && a.top == b.top && a.plan == b.plan && a.planAt == b.planAt &&
		a.sackedOut == b.sackedOut &&
		a.goneOut == b.goneOut && a.control.State == b.control.State && a.rate.Delivered == b.rate.Delivered &&
		a.timer.Trip == b.timer.Trip &&
		a.timerAt == b.timerAt && a.lostTotal == b.lostTotal
}

// headersOf is what RoCEv2 adds to whole packets over IPv4.
func headersOf(p *packet.Packet) int32 {
	const least = 14 + 20 + 8 + 12 + 4
	switch {
	case p.Kind == packet.Data && p.Seq > 0:
		return least
	case p.Kind == packet.Data || p.Kind == packet.Notice: // RETH, or what a CNP reserves
		return least + 16
	case p.Seq+1 == p.Ack: // AETH
		return least + 4
	}
	return least + 4 + 4
}

// TestTelemetryEcho checks HPCC §4.1: the ACK returns the data's telemetry and counts its bytes. A delayed ACK has the
// newest, and CNPs have none.
func TestTelemetryEcho(t *testing.T) {
	for _, x := range []struct {
		every, asked int
		mode         cc.ECNMode
	}{{1, 1, 0}, {4, 1, 0}, {100, 1, 0}, {1, 1, cc.CNPMode}, {3, 1, cc.CNPMode}, {1, 3, 0}, {4, 3, 0}, {100, 3, 0}} {
		t.Run(fmt.Sprintf("every %d, asked %d, mode %d", x.every, x.asked, x.mode), func(t *testing.T) {
			w := newPipe(t, 20_000, func(c *Config) {
				c.AckEvery = x.every
				if x.asked > 1 {
					c.Telemetry = transport.TelemetryOptions{When: transport.AskPackets, Packets: x.asked}
				}
			}, &fixed{window: 6000, want: telemetry.HopRecords}, x.mode)
			w.s.framing, w.r.framing = packet.Framings[0], packet.Framings[0]
			newest, asked := int64(-1), 0
			w.onData = func(p *packet.Packet) (int, unit.Time) {
				if hpcc.RequestsOf(p) != 0 {
					asked++
					if p.Size != headersOf(p)+48+p.Payload { // 2 + 2 + 42, padded
						t.Errorf("%s: %d bytes", describe(p), p.Size)
					}
					if p.Seq%int64(x.asked) != 0 {
						t.Errorf("%s asks for telemetry", describe(p))
					}
					hpcc.PushRecord(p, &telemetry.Hop{Switch: 7, Rate: lineRate, Queue: unit.Bytes(80 * p.Seq)})
				}
				if x.mode != 0 && p.Seq%4 == 0 {
					p.TOS |= packet.CE
				}
				return 1, 0
			}
			w.onBack = func(p *packet.Packet) (int, unit.Time) {
				var r telemetry.Records
				what, _ := hpcc.ReadAnswer(p, &r)
				switch want := headersOf(p) + p.ExtensionBytes(); {
				case p.Kind == packet.Notice && p.HasExtensions():
					t.Error("a CNP has telemetry")
				case p.Size != want || hpcc.RequestsOf(p) != 0:
					t.Errorf("%s: %d bytes, want %d, asks for %d", describe(p), p.Size, want, hpcc.RequestsOf(p))
				case what != telemetry.Recorded:
					if x.every == 1 && x.asked == 1 && p.Kind != packet.Notice {
						t.Errorf("%s has no telemetry", describe(p))
					}
				case r.Len() != 1 || r.PathID() != 7:
					t.Errorf("%s: %+v", describe(p), r.Hops())
				default:
					newest = int64(r.At(0).Queue) / 80
					if x.every == 1 && newest != p.Seq {
						t.Errorf("%s has the telemetry of packet %d", describe(p), newest)
					}
				}
				return 1, 0
			}
			seen := 0
			w.c.onAck = func(_ unit.Time, a *cc.Ack) {
				if len(a.Telemetry.Hops) == 0 {
					return
				}
				seen++
				if n := int64(a.Telemetry.Hops[0].Queue) / 80; n < a.FirstUnacked/payload-int64(x.asked) ||
					n > a.FirstUnacked/payload ||
					a.Seq < (n+1)*payload || a.Telemetry.Path != 7 {
					t.Errorf("the controller gets telemetry of packet %d with %d acknowledged, Seq %d", n, a.FirstUnacked, a.Seq)
				}
			}
			w.runUntil(unit.Second)
			w.done(20_000)
			if seen == 0 || newest < 20-int64(x.asked) || asked != (20+x.asked-1)/x.asked {
				t.Errorf("%+v: %d ACKs, the last telemetry is of packet %d, %d asked", x, seen, newest, asked)
			}
		})
	}
}

// TestTelemetryFraming checks the framing of the HPCC simulator: 90 bytes in addition to the payload, ACKs of 88.
func TestTelemetryFraming(t *testing.T) {
	framing, _ := packet.FramingByName("hpcc")
	f := newFlow(2000, &fixed{window: 6000, timer: unit.Never, want: telemetry.HopRecords}, 0)
	f.Framing = framing
	s, r, err := New(f, Defaults())
	if err != nil {
		t.Fatal(err)
	}
	p := &packet.Packet{Src: 1, Dst: 2}
	if s.Emit(0, p); p.Size != 1090 {
		t.Errorf("data of %d bytes", p.Size)
	}
	if !r.Receive(us, p) || p.Size != 88 || p.Src != 2 || p.Dst != 1 {
		t.Errorf("an ACK of %d bytes from %d to %d", p.Size, p.Src, p.Dst)
	}
}

// TestDeliveryRate checks that at a full link the delivery-rate samples are the link's, one packet in 84 ns.
func TestDeliveryRate(t *testing.T) {
	w := newPipe(t, 1_000_000, nil, &fixed{window: 200_000, keep: true}, 0)
	w.runUntil(unit.Second)
	w.done(1_000_000)
	n := 0
	for i, a := range w.c.acks {
		if i < 300 || i > 700 || a.Delivery.Packets == 0 {
			continue
		}
		n++
		if per := float64(a.Delivery.Interval) / float64(a.Delivery.Packets); per < 83_000 || per > 85_000 {
			t.Errorf("ACK %d: %d packets in %v", i, a.Delivery.Packets, a.Delivery.Interval)
		}
		if a.RTT.Sample != 4*us+84*unit.Nanosecond || a.RTT.Min != a.RTT.Sample || a.Packets != 1 || a.Bytes != payload {
			t.Errorf("ACK %d: %+v", i, a)
		}
	}
	if n < 300 {
		t.Errorf("%d samples", n)
	}
}

// TestSender_ProbesOncePerRoundTrip checks draft-miao §6.1, guideline 4: probes use the flow's 5-tuple and go once per
// round trip while packets are in flight; the receiver answers them. Data then requests no telemetry. The probes'
// telemetry belongs to a packet after all sent packets.
func TestSender_ProbesOncePerRoundTrip(t *testing.T) {
	w := newPipe(t, 100_000, func(c *Config) { c.Telemetry.When = transport.AskProbe },
		&fixed{window: 6000, want: telemetry.HopRecords}, 0)
	probes, answers := 0, 0
	var last unit.Time
	w.onData = func(p *packet.Packet) (int, unit.Time) {
		if p.Kind != packet.Probe {
			if p.HasExtensions() {
				t.Errorf("%s asks", describe(p))
			}
			return 1, 0
		}
		probes++
		if p.SrcPort != 10 || p.DstPort != 20 || p.Proto != packet.ProtoRDMA || p.Payload != 0 || p.Size != 50 ||
			hpcc.RequestsOf(p) != telemetry.WantsRecord {
			t.Errorf("%+v", p)
		}
		if probes > 2 && w.now-last < 4*us { // the first is before there is an RTT
			t.Errorf("probes at %v and %v", last, w.now)
		}
		last = w.now
		hpcc.PushRecord(p, &telemetry.Hop{Rate: lineRate, Switch: 3})
		return 1, 0
	}
	w.onBack = func(p *packet.Packet) (int, unit.Time) {
		if p.Kind == packet.Probe {
			answers++
		}
		return 1, 0
	}
	seen := 0
	w.c.onAck = func(_ unit.Time, a *cc.Ack) {
		if a.Telemetry.Hops != nil {
			seen++
			if a.Packets != 0 || a.Telemetry.Path != 3 || a.Seq <= a.FirstUnacked || a.Seq > a.Next+1 {
				t.Errorf("%+v", a)
			}
		}
	}
	w.runUntil(unit.Second)
	w.done(100_000)
	if probes < 15 || probes > 30 || answers != probes || seen < probes-2 {
		t.Errorf("%d probes, %d answers, %d seen", probes, answers, seen)
	}
}

// TestReceiver_CoalescesAcknowledgements checks that the receiver sends ACKs of every n-th packet, at the latest after
// the delay, and at once at the end.
func TestReceiver_CoalescesAcknowledgements(t *testing.T) {
	conf := func(c *Config) { c.AckEvery, c.AckDelay = 8, 30*us }
	w := newPipe(t, 100_000, conf, &fixed{window: 1 << 20}, 0)
	acks := 0
	w.onBack = func(*packet.Packet) (int, unit.Time) { acks++; return 1, 0 }
	w.runUntil(unit.Second)
	w.done(100_000)
	if acks != 13 {
		t.Errorf("%d ACKs of 100 packets", acks)
	}
	// a window below n: its packets request, and no packet waits
	w = newPipe(t, 10_000, conf, &fixed{window: 5000, keep: true}, 0)
	w.runUntil(unit.Second)
	w.done(10_000)
	for _, a := range w.c.acks {
		if len(w.c.acks) != 10 || a.RTT.Delayed || a.RTT.Sample > 5*us {
			t.Fatalf("%d ACKs, delayed %v, RTT %v", len(w.c.acks), a.RTT.Delayed, a.RTT.Sample)
		}
	}
	// of 24 packets every third asks
	w = newPipe(t, 100_000, func(c *Config) { c.AckEvery = 1000 }, &fixed{window: 24_000, keep: true}, 0)
	w.onData = func(p *packet.Packet) (int, unit.Time) {
		if asks := p.TCP.Flags&packet.NoAckRequest == 0; asks != (p.Seq%3 == 2) {
			t.Errorf("packet %d asks: %v", p.Seq, asks)
		}
		return 1, 0
	}
	w.runUntil(unit.Second)
	w.done(100_000)
	// if the requesting packets do not arrive the delay bounds the wait
	w = newPipe(t, 10_000, conf, &fixed{window: 5000, keep: true}, 0)
	w.onData = func(p *packet.Packet) (int, unit.Time) { p.TCP.Flags |= packet.NoAckRequest; return 1, 0 }
	w.runUntil(unit.Second)
	w.done(10_000)
	if w.s.Timeouts() != 0 || len(w.c.acks) != 2 {
		t.Fatalf("%d timeouts, %d ACKs", w.s.Timeouts(), len(w.c.acks))
	}
	if a := w.c.acks[0]; a.Packets != 5 || a.RTT.Sample != 30*us+4*us+
		84*unit.Nanosecond-4*84*unit.Nanosecond {
		t.Errorf("the first ACK: %d packets, RTT %v", a.Packets, a.RTT.Sample)
	}
}

// TestFilledGap checks that a packet that fills a gap is acknowledged at once, for any number of packets per ACK.
func TestFilledGap(t *testing.T) {
	w := newPipe(t, 10_000, func(c *Config) { c.Recovery, c.AckEvery = SelectiveRepeat, 100 }, &fixed{window: 1 << 20}, 0)
	for i, x := range []struct {
		n     int64
		want  string
		reply bool
	}{{0, "", false}, {2, "nack 1000 for 2000, 50 B", true}, {1, "ack 3000 for 1000, 50 B", true}, {3, "", false}} {
		t.Run(fmt.Sprint("packet ", x.n), func(t *testing.T) {
			p := &packet.Packet{Seq: x.n, Payload: payload, SrcPort: 10, DstPort: 20, Proto: packet.ProtoRDMA}
			p.TCP.Flags = packet.NoAckRequest
			if got := w.r.Receive(us, p); got != x.reply || got && describe(p) != x.want {
				t.Errorf("%d: packet %d gives %v, %s", i, x.n, got, describe(p))
			}
		})
	}
	if w.r.NextTimer() != 5*us {
		t.Errorf("the ACK of the last waits until %v", w.r.NextTimer())
	}
}
