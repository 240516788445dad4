package traffic

import (
	"testing"

	"weir/core/packet"
	"weir/core/unit"
)

// TestSendRoom checks that a datagram socket has space for three frames, or for a millisecond of its host's link,
// in the kernel's memory. A full frame takes a buffer of 2,048 bytes and a struct sk_buff of 256 there, and one of
// 640 bytes a buffer of 1,024.
func TestSendRoom(t *testing.T) {
	const full, small = 2048 + 256, 1024 + 256
	for _, x := range []struct {
		frame int32
		link  unit.LinkRate
		want  int
	}{
		{1514, unit.LinkRate{Bits: unit.Mbps}, 3 * full},
		{1514, unit.LinkRate{Bits: 10 * unit.Mbps}, 3 * full}, // 1.2 ms each
		{1514, unit.LinkRate{Bits: 100 * unit.Mbps}, 8 * full},
		{1514, unit.LinkRate{Bits: 10 * unit.Gbps}, 825 * full},
		{1514, unit.LinkRate{Packets: 4000}, 4 * full},
		{640, unit.LinkRate{Bits: 10 * unit.Mbps}, 3 * small},
		{9014, unit.LinkRate{Bits: 10 * unit.Mbps}, 3 * (16384 + 256)},
		{1514, unit.LinkRate{}, sendMemory},
	} {
		if got := sendBufferSize(x.frame, x.link); got != x.want {
			t.Errorf("%d bytes at %v: %d, want %d", x.frame, x.link, got, x.want)
		}
	}
	for version, ip := range map[uint8]int32{4: packet.IPv4Header, 6: packet.IPv6Header} {
		if got, want := frameBytes(&Flow{Version: version, Payload: 1000}), 14+ip+8+1000; got != want {
			t.Errorf("IPv%d: a frame of %d bytes, want %d", version, got, want)
		}
	}
}
