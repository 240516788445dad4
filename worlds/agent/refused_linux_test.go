package agent

import (
	"errors"
	"testing"

	"weir/internal/testkit/testutil"
)

// TestRefusedWithoutRoot checks that Start refuses a thread without capabilities, also if the test runs as root.
func TestRefusedWithoutRoot(t *testing.T) {
	testutil.RunUnprivileged(t, func() {
		if _, err := Start(Defaults()); !errors.Is(err, ErrCannot) {
			t.Errorf("without root: %v", err)
		}
	})
}
