//go:build killpoints

package cli

import (
	"os"
	"time"
)

// A test that holds a process sets WEIR_GRACE: no grace then ends by itself, and two signals are never one, so that
// the order of events alone decides how the process ends.
func init() {
	if os.Getenv("WEIR_GRACE") != "" {
		const long = 24 * time.Hour
		inSimulation.time, inSweep.time, labGrace, serveGrace, together = long, long, long, long, 0
	}
}
