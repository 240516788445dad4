package lab

import (
	"testing"

	"weir/core/packet"
	"weir/core/unit"
)

// TestLimitOfLink checks that a host's kernel sends frames at the rate of the link's serialiser: the same bytes a
// second, with the framing's overhead and minimum frame, or the same time for each frame. A full frame always fits into
// the burst, and two never do where the link is slow, so TCP's large sends are cut into segments. Below 25 Mb/s two
// segments take a millisecond, and each is sent separately.
func TestLimitOfLink(t *testing.T) {
	const room = DefaultMTU + packet.EthernetHeader
	for _, name := range []string{"l2", "wire"} {
		framing, _ := packet.FramingByName(name)
		for _, rate := range []unit.LinkRate{{Bits: 5 * unit.Mbps}, {Bits: 20 * unit.Mbps}, {Bits: 50 * unit.Mbps},
			{Bits: unit.Gbps}, {Bits: 100 * unit.Gbps}, {Packets: 4000}} {
			x := newRateLimit(rate, &framing, room)
			for _, n := range []int32{60, 66, 590, room} { // what the kernel counts, as tc-tbf(8) has it
				counted := max(uint64(n)+uint64(x.overhead), uint64(x.minFrame))
				got := unit.Time(counted * uint64(unit.Second) / x.bytes)
				s := unit.NewSerialiser(rate)
				want := s.NextTime(framing.FrameBytes(n, 0, true), false)
				if diff := got - want; diff < -unit.Nanosecond || diff > unit.Nanosecond {
					t.Errorf("%s, %v: %d bytes take %v, want %v", name, rate, n, got, want)
				}
			}
			if x.burst < room || rate.Bits > 0 && rate.Bits < 100*unit.Mbps && x.burst >= 2*room {
				t.Errorf("%s, %v: bursts of %d bytes", name, rate, x.burst)
			}
			if wait := unit.Time(uint64(x.burst) * uint64(unit.Second) / x.bytes); rate.Bits > 100*unit.Mbps &&
				wait > timerSlack+unit.Microsecond {
				t.Errorf("%s, %v: a burst takes %v", name, rate, wait)
			}
			if plain := name == "l2" && rate.Bits > 20*unit.Mbps; x.single == plain {
				t.Errorf("%s, %v: segments on their own: %v", name, rate, x.single)
			}
		}
	}
}
