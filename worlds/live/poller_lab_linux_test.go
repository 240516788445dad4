//go:build lab

package live

import (
	"os"
	"testing"

	"weir/core/unit"
)

// TestPoller_SleepsUntilDue checks that a thread sleeps until an event is due or a frame arrives. It checks its
// descriptors at least every 10 ms without time to sleep, and a finished run goes first.
func TestPoller_SleepsUntilDue(t *testing.T) {
	pipe := func() (r, w *os.File) {
		t.Helper()
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close(); w.Close() })
		return r, w
	}
	control, ends := pipe()
	other, comes := pipe()
	clock := &Clock{}
	if err := clock.Start(); err != nil {
		t.Fatal(err)
	}
	r := NewPoller(clock, nil, int(control.Fd()), int(other.Fd()))
	until := func(due unit.Time, more, closed bool) {
		t.Helper()
		if m, c, err := r.Wait(due); m != more || c != closed || err != nil {
			t.Errorf("more %v, closed %v, %v; want %v, %v", m, c, err, more, closed)
		}
	}
	due := clock.Now() + 3*unit.Millisecond
	for naps := 0; clock.Now() < due; naps++ {
		if until(due, false, false); naps > 1000 {
			t.Fatal("it does not sleep")
		}
	}
	if _, err := comes.Write([]byte{1}); err != nil {
		t.Fatal(err)
	}
	until(clock.Now()+60*unit.Second, true, false) // else a sleep of 100 ms ends without more
	r.pollAt = clock.Now() + 60*unit.Second
	until(0, false, false) // there is no time
	r.pollAt = clock.Now()
	until(0, true, false)
	ends.Close()
	r.pollAt = clock.Now()
	until(0, false, true)
}
