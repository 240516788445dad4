package ncf

import (
	"fmt"
	"math"
	"testing"

	"weir/core/packet"
)

// TestProgram_SignsNacksOnRequest checks NCF §5: the switch's identity is in a notice only on request, in either form
// and of every transport, single and combined, about losses and to the N heaviest.
func TestProgram_SignsNacksOnRequest(t *testing.T) {
	for _, form := range []string{"tcp_option", "extension"} {
		for _, transport := range []uint8{packet.ProtoTCP, packet.ProtoRDMA, packet.ProtoUDP} {
			for _, coalesce := range []string{"0s", "10us"} {
				for _, wire := range []bool{false, true} {
					t.Run(fmt.Sprint(form, ", protocol ", transport, ", coalesce ", coalesce, ", bytes ", wire),
						func(t *testing.T) {
							given := []string{"form", form, "coalesce", coalesce, "udp", "true", "top", "4"}
							told, plain := whoTells(t, wire, transport, append(given, "signed", "true")...),
								whoTells(t, wire, transport, given...)
							if told[7] == 0 || len(told) != 1 || plain[nobody] == 0 || len(plain) != 1 {
								t.Errorf("NACKs by switch: %v with signed, %v without", told, plain)
							}
						})
				}
			}
		}
	}
}

const nobody = math.MaxUint32

// whoTells counts NACKs by the switch that they name.
func whoTells(t *testing.T, wire bool, transport uint8, given ...string) map[uint32]int {
	s := tight(given...)
	s.wire = wire
	r := newRig(t, s)
	r.overflow(ms, 1, 2, 9, 60, proto(transport))
	r.drain()
	_, notices := r.nacks()
	who := map[uint32]int{}
	for _, n := range notices {
		if !n.Signed {
			n.Switch = nobody
		}
		who[n.Switch]++
	}
	return who
}

// TestControlFrame checks that the memory keeps room for control packets of controlFrame: no NACK is larger, and the
// largest is as large.
func TestControlFrame(t *testing.T) {
	largest := int32(0)
	for _, version := range []uint8{4, 6} {
		for _, transport := range []uint8{packet.ProtoTCP, packet.ProtoRDMA, packet.ProtoUDP} {
			for _, option := range []bool{false, true} {
				p := packet.Packet{Src: 1, Dst: 2, Proto: transport, Version: version, Payload: 1000}
				n := packet.Notification{Lost: 1000, Signed: true, Switch: 7}
				room := uint8(packet.MaxSpans)
				if transport == packet.ProtoTCP {
					p.TCP.Flags, p.TCP.Present, p.TCP.Blocks = packet.ACK, packet.HasTimestamps, 3
				}
				if option {
					room = packet.OptionSpans(true)
				}
				for i := range room {
					n.More[i] = packet.Span{Offset: int32(i+1) * 1000, Lost: 1000}
				}
				n.Spans = room
				p.SwapEnds()
				switch {
				case option && transport != packet.ProtoTCP:
					continue
				case option && !p.SetNotice(&n), !option && !p.SetNotification(&n):
					t.Fatalf("IPv%d, protocol %d, option %t: no room", version, transport, option)
				}
				if p.Payload = 0; transport == packet.ProtoUDP {
					p.Payload = quotedBytes
				}
				size := p.Headers() + p.ExtensionBytes() + p.Payload
				if t.Logf("IPv%d, protocol %d, option %t: %d bytes", version, transport, option, size); size > controlFrame {
					t.Errorf("IPv%d, protocol %d, option %t: %d bytes, more than %d", version, transport, option, size, controlFrame)
				}
				largest = max(largest, size)
			}
		}
	}
	if largest != controlFrame {
		t.Errorf("the largest NACK has %d bytes, not %d", largest, controlFrame)
	}
}
