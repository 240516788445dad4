//go:build slow

package jetstream

import (
	"fmt"
	"testing"
	"time"
)

// Twenty kills of workers, of the server and of the coordinator lose nothing of 2,000 runs.
func TestManyKills(t *testing.T) {
	for _, own := range []bool{false, true} {
		t.Run(fmt.Sprintf("own server %v", own), func(t *testing.T) { killed(t, 2000, 8, 20, own) })
	}
}

// A connection that breaks for a minute loses nothing.
func TestBrokenForAMinute(t *testing.T) {
	t.Run("of workers", func(t *testing.T) { broken(t, time.Minute, false) })
	t.Run("of the coordinator", func(t *testing.T) { broken(t, time.Minute, true) })
}
