//go:build system

package cli

import "testing"

// TestThisMachine checks that the memory of this machine is read.
func TestThisMachine(t *testing.T) {
	if m := thisMachine(); m.total < 1e8 || m.available <= 0 || m.available > m.total {
		t.Error(m)
	}
}
