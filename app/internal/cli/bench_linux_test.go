package cli

import (
	"bytes"
	"strings"
	"testing"

	"weir/internal/command"
	"weir/internal/testkit"
)

// TestBenchSwitchNeedsRoot checks that bench switch refuses to run without root, also if the test runs as root.
func TestBenchSwitchNeedsRoot(t *testing.T) {
	t.Chdir(t.TempDir())
	var out, errs bytes.Buffer
	code := command.Done
	testkit.RunUnprivileged(t, func() {
		code = Run(Registry(), []string{"bench", "switch"}, &out, &errs, false)
	})
	if code != command.WrongInput || !strings.Contains(errs.String(), "the lab requires root") {
		t.Errorf("exit code %d, %s", code, &errs)
	}
}
