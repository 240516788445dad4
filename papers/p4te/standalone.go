package p4te

import (
	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// Standalone is the part of P4TE that needs no fabric, in a standalone switch between hosts that do not expect it:
// classes are metered where they come in (§6.1.4) and ports where frames leave (§6.1.3), and flows of a class above its
// safe rate adapt (§6.4) by a window that the switch holds (Enforced). What is ours: the switch is the leaf of all
// hosts, so that a change is made in the register at once, without a header, a fake ACK, or a second pass. Other
// programs forward.
type Standalone struct {
	leaf Program // which has no more than the parts named above
}

// standaloneTrip stands for the round trip that no topology tells: one that few paths of the internet exceed (RFC 8289
// §4.2).
const standaloneTrip = 100 * unit.Millisecond

// newAt makes a program for a switch of a network, or for one on its own, which has no routes.
func newAt(site *dataplane.Site, o Options) (dataplane.Program, error) {
	if site.Routes == nil && o.whyNotStandalone() == "" {
		return NewStandalone(site, o), nil
	}
	return New(site, o)
}

// NewStandalone returns the program for a switch on its own, of options that need no network.
func NewStandalone(site *dataplane.Site, o Options) *Standalone {
	place := &dataplane.TreePosition{Tier: 1}
	for p := range site.Lines {
		place.Down = append(place.Down, packet.PortID(p))
	}
	if o.RoundTrip == 0 {
		o.RoundTrip = standaloneTrip
	}
	if o.Rate.Decision == DecideFit { // what an operator commits of the port's rate
		o.Rate.Decision = DecidePaper
	}
	c := o.config(site, place)
	a := &Standalone{Program{config: c, place: place}}
	t := &a.leaf
	t.colours = NewColours(site.Lines, c.Committed, c.Peak, c.Burst, site.MaxFrame)
	t.safe = NewSafeRates(site.Lines, c.Safe, c.SafePeak, c.Burst, site.MaxFrame)
	t.rate = newRater(t, c.Rate)
	return a
}

// Name is "p4te".
func (*Standalone) Name() string { return "p4te" }

// whyNotStandalone returns which parts are for a fabric, and what is left without them.
func (o *Options) whyNotStandalone() string {
	const left = "; what a switch on its own has is paths: false with rate: enforced"
	switch {
	case o.Paths:
		return dataplane.ChoosesPaths + left
	case !o.Monitor:
		return "without monitoring it does nothing" + left
	case o.Rate.Mode != Enforced:
		return "fake ACKs that a sender gets do not slow it down" + left
	}
	return ""
}

// Kinds of warnings.
var (
	warnClasses = scheme.WarningKind{ID: "p4te-classes",
		Condition: "a switch on its own: frames without a DSCP are of no class with a safe rate"}
	warnSafeLate = scheme.WarningKind{ID: "p4te-safe-late",
		Condition: "a switch on its own: the safe rate of a port is not below the rate of every other port"}
)

// Check says where rates cannot change, of a switch on its own, and what is far from what follows from a network.
func (o *Options) Check(s *dataplane.SwitchContext) (all []scheme.Remark) {
	if s.Switch != "" || o.whyNotStandalone() != "" {
		return o.warnOfNetwork(s)
	}
	class := o.class()
	if class[0] == Other {
		all = append(all, warnClasses.Remark("classes", "frames without a DSCP are of no class that has a safe rate, and no "+
			"rate of theirs changes; classes: {0x00: high_throughput} names one"))
	}
	for i := range s.Ports {
		in, most := &s.Ports[i], unit.Rate(0)
		for j := range s.Ports {
			if j != i {
				most = max(most, s.Ports[j].Rate.Bits)
			}
		}
		all = append(all, o.late("safe_low_delay", in, o.Safe[LowDelay], most)...)
		all = append(all, o.late("safe_high_throughput", in, o.Safe[HighThroughput], most)...)
	}
	return all
}

// late warns of a safe rate that is above all that can leave.
func (o *Options) late(param string, in *dataplane.Peer, share float64, most unit.Rate) []scheme.Remark {
	safe := part(in.Rate, share).Bits
	if safe < most {
		return nil
	}
	return []scheme.Remark{warnSafeLate.Remark(param, "at port %s that is %v, and no other port sends more than %v: "+
		"no rate "+
		"of what comes in there changes", in.To, safe, most).At(in.Port(), 0)}
}

// Ingress meters the class of what comes in, and lowers the windows of acknowledgements that pass.
func (a *Standalone) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	m := &p.Meta
	if m.Mark = uint8(dataplane.Green); m.In == packet.NoPort || m.Flags&packet.Internal != 0 {
		return dataplane.Accept
	}
	m.Mark = uint8(a.leaf.safe.Observe(env.Now(), m.In, a.leaf.config.Class[p.TOS>>2], p.Size))
	var h Header // stays here: the register is this switch's
	a.leaf.rate.fromHost(p, &h)
	return a.leaf.rate.toHost(env, p, nil)
}

// Egress meters what leaves, and changes the flow's rate.
func (a *Standalone) Egress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	colour, _ := a.leaf.colours.Observe(env.Now(), p.Meta.Out, p.Size)
	a.leaf.rate.adapt(p, colour, a.leaf.config.Rate.Decision != DecideQueue || a.leaf.queued(env, p.Meta.Out))
	return dataplane.Accept
}

// adapt is what a fake ACK does at the sender's leaf, for a packet that this leaf has in hand.
func (r *rater) adapt(p *packet.Packet, egress dataplane.Colour, queued bool) {
	lower, acts := r.adjustment(dataplane.Colour(p.Meta.Mark), egress, queued)
	if !acts || p.Payload == 0 || p.Proto != packet.ProtoTCP || p.Meta.Flags&packet.Internal != 0 {
		return
	}
	c, seq := r.cell(p.Hash), uint32(p.Seq)
	if c == nil || !c.known || int64(int32(seq-c.changed)) < int64(r.config.Bytes) {
		return
	}
	c.changed, c.quiet = seq, c.next
	r.changeLimit(c, lower)
	if !lower {
		r.t.counts.Raise++
		return
	}
	r.t.counts.Lower++
	if ecn := p.TOS & packet.ECN; r.config.Mark && ecn != packet.NotECT {
		p.TOS |= packet.CE
	}
}

// Adopt takes over what the switch knows of its flows: only their SYNs say how their windows are scaled.
func (a *Standalone) Adopt(_ unit.Time, other dataplane.Program) (kept string, lost []string) {
	old, ok := other.(*Standalone)
	if !ok || len(old.leaf.rate.flows) != len(a.leaf.rate.flows) {
		return "", nil
	}
	a.leaf.rate.flows, a.leaf.rate.held = old.leaf.rate.flows, old.leaf.rate.held
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

// Metrics describes how often rates have changed, and what is held.
func (*Standalone) Metrics() []dataplane.Metric {
	return []dataplane.Metric{
		metricChanges: {Name: "weir_p4te_rate_changes_total", Help: "Changes of flows' rates.", Label: "change",
			Counter: true},
		metricWindows: {Name: "weir_p4te_windows_lowered_total",
			Help: "Acknowledgements that have left with a lower window.", Counter: true},
		metricHeld: {Name: "weir_p4te_held_flows", Help: "Flows that have a limit of their windows now."},
		metricColour: {Name: "weir_p4te_port_colour",
			Help:  "Colour of the last frame that left by a port: 0 is below the committed rate, 2 above the peak.",
			Label: "port", ByPort: true},
	}
}

// Sample gives the metrics' values.
func (a *Standalone) Sample(_ unit.Time, to []dataplane.Sample) (n int) {
	add := func(s dataplane.Sample) {
		if n < len(to) {
			to[n] = s
			n++
		}
	}
	add(dataplane.Sample{Metric: metricChanges, Word: "lower", Value: float64(a.leaf.counts.Lower)})
	add(dataplane.Sample{Metric: metricChanges, Word: "raise", Value: float64(a.leaf.counts.Raise)})
	add(dataplane.Sample{Metric: metricWindows, Value: float64(a.leaf.counts.Held)})
	add(dataplane.Sample{Metric: metricHeld, Value: float64(a.leaf.rate.held)})
	for i := range a.leaf.colours.old {
		port := packet.PortID(i)
		add(dataplane.Sample{Metric: metricColour, Port: port, Value: float64(a.leaf.colours.Colour(port))})
	}
	return n
}
