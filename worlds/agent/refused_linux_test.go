package agent

import (
	"errors"
	"testing"

	"weir/internal/testkit"
)

// TestRefusedWithoutRoot checks that Start refuses a thread without capabilities, also if the test runs as root.
func TestRefusedWithoutRoot(t *testing.T) {
	testkit.RunUnprivileged(t, func() {
		if _, err := Start(DefaultConfig()); !errors.Is(err, errUnsupported) {
			t.Errorf("without root: %v", err)
		}
	})
}
