package p4te

import (
	"fmt"
	"math"

	"weir/core/dataplane"
	"weir/core/scheme"
	"weir/core/unit"
)

// How times and lengths follow from the network. This is Weir's addition: P4TE §6.1.1 asks for a Δ that fits the
// buffer, and the paper has values only for its own network, with ports of 10 to 40 packets/s, and no value for B.
//
// Δ of a queue or a delay is what a round trip brings. Smaller changes are the bursts of windows; larger ones reach the
// senders as soon. A meter's burst is the same, as P4TE §6.1.3's "serve the same purpose as Δ". A flowlet may take
// another path if its gap is longer than the difference between paths, which queues add to. B is a window: P4TE §6.4.1
// is modelled on DCTCP, which changes its window once in a window.
const (
	deltaTrips = 1
	burstTrips = 1
	gapTrips   = 5
	bytesTrips = 1
)

// Values of the paper and its code, for a network of 10 to 40 packets/s.
const (
	paperDepth      = 2 // packets
	paperDelay      = 15 * unit.Millisecond
	paperBurst      = 100 * unit.Millisecond
	paperGap        = 40 * unit.Millisecond
	paperBytes      = 5000 * unit.Byte
	paperDepthRange = 10 // packets
	paperDelayRange = 75 * unit.Millisecond
)

const (
	minTime    = unit.Nanosecond
	warnFactor = 10 // factor from the network's value, up or down, at which a warning is due
)

// bindDeltas binds the round trip, and the parameters of monitoring that follow from it.
func (o *Options) bindDeltas(p *scheme.Params) {
	p.Time(&o.RoundTrip, "round_trip", "0s", "maximum round-trip time of the network without queues, from which "+
		"delay_delta, depth_delta, burst, gap and bytes follow if they are 0; 0s: derived from the topology's links, or "+
		"100ms for a standalone switch", "Weir; RFC 8289 §4.2").Max("10s")
	p.Packets(&o.DepthDelta, "depth_delta", "0 packets", "Δ of the egress queue depth; 0 packets: the packets that "+
		"the port sends in delay_delta, at least 2", "P4TE §7.1: 2 packets; Weir").Min("0 packets")
	p.Time(&o.DelayDelta, "delay_delta", "0s", "Δ of the hop-to-hop delay; 0s: one round-trip time, or the paper's "+
		"15ms at ports in packets/s", "P4TE §7.1: 15ms; Weir").Min("0s")
	p.Time(&o.Burst, "burst", "0s", "CBS and PBS of all meters as a time at their rates, but at least one frame; 0s: "+
		"one round-trip time, or 100ms at ports in packets/s", "Weir; P4TE code: 0.1 of the rate").Min("0s").Max("10s")

	long := func(name string, t *unit.Time) {
		p.AddRule(name, func() error {
			if *t != 0 && *t < minTime {
				return fmt.Errorf("%v; allowed: %v and more, or 0s", *t, minTime)
			}
			return nil
		})
	}
	long("delay_delta", &o.DelayDelta)
	long("burst", &o.Burst)
}

// classesByDSCP returns the traffic class of each DSCP. Without Classes it is the paper's: low delay for TOS 0x10, high
// throughput for TOS 0x08, and Other for the rest.
func (o *Options) classesByDSCP() (all [64]Class) {
	if len(o.Classes) == 0 {
		all[0x10>>2], all[0x08>>2] = LowDelay, HighThroughput
	}
	for _, x := range o.Classes {
		all[x.Key>>2] = x.Value
	}
	return all
}

// configAt returns the configuration of a switch. Options that are 0 follow from the switch's lines and from the round
// trip, which is the topology's (place.Trip) if RoundTrip is 0. o stays as it is.
func (o *Options) configAt(site *dataplane.Site, place *dataplane.TreePosition) Config {
	c := o.Config
	if c.Rate.Decision == DecideFit {
		c.Rate.Decision = DecidePaper
		if c.Rate.Mode == Enforced {
			c.Rate.Decision = DecideQueue
		}
	}
	if c.Rate.Decision != DecideCode {
		c.SafePeak = 0
	}
	c.Class = o.classesByDSCP()
	trip := o.RoundTrip
	if trip == 0 {
		trip = place.Trip
	}
	var host unit.Rate // the fastest link down
	for _, p := range place.Down {
		host = max(host, site.Lines[p].Rate.Bits)
	}
	derives := trip > 0 && host > 0
	c.setTimes(derives, trip, host)
	if c.Control.Mapping == ByFit {
		c.Control.Mapping = ByStep
		if host > 0 {
			c.Control.Mapping = ByRange
		}
	}
	o.setPortValues(&c, site, derives)
	return c
}

// setTimes sets the times and B that are 0: from the round trip trip and the hosts' rate host if derives, otherwise to
// the paper's values.
func (c *Config) setTimes(derives bool, trip unit.Time, host unit.Rate) {
	choose := func(to *unit.Time, trips, paper unit.Time) {
		switch {
		case *to > 0:
		case derives:
			*to = max(trips*trip, minTime)
		default:
			*to = paper
		}
	}
	choose(&c.DelayDelta, deltaTrips, paperDelay)
	choose(&c.Burst, burstTrips, paperBurst)
	choose(&c.FlowletGap, gapTrips, paperGap)
	switch {
	case c.Rate.Bytes > 0:
	case derives:
		c.Rate.Bytes = min(max(host.BytesIn(bytesTrips*trip), 1), MaxBytes-1)
	default:
		c.Rate.Bytes = paperBytes
	}
}

// setPortValues appends to c, for each port, Δ of the depth and the largest value of each metric's range. c must have
// its times (setTimes) and no such values yet. derives is as in setTimes.
func (o *Options) setPortValues(c *Config, site *dataplane.Site, derives bool) {
	frame := int64(site.MaxFrame)
	if frame == 0 {
		frame = 1514
	}
	n, scales := c.Control.Groups, derives || o.DelayDelta > 0
	for _, l := range site.Lines {
		depth, deepest, longest := int64(o.DepthDelta), int64(o.DepthRange), int64(o.DelayRange)
		own := scales && l.Rate.Bits > 0
		switch {
		case depth > 0:
		case own:
			depth = max(paperDepth, int64(l.Rate.Bits.BytesIn(c.DelayDelta))/frame)
		default:
			depth = paperDepth
		}
		if deepest == 0 {
			if deepest = paperDepthRange; own {
				deepest = int64(n[QueueDepth]) * depth
			}
		}
		if longest == 0 {
			if longest = int64(paperDelayRange); own {
				longest = int64(n[Delay]) * int64(c.DelayDelta)
			}
		}
		c.DepthDelta = append(c.DepthDelta, depth)
		r := &c.Control.Range
		r[Delay], r[QueueDepth] = append(r[Delay], longest), append(r[QueueDepth], deepest)
		r[Utilisation] = append(r[Utilisation], int64(dataplane.Red)+1)
	}
}

// Kinds of warnings.
var (
	warnRoundTrip = scheme.WarningKind{ID: "p4te-round-trip",
		Condition: "round_trip differs from the longest round trip of the experiment by a factor of ten"}
	warnDelayDelta = scheme.WarningKind{ID: "p4te-delay-delta",
		Condition: "delay_delta differs by a factor of ten from the value that follows from the longest round trip"}
	warnBurst = scheme.WarningKind{ID: "p4te-burst",
		Condition: "burst differs by a factor of ten from the value that follows from the longest round trip"}
	warnGap = scheme.WarningKind{ID: "p4te-gap",
		Condition: "gap differs by a factor of ten from the value that follows from the longest round trip"}
	warnBytes = scheme.WarningKind{ID: "p4te-bytes",
		Condition: "bytes differs by a factor of ten from the bytes that the fastest path of the experiment carries in a " +
			"few round trips"}
	warnDrift = scheme.WarningKind{ID: "p4te-drift",
		Condition: "the clocks of two neighbouring switches drift apart faster than hop delays tolerate"}
)

// warnOfNetwork warns of values far from what follows from rates and round trips. Without rates in bit/s it has no
// values to compare with.
func (o *Options) warnOfNetwork(s *dataplane.SwitchContext) (all []scheme.Remark) {
	if o.Monitor {
		all = warnOfDrift(s)
	}
	trip, slowest := s.MaxRTT, s.MinPortRate()
	if trip == 0 || slowest == 0 {
		return all
	}
	far := func(kind scheme.WarningKind, param string, given, fits float64, text, why string) {
		if given > 0 && (given > warnFactor*fits || given < fits/warnFactor) {
			all = append(all, kind.NewRemark(param, "it is %.2g times the %s that follows from a round trip of %v: %s",
				given/fits, text, trip.RoundRough(), why))
		}
	}
	times := func(kind scheme.WarningKind, param string, given, fits unit.Time, why string) {
		far(kind, param, float64(given), float64(fits), fits.RoundRough().String(), why)
	}
	times(warnRoundTrip, "round_trip", o.RoundTrip, trip, "what follows from it is as far off")
	times(warnDelayDelta, "delay_delta", o.DelayDelta, deltaTrips*trip, "the control plane is notified of each burst, or "+
		"of no queue")
	times(warnBurst, "burst", o.Burst, burstTrips*trip, "a port changes its colour with each burst, or after queues "+
		"are full")
	times(warnGap, "gap", o.FlowletGap, gapTrips*trip, "flowlets overtake each other, or never end")
	host := s.MaxNarrowRate
	if host == 0 {
		for i := range s.Ports {
			if s.Ports[i].Host {
				host = max(host, s.Ports[i].Rate.Bits)
			}
		}
	}
	if fits := host.BytesIn(bytesTrips * trip); fits > 0 && o.Rate.Mode != RateOff {
		far(warnBytes, "bytes", float64(o.Rate.Bytes), float64(fits), fits.String(),
			"a window is changed many times before one is answered, or goes on as it is")
	}
	return all
}

// warnOfDrift warns of the neighbour with the largest clock drift if LinkDelay cannot follow that drift.
func warnOfDrift(s *dataplane.SwitchContext) []scheme.Remark {
	const allowed = 1e6 / (1 << driftShift) // ppm
	worst := -1
	for i := range s.Ports {
		if drift := math.Abs(s.Ports[i].Drift); drift > allowed && (worst < 0 || drift > math.Abs(s.Ports[worst].Drift)) {
			worst = i
		}
	}
	if worst < 0 {
		return nil
	}
	p := &s.Ports[worst]
	return []scheme.Remark{warnDrift.NewRemark("monitoring", "the clocks of %s and %s drift apart by %.4g ppm, but hop "+
		"delays tolerate at most %.3g ppm: on a link that is never idle they grow or vanish with time", s.Switch, p.To,
		math.Abs(p.Drift), allowed).WithPort(p.PortName(), math.Abs(p.Drift)/allowed)}
}
