package cc

import (
	"testing"
	"unsafe"
)

// TestAckSize: an Ack is written for every acknowledgement: its groups must not cost room between them. It had 240
// bytes when it was flat.
func TestAckSize(t *testing.T) {
	if n := unsafe.Sizeof(Ack{}); n > 240 {
		t.Errorf("an Ack has %d bytes; at most 240", n)
	}
}
