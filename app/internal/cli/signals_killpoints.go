//go:build killpoints

package cli

import (
	"os"
	"time"
)

// Tests that hold a process set WEIR_GRACE: no grace ends by itself, and two signals never count as one. Only the
// order of events decides how the process ends.
func init() {
	if os.Getenv("WEIR_GRACE") != "" {
		const long = 24 * time.Hour
		inSimulation.time, inSweep.time, labGrace, serveGrace, together = long, long, long, long, 0
	}
}
