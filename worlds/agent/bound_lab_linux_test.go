//go:build lab

package agent

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/cilium/ebpf"

	"weir/core/packet"
	"weir/core/unit"
)

// The structures of bpf/notice.h, bpf/bound.h and bpf/ncftest.c.
type (
	rawSpan struct {
		Offset int32
		Lost   uint32
	}
	rawNotice struct {
		Supply, Demand          uint64
		Lost, Node, Stamp, Echo uint32
		Cause, Named, Spans, _  uint8
		More                    [2]rawSpan
		_                       uint32
	}
	rawSender struct {
		Now, Sent                                                 uint64
		Seq, Window, Segment, Frame, Trip, Least, Cubic, Reducing uint32
	}
	rawAsked struct {
		Now, Left, Acknowledged uint64
		Window, Field, Scale, _ uint32
	}
	rawBounded struct {
		Nacked         rawNacked
		Notice         rawNotice
		Field, Allowed uint32
	}
)

// nackTests are the programs of bpf/ncftest.c.
type nackTests struct {
	t testing.TB
	*ebpf.Collection
}

func newNackTests(t testing.TB, follow uint32) *nackTests {
	t.Helper()
	return &nackTests{t, loaded(t, "bpf/ncftest.o", "follow", follow)}
}

// runProgram runs a BPF program on a frame with the given contents. It returns the program's result and the bounds that
// the kernel's map then has.
func (n *nackTests) runProgram(program string, in ...any) (said uint32, b rawBounded) {
	n.t.Helper()
	frame := make([]byte, 14)
	for _, x := range in {
		var err error
		if raw, is := x.([]byte); is {
			frame = append(frame, raw...)
		} else if frame, err = binary.Append(frame, ne, x); err != nil {
			n.t.Fatal(err)
		}
	}
	frame = append(frame, make([]byte, max(0, 60-len(frame)))...)
	said, _, err := n.Programs[program].Test(frame)
	if err == nil {
		err = n.Maps["bounds"].Lookup(uint32(0), &b)
	}
	if err != nil {
		n.t.Fatal(err)
	}
	return said, b
}

// options returns the TCP options of a frame over IPv4 or IPv6 without other headers.
func options(frame []byte) []byte {
	at := 34
	if frame[12] == 0x86 {
		at = 54
	}
	return frame[at+20 : at+int(frame[at+12]>>4)*4]
}

// TestNotice_IsReadAsByCorePacket checks that random notices, in both named forms and both versions of IP, are read as
// core/packet writes them. Options that are damaged or cut anywhere are read, or refused, as in core/packet.
func TestNotice_IsReadAsByCorePacket(t *testing.T) {
	tests, random := newNackTests(t, 0), rand.New(rand.NewPCG(24, 1))
	book := packet.NewBook()
	book.Add(netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("fd09::1"))
	book.Add(netip.MustParseAddr("10.0.0.2"), netip.MustParseAddr("fd09::2"))
	read, not := 0, 0
	for i := range 4000 {
		n := packet.Notification{Cause: packet.Cause(random.IntN(int(packet.Causes))), Lost: random.Int32N(1 << 16),
			Supply: unit.Rate(random.Int64N(1<<32)>>random.IntN(32)) * unit.Kbps,
			Demand: unit.Rate(random.Int64N(1<<32)>>random.IntN(32)) * unit.Kbps, Signed: random.IntN(2) == 0}
		if n.Signed {
			n.Switch = random.Uint32()
		}
		n.Spans = uint8(random.IntN(int(packet.OptionSpans(n.Signed)) + 1))
		for k := range n.Spans {
			n.More[k] = packet.Span{Offset: int32(random.Uint32()), Lost: 1 + random.Int32N(65535)}
		}
		p := packet.Packet{Src: 1, Dst: 2, Proto: packet.ProtoTCP, Version: uint8(4 + i%2*2), HopLimit: 64, SrcPort: 7,
			DstPort: 9, Seq: int64(random.Uint32()), Ack: int64(random.Uint32())}
		p.TCP.Present, p.TCP.Flags = packet.HasTimestamps, packet.ACK
		p.TCP.TSVal, p.TCP.TSEcho = random.Uint32(), random.Uint32()
		if p.SwapEnds(); !p.SetNotice(&n) {
			t.Fatalf("no room for %+v", n)
		}
		frame, err := p.Emit(book, nil)
		if err != nil {
			t.Fatal(err)
		}
		b := options(frame)
		for range random.IntN(3) {
			b[random.IntN(len(b))] = []byte{byte(random.Uint32()), 0, 1, 2, 5, 8, 253, 11, 24}[random.IntN(9)]
		}
		var q packet.Packet
		var want packet.Notification
		is := q.Parse(book, frame) == nil && q.Notification(&want)
		said, got := tests.runProgram("reads", uint32(len(b)), b)
		if is != (said == 1) {
			t.Fatalf("% x: core/packet reads %t, the program says %d", b, is, int32(said))
		}
		if !is {
			not++
			continue
		}
		read++
		x := got.Notice
		_, echo := q.NoticeSubject()
		have := packet.Notification{Cause: packet.Cause(x.Cause), Lost: int32(x.Lost), Supply: unit.Rate(x.Supply),
			Demand: unit.Rate(x.Demand), Switch: x.Node, Signed: x.Named == 1, Spans: x.Spans}
		for k := range min(x.Spans, 2) {
			have.More[k] = packet.Span{Offset: x.More[k].Offset, Lost: int32(x.More[k].Lost)}
		}
		if have != want || x.Stamp != q.TCP.TSVal || x.Echo != echo {
			t.Fatalf("% x is read as %+v, want %+v", b, have, want)
		}
	}
	if read < 1500 || not < 500 {
		t.Errorf("%d are read and %d are not", read, not)
	}
}

// TestReduction_MatchesSimulatorSenders compares a reduction with the simulator's senders (core/cc): CUBIC 0.7 as in
// Linux (717 of 1024), others half (RFC 5681 §3.1), 0.85 and 0.8 without a loss (RFC 8511 §3.1) but no less than the
// offer. It leaves at least two segments, occurs once a round trip, and lasts two round trips, at most 100 ms.
func TestReduction_MatchesSimulatorSenders(t *testing.T) {
	const ms = 1_000_000
	base := rawSender{Now: 5000 * ms, Sent: 4990 * ms, Seq: 1, Window: 1_000_000, Segment: 1000, Frame: 1066, Trip: 10_000,
		Least: 8000, Cubic: 1}
	lost := rawNotice{Cause: uint8(packet.CauseTrimmed), Lost: 1000, Supply: 80_000_000}
	elephant := rawNotice{Cause: uint8(packet.CauseElephant), Supply: 80_000_000}
	for _, x := range []struct {
		name   string
		follow uint32
		notice rawNotice
		change func(*rawSender, *rawNotice)
		bound  uint32
	}{
		{"CUBIC, loss", followLoss, lost, nil, 1_000_000 * 717 / 1024},
		{"others, loss", followLoss, lost, func(s *rawSender, _ *rawNotice) { s.Cubic = 0 }, 500_000},
		{"CUBIC, nothing lost", followLoss, elephant, nil, 1_000_000 * 870 / 1024},
		{"others, nothing lost", followLoss, elephant, func(s *rawSender, _ *rawNotice) { s.Cubic = 0 },
			1_000_000 * 819 / 1024},
		{"less than is offered", followLoss, elephant, func(s *rawSender, _ *rawNotice) { s.Window = 90_000 }, 0},
		{"no lower than offered", followLoss, elephant, func(s *rawSender, _ *rawNotice) { s.Window = 100_000 }, 95_000},
		{"marked", followSupply, rawNotice{Cause: uint8(packet.CauseMarked)}, nil, 1_000_000 * 717 / 1024},
		{"two segments", followLoss, lost, func(s *rawSender, _ *rawNotice) { s.Window = 2500 }, 2000},
		{"its own recovery", followLoss, lost, func(s *rawSender, _ *rawNotice) { s.Reducing = 1 }, 0},
		// 80 Mb/s for 8 ms are 80000 bytes of frames, 75.05 of 1066, and one more.
		{"supply", followSupply, lost, nil, 77_000},
		{"supply, nothing lost", followSupply, elephant, nil, 77_000},
		{"supply, in its own recovery", followSupply, lost, func(s *rawSender, _ *rawNotice) { s.Reducing = 1 }, 77_000},
		{"half of the demand", followSupply, lost, func(_ *rawSender, n *rawNotice) {
			n.Supply, n.Demand = 0, 160_000_000
		}, 77_000},
		{"neither is said", followSupply, lost, func(_ *rawSender, n *rawNotice) { n.Supply = 0 }, 500_000},
		{"more than it has", followSupply, lost, func(s *rawSender, _ *rawNotice) { s.Window = 70_000 }, 0},
		{"a supply of nothing", followSupply, lost, func(_ *rawSender, n *rawNotice) { n.Supply = 1000 }, 2000},
	} {
		t.Run(x.name, func(t *testing.T) {
			tests := newNackTests(t, x.follow)
			s, n := base, x.notice
			if x.change != nil {
				x.change(&s, &n)
			}
			said, b := tests.runProgram("reacts", n, s)
			if said != 1 || b.Nacked.Bound != x.bound || b.Nacked.Taken != 1 {
				t.Fatalf("%d: %+v, want a bound of %d", said, b.Nacked, x.bound)
			}
			if x.bound == 0 {
				return
			}
			allowed := func(after uint64) uint32 {
				_, b := tests.runProgram("lowers", rawAsked{Now: s.Now + after, Window: s.Window, Field: 65535, Scale: 7})
				return b.Allowed
			}
			half := x.bound + (s.Window-x.bound)/2
			const later = 35 * ms / 2
			if allowed(0) != x.bound || allowed(15*ms) != x.bound || allowed(20*ms) != 1<<32-1 ||
				allowed(later) < half-half/50 || allowed(later) > half+half/50 || allowed(20*ms-1) < s.Window*99/100 {
				t.Errorf("after 0, 15, 17.5 and 20 ms %d, %d, %d and %d are allowed", allowed(0), allowed(15*ms), allowed(later),
					allowed(20*ms))
			}
			if said, b = tests.runProgram("reacts", n, s); said != 0 || b.Nacked.Bound != x.bound || b.Nacked.Repeated != 1 {
				t.Errorf("again: %d, %+v", said, b.Nacked)
			}
			s.Now, s.Seq = s.Now+9*ms, s.Seq+1000
			if _, b = tests.runProgram("reacts", n, s); b.Nacked.Bound != x.bound || b.Nacked.Taken != 2 ||
				b.Nacked.Reductions != 1 {
				t.Errorf("within the round trip: %+v", b.Nacked)
			}
		})
	}
}

// TestWindowField_IsLoweredToBound checks that a window's field never rises, and is never below the allowed bytes plus
// those that have left the path. It exceeds these by less than a unit of its scale (RFC 7323 §2.3).
func TestWindowField_IsLoweredToBound(t *testing.T) {
	tests, random := newNackTests(t, 0), rand.New(rand.NewPCG(24, 2))
	const trip, now = 10_000, 9_000_000_000
	for range 2000 {
		bound := 3000 + random.Uint32N(1<<20)
		state := rawBounded{Nacked: rawNacked{At: now - 1, Bound: bound, Trip: trip}}
		if err := tests.Maps["bounds"].Put(uint32(0), &state); err != nil {
			t.Fatal(err)
		}
		a := rawAsked{Now: now, Left: random.Uint64N(1 << 19), Acknowledged: random.Uint64N(1 << 19), Window: bound << 1,
			Field: random.Uint32N(1 << 16), Scale: random.Uint32N(15)}
		_, b := tests.runProgram("lowers", a)
		want := uint64(bound)
		if a.Left > a.Acknowledged {
			want += a.Left - a.Acknowledged
		}
		got, unit := uint64(b.Field)<<a.Scale, uint64(1)<<a.Scale
		if b.Field > a.Field || b.Field < a.Field && (got < want || got >= want+unit) ||
			b.Field == a.Field && want <= got && want+unit <= got {
			t.Fatalf("%+v, bound %d: the field becomes %d", a, bound, b.Field)
		}
	}
}

// reactTo is react of bpf/bound.h according to its description, in floating point where bpf/bound.h uses integers.
func (n *rawNacked) reactTo(x *rawNotice, s *rawSender, follow uint32) bool {
	if s.Sent < n.Sent || s.Sent == n.Sent && int32(s.Seq-n.Seq) <= 0 {
		n.Repeated++
		return false
	}
	hold := uint64(n.holdTime())
	held := n.Bound > 0 && s.Now-n.At < hold
	within := n.Bound > 0 && s.Now-n.Reduced < uint64(s.Trip)*1000
	supplies := follow == followSupply && packet.Cause(x.Cause) != packet.CauseMarked
	allowed := float64(s.Window)
	if held {
		if age, quarter := s.Now-n.At, hold/4; age <= 3*quarter || n.Bound >= s.Window {
			allowed = min(allowed, float64(n.Bound))
		} else {
			part := float64((age-3*quarter)>>8) / float64(quarter>>8+1)
			allowed = float64(n.Bound) + float64(int64(float64(s.Window-n.Bound)*part))
		}
		if !within {
			n.Bound = uint32(allowed)
		}
	} else if n.Bound > 0 {
		n.Expired++
		if !within {
			n.Bound = 0
		}
	}
	n.Taken++
	n.At, n.Trip, n.Sent, n.Seq = s.Now, s.Trip, s.Sent, s.Seq
	n.Supply, n.Demand, n.Node, n.Cause = x.Supply, x.Demand, x.Node, uint32(x.Cause)
	offered := func(rate uint64, trip uint32) uint64 {
		frames := (rate/8*uint64(min(trip, 1e6))/1e6 + uint64(s.Frame) - 1) / uint64(s.Frame)
		return (frames + 1) * uint64(s.Segment)
	}
	var want uint64
	switch rate := max(x.Supply, min(x.Demand/2, x.Demand)); {
	case supplies && x.Supply > 0:
		want = offered(x.Supply, s.Least)
	case supplies && x.Demand/2 > 0:
		want = offered(rate, s.Least)
	case supplies && within:
		want = 1<<32 - 1
	case supplies:
		want = uint64(allowed) / 2
	case s.Reducing > 0:
		want = 1<<32 - 1
	default:
		share := [2][2]uint64{{512, 717}, {819, 870}}[0]
		if packet.Cause(x.Cause) == packet.CauseElephant {
			share = [2]uint64{819, 870}
		}
		if want = uint64(allowed) * share[s.Cubic] >> 10; packet.Cause(x.Cause) == packet.CauseElephant && x.Supply > 0 {
			want = max(want, offered(x.Supply, s.Trip))
		}
	}
	want = max(want, 2*uint64(s.Segment))
	switch {
	case within && (!supplies || want >= uint64(n.Bound)):
	case !within && supplies && want >= uint64(s.Window):
		n.Bound = 0
	case !within && !supplies && want >= uint64(allowed):
	default:
		n.Bound = uint32(want)
		n.Reductions++
		if !within {
			n.Reduced = s.Now
		}
	}
	return true
}

// TestReactTo_MatchesKernelOverHistories compares the kernel with reactTo over long histories. In any case no bound is
// below two segments, and the bound ends two round trips after the last NACK.
func TestReactTo_MatchesKernelOverHistories(t *testing.T) {
	for _, follow := range []uint32{followLoss, followSupply} {
		t.Run(fmt.Sprint(follow), func(t *testing.T) {
			tests, random := newNackTests(t, follow), rand.New(rand.NewPCG(24, 3+uint64(follow)))
			var want rawNacked
			now, bounds := uint64(1e12), 0
			for i := range 5000 {
				trip := 50 + random.Uint32N(1<<random.IntN(18))
				now += random.Uint64N(uint64(trip) * 1500)
				x := rawNotice{Cause: uint8(random.IntN(int(packet.Causes))), Lost: 1448,
					Supply: random.Uint64N(1 << random.IntN(34)),
					Demand: random.Uint64N(1 << random.IntN(34)), Node: random.Uint32()}
				if random.IntN(3) == 0 {
					x.Supply = 0
				}
				s := rawSender{Now: now, Sent: now - random.Uint64N(uint64(trip)*1000), Seq: random.Uint32N(1 << 20),
					Window: 2896 + random.Uint32N(1<<random.IntN(24)), Segment: 1448, Frame: 1514, Trip: trip,
					Least: trip - random.Uint32N(40), Cubic: random.Uint32N(2), Reducing: uint32(random.IntN(8) / 7)}
				taken := want.reactTo(&x, &s, follow)
				said, got := tests.runProgram("reacts", x, s)
				if (said == 1) != taken || got.Nacked != want {
					t.Fatalf("%d: %+v, %+v\nbecomes %+v,\nin Go   %+v", i, x, s, got.Nacked, want)
				}
				if want.Bound > 0 {
					bounds++
				}
				if want.Bound > 0 && want.Bound < 2*1448 {
					t.Fatalf("a bound of %d", want.Bound)
				}
			}
			if bounds < 1000 || want.Repeated < 100 || want.Expired < 100 || want.Reductions < 500 {
				t.Errorf("%d bounds, %+v", bounds, want)
			}
		})
	}
}

// TestNacksOfRaw checks that the loader reads the values that the programs store.
func TestNacksOfRaw(t *testing.T) {
	raw := rawNacked{At: 1_000_000, Bound: 5000, Trip: 3000, Cause: 2, Taken: 3, Expired: 1, Supply: 1e6}
	var b bytes.Buffer
	if err := binary.Write(&b, ne, &raw); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		now     int64
		bound   unit.Bytes
		expired uint32
	}{{1_500_000, 5000, 1}, {6_999_999, 5000, 1}, {7_000_000, 0, 2}} {
		var n Nacks
		if err := n.decode(b.Bytes(), x.now); err != nil || n.Bound != x.bound || n.Expired != x.expired ||
			n.Cause != packet.CauseElephant || n.Age != unit.Time(x.now-1_000_000)*unit.Nanosecond || n.Taken != 3 {
			t.Errorf("at %d: %+v, %v", x.now, n, err)
		}
	}
	if err := new(Nacks).decode(b.Bytes()[1:], 0); err == nil {
		t.Error("what is too short is read")
	}
}
