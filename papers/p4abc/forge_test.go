package p4abc

import (
	"testing"

	"weir/core/packet"
)

// TestForger_MarksEveryThirdPacket checks that each third packet of a forger has its mark.
func TestForger_MarksEveryThirdPacket(t *testing.T) {
	f, err := NewForger(nil, ForgerConfig{Activity: -30, Every: 3})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 9 {
		p := &packet.Packet{Size: 100}
		f.Ingress(nil, p)
		if x, ok := parseMark(p); ok != (i%3 == 0) || ok && x != 0xc1f00000 || ok && p.Size != 108 {
			t.Errorf("packet %d: mark %#x, %v, %d bytes", i, x, ok, p.Size)
		}
	}
}
