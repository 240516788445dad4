// Package ecn marks packets by the length of their egress queue, with a probability that
// rises linearly between two thresholds, as RED does with the average (Floyd, Jacobson,
// ToN 1(4), 1993) and DCQCN with the queue itself (DCQCN §3.1). With equal thresholds
// it is the step of DCTCP (RFC 8257 §3.1). Nothing is dropped, and packets whose
// transport does not know ECN pass (RFC 3168 §5).
package ecn

import (
	"fmt"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// Curve is the marking at one port: none up to Kmin, Pmax where the queue reaches Kmax, all
// beyond.
type Curve struct {
	Kmin, Kmax unit.Bytes
	Pmax       float64
}

// Probability is that of a packet to be marked at a queue length.
func (c *Curve) Probability(length unit.Bytes) float64 {
	switch {
	case length > c.Kmax:
		return 1
	case length <= c.Kmin:
		return 0
	}
	return c.Pmax * float64(length-c.Kmin) / float64(c.Kmax-c.Kmin)
}

// Hits draws whether a packet is marked at a queue length. It draws only between the
// thresholds.
func (c *Curve) Hits(length unit.Bytes, random unit.Random) bool {
	return length > c.Kmin && (length > c.Kmax || random.Float64() < c.Probability(length))
}

// marker is what marking before and after the queue have in common.
type marker struct {
	curves []Curve // by port
	random unit.Random
}

// Enqueue marks packets by the queue that they find when they come.
type Enqueue struct{ marker }

// Dequeue marks packets by the queue that they leave behind.
type Dequeue struct{ marker }

// Scheme is what an experiment names: switch: [ecmp, {ecn: {kmin: 100KB, kmax: 400KB}}].
func Scheme() dataplane.Scheme {
	return dataplane.Scheme{
		Scheme: scheme.Scheme{Name: "ecn", Doc: "marks packets by the length of the egress queue, linearly between " +
			"two thresholds", Source: "DCQCN §3.1, RFC 8257 §3.1, HPCC simulator", Params: append(Params(),
			scheme.Param{Name: "at", Kind: scheme.Text, Words: []string{"dequeue", "enqueue"}, Default: "dequeue",
				Doc: "by the queue that a packet leaves behind, or by the one that it finds", Source: "HPCC simulator"},
		)},
		Build: func(site *dataplane.Site, v scheme.Values) (dataplane.Program, error) {
			curves, err := Curves(site, v)
			if err != nil {
				return nil, fmt.Errorf("ecn: %w", err)
			}
			k := marker{curves, site.Random("ecn")}
			if v.Text("at") == "enqueue" {
				return &Enqueue{k}, nil
			}
			return &Dequeue{k}, nil
		},
	}
}

// Params are the parameters that Curves reads.
func Params() []scheme.Param {
	return []scheme.Param{
		{Name: "kmin", Kind: scheme.Size, Default: "400KB", Doc: "length up to which nothing is marked",
			Source: "HPCC §5.1: 100 KB × rate/25 Gbps, at 100 Gbps"},
		{Name: "kmax", Kind: scheme.Size, Default: "1600KB",
			Doc:    "length beyond which all is marked; kmin = kmax is DCTCP's step",
			Source: "HPCC §5.1: 400 KB × rate/25 Gbps, at 100 Gbps"},
		{Name: "pmax", Kind: scheme.Share, Default: "20%", Min: "0%", Max: "100%",
			Doc: "share that is marked just below kmax", Source: "HPCC simulator: 0.2"},
		{Name: "at_rate", Kind: scheme.Rate, Default: "0bps",
			Doc:    "rate of a port that has kmin and kmax; those of others are in proportion; 0bps: all ports have the same",
			Source: "ours; HPCC §5.1 has them in proportion"},
		{Name: "kmin_map", Kind: scheme.Map, Of: scheme.Size,
			Doc:    "kmin of ports with a rate, as {100Gbps: 400KB, 400Gbps: 1600KB}, in place of kmin",
			Source: "HPCC simulator: KMIN_MAP"},
		{Name: "kmax_map", Kind: scheme.Map, Of: scheme.Size, Doc: "kmax of ports with a rate",
			Source: "HPCC simulator: KMAX_MAP"},
		{Name: "pmax_map", Kind: scheme.Map, Of: scheme.Share, Doc: "pmax of ports with a rate",
			Source: "HPCC simulator: PMAX_MAP"},
	}
}

// Curves are the curves of a switch's ports.
func Curves(site *dataplane.Site, v scheme.Values) ([]Curve, error) {
	var curves []Curve
	for i := range site.Ports {
		var rate unit.Rate
		if i < len(site.Lines) {
			rate = site.Lines[i].Rate.Bits
		}
		c, err := curve(v, rate)
		if err != nil {
			return nil, err
		}
		curves = append(curves, c)
	}
	return curves, nil
}

// curve is the marking at a port of a rate.
func curve(v scheme.Values, rate unit.Rate) (Curve, error) {
	c := Curve{Kmin: v.Bytes("kmin"), Kmax: v.Bytes("kmax"), Pmax: v.Float("pmax")}
	if at := v.Rate("at_rate"); at > 0 && rate > 0 {
		c.Kmin = unit.Bytes(float64(c.Kmin) * float64(rate) / float64(at))
		c.Kmax = unit.Bytes(float64(c.Kmax) * float64(rate) / float64(at))
	}
	for _, name := range []string{"kmin_map", "kmax_map", "pmax_map"} {
		for _, e := range v.Map(name) {
			r, err := unit.ParseRate(e.Key)
			switch {
			case err != nil:
				return c, fmt.Errorf("%s: %w", name, err)
			case r != rate:
			case name == "kmin_map":
				c.Kmin = e.Value.(unit.Bytes)
			case name == "kmax_map":
				c.Kmax = e.Value.(unit.Bytes)
			default:
				if c.Pmax = e.Value.(float64); !(c.Pmax >= 0 && c.Pmax <= 1) {
					return c, fmt.Errorf("pmax_map: %s has %g; 0%% … 100%% is possible", e.Key, c.Pmax)
				}
			}
		}
	}
	if c.Kmin > c.Kmax {
		return c, fmt.Errorf("kmin (%d bytes) is above kmax (%d bytes) at a port of %v", c.Kmin, c.Kmax, rate)
	}
	return c, nil
}

// Markable tells whether a packet can be marked, and is not.
func Markable(p *packet.Packet) bool {
	return p.TOS&packet.ECN != packet.NotECT && p.TOS&packet.ECN != packet.CE
}

// mark marks a markable packet that finds, or leaves behind, so much.
func (k *marker) mark(env *dataplane.Env, p *packet.Packet) {
	m := &p.Meta
	if k.curves[m.Out].Hits(env.Port(m.Out).Queue(m.Queue).Bytes(), k.random) {
		p.TOS |= packet.CE
	}
}

// Name is "ecn".
func (k *marker) Name() string { return "ecn" }

// Admit marks.
func (e *Enqueue) Admit(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if Markable(p) {
		e.mark(env, p)
	}
	return dataplane.Accept
}

// Egress marks.
func (d *Dequeue) Egress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if Markable(p) {
		d.mark(env, p)
	}
	return dataplane.Accept
}
