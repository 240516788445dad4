package rdma

import (
	"testing"

	"weir/core/packet"
	"weir/core/unit"
)

// cut removes the payload of the packets with these numbers of transmission, as a switch does. With frames, only the
// missing payload shows it.
func cut(frames bool, numbers ...int) func(*packet.Packet) (int, unit.Time) {
	lose := drop(numbers...)
	return func(p *packet.Packet) (int, unit.Time) {
		if copies, _ := lose(p); copies == 0 {
			p.Size, p.Payload = p.Size-p.Payload, 0
			if !frames {
				p.Meta.Flags |= packet.Trimmed
			}
		}
		return 1, 0
	}
}

// TestReceiver_NamesTrimmedPackets checks that the receiver names each trimmed packet, also a resent one and the
// shorter last one. Exactly these are resent at once, without a timeout. A go-back-N receiver has dropped the packets
// after them.
func TestReceiver_NamesTrimmedPackets(t *testing.T) {
	for _, recovery := range []string{GoBackN, SelectiveRepeat, NoRecovery} {
		for _, frames := range []bool{false, true} {
			w := newPipe(t, 11_500, func(c *Config) { c.Recovery, c.Trimmable = recovery, true },
				&fixed{window: 6000, keep: true}, 0)
			w.onData = cut(frames, 2, 4, 8, 12)
			w.emitted = func(p *packet.Packet) {
				if p.Kind == packet.Data && !p.MayTrim() {
					t.Error("a packet does not say that it may be trimmed")
				}
			}
			w.runUntil(unit.Second)
			w.done(11_500)
			c := w.s.Counters()
			if w.s.Timeouts() > 0 || c.NacksRefused > 0 || recovery != GoBackN && (c.Retransmitted != 4 || c.NacksTaken != 4 ||
				w.r.nacks < 4) {
				t.Errorf("%s: %d timeouts, %d packets sent again, %d NACKs taken, %d refused, %d made", recovery, w.s.Timeouts(),
					c.Retransmitted, c.NacksTaken, c.NacksRefused, w.r.nacks)
			}
			if len(w.c.told) == 0 || w.c.told[0].Lost != 1000 {
				t.Errorf("%s: the controller is told %+v", recovery, w.c.told)
			}
		}
	}
}

// TestNotTrimmable checks that packets of a flow without support for trimming are not trimmed, and a trimmed rest is
// answered as before.
func TestNotTrimmable(t *testing.T) {
	w := newPipe(t, 5000, repeat, &fixed{window: 5000}, 0)
	var p packet.Packet
	if w.s.Emit(0, &p); p.MayTrim() {
		t.Error("a packet says that it may be trimmed")
	}
	p.Src, p.Dst, p.Payload, p.Meta.Flags = 1, 2, 0, packet.Trimmed
	if !w.r.Receive(us, &p) || p.Kind != packet.Nack || p.IsNotification() {
		t.Errorf("the answer is %+v", p)
	}
}

// TestTrimmedDuplicate checks that a trimmed duplicate is acknowledged, and NACKs of it change no state.
func TestTrimmedDuplicate(t *testing.T) {
	w := newPipe(t, 5000, func(c *Config) { repeat(c); c.Trimmable = true }, &fixed{window: 5000}, 0)
	for _, n := range []int64{1, 0} { // out of order, and in order
		for _, trimmed := range []bool{false, true} {
			p := packet.Packet{Src: 1, Dst: 2, SrcPort: 10, DstPort: 20, Proto: packet.ProtoRDMA, Kind: packet.Data, Seq: n,
				Payload: payload, Flow: 1}
			if trimmed {
				p.Payload, p.Meta.Flags = 0, packet.Trimmed
			}
			if w.r.Receive(us, &p); trimmed && (p.Kind != packet.Ack || p.IsNotification()) {
				t.Errorf("packet %d again: %+v", n, p)
			}
		}
	}
	if got := w.r.Counters().DuplicateCount(); got != 2 {
		t.Errorf("%d duplicates", got)
	}
}
