package dataplane_test

import (
	"testing"

	"weir/core/dataplane"
	"weir/core/unit"
)

// TestFlowletsNormalize checks that flowlets that have ended are forgotten, and that those that go on keep their port
// and their end.
func TestFlowletsNormalize(t *testing.T) {
	const gap = 10 * unit.Microsecond
	f := dataplane.NewFlowlets(4, gap)
	f.BeginFlowlet(0, 1, 7)
	f.BeginFlowlet(5*unit.Microsecond, 2, 8)
	f.Normalize(gap)
	if port, had := f.LastPort(1); had {
		t.Errorf("the flowlet that ends at %v has port %d", gap, port)
	}
	if port, active := f.ContinueFlowlet(15*unit.Microsecond-1, 2); !active || port != 8 {
		t.Errorf("the other has port %d, active: %v", port, active)
	}
	f.Normalize(24 * unit.Microsecond)
	if _, active := f.ContinueFlowlet(24*unit.Microsecond, 2); !active {
		t.Error("its last packet does not extend it")
	}
}
