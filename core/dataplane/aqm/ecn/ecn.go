// Package ecn marks packets by the length of their egress queue. The probability rises linearly between two
// thresholds, as RED's does with the average (Floyd, Jacobson, ToN 1(4), 1993) and DCQCN's with the queue itself
// (DCQCN §3.1). With equal thresholds it is the step of DCTCP (RFC 8257 §3.1). It drops no packets, and packets of
// transports without ECN pass (RFC 3168 §5).
package ecn

import (
	"fmt"

	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// Curve is the marking at one port: no packet up to Kmin, a share of Pmax at Kmax, all packets above.
type Curve struct {
	Kmin, Kmax unit.Bytes // or numbers of packets
	Pmax       float64
	Packets    bool // Kmin and Kmax count packets, as BMv2's deq_qdepth does
}

// QueueLength returns a queue's length as the curve counts it.
func (c *Curve) QueueLength(q *tm.Queue) unit.Bytes {
	if c.Packets {
		return unit.Bytes(q.Packets())
	}
	return q.Bytes()
}

// LengthOnArrival returns the length, as the curve counts it, that the last packet of a queue found on arrival.
// lastSize is that packet's size. The packet must still wait in q.
func (c *Curve) LengthOnArrival(q *tm.Queue, lastSize unit.Bytes) unit.Bytes {
	if c.Packets {
		return unit.Bytes(q.Packets()) - 1
	}
	return q.Bytes() - lastSize
}

// MarkProbability returns the probability of a mark at a queue length, in bytes or packets as the curve counts it.
func (c *Curve) MarkProbability(length unit.Bytes) float64 {
	switch {
	case length > c.Kmax:
		return 1
	case length <= c.Kmin:
		return 0
	}
	return c.Pmax * float64(length-c.Kmin) / float64(c.Kmax-c.Kmin)
}

// DrawMark draws whether a packet is marked at a queue length. It uses the stream only between the thresholds.
func (c *Curve) DrawMark(length unit.Bytes, random unit.Random) bool {
	return length > c.Kmin && (length > c.Kmax || random.Float64() < c.MarkProbability(length))
}

// marker is the part that marking before and after the queue share.
type marker struct {
	curves []Curve // by port
	random unit.Random
	marked []uint64 // by port
}

// Enqueue marks packets by the queue that they find on arrival.
type Enqueue struct{ marker }

// Dequeue marks packets by the queue that they leave behind.
type Dequeue struct{ marker }

// Config selects where packets are marked, and by which queue.
type Config struct {
	Thresholds
	Enqueue bool // by the queue that a packet finds, not the one that it leaves behind
}

// Params binds the options of ecn to the fields of c, which keep their values.
func (c *Config) Params(p *scheme.Params) {
	c.Thresholds.Params(p)
	p.BoolWords(&c.Enqueue, [2]string{"dequeue", "enqueue"}, "at", "dequeue",
		"queue length that decides; dequeue: the length that a departing packet leaves behind; enqueue: the length that "+
			"an arriving packet finds", "HPCC simulator")
}

// Scheme returns the scheme of the program ecn. A program before it chooses the port:
// switch: [ecmp, {ecn: {kmin: 100KB, kmax: 400KB}}].
func Scheme() dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{Name: "ecn", Doc: "marks packets by the length of the egress queue, linearly " +
		"between two thresholds", Source: "DCQCN §3.1, RFC 8257 §3.1, HPCC simulator"}, New)
}

// New returns the program of a switch: an *Enqueue if c.Enqueue is set, else a *Dequeue. It does not check c
// (scheme.Validate does). The error, which dataplane.Define requires, is always nil.
func New(site *dataplane.Site, c Config) (dataplane.Program, error) {
	k := marker{c.BuildCurves(site), site.Random("ecn"), make([]uint64, site.Ports)}
	if c.Enqueue {
		return &Enqueue{k}, nil
	}
	return &Dequeue{k}, nil
}

// Thresholds hold the curves of ports by their rates.
type Thresholds struct {
	Min, Max         unit.Length
	Pmax             float64
	AtRate           unit.Rate // rate of the port with Min and Max; others' are in proportion; 0: all ports have the same
	KminMap, KmaxMap []scheme.Pair[unit.Rate, unit.Bytes]
	PmaxMap          []scheme.Pair[unit.Rate, float64]
}

// Traits returns that the program marks from kmin on. A kmin in packets counts as full frames of Ethernet.
func (t *Thresholds) Traits() dataplane.Traits {
	return dataplane.Traits{MarksFromPackets: t.Min.Packets, MarksFrom: func(rate unit.Rate) unit.Bytes {
		c := t.curveAt(rate)
		if c.Packets {
			return c.Kmin * 1514
		}
		return c.Kmin
	}}
}

// Params binds the options of the thresholds of ecn to the fields of t, which keep their values.
func (t *Thresholds) Params(p *scheme.Params) {
	p.Length(&t.Min, "kmin", "400KB", "length up to which no packet is marked, in bytes or packets; lower it for "+
		"shorter queues, raise it if links are not filled",
		"HPCC §5.1: 100 KB × rate/25 Gbps, at 100 Gbps")
	p.Length(&t.Max, "kmax", "1600KB", "length above which every packet is marked, in bytes or packets; kmin = kmax "+
		"is DCTCP's step", "HPCC §5.1: 400 KB × rate/25 Gbps, at 100 Gbps")
	p.Share(&t.Pmax, "pmax", "20%", "mark probability just below kmax; raise it so that long queues are marked more, "+
		"without a lower kmin", "HPCC simulator: 0.2").Min("0%").Max("100%")
	p.Rate(&t.AtRate, "at_rate", "0bps",
		"rate of a port to which kmin and kmax apply; they scale in proportion at other rates; 0bps: the same "+
			"thresholds at all ports", "Weir; HPCC §5.1: in proportion")
	scheme.MapOf(p, &t.KminMap, unit.ParseRate, scheme.Sizes, "kmin_map",
		"kmin by rate of the port, in place of kmin: {100Gbps: 400KB, 400Gbps: 1600KB}", "HPCC simulator: KMIN_MAP")
	scheme.MapOf(p, &t.KmaxMap, unit.ParseRate, scheme.Sizes, "kmax_map", "kmax by rate of the port, in place of "+
		"kmax: {100Gbps: 1600KB}",
		"HPCC simulator: KMAX_MAP")
	scheme.MapOf(p, &t.PmaxMap, unit.ParseRate, scheme.Shares, "pmax_map", "pmax by rate of the port, in place of "+
		"pmax: {100Gbps: 20%}",
		"HPCC simulator: PMAX_MAP").Min("0%").Max("100%")

	p.AddRule("kmin", t.checkUnits)
	p.AddRule("kmin", func() error {
		c := t.curveAt(0)
		return c.checkOrder()
	})
	p.AddRule("kmin_map", func() error { return t.checkOrder(t.KminMap) })
	p.AddRule("kmax_map", func() error { return t.checkOrder(t.KmaxMap) })
}

// checkUnits returns an error unless all thresholds are in bytes, or all in packets. The maps are in bytes.
func (t *Thresholds) checkUnits() error {
	packets := t.Min.Packets > 0 || t.Max.Packets > 0
	switch {
	case packets && (t.Min.Bytes > 0 || t.Max.Bytes > 0):
		return fmt.Errorf("kmin (%v) and kmax (%v) are not both in bytes or both in packets", t.Min, t.Max)
	case packets && len(t.KminMap)+len(t.KmaxMap) > 0:
		return fmt.Errorf("kmin_map and kmax_map are in bytes, kmin (%v) is not", t.Min)
	}
	return nil
}

// checkOrder returns an error if the thresholds are out of order at a port with one of these rates.
func (t *Thresholds) checkOrder(rates []scheme.Pair[unit.Rate, unit.Bytes]) error {
	for _, x := range rates {
		c := t.curveAt(x.Key)
		if err := c.checkOrder(); err != nil {
			return fmt.Errorf("kmin at a port of %v: %w", x.Key, err)
		}
	}
	return nil
}

// checkOrder returns an error if Kmin is above Kmax.
func (c *Curve) checkOrder() error {
	switch {
	case c.Kmin <= c.Kmax:
		return nil
	case c.Packets:
		return fmt.Errorf("%d packets is above kmax (%d packets); allowed: at most kmax", c.Kmin, c.Kmax)
	}
	return fmt.Errorf("%v is above kmax (%v); allowed: at most kmax", c.Kmin, c.Kmax)
}

// BuildCurves returns the curves of a switch's ports. A port without a known rate in bit/s has the thresholds without
// scaling.
func (t *Thresholds) BuildCurves(site *dataplane.Site) []Curve {
	var curves []Curve
	for i := range site.Ports {
		var rate unit.Rate
		if i < len(site.Lines) {
			rate = site.Lines[i].Rate.Bits
		}
		curves = append(curves, t.curveAt(rate))
	}
	return curves
}

// curveAt returns the marking at a port of a rate; 0: not in bit/s. The maps' values for exactly this rate replace the
// scaled ones.
func (t *Thresholds) curveAt(rate unit.Rate) Curve {
	c := Curve{Kmin: t.Min.Bytes, Kmax: t.Max.Bytes, Pmax: t.Pmax}
	if t.Min.Packets > 0 || t.Max.Packets > 0 {
		c.Packets, c.Kmin, c.Kmax = true, unit.Bytes(t.Min.Packets), unit.Bytes(t.Max.Packets)
	}
	if t.AtRate > 0 && rate > 0 {
		c.Kmin = unit.Bytes(float64(c.Kmin) * float64(rate) / float64(t.AtRate))
		c.Kmax = unit.Bytes(float64(c.Kmax) * float64(rate) / float64(t.AtRate))
	}
	for _, x := range t.KminMap {
		if x.Key == rate {
			c.Kmin = x.Value
		}
	}
	for _, x := range t.KmaxMap {
		if x.Key == rate {
			c.Kmax = x.Value
		}
	}
	for _, x := range t.PmaxMap {
		if x.Key == rate {
			c.Pmax = x.Value
		}
	}
	return c
}

// IsMarkable reports whether a packet can be marked and is not marked yet.
func IsMarkable(p *packet.Packet) bool {
	return p.TOS&packet.ECN != packet.NotECT && p.TOS&packet.ECN != packet.CE
}

// IsCapable reports whether a packet's transport supports ECN, so that a mark replaces a drop (RFC 3168 §5).
func IsCapable(p *packet.Packet) bool { return p.TOS&packet.ECN != packet.NotECT }

// markPacket sets CE in p with the curve's probability at the present length of p's queue, and counts the mark for the
// port. p must be markable, and Meta.Out and Meta.Queue set.
func (k *marker) markPacket(env *dataplane.Env, p *packet.Packet) {
	m := &p.Meta
	if c := &k.curves[m.Out]; c.DrawMark(c.QueueLength(env.Port(m.Out).Queue(m.Queue)), k.random) {
		p.TOS |= packet.CE
		k.marked[m.Out]++
	}
}

// Name returns "ecn".
func (k *marker) Name() string { return "ecn" }

// Admit marks packets by the queue before them. It drops no packet.
func (e *Enqueue) Admit(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if IsMarkable(p) {
		e.markPacket(env, p)
	}
	return dataplane.Accept
}

// Egress marks packets by the queue behind them. It drops no packet.
func (d *Dequeue) Egress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if IsMarkable(p) {
		d.markPacket(env, p)
	}
	return dataplane.Accept
}
