package job

import (
	"testing"

	"weir/core/unit"
)

// TestBeginTimes_TakesEachBeginOnce checks that operations are found with the time of their begin, each once, while few
// are in flight or many.
func TestBeginTimes_TakesEachBeginOnce(t *testing.T) {
	random := unit.NewRandom(1, "flying")
	var f beginTimes
	want := map[Ref]unit.Time{}
	most := 0
	for step := range 20_000 {
		at := Ref{int32(random.IntN(3)), int32(random.IntN(12))}
		since, there := want[at]
		switch got, is := f.take(at); {
		case is != there || got != since:
			t.Fatalf("step %d: %v began at %v (%v), want %v (%v)", step, at, got, is, since, there)
		case is:
			delete(want, at)
		default:
			f.add(at, unit.Time(step))
			want[at] = unit.Time(step)
		}
		if most = max(most, len(want)); f.len() != len(want) {
			t.Fatalf("step %d: %d, want %d", step, f.len(), len(want))
		}
	}
	if most <= maxFew {
		t.Errorf("%d at a time: the map was not needed", most)
	}
}
