package p4abc

import (
	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/unit"
)

// maxActive is the maximum number of active users in the metrics.
const maxActive = 10

// The program's metrics.
const (
	averageActivity = iota
	userActivity
	userRate
	userBytes
	userDropped
)

// metricsPerUser is the number of metrics per user.
const metricsPerUser = userDropped - userActivity + 1

// Metrics describes A_avg of each port, and activity and rate of the most active users.
func (a *Program) Metrics() []dataplane.Metric {
	return []dataplane.Metric{
		averageActivity: {Name: "weir_abc_average_activity",
			Help: "Average activity of the frames that a port's queue accepted.", Label: "port", ByPort: true},
		userActivity: {Name: "weir_abc_user_activity", Help: "Activity of the most active users.", Label: "user"},
		userRate: {Name: "weir_abc_user_rate_bits_per_second",
			Help: "Meter rate of the most active users.", Label: "user"},
		userBytes: {Name: "weir_abc_user_accepted_bytes_total",
			Help: "Bytes of users' frames that queues accepted, as the framing counts: of aggregates and the other most " +
				"active users.",
			Label: "user", Counter: true},
		userDropped: {Name: "weir_abc_user_dropped_frames_total",
			Help:  "Dropped frames of users, for any reason: of aggregates and the other most active users.",
			Label: "user", Counter: true},
	}
}

// Sample fills samples with the metrics of ports, of active users (the most active one first), of the other aggregates
// and of unmarked frames at each inside port that has had any, as far as there is room. It returns the number of
// samples.
func (a *Program) Sample(now unit.Time, samples []dataplane.Sample) (n int) {
	for i := range a.aqms {
		if n < len(samples) {
			port := packet.PortID(i)
			samples[n] = dataplane.Sample{Metric: averageActivity, Port: port, Value: a.AverageActivity(port)}
			n++
		}
	}
	var top [maxActive]User
	active := top[:a.ListActiveUsers(now, top[:])]
	for i := range active {
		n += a.sampleUser(&active[i], samples[n:])
	}
	for i := range a.config.Aggregates {
		for d := range directions {
			u := User{Aggregate: i, Receives: d == receives}
			c := &a.meterAt(int32(i), d).counts
			if *c == (counts{}) && d == receives || containsUser(active, &u) {
				continue
			}
			u.Bytes, u.Dropped = c.bytes, c.dropped
			n += a.sampleUser(&u, samples[n:])
		}
	}
	for i := range a.unmarked {
		if m := &a.unmarked[i]; m.counts != (counts{}) {
			u := User{Aggregate: unmarkedFrames, Port: packet.PortID(i), Rate: a.rateAt(now, m)}
			u.Activity, u.Bytes, u.Dropped = Activity(u.Rate, m.reference), m.counts.bytes, m.counts.dropped
			n += a.sampleUser(&u, samples[n:])
		}
	}
	return n
}

// unmarkedFrames is the Aggregate of a User that stands for the unmarked frames of an inside port.
const unmarkedFrames = -3

// containsUser reports whether users include u's aggregate in u's direction.
func containsUser(users []User, u *User) bool {
	for i := range users {
		if users[i].Aggregate == u.Aggregate && users[i].Receives == u.Receives {
			return true
		}
	}
	return false
}

// sampleUser fills samples with a user's values and returns their number. It is 0 if there is no room for
// metricsPerUser of them, or if the book has dropped the user's address. An inactive user has counters only.
func (a *Program) sampleUser(u *User, samples []dataplane.Sample) (n int) {
	s := a.labelUser(*u)
	if len(samples) < metricsPerUser || !s.Prefix.IsValid() && s.Word == "" {
		return 0
	}
	add := func(metric int, value float64) {
		samples[n] = s
		samples[n].Metric, samples[n].Value = metric, value
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

// receivingPrefix precedes the label of a user's meter of received traffic.
const receivingPrefix = "to "

// labelUser returns a sample with a user's address, prefix or word; with neither if the book has dropped the address.
func (a *Program) labelUser(u User) (s dataplane.Sample) {
	if u.Receives {
		s.Before = receivingPrefix
	}
	switch u.Aggregate {
	case unmarkedFrames:
		s.Word = a.unmarkedLabels[u.Port]
	case -2:
		s.Word = "others"
	case -1:
		s.Prefix, s.Word = a.book.LabelOf(u.Source)
	default:
		s.Word = string(a.config.Aggregates[u.Aggregate].Key)
	}
	return s
}

// User is an aggregate, or a user without one, with the values of its meter in one direction.
type User struct {
	Source    packet.Addr // address of a user without an aggregate, otherwise 0
	Aggregate int         // index into Config.Aggregates; −1: user of Source, −2: all unnamed users, −3: unmarked at Port
	Port      packet.PortID
	Receives  bool    // received traffic; false: sent traffic
	Rate      float64 // R_m, in bit/s
	Activity  float64 // A; 0 while Rate is 0
	Bytes     uint64  // bytes of enqueued packets
	Dropped   uint64  // dropped packets
}

// ListActiveUsers fills users with the most active ones, the highest activity first, and returns their number. A user
// can be in it twice, for sent and for received traffic. It omits users with meters that have counted no packet.
func (a *Program) ListActiveUsers(now unit.Time, users []User) (n int) {
	one := func(u User, m *activityMeter) {
		if m.bits == 0 && m.integer.sum == 0 || len(users) == 0 {
			return
		}
		u.Rate = a.rateAt(now, m)
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
			one(u, a.meterAt(aggregate, d))
		}
	}
	for i := range a.config.Aggregates {
		add(User{Aggregate: i}, int32(i))
	}
	if a.commonAggregate >= 0 {
		add(User{Aggregate: -2}, a.commonAggregate)
	}
	for src, meter := range a.ownAggregate {
		if meter >= 0 {
			add(User{Source: packet.Addr(src), Aggregate: -1}, meter)
		}
	}
	return n
}
