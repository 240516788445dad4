package cli

import (
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// A second signal ends the wait when it arrives more than together after the first. One that arrives earlier belongs to
// the first, and without one the grace ends.
func TestSecondSignal(t *testing.T) {
	const grace = 800 * time.Millisecond
	for _, x := range []struct {
		name     string
		signals  []time.Duration // after the first
		ended    time.Duration   // 0: never
		more, ok bool
		after    time.Duration
	}{
		{"none", nil, 0, false, true, grace},
		{"together", []time.Duration{0, together}, 0, false, true, grace},
		{"a second", []time.Duration{together + 1}, 0, true, true, together + 1},
		{"one together, one later", []time.Duration{together / 2, 2 * together}, 0, true, true, 2 * together},
		{"ended before", nil, grace / 2, false, false, grace / 2},
	} {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ended, signals, start := make(chan struct{}), make(chan os.Signal, 2), time.Now()
				for _, at := range x.signals {
					time.AfterFunc(at, func() { signals <- syscall.SIGTERM })
				}
				if x.ended > 0 {
					time.AfterFunc(x.ended, func() { close(ended) })
				}
				more, ok := again(ended, signals, grace)
				if more != x.more || ok != x.ok || time.Since(start) != x.after {
					t.Errorf("again returned %v, %v after %v; want %v, %v after %v", more, ok, time.Since(start), x.more,
						x.ok, x.after)
				}
			})
		})
	}
}
