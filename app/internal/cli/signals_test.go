package cli

import (
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// TestSecondSignal checks that a second signal ends the wait if it arrives longer than together after the first. An
// earlier one belongs to the first, and without one the grace ends.
func TestSecondSignal(t *testing.T) {
	const wait = 800 * time.Millisecond
	simple := grace{time: wait}
	for _, x := range []struct {
		name     string
		signals  []time.Duration // after the first
		ended    time.Duration   // 0: never
		more, ok bool
		after    time.Duration
	}{
		{"none", nil, 0, false, true, wait},
		{"together", []time.Duration{0, together}, 0, false, true, wait},
		{"a second", []time.Duration{together + 1}, 0, true, true, together + 1},
		{"one together, one later", []time.Duration{together / 2, 2 * together}, 0, true, true, 2 * together},
		{"ended before", nil, wait / 2, false, false, wait / 2},
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
				more, ok := awaitAgain(ended, signals, &simple, func() time.Duration { return 0 })
				if more != x.more || ok != x.ok || time.Since(start) != x.after {
					t.Errorf("again returned %v, %v after %v; want %v, %v after %v", more, ok, time.Since(start), x.more,
						x.ok, x.after)
				}
			})
		})
	}
}

// TestGraceOfWork checks that a simulation is cut when it has had its grace as processor time: on an idle machine after
// the grace, on a busy one later, and at the limit at the latest.
func TestGraceOfWork(t *testing.T) {
	const wait, limit = 800 * time.Millisecond, 8 * time.Second
	for _, x := range []struct {
		name  string
		share float64 // of the processors' time that the process gets, in processors
		ended time.Duration
		ok    bool
		after time.Duration
	}{
		{"idle machine", 1, 0, true, wait},
		{"several threads", 16, 0, true, wait},
		{"half of a processor", 0.5, 0, true, 2 * wait},
		{"busy machine", 0.125, 0, true, 8 * wait},
		{"busy machine, ends", 0.125, 5 * time.Second, false, 5 * time.Second},
		{"asleep", 0, 0, true, limit},
		{"stalled", 0.01, 0, true, limit},
	} {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ended, start := make(chan struct{}), time.Now()
				if x.ended > 0 {
					time.AfterFunc(x.ended, func() { close(ended) })
				}
				g := grace{time: wait, limit: limit}
				more, ok := awaitAgain(ended, nil, &g, func() time.Duration {
					return time.Minute + time.Duration(x.share*float64(time.Since(start)))
				})
				if d := time.Since(start); more || ok != x.ok || d < x.after || d > x.after+workPoll {
					t.Errorf("again returned %v, %v after %v; want %v after %v", more, ok, d, x.ok, x.after)
				}
			})
		})
	}
	if g := inSimulation; g.limit <= g.time || g.limit > 9*time.Second {
		t.Errorf("a simulation has %v, at most %v", g.time, g.limit)
	}
}
