package dataplane

import (
	"errors"
	"testing"

	"weir/core/scheme"
	"weir/core/unit"
)

// TestDerivedTime checks that a derived time is the published one at a round trip of 100 us and where no round trip is
// known. It is in proportion to other round trips: a tenth and fifty times, too. A stated time stays.
func TestDerivedTime(t *testing.T) {
	const us, published = unit.Microsecond, 500 * unit.Microsecond
	for trip, want := range map[unit.Time]unit.Time{0: published, 100 * us: published, 10 * us: 50 * us,
		5000 * us:               25000 * us,
		13388 * unit.Nanosecond: 66940 * unit.Nanosecond, unit.Second: 5 * unit.Second, 1: unit.Nanosecond} {
		site := &Site{Place: func() (*TreePosition, error) { return &TreePosition{Trip: trip}, nil }}
		derived, stated := unit.Time(0), 7*us
		d := DerivedTime{Published: published}
		d.SetDefault(&derived, site)
		d.SetDefault(&stated, site)
		if derived != want || stated != 7*us {
			t.Errorf("at a round trip of %v: %v, want %v; stated 7us: %v", trip, derived, want, stated)
		}
	}
	for name, site := range map[string]*Site{"no place": {}, "no tree": {Place: func() (*TreePosition, error) {
		return nil, errors.New("no tree")
	}}} {
		if trip := site.MaxTrip(); trip != 0 {
			t.Errorf("%s: a round trip of %v", name, trip)
		}
	}
	if got := (DerivedTime{Published: 200 * us, Min: us}).TimeAt(us / 10); got != us {
		t.Errorf("%v, below the minimum of 1us", got)
	}
}

// TestDerivedTimeBounds checks that a file may state 0s, the derived time, and times from the minimum on.
func TestDerivedTimeBounds(t *testing.T) {
	for _, x := range []struct {
		value unit.Time
		valid bool
	}{{0, true}, {1, false}, {unit.Microsecond, true}, {unit.Microsecond - 1, false}, {unit.Second, true},
		{11 * unit.Second, false}} {
		c := derivedConfig{x.value}
		if err := scheme.Validate(&c); (err == nil) != x.valid {
			t.Errorf("%v: %v", x.value, err)
		}
	}
}

type derivedConfig struct{ time unit.Time }

func (c *derivedConfig) Params(p *scheme.Params) {
	d := DerivedTime{Published: unit.Millisecond, Min: unit.Microsecond}
	d.BindParam(p, &c.time, "time", "a time", "a paper").Max("10s")
}
