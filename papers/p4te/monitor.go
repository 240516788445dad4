package p4te

import (
	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/unit"
)

// Metric is a link performance metric that P4TE monitors and routes by (§6.1, §6.2).
type Metric uint8

// The metrics. Each has its own upward table.
const (
	Delay       Metric = iota // hop-to-hop delay (§6.1.2)
	QueueDepth                // egress queue depth (§6.1.1)
	Utilisation               // link utilisation, a meter's colour (§6.1.3)
	MetricCount               // number of metrics
)

// String returns "delay", "queue depth" or "utilisation"; "unknown" for any other value.
func (m Metric) String() string {
	if m < MetricCount {
		return [...]string{"delay", "queue depth", "utilisation"}[m]
	}
	return "unknown"
}

// Change is the direction of an event.
type Change uint8

// Changes.
const (
	Unchanged Change = iota
	Increase
	Decrease
)

// Gradient is algorithm 1, lines 1 to 10, and algorithm 2, lines 1 to 10. For each port it keeps the last value that
// was an event, initially 0. It reports an event when a value is at least Δ above that, or more than Δ below (the
// paper's ≥ and <). A window of 2Δ moves with the values, so Δ steps of 1 cause at most one event.
//
// It only compares values with each other and with the initial 0. A constant error in all of them, such as the offset
// between the clocks of two switches, is one event at first, then without effect; LinkDelay removes it.
type Gradient struct {
	old, delta []int64 // by port
}

// NewGradient returns the registers for ports with these Δ, which are above 0. It keeps delta.
func NewGradient(delta []int64) *Gradient {
	return &Gradient{make([]int64, len(delta)), delta}
}

// Observe compares a packet's value at a port with the port's last event. If the value is an event, it becomes the last
// one, and Observe returns its direction; otherwise it returns Unchanged.
func (g *Gradient) Observe(port packet.PortID, value int64) Change {
	old, delta := &g.old[port], g.delta[port]
	switch {
	case value >= *old+delta:
		*old = value
		return Increase
	case value < *old-delta:
		*old = value
		return Decrease
	}
	return Unchanged
}

// Colours is algorithm 1, lines 11 to 18: a two-rate three-colour meter (RFC 2698) with fixed rates for each port, and
// the colour of the port's last packet. A change of colour is an event.
type Colours struct {
	meters []*dataplane.TrTCM
	old    []dataplane.Colour
}

// NewColours returns meters with committed and peak shares of the ports' rates as CIR and PIR. Their burst sizes are
// the traffic of these rates in burst, but at least one frame of maxFrame bytes.
func NewColours(lines []dataplane.Line, committed, peak float64, burst unit.Time, maxFrame int32) *Colours {
	c := &Colours{old: make([]dataplane.Colour, len(lines))}
	for _, l := range lines {
		c.meters = append(c.meters, dataplane.NewTrTCM(
			scaleRate(l.Rate, committed), burstSize(scaleRate(l.Rate, committed), burst, maxFrame),
			scaleRate(l.Rate, peak), burstSize(scaleRate(l.Rate, peak), burst, maxFrame)))
	}
	return c
}

// scaleRate returns a share of a rate, at least 1 bit/s or packet/s.
func scaleRate(r unit.LinkRate, share float64) unit.LinkRate {
	if r.Packets > 0 {
		return unit.LinkRate{Packets: max(unit.PacketRate(float64(r.Packets)*share), 1)}
	}
	return unit.LinkRate{Bits: max(unit.Rate(float64(r.Bits)*share), 1)}
}

// burstSize returns the traffic of a rate in t, in bytes or packets, but at least one frame.
func burstSize(r unit.LinkRate, t unit.Time, maxFrame int32) int64 {
	if r.Packets > 0 {
		return max(int64(float64(r.Packets)*t.Seconds()), 1)
	}
	return max(int64(r.Bits.BytesIn(t)), int64(maxFrame), 1)
}

// Observe meters a packet of size bytes that departs by a port, and returns its colour and the change of colour.
func (c *Colours) Observe(now unit.Time, port packet.PortID, size int32) (dataplane.Colour, Change) {
	before := c.old[port]
	after := c.meters[port].MeterPacket(now, size, dataplane.Green)
	c.old[port] = after
	switch {
	case before < after:
		return after, Increase
	case before > after:
		return after, Decrease
	}
	return after, Unchanged
}

// Colour returns the colour of the port's last packet (old_packet_colors).
func (c *Colours) Colour(port packet.PortID) dataplane.Colour { return c.old[port] }

// Class is a traffic class (§3.2).
type Class uint8

// Traffic classes.
const (
	Other          Class = iota // neither class: routed by queue depth, packet by packet
	LowDelay                    // short flows that need low latency
	HighThroughput              // large flows that need throughput
	ClassCount                  // number of classes
)

// String returns the class's name in specs; "unknown" for ClassCount and above.
func (c Class) String() string {
	if c < ClassCount {
		return classNames[c]
	}
	return "unknown"
}

// SafeRates is algorithm 2, line 11: for each ingress port and class a meter with one rate, the class's safe rate (P4TE
// §6.1.4), and two colours: Green below it, Yellow above. Other has no meter and is always green. The P4TE code has
// meters of two rates and three colours.
type SafeRates struct {
	meters       [][ClassCount]*dataplane.SrTCM
	threeColours [][ClassCount]*dataplane.TrTCM // if not empty, replaces meters
}

// NewSafeRates returns meters of shares of the ports' rates, with bursts as in NewColours. With peak 0 they have two
// colours. Otherwise they have three, and their PIR is peak as a share of the port's rate, or the class's own share if
// that is larger.
func NewSafeRates(lines []dataplane.Line, share [ClassCount]float64, peak float64, burst unit.Time,
	maxFrame int32) *SafeRates {
	s := &SafeRates{}
	for i, l := range lines {
		if peak > 0 {
			s.threeColours = append(s.threeColours, [ClassCount]*dataplane.TrTCM{})
		} else {
			s.meters = append(s.meters, [ClassCount]*dataplane.SrTCM{})
		}
		for class := LowDelay; class < ClassCount; class++ {
			rate := scaleRate(l.Rate, share[class])
			if peak > 0 {
				most := scaleRate(l.Rate, max(peak, share[class]))
				s.threeColours[i][class] = dataplane.NewTrTCM(rate, burstSize(rate, burst, maxFrame), most,
					burstSize(most, burst, maxFrame))
			} else {
				s.meters[i][class] = dataplane.NewSrTCM(rate, burstSize(rate, burst, maxFrame), 0)
			}
		}
	}
	return s
}

// Observe meters a packet of size bytes and a class that arrived at a port, and returns its colour. Class Other, and
// packets from ports without meters, are green.
func (s *SafeRates) Observe(now unit.Time, port packet.PortID, class Class, size int32) dataplane.Colour {
	switch {
	case class == Other || int(port) >= len(s.meters)+len(s.threeColours):
		return dataplane.Green
	case s.threeColours != nil:
		return s.threeColours[port][class].MeterPacket(now, size, dataplane.Green)
	case s.meters[port][class].MeterPacket(now, size, dataplane.Green) == dataplane.Green:
		return dataplane.Green
	}
	return dataplane.Yellow
}
