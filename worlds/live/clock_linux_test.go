package live

import (
	"testing"
	"testing/synctest"
	"time"

	"weir/core/unit"
)

// TestClockSteps checks that a step of the clock is noticed once, in either direction, and stamps before and after it
// are still near the present. Time itself continues.
func TestClockSteps(t *testing.T) { synctest.Test(t, clockSteps) }

func clockSteps(t *testing.T) {
	w := &Clock{}
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	w.Read()
	if w.steps != 0 {
		t.Fatalf("%d steps although nobody has set the clock", w.steps)
	}
	for i, step := range []time.Duration{time.Hour, -time.Hour, time.Second, -time.Millisecond} {
		stale := time.Now().UnixNano() - int64(step) // as the clock was before
		w.ahead -= int64(step)                       // as if it had just been set
		before := w.Now()
		now := w.Read()
		if w.steps != i+1 {
			t.Errorf("set by %v: %d steps are known", step, w.steps)
		}
		if now < before || now > before+unit.Second {
			t.Errorf("set by %v: from %v to %v", step, before, now)
		}
		if at := w.toEventTime(time.Now().UnixNano()); at < now || at > now+unit.Second {
			t.Errorf("set by %v: a stamp of now, %v, is %v", step, now, at)
		}
		if at := w.toEventTime(stale); at > now+maxFuture {
			t.Errorf("set by %v: an old stamp is %v, it is %v", step, at, now)
		}
	}
	w.Read()
	if w.steps != 4 {
		t.Errorf("%d steps", w.steps)
	}
}

// TestStampsAfterAStall checks that a stamp far after the last reading is right if time has passed meanwhile: a stalled
// thread finds frames that arrived one after the other, not all at once.
func TestStampsAfterAStall(t *testing.T) { synctest.Test(t, stampsAfterAStall) }

func stampsAfterAStall(t *testing.T) {
	w := &Clock{}
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	read := w.Read()
	time.Sleep(3 * time.Duration(maxFuture/unit.Nanosecond))
	before := w.Now()
	ns := time.Now().UnixNano()
	const apart = 100_000
	at, next := w.toEventTime(ns), w.toEventTime(ns+apart)
	if slack := unit.Time(stepFrom) * unit.Nanosecond; at < before-slack || at > w.Now()+slack ||
		next-at != apart*unit.Nanosecond {
		t.Errorf("stamps at %v and 100 us later, long after %v, are %v and %v", before, read, at, next)
	}
	if at := w.toEventTime(ns + int64(time.Hour)); at != read {
		t.Errorf("a stamp of the next hour is %v, want that of the last reading, %v", at, read)
	}
}
