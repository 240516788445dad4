package p4te

import (
	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// Standalone is the part of P4TE that needs no fabric, in a standalone switch between hosts that do not expect it.
// Classes are metered at arrival (P4TE §6.1.4), ports at departure (P4TE §6.1.3), and flows of a class above its safe
// rate adapt (P4TE §6.4) by a window that the switch limits (Enforced). Weir's addition: the switch is the leaf of all
// hosts, so a change is made in the register at once, without a header, a fake ACK, or a second pass. Other programs
// forward.
type Standalone struct {
	leaf Program // with only the parts named above
}

// standaloneTrip replaces the round trip of a topology: few paths of the internet exceed it (RFC 8289 §4.2).
const standaloneTrip = 100 * unit.Millisecond

// newAt returns a Standalone if the site has no routes and the options need no fabric, otherwise a Program.
func newAt(site *dataplane.Site, o Options) (dataplane.Program, error) {
	if site.Routes == nil && o.whyNotStandalone() == "" {
		return NewStandalone(site, o), nil
	}
	return New(site, o)
}

// NewStandalone returns the program for a standalone switch. The options need no network.
func NewStandalone(site *dataplane.Site, o Options) *Standalone {
	place := &dataplane.TreePosition{Tier: 1}
	for p := range site.Lines {
		place.Down = append(place.Down, packet.PortID(p))
	}
	if o.RoundTrip == 0 {
		o.RoundTrip = standaloneTrip
	}
	if o.Rate.Decision == DecideFit { // the operator commits a share of the port's rate
		o.Rate.Decision = DecidePaper
	}
	c := o.configAt(site, place)
	a := &Standalone{Program{config: c, place: place}}
	t := &a.leaf
	t.colours = NewColours(site.Lines, c.Committed, c.Peak, c.Burst, site.MaxFrame)
	t.safe = NewSafeRates(site.Lines, c.Safe, c.SafePeak, c.Burst, site.MaxFrame)
	t.rate = newRater(t, c.Rate)
	return a
}

// Name returns "p4te".
func (*Standalone) Name() string { return "p4te" }

// whyNotStandalone returns which parts need a fabric, and which parameters avoid them; "" if all run standalone.
func (o *Options) whyNotStandalone() string {
	const left = "; a standalone switch requires paths: false with rate: enforced"
	switch {
	case o.Paths:
		return dataplane.ChoosesPaths + left
	case !o.Monitor:
		return "without monitoring it has no effect" + left
	case o.Rate.Mode != Enforced:
		return "fake ACKs do not slow a sender down" + left
	}
	return ""
}

// Kinds of warnings.
var (
	warnClasses = scheme.WarningKind{ID: "p4te-classes",
		Condition: "a standalone switch: frames without a DSCP belong to no class with a safe rate"}
	warnSafeLate = scheme.WarningKind{ID: "p4te-safe-late",
		Condition: "a standalone switch: the safe rate of a port is not below the rate of any other port"}
)

// Check warns, for a standalone switch, where rates cannot change; for a network, of values far from what follows from
// it.
func (o *Options) Check(s *dataplane.SwitchContext) (all []scheme.Remark) {
	if s.Switch != "" || o.whyNotStandalone() != "" {
		return o.warnOfNetwork(s)
	}
	class := o.classesByDSCP()
	if class[0] == Other {
		all = append(all, warnClasses.NewRemark("classes",
			"frames without a DSCP belong to no class with a safe rate, so their rate never changes; assign one with classes: "+
				"{0x00: high_throughput}"))
	}
	for i := range s.Ports {
		in, most := &s.Ports[i], unit.Rate(0)
		for j := range s.Ports {
			if j != i {
				most = max(most, s.Ports[j].Rate.Bits)
			}
		}
		all = append(all, o.warnLateRate("safe_low_delay", in, o.Safe[LowDelay], most)...)
		all = append(all, o.warnLateRate("safe_high_throughput", in, o.Safe[HighThroughput], most)...)
	}
	return all
}

// warnLateRate warns of a safe rate at port in, a share of its rate, that is not below maxRate, the rate of the fastest
// other port.
func (o *Options) warnLateRate(param string, in *dataplane.Peer, share float64, maxRate unit.Rate) []scheme.Remark {
	safe := scaleRate(in.Rate, share).Bits
	if safe < maxRate {
		return nil
	}
	return []scheme.Remark{warnSafeLate.NewRemark(param, "at port %s that is %v, but no other port sends more than %v, "+
		"so the rate of traffic from that port never changes", in.To, safe, maxRate).WithPort(in.PortName(), 0)}
}

// Ingress meters the class of an arriving packet and stores the colour in Meta.Mark. It records the packet in the
// register of flows, and lowers the windows of passing acknowledgements. It accepts every packet. Packets made by
// switches are green and not recorded.
func (a *Standalone) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	m := &p.Meta
	if m.Mark = uint8(dataplane.Green); m.In == packet.NoPort || m.Flags&packet.Internal != 0 {
		return dataplane.Accept
	}
	m.Mark = uint8(a.leaf.safe.Observe(env.Now(), m.In, a.leaf.config.Class[p.TOS>>2], p.Size))
	var h Header // not sent: the register is in this switch
	a.leaf.rate.recordFromHost(p, &h)
	return a.leaf.rate.recordToHost(env, p, nil)
}

// Egress meters a departing packet, and changes the flow's rate, which may mark the packet (adaptHere).
func (a *Standalone) Egress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	colour, _ := a.leaf.colours.Observe(env.Now(), p.Meta.Out, p.Size)
	a.leaf.rate.adaptHere(p, colour, a.leaf.config.Rate.Decision != DecideQueue || a.leaf.hasQueue(env, p.Meta.Out))
	return dataplane.Accept
}

// adaptHere changes the rate of a packet's flow in this leaf's register, as a fake ACK would, and counts the change.
// With Mark it also sets CE in an ECN-capable packet if its flow is to slow down. queued is as in decideChange.
func (r *rater) adaptHere(p *packet.Packet, egress dataplane.Colour, queued bool) {
	lower, acts := r.decideChange(dataplane.Colour(p.Meta.Mark), egress, queued)
	if !acts || p.Payload == 0 || p.Proto != packet.ProtoTCP || p.Meta.Flags&packet.Internal != 0 {
		return
	}
	c, seq := r.findCell(p.Hash), uint32(p.Seq)
	if c == nil || !c.hasAck || int64(int32(seq-c.lastChange)) < int64(r.config.Bytes) {
		return
	}
	c.lastChange, c.quietFrom = seq, c.nextByte
	r.changeLimit(c, lower)
	if !lower {
		r.program.counts.Raise++
		return
	}
	r.program.counts.Lower++
	if ecn := p.TOS & packet.ECN; r.config.Mark && ecn != packet.NotECT {
		p.TOS |= packet.CE
	}
}

// Adopt continues the flows and counters of an old program. Only their SYNs carry the scales of their windows. It takes
// over the old program's register itself, so that program must not run any more. kept is empty if other is no
// Standalone, or if its register of flows has another size.
func (a *Standalone) Adopt(_ unit.Time, other dataplane.Program) (kept string, lost []string) {
	old, ok := other.(*Standalone)
	if !ok || len(old.leaf.rate.flows) != len(a.leaf.rate.flows) {
		return "", nil
	}
	a.leaf.rate.flows, a.leaf.rate.limitedFlows = old.leaf.rate.flows, old.leaf.rate.limitedFlows
	a.leaf.counts = old.leaf.counts
	return "its flows", nil
}

// The metrics of Standalone.
const (
	metricChanges = iota
	metricWindows
	metricHeld
	metricColour
)

// Metrics describes the counters of rate changes, the flows with limits and the ports' colours.
func (*Standalone) Metrics() []dataplane.Metric {
	return []dataplane.Metric{
		metricChanges: {Name: "weir_p4te_rate_changes_total", Help: "Changes of flows' rates.", Label: "change",
			Counter: true},
		metricWindows: {Name: "weir_p4te_windows_lowered_total",
			Help: "Acknowledgements sent with a reduced window.", Counter: true},
		metricHeld: {Name: "weir_p4te_held_flows", Help: "Flows with a current limit of their windows."},
		metricColour: {Name: "weir_p4te_port_colour",
			Help:  "Colour of the last frame that a port sent: 0 is below the committed rate, 2 above the peak rate.",
			Label: "port", ByPort: true},
	}
}

// Sample fills samples with the metrics' values, as far as there is room, and returns their number.
func (a *Standalone) Sample(_ unit.Time, samples []dataplane.Sample) (n int) {
	add := func(s dataplane.Sample) {
		if n < len(samples) {
			samples[n] = s
			n++
		}
	}
	add(dataplane.Sample{Metric: metricChanges, Word: "lower", Value: float64(a.leaf.counts.Lower)})
	add(dataplane.Sample{Metric: metricChanges, Word: "raise", Value: float64(a.leaf.counts.Raise)})
	add(dataplane.Sample{Metric: metricWindows, Value: float64(a.leaf.counts.LoweredWindows)})
	add(dataplane.Sample{Metric: metricHeld, Value: float64(a.leaf.rate.limitedFlows)})
	for i := range a.leaf.colours.old {
		port := packet.PortID(i)
		add(dataplane.Sample{Metric: metricColour, Port: port, Value: float64(a.leaf.colours.Colour(port))})
	}
	return n
}
