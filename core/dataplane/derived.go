package dataplane

import (
	"fmt"
	"math"

	"weir/core/scheme"
	"weir/core/unit"
)

// DerivedTime is a time of a load balancer, as its source publishes it. Unless a file states the time, it follows from
// the longest round trip of the fat tree without queues, T, as P4TE's times do: it is Published at a T of PublishedTrip
// and scales with T, down to Min or 1 ns. A stated time has the same minimum.
type DerivedTime struct{ Published, Min unit.Time }

// PublishedTrip is the T at which load balancers have the times of their sources. The value is Weir's, since the
// sources do not state a T: the gap of CONGA and LetFlow, 500 us, is then 5 T, which is P4TE's, and HULA's, 100 us, is
// T.
const PublishedTrip = 100 * unit.Microsecond

// BindParam binds the time to a parameter with default 0s, which stands for the derived time. The value read from a
// file goes to *value. A stated time below the minimum is refused; SetDefault replaces 0.
func (d DerivedTime) BindParam(p *scheme.Params, value *unit.Time, name, doc, source string) scheme.Declaration {
	declared := p.Time(value, name, "0s",
		fmt.Sprintf("%s; 0s: %v, where T is the maximum round-trip time of the fat tree without queues, or %v if T is "+
			"unknown", doc, d, d.Published),
		fmt.Sprintf("%s: %v; Weir: scales with T", source, d.Published))
	p.AddRule(name, func() error {
		if *value != 0 && *value < d.minTime() {
			return fmt.Errorf("%v; allowed: %v and more, or 0s", *value, d.minTime())
		}
		return nil
	})
	return declared
}

// minTime returns Min, at least 1 ns.
func (d DerivedTime) minTime() unit.Time { return max(d.Min, unit.Nanosecond) }

// String returns the time in round trips: "5 T".
func (d DerivedTime) String() string {
	return fmt.Sprintf("%g T", float64(d.Published)/float64(PublishedTrip))
}

// TimeAt returns the time in a network with a round trip T, in whole picoseconds and at least Min and 1 ns. If trip is
// 0 or less, it returns Published.
func (d DerivedTime) TimeAt(trip unit.Time) unit.Time {
	if trip <= 0 {
		return d.Published
	}
	return max(unit.Time(math.Round(float64(d.Published)*float64(trip)/float64(PublishedTrip))), d.minTime())
}

// SetDefault replaces *value, if it is 0, by the derived time at a site. A stated time stays.
func (d DerivedTime) SetDefault(value *unit.Time, site *Site) {
	if *value == 0 {
		*value = d.TimeAt(site.MaxTrip())
	}
}

// MaxTrip returns the longest round trip without queues between hosts of the site's fat tree. It is 0 if the network is
// not a fat tree or is not known, also because Place fails.
func (s *Site) MaxTrip() unit.Time {
	if s.Place == nil {
		return 0
	}
	place, err := s.Place()
	if err != nil {
		return 0
	}
	return place.Trip
}
