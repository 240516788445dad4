package unit

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
)

// TestHistogramClasses checks that classes are contiguous, none is wider than 1/64 of its values, and every value is in
// its own.
func TestHistogramClasses(t *testing.T) {
	next := uint64(0)
	for c := 0; ; c++ {
		low, high := classBounds(c)
		if low != next || high < low {
			t.Fatalf("class %d is %d … %d, want it to begin at %d", c, low, high, next)
		}
		if width := high - low; width > 0 && float64(width+1) > float64(low)/64 {
			t.Fatalf("class %d is %d … %d: wider than 1/64", c, low, high)
		}
		if classOf(low) != c || classOf(high) != c {
			t.Fatalf("the bounds of class %d are in %d and %d", c, classOf(low), classOf(high))
		}
		if high >= math.MaxInt64 {
			break
		}
		next = high + 1
	}
}

func TestHistogram_CountsValuesInClasses(t *testing.T) {
	var h Histogram
	for _, v := range []Time{0, 5, 5, Microsecond, Never, -3} {
		h.Add(v)
	}
	classes := h.Classes()
	total := uint64(0)
	for i, c := range classes {
		total += c.Count
		if i > 0 && c.Low <= classes[i-1].High {
			t.Errorf("class %d begins at %d, within the one before", i, c.Low)
		}
	}
	if h.Count() != 6 || total != 6 || classes[0].Count != 2 || classes[1] != (Bin{5, 5, 2}) {
		t.Errorf("counts are %+v", classes)
	}
	if m := classes[2].Middle(); math.Abs(float64(m-Microsecond)) > float64(Microsecond)/128 {
		t.Errorf("a microsecond is shown as %v", m)
	}
	if h.Reset(); h.Count() != 0 || len(h.Classes()) != 0 {
		t.Error("there is something after Reset")
	}
	if n := testing.AllocsPerRun(100, func() { h.Add(Never); h.Add(7) }); n > 0 {
		t.Errorf("Add allocates %g times", n)
	}
}

// TestHistogramJSON checks that a histogram is the same after its way through JSON.
func TestHistogramJSON(t *testing.T) {
	var h, back, empty Histogram
	for _, v := range []Time{0, 1, 127, 128, 129, 5 * Millisecond, 5 * Millisecond, Never} {
		h.Add(v)
	}
	all := []Histogram{h, empty}
	b, err := json.Marshal(all)
	if err != nil || !strings.HasPrefix(string(b), `[[[0,1],[1,1],[127,1],[128,2],`) ||
		!strings.HasSuffix(string(b), `,[]]`) {
		t.Errorf("%s, %v", b, err)
	}
	var got []Histogram
	if err := json.Unmarshal(b, &got); err != nil || len(got) != 2 || !reflect.DeepEqual(got[0].Classes(), h.Classes()) ||
		got[0].Count() != 8 || got[1].Count() != 0 {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{`[[-1,1]]`, `[[9223372036854775808,1]]`, `[[1,18446744073709551615],[2,1]]`, `{}`} {
		t.Run(bad, func(t *testing.T) {
			if err := json.Unmarshal([]byte(bad), &back); err == nil {
				t.Errorf("%s is a histogram: %v", bad, back.Classes())
			}
		})
	}
}

// TestHistogramCountUpTo checks that counts up to limits are the values' own, except the blur of a class.
func TestHistogramCountUpTo(t *testing.T) {
	var h Histogram
	limits := []Time{0, 10, 10, 1000, 1 << 40}
	got := make([]uint64, len(limits))
	if h.CountUpTo(limits, got); got[4] != 0 {
		t.Errorf("of nothing: %v", got)
	}
	for _, v := range []Time{0, 3, 10, 11, 900, 5000, 1 << 50} {
		h.Add(v)
	}
	if sum, want := h.Sum(), Time(5924+1<<50).Seconds(); sum < 0.99*want || sum > 1.01*want {
		t.Errorf("a sum of %g s, want %g", sum, want)
	}
	h.CountUpTo(limits, got)
	for i, want := range []uint64{1, 3, 3, 5, 6} {
		if got[i] != want {
			t.Errorf("up to %d: %d, want %d", limits[i], got[i], want)
		}
	}
}

// TestHistogramAgain checks that AddRepeated adds the difference of two states of a histogram the given number of
// times.
func TestHistogramAgain(t *testing.T) {
	var first, last, h, want Histogram
	for _, v := range []Time{1, 1000} {
		first.Add(v)
		last.Add(v)
		h.Add(v)
		want.Add(v)
	}
	for _, v := range []Time{5, 5, 70_000, 1} {
		last.Add(v)
		for range 3 {
			want.Add(v)
		}
	}
	if h.AddRepeated(3, &first, &last); !reflect.DeepEqual(h, want) {
		t.Errorf("%v, not %v", h, want)
	}
}

// TestStreams_RestartAllRepeatsNumbers checks that restarted streams repeat their first numbers, which are NewRandom's.
func TestStreams_RestartAllRepeatsNumbers(t *testing.T) {
	var s Streams
	a, b, plain := s.NewStream(3, "a"), s.NewStream(3, "b"), NewRandom(3, "a")
	var first [2]uint64
	for i := range 3 {
		got := [2]uint64{a.Uint64(), b.Uint64()}
		if i == 0 {
			first = got
			if want := plain.Uint64(); got[0] != want || got[1] == want {
				t.Errorf("%x, not %x", got, want)
			}
		} else if got != first {
			t.Errorf("%x, and %x at first", got, first)
		}
		a.Uint64()
		s.RestartAll()
	}
}
