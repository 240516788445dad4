package rdma

import (
	"fmt"
	"net/netip"
	"testing"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/unit"
)

// hosts is a book with the two ends.
func hosts() *packet.Book {
	b := packet.NewBook()
	for _, n := range []string{"1", "2"} {
		b.Add(netip.MustParseAddr("10.0.0."+n), netip.MustParseAddr("fd00::"+n))
	}
	return b
}

// TestRDMA_FramesRoundTrip checks that a frame has as many bytes as it counts, and reads back as it was sent. It covers
// both ends of flows with losses and marks, and full and odd last packets. Messages begin and end, and their count
// returns.
func TestRDMA_FramesRoundTrip(t *testing.T) {
	book := hosts()
	for _, version := range []uint8{4, 6} {
		for size := unit.Bytes(39_998); size < 40_003; size++ {
			t.Run(fmt.Sprintf("IPv%d, %d bytes", version, size), func(t *testing.T) {
				w := newPipe(t, size, repeat, &fixed{window: 9000}, cc.CNPMode)
				for _, e := range []*ends{&w.s.ends, &w.r.ends} {
					e.framing, e.version = packet.Framings[0], version
					e.headers = packet.EthernetHeader + packet.IPHeader(version)
				}
				last, kinds := (int64(size)-1)/payload, [packet.Kinds]int{}
				lossy := drop(3, 8, 9)
				check := func(p *packet.Packet) {
					kinds[p.Kind]++
					frame, err := p.Emit(book, nil)
					if err != nil || len(frame) != int(p.Size) {
						t.Errorf("%s: %d bytes, %v", describe(p), len(frame), err)
					}
					q := packet.Packet{Src: p.Src, Dst: p.Dst, Size: p.Size, Sent: p.Sent}
					if err := q.Parse(book, frame); err != nil || describe(&q) != describe(p) || q.Message != p.Message ||
						q.Ack != p.Ack || q.TCP.Flags != p.TCP.Flags || q.Hash != p.Hash || q.SrcPort != p.SrcPort ||
						q.DstPort != p.DstPort {
						t.Errorf("%v: %+v\nwas %+v", err, q, *p)
					}
				}
				w.onData = func(p *packet.Packet) (int, unit.Time) {
					check(p)
					begins, ends := p.TCP.Flags&packet.FirstOfMessage != 0, p.TCP.Flags&packet.LastOfMessage != 0
					if begins != (p.Seq == 0) || ends != (p.Seq == last) || begins && p.Message != uint32(size) {
						t.Errorf("packet %d of %d: flags %b, message of %d bytes", p.Seq, last, p.TCP.Flags, p.Message)
					}
					if p.Seq%7 == 0 {
						p.TOS |= packet.CE
					}
					return lossy(p)
				}
				w.onBack = func(p *packet.Packet) (int, unit.Time) {
					check(p)
					if done := p.Kind == packet.Ack && p.Ack == last+1; p.Kind != packet.Notice && (p.Message == 1) != done {
						t.Errorf("%s: %d messages are complete", describe(p), p.Message)
					}
					return 1, 0
				}
				w.runUntil(unit.Second)
				w.done(size)
				if kinds[packet.Data] == 0 || kinds[packet.Ack] == 0 || kinds[packet.Nack] == 0 || kinds[packet.Notice] == 0 {
					t.Errorf("kinds %v", kinds)
				}
			})
		}
	}
}

// TestEnds_LimitMessageSize checks that a WRITE has at most 2³¹ bytes: larger flows, and flows without an end, consist
// of several of whole packets.
func TestEnds_LimitMessageSize(t *testing.T) {
	per := int64(1<<31) / payload
	w := newPipe(t, unit.Bytes(5*per/2*payload+1), nil, &fixed{window: 9000}, 0)
	endless := newPipe(t, 0, nil, &fixed{window: 9000}, 0)
	const first, last = packet.FirstOfMessage, packet.LastOfMessage
	for n, want := range map[int64]struct {
		flags, other     uint8
		length           int64
		complete, theirs uint32
	}{
		0:             {first, first, per * payload, 0, 0},
		1:             {0, 0, 0, 0, 0},
		per - 1:       {last, last, 0, 0, 0},
		per:           {first, first, per * payload, 1, 1},
		2*per - 1:     {last, last, 0, 1, 1},
		2 * per:       {first, first, per/2*payload + 1, 2, 2},
		5*per/2 - 1:   {0, 0, 0, 2, 2},
		5 * per / 2:   {last, 0, 0, 2, 2},
		5*per/2 + 1:   {0, 0, 0, 3, 2},
		1<<24 + per*9: {first, 0, 0, 0, 16},
	} {
		flags, length := w.s.messagePlace(n)
		if n <= 5*per/2 && (flags != want.flags || int64(length) != want.length) {
			t.Errorf("packet %d: flags %b, message of %d bytes, want %+v", n, flags, length, want)
		}
		if flags, _ := endless.s.messagePlace(n); n <= 5*per/2 && flags != want.other {
			t.Errorf("packet %d of a flow without an end: flags %b, want %+v", n, flags, want)
		}
		if got := w.r.completeMessages(n); n <= 5*per/2+1 && got != want.complete {
			t.Errorf("before packet %d %d messages are complete, want %+v", n, got, want)
		}
		if got := endless.r.completeMessages(n); got != want.theirs {
			t.Errorf("without an end, before packet %d %d messages are complete, want %+v", n, got, want)
		}
	}
}

// TestEnds_FindNearestPacket checks that a packet sequence number has 24 bits, and means the packet that is nearest.
func TestEnds_FindNearestPacket(t *testing.T) {
	w := newPipe(t, 100_000_000*payload, nil, &fixed{window: 9000}, 0)
	for _, x := range []struct{ psn, near, want int64 }{
		{0, 0, 0}, {5, 0, 5}, {0, 5, 0}, {packet.PSNMask, 0, -1}, {1 << 23, 1 << 23, 1 << 23},
		{3, 1<<24 - 2, 1<<24 + 3}, {packet.PSNMask, 1 << 24, 1<<24 - 1}, {7, 3<<24 + 9, 3<<24 + 7},
		{100_000_000 & packet.PSNMask, 99_999_990, 100_000_000}, {100_000_001 & packet.PSNMask, 99_999_990, -1},
	} {
		t.Run(fmt.Sprintf("%d near %d", x.psn, x.near), func(t *testing.T) {
			if got := w.s.findPacket(x.psn, x.near); got != x.want {
				t.Errorf("packet %d, want %d", got, x.want)
			}
		})
	}
}
