package live

import (
	"net/netip"
	"testing"

	"weir/core/packet"
)

// FuzzParseFrame_UnparsedHasNoFlow checks that a plane parses a host's frame, or rejects it, without a panic. A
// frame that it cannot parse belongs to no flow, and counts as bytes on the links.
func FuzzParseFrame_UnparsedHasNoFlow(f *testing.F) {
	book := packet.NewBook()
	for i := range byte(2) {
		book.Add(netip.AddrFrom4([4]byte{10, 0, 0, i}), netip.AddrFrom16([16]byte{0: 0xfd, 15: i}))
	}
	for _, version := range []uint8{4, 6} {
		for _, proto := range []uint8{packet.ProtoTCP, packet.ProtoUDP} {
			p := packet.Packet{Src: 1, Dst: 2, Version: version, Proto: proto, HopLimit: 9, SrcPort: 1, DstPort: 2, Payload: 40}
			b, err := p.Emit(book, nil)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b)
		}
	}
	d := &Plane{Departures: NewDepartures(nil, book), monitor: oneFlow{}}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < packet.EthernetHeader || !isForwarded(uint16(b[12])<<8|uint16(b[13])) {
			return
		}
		p := packet.Packet{Data: b}
		if d.parseFrame(&p); !p.IsParsed() && (p.Flow != packet.NoFlow || p.Kind != packet.Data || p.Payload != 0 ||
			p.ExtensionBytes() != 0) {
			t.Errorf("of a frame that cannot be parsed: %+v", p)
		}
		if p.IsParsed() && p.Kind != packet.Pause && p.Kind != packet.Resume && p.Flow != 3 {
			t.Errorf("of flow %d", p.Flow)
		}
	})
}
