package packet

import (
	"net/netip"
	"testing"
)

// TestSetMSS checks that a SYN with an MSS that a switch lowers is sent with the new one and the right checksum, for
// any place of the option. A segment without the option is unchanged.
func TestSetMSS(t *testing.T) {
	book := NewBook()
	v4 := [2]netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")}
	v6 := [2]netip.Addr{netip.MustParseAddr("fd00::1"), netip.MustParseAddr("fd00::2")}
	book.Add(v4[0], v6[0])
	book.Add(v4[1], v6[1])
	for name, options := range map[string][]byte{
		"first": {2, 4, 5, 180, 4, 2, 1, 1}, "odd": {1, 2, 4, 5, 180, 4, 2, 1}, "twice": {2, 4, 5, 180, 2, 4, 5, 180},
		"none": {4, 2, 1, 1},
	} {
		for version, ends := range map[uint8][2]netip.Addr{4: v4, 6: v6} {
			for _, marked := range []bool{false, true} {
				t.Run(name, func(t *testing.T) {
					segment, err := AppendTCP(nil, SegmentHeader{SrcPort: 1, DstPort: 2, Seq: 7, Flags: SYN, Window: 100,
						Options: options})
					if err != nil {
						t.Fatal(err)
					}
					SealTCP(segment, ends[0], ends[1])
					f := AppendEthernet(nil, MAC(2), MAC(1), EtherIPv4)
					if version == 6 {
						f = AppendEthernet(nil, MAC(2), MAC(1), EtherIPv6)
						f, err = AppendIPv6(f, ends[0], ends[1], ProtoTCP, 0, 64, len(segment))
					} else {
						f, err = AppendIPv4(f, ends[0], ends[1], ProtoTCP, 0, 64, len(segment))
					}
					if err != nil {
						t.Fatal(err)
					}
					p := &Packet{Data: append(f, segment...)}
					if err := p.Parse(book, p.Data); err != nil {
						t.Fatal(err)
					}
					before := p.TCP.MSS
					p.TCP.MSS = min(p.TCP.MSS, 1400)
					if marked {
						p.SetExtension(ExtActivity, []byte{1, 2, 3, 4})
					}
					if err := p.Deparse(book); err != nil {
						t.Fatal(err)
					}
					got := &Packet{}
					if err := got.Parse(book, p.Data); err != nil || got.TCP.MSS != min(before, 1400) {
						t.Errorf("%v, MSS %d, it was %d", err, got.TCP.MSS, before)
					}
					if !TCP(p.Data[len(p.Data)-len(segment):]).ChecksumOK(ends[0], ends[1]) {
						t.Error("the checksum is wrong")
					}
				})
			}
		}
	}
}

// TestRebuildInPlace checks that a frame with room gets and loses an extension in its own bytes.
func TestRebuildInPlace(t *testing.T) {
	book := NewBook()
	book.Add(netip.MustParseAddr("10.0.0.1"), netip.Addr{})
	book.Add(netip.MustParseAddr("10.0.0.2"), netip.Addr{})
	p := &Packet{Src: 1, Dst: 2, Version: 4, Proto: ProtoUDP, HopLimit: 64, SrcPort: 1, DstPort: 2, Payload: 1400}
	frame, err := p.Emit(book, nil)
	if err != nil {
		t.Fatal(err)
	}
	was := string(frame)
	p.Data = append(make([]byte, 0, len(frame)+MaxExtensionBytes), frame...)
	step := func() {
		p.SetExtension(ExtActivity, []byte{1, 2, 3, 4})
		if err := p.Deparse(book); err != nil || len(p.Data) != len(was)+8 {
			t.Fatalf("%v, %d bytes", err, len(p.Data))
		}
		p.RemoveExtension(ExtActivity)
		if err := p.Deparse(book); err != nil || string(p.Data) != was {
			t.Fatalf("%v, %d bytes", err, len(p.Data))
		}
	}
	if n := testing.AllocsPerRun(10, step); n != 0 {
		t.Errorf("%g allocations", n)
	}
}
