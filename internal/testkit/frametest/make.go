package frametest

import (
	"net/netip"
	"testing"

	"weir/core/packet"
)

// NewDatagram returns a UDP frame of size bytes with all headers, at least 42, between the hosts 10.0.0.src and
// 10.0.0.dst, with matching MAC addresses and a payload of zeros.
func NewDatagram(t testing.TB, src, dst byte, tos uint8, size int) []byte {
	t.Helper()
	a, b := netip.AddrFrom4([4]byte{10, 0, 0, src}), netip.AddrFrom4([4]byte{10, 0, 0, dst})
	f := packet.AppendEthernet(nil, [6]byte{2, 0, 0, 0, 0, dst}, [6]byte{2, 0, 0, 0, 0, src}, packet.EtherIPv4)
	f, err := packet.AppendIPv4(f, a, b, packet.ProtoUDP, tos, 64, size-14-20)
	if err != nil {
		t.Fatal(err)
	}
	f, err = packet.AppendUDP(f, a, b, 1000, 7, make([]byte, size-14-20-8))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// NewSYN returns a frame with a SYN over IP of this version, 4 or 6, with the given MSS and payload length, both in
// bytes.
func NewSYN(t testing.TB, version int, mss uint16, payload int) []byte {
	t.Helper()
	src, dst := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	if version == 6 {
		src, dst = netip.MustParseAddr("fd00::1"), netip.MustParseAddr("fd00::2")
	}
	s, err := packet.AppendTCP(nil, packet.SegmentHeader{SrcPort: 7, DstPort: 80, Flags: packet.SYN,
		Options: []byte{2, 4, byte(mss >> 8), byte(mss)}})
	if err != nil {
		t.Fatal(err)
	}
	s = append(s, make([]byte, payload)...)
	packet.SealTCP(s, src, dst)
	f := packet.AppendEthernet(nil, packet.MAC(2), packet.MAC(1), packet.EtherIPv4)
	if version == 6 {
		f = packet.AppendEthernet(nil, packet.MAC(2), packet.MAC(1), packet.EtherIPv6)
		f, err = packet.AppendIPv6(f, src, dst, packet.ProtoTCP, 0, 64, len(s))
	} else {
		f, err = packet.AppendIPv4(f, src, dst, packet.ProtoTCP, 0, 64, len(s))
	}
	if err != nil {
		t.Fatal(err)
	}
	return append(f, s...)
}
