//go:build system

package cli

import (
	"strings"
	"testing"

	"weir/internal/command"
)

// TestSweepMetrics checks that a sweep with workers serves its metrics on loopback.
func TestSweepMetrics(t *testing.T) {
	file := write(t, sweepOfTwo)
	code, _, errs := weir("run", file, "--out", t.TempDir(), "--workers", "127.0.0.1:0", "--metrics", "127.0.0.1:0")
	if code != command.Done || !strings.Contains(errs, "metrics: http://127.0.0.1:") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}
