package cc

import (
	"testing"
	"unsafe"
)

// TestAckSize checks that an Ack has at most 240 bytes, its size without groups: it is written for every
// acknowledgement.
func TestAckSize(t *testing.T) {
	if n := unsafe.Sizeof(Ack{}); n > 240 {
		t.Errorf("an Ack has %d bytes; at most 240", n)
	}
}
