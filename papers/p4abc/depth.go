package p4abc

import (
	"math"

	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/scheme"
	"weir/core/unit"
)

// The operating point of P4-ABC §6.1.3: thresholds of 6, 20 and 16 packets at 50 Mb/s, with four links of 5 ms on the
// round trip. Full frames there have 1514 bytes.
const (
	paperFrame unit.Bytes = 1514
	paperRate             = 50 * unit.Mbps
	paperUsers            = 2
	paperTrip             = 20 * unit.Millisecond
	paperQMin             = 6
	paperQBase            = 20
	paperGamma            = 16
)

// minTripShare is the share of a round trip below which a baseline costs much of the link's rate; the paper has 24 %
// (experiments/scale.yaml, experiments/sensitivity.yaml).
const minTripShare = 0.1

// minTripShare returns the minimum share of a round trip that Q_base needs for the configured number of users. More
// users need less together (thresholdsAt).
func (c *Config) minTripShare() float64 {
	return minTripShare / math.Sqrt(max(1, float64(c.Users)/paperUsers))
}

// tripShare returns a length in the paper's packets as a share of what its link sends in its round trip.
func tripShare(packets float64) float64 {
	return packets * float64(paperFrame) * 8 / (float64(paperRate) * paperTrip.Seconds())
}

// inBytes reports whether thresholds are in bytes or times; otherwise they are in packets.
func (c *Config) inBytes() bool { return c.QBase.Bytes > 0 || c.QBase.Time > 0 }

// thresholdsAt returns the thresholds of equation (2) at a port with a rate in bit/s, in packets or bytes. RoundTrip
// raises them in proportion to itself and to the rate, never below the given values, which bursts need. A congestion
// control that halves its window, or multiplies it by 0.7, has to find the rest in the queue. n users who reduce
// one after the other need less, in proportion to 1/√n (experiments/scale-users.yaml).
func (c *Config) thresholdsAt(rate unit.Rate, frame unit.Bytes) thresholds {
	at := func(d unit.Depth, paper float64) float64 {
		fitted := tripShare(paper) * float64(rate) * c.RoundTrip.Seconds() / 8 / math.Sqrt(float64(c.Users)/paperUsers)
		if c.inBytes() {
			return max(d.BytesAt(rate, frame), fitted)
		}
		return max(float64(d.Packets), fitted/float64(frame))
	}
	t := thresholds{qMin: at(c.QMin, paperQMin), qBase: at(c.QBase, paperQBase), gamma: at(c.Gamma, paperGamma)}
	if !c.PerPacket && !c.inBytes() {
		t.frame = int64(frame)
	}
	return t
}

// Minimum memories. A meter has to cover several round trips of a user, or it measures the bursts of one window. But a
// long memory penalises a user who has long reduced its rate, and users take turns (experiments/sensitivity.yaml). The
// paper's 3 s and 300 ms serve round trips of 1 to 100 ms.
const (
	minMemoryTrips  = 30 // round trips
	minAverageTrips = 3
)

// withFittedMemories returns the configuration with memories at least as long as RoundTrip requires.
func (c Config) withFittedMemories() Config {
	c.Memory = max(c.Memory, minMemoryTrips*c.RoundTrip)
	c.Average = max(c.Average, minAverageTrips*c.RoundTrip)
	return c
}

// Kinds of warnings.
var (
	warnNoRate = scheme.WarningKind{ID: "abc-no-rate",
		Condition: "a threshold is a time, and a port has no rate in bit/s"}
	warnBuffer = scheme.WarningKind{ID: "abc-buffer",
		Condition: "q_base is not below the buffer of a port at which data can queue"}
	warnQBase = scheme.WarningKind{ID: "abc-q-base",
		Condition: "q_base is below 10 % of a round trip, divided by √(users / 2), at a port at which data can queue"}
	warnMTURigid = scheme.WarningKind{ID: "abc-mtu-rigid",
		Condition: "a packet of a sender without SYN leaves no room for a mark within mtu"}
	warnMTUIPv6 = scheme.WarningKind{ID: "abc-mtu-ipv6",
		Condition: "the minimum MTU of IPv6 leaves no room for a mark within mtu"}
)

// Check warns of thresholds that do not fit rates, buffers and round trips, and of domain settings that cannot work. It
// refuses parameters that name unknown users.
func (c *Config) Check(s *dataplane.SwitchContext) []scheme.Remark {
	return append(append(c.checkDomain(s), c.refuseUnknownUsers(s)...), c.checkBaselines(s)...)
}

// checkBaselines warns of a Q_base that exceeds a port's buffer, or that is too short for its round trip, at the worst
// of the ports where data can queue. It also warns of times at a port without a rate in bit/s.
func (c *Config) checkBaselines(s *dataplane.SwitchContext) (all []scheme.Remark) {
	frame := s.FrameSize()
	for _, port := range s.QueueingPorts() {
		rate, trip := port.Rate.Bits, s.MaxTrip(port)
		if trip == 0 {
			trip = c.RoundTrip
		}
		trip = trip.RoundRough() // for the text
		if rate == 0 {
			if c.RoundTrip > 0 || c.QBase.Time > 0 {
				all = append(all, warnNoRate.NewRemark("q_base",
					"the port to %s has no rate in bit/s, so a threshold in time has no effect there",
					port.To).WithPort(port.PortName(), 0))
			}
			continue
		}
		t, b, needed := c.thresholdsAt(rate, frame), port.Buffer, c.minTripShare()*float64(trip)
		grown := c.maxRoom(&t, tm.Limit{Packets: int32(b.Packets), Bytes: b.Bytes}, frame, rate)
		if !c.inBytes() {
			t.qBase *= float64(frame)
		}
		buffer := unit.Depth{Packets: b.Packets, Bytes: b.Bytes}.BytesAt(rate, frame)
		wait := unit.Time(t.qBase * 8e12 / float64(rate))
		switch {
		case buffer > 0 && buffer <= t.qBase:
			all = append(all, warnBuffer.NewRemark("q_base", "it is %v at the port to %s, but the buffer there is full at %v, "+
				"so it drops first, regardless of the sender", wait, port.To, b).WithPort(port.PortName(), t.qBase/buffer))
		case trip > 0 && float64(wait) < needed:
			until := ""
			if float64(wait)*math.Exp2(grown) >= needed {
				until = " until thresholds have grown"
			}
			all = append(all, warnQBase.NewRemark("q_base", "it is %v at the port to %s with %v, below %.2g%% of a round trip "+
				"of %v, so flows that lose a packet leave the link idle%s; use round_trip: %v", wait, port.To,
				port.Rate, 100*c.minTripShare(), trip, until, trip).WithPort(port.PortName(), needed/float64(max(wait, 1))))
		}
	}
	return scheme.KeepWorst(all)
}
