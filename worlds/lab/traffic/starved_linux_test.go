package traffic

import (
	"testing"

	"weir/core/unit"
	"weir/internal/sockdiag"
)

// TestWindowOfReceiver checks that a window that a switch has lowered does not indicate a receiver that could not
// read, and that a window in flight does.
func TestWindowOfReceiver(t *testing.T) {
	for _, x := range []struct {
		obeyed, has unit.Bytes
		want        bool
	}{
		{64_000, 64_000, true},
		{40_000, 64_000, true},  // the receiver has read since
		{64_000, 20_000, true},  // it has not
		{3_000, 64_000, false},  // P4TE's
		{31_999, 64_000, false}, // also when it is nearly so large
		{0, 0, true},            // no room at all
		{3_000, 0, true},
	} {
		sender, receiver := sockdiag.Info{SendWindow: x.obeyed}, sockdiag.Info{ReceiveWindow: x.has}
		if is := isAnnounced(&sender, &receiver); is != x.want {
			t.Errorf("obeys %v of %v: %t", x.obeyed, x.has, is)
		}
	}
}
