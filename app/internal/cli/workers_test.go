package cli

import (
	"strings"
	"testing"
	"weir/internal/command"
)

// TestSweepMetricsOnLoopback checks that metrics of a sweep, which need no password, are served only on this machine.
func TestSweepMetricsOnLoopback(t *testing.T) {
	file := write(t, sweepOfTwo)
	for _, address := range []string{"0.0.0.0:0", ":0", "192.0.2.1:9100", "[::ffff:0.0.0.0]:0", "[::%lo]:0"} {
		code, _, errs := weir("run", file, "--out", t.TempDir(), "--workers", "127.0.0.1:0", "--metrics", address)
		if code != command.WrongInput || !strings.Contains(errs, "--metrics: other machines could read") {
			t.Errorf("%s: exit code %d: %s", address, code, errs)
		}
	}
}
