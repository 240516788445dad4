package p4abc

import (
	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/unit"
)

// mostActive is the number of users in the metrics.
const mostActive = 10

// The program's metrics.
const (
	averageActivity = iota
	userActivity
	userRate
	userBytes
	userDropped
)

// perUser is the number of metrics of a user.
const perUser = userDropped - userActivity + 1

// Metrics describes A_avg of each port, and activity and rate of the most active users.
func (a *Program) Metrics() []dataplane.Metric {
	return []dataplane.Metric{
		averageActivity: {Name: "weir_abc_average_activity",
			Help: "Average activity of the frames that a port's queue accepted.", Label: "port", ByPort: true},
		userActivity: {Name: "weir_abc_user_activity", Help: "Activity of the most active users.", Label: "user"},
		userRate: {Name: "weir_abc_user_rate_bits_per_second",
			Help: "Rate that the meters of the most active users show.", Label: "user"},
		userBytes: {Name: "weir_abc_user_accepted_bytes_total",
			Help:  "Bytes of users' frames that queues took, as the framing counts: of aggregates and the most active others.",
			Label: "user", Counter: true},
		userDropped: {Name: "weir_abc_user_dropped_frames_total",
			Help:  "Frames of users that were dropped, for any reason: of aggregates and the most active others.",
			Label: "user", Counter: true},
	}
}

// Sample returns the ports, then the users, the most active one first, then the other aggregates, then, of each port
// inside that has had any, the frames without a mark.
func (a *Program) Sample(now unit.Time, to []dataplane.Sample) (n int) {
	for i := range a.aqms {
		if n < len(to) {
			port := packet.PortID(i)
			to[n] = dataplane.Sample{Metric: averageActivity, Port: port, Value: a.Average(port)}
			n++
		}
	}
	var top [mostActive]User
	active := top[:a.MostActive(now, top[:])]
	for i := range active {
		n += a.sampleUser(&active[i], to[n:])
	}
	for i := range a.config.Aggregates {
		for d := range directions {
			u := User{Aggregate: i, Receives: d == receives}
			c := &a.meter(int32(i), d).counts
			if *c == (counts{}) && d == receives || contains(active, &u) {
				continue
			}
			u.Bytes, u.Dropped = c.bytes, c.dropped
			n += a.sampleUser(&u, to[n:])
		}
	}
	for i := range a.unmarked {
		if m := &a.unmarked[i]; m.counts != (counts{}) {
			u := User{Aggregate: unmarkedFrames, Port: packet.PortID(i), Rate: a.rate(now, m)}
			u.Activity, u.Bytes, u.Dropped = Activity(u.Rate, m.reference), m.counts.bytes, m.counts.dropped
			n += a.sampleUser(&u, to[n:])
		}
	}
	return n
}

// unmarkedFrames are a user's Aggregate that is all frames of a port inside without a mark.
const unmarkedFrames = -3

// contains reports whether an aggregate is among users in that direction.
func contains(users []User, u *User) bool {
	for i := range users {
		if users[i].Aggregate == u.Aggregate && users[i].Receives == u.Receives {
			return true
		}
	}
	return false
}

// sampleUser fills to with a user's values, if there is room for all, and returns their number. One that is
// not active has its counters alone.
func (a *Program) sampleUser(u *User, to []dataplane.Sample) (n int) {
	s := a.label(*u)
	if len(to) < perUser || !s.Prefix.IsValid() && s.Word == "" {
		return 0
	}
	add := func(metric int, value float64) {
		to[n] = s
		to[n].Metric, to[n].Value = metric, value
		n++
	}
	if u.Rate > 0 {
		add(userActivity, u.Activity)
		add(userRate, u.Rate)
	}
	add(userBytes, float64(u.Bytes))
	add(userDropped, float64(u.Dropped))
	return n
}

// receiving stands before the label of a user's meter of what it receives.
const receiving = "to "

// label is a sample with a user's address, prefix or word; without any if the book no longer has the address.
func (a *Program) label(u User) (s dataplane.Sample) {
	if u.Receives {
		s.Before = receiving
	}
	switch u.Aggregate {
	case unmarkedFrames:
		s.Word = a.nameless[u.Port]
	case -2:
		s.Word = "others"
	case -1:
		s.Prefix, s.Word = a.book.Label(u.Source)
	default:
		s.Word = string(a.config.Aggregates[u.Aggregate].Key)
	}
	return s
}

// User is an aggregate, or a user without one, with the values of its meter in one direction.
type User struct {
	Source    packet.Addr // of a user without an aggregate; 0: of an aggregate
	Aggregate int         // index into Config.Aggregates; −1: of Source, −2: all users without one, −3: of Port
	Port      packet.PortID
	Receives  bool    // what it receives; false: what it sends
	Rate      float64 // R_m, in bit/s
	Activity  float64 // A; 0 while Rate is 0
	Bytes     uint64  // of packets that queues took
	Dropped   uint64  // packets
}

// MostActive fills users with those of the highest activity, the highest first, and returns their number.
// A user without a rate is not active.
func (a *Program) MostActive(now unit.Time, users []User) (n int) {
	one := func(u User, m *activityMeter) {
		if m.bits == 0 && m.whole.sum == 0 || len(users) == 0 {
			return
		}
		u.Rate = a.rate(now, m)
		u.Activity = Activity(u.Rate, m.reference)
		u.Bytes, u.Dropped = m.counts.bytes, m.counts.dropped
		if n == len(users) {
			if u.Activity <= users[n-1].Activity {
				return
			}
			n--
		}
		at := n
		for n++; at > 0 && users[at-1].Activity < u.Activity; at-- {
			users[at] = users[at-1]
		}
		users[at] = u
	}
	add := func(u User, aggregate int32) {
		for d := range directions {
			u.Receives = d == receives
			one(u, a.meter(aggregate, d))
		}
	}
	for i := range a.config.Aggregates {
		add(User{Aggregate: i}, int32(i))
	}
	if a.common >= 0 {
		add(User{Aggregate: -2}, a.common)
	}
	for src, meter := range a.own {
		if meter >= 0 {
			add(User{Source: packet.Addr(src), Aggregate: -1}, meter)
		}
	}
	return n
}
