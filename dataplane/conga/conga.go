// Package conga is CONGA (Alizadeh et al., SIGCOMM 2014): in leaf-spine networks, every
// flowlet takes the uplink whose path to the destination's leaf is least congested, as that
// leaf tells.
//
// Every port has a discounting rate estimator (DRE, §3.2). The packets between leaves carry
// the uplink that they took (LBTag) and the largest congestion of their links (CE, §3.3);
// the leaf at the end keeps that by leaf and tag, and gives it back, one value a packet, in
// packets that go the other way (§3.3, feedback). A new flowlet takes the port for which
// the larger of local congestion and what the other leaf told is least (§3.5).
package conga

import (
	"fmt"
	"math"

	"weir/dataplane"
	"weir/packet"
	"weir/scheme"
	"weir/unit"
)

// Extension is the packet extension in place of CONGA's overlay header (§3.1): LBTag, CE,
// FB_LBTag, FB_Metric, a byte each. It changes en route. FB_LBTag 0xff: no feedback.
const Extension uint8 = 0x39

const (
	tag, ce, fbTag, fbMetric = 0, 1, 2, 3
	noFeedback               = 0xff
)

// Config are CONGA's parameters.
type Config struct {
	Gap    unit.Time // T_fl, that ends a flowlet
	Cells  int       // of the flowlet table
	Tau    unit.Time // time constant of the DRE
	Period unit.Time // T_dre, of its decrements
	Bits   int       // Q, of a congestion metric
	Age    unit.Time // after which what a leaf told counts no more
}

// Scheme is what an experiment names: switch: [conga].
func Scheme() dataplane.Scheme {
	return dataplane.Scheme{
		Scheme: scheme.Scheme{Name: "conga", Doc: "flowlets by congestion of the whole path, which leaves tell each other; leaf-spine networks; hop limit", Source: "Alizadeh et al., SIGCOMM 2014", Params: []scheme.Param{
			{Name: "gap", Kind: scheme.Duration, Default: "500us", Min: "0s", Max: "10s", Doc: "that ends a flowlet", Source: "CONGA §3.6: T_fl = 500us"},
			{Name: "cells", Kind: scheme.Int, Default: "65536", Min: "1", Max: "16777216", Doc: "of the flowlet table, rounded up to a power of two", Source: "CONGA §3.4: 64 K entries"},
			{Name: "tau", Kind: scheme.Duration, Default: "160us", Min: "1ns", Max: "10s", Doc: "time constant of the rate estimators", Source: "CONGA §3.6: 160us"},
			{Name: "period", Kind: scheme.Duration, Default: "16us", Min: "1ns", Max: "10s", Doc: "of their decrements, at most tau", Source: "CONGA §3.2: T_dre; the value is ours, alpha 0.1"},
			{Name: "bits", Kind: scheme.Int, Default: "3", Min: "1", Max: "8", Doc: "of a congestion metric", Source: "CONGA §3.6: Q = 3"},
			{Name: "age", Kind: scheme.Duration, Default: "10ms", Min: "1us", Max: "60s", Doc: "after which what a leaf told counts no more", Source: "CONGA §3.3: 10ms"},
		}},
		Build: func(site *dataplane.Site, v scheme.Values) (dataplane.Program, error) {
			return New(site, Config{Gap: v.Time("gap"), Cells: v.Int("cells"), Tau: v.Time("tau"), Period: v.Time("period"), Bits: v.Int("bits"), Age: v.Time("age")})
		},
	}
}

// Program is CONGA at a leaf or at a spine.
type Program struct {
	config   Config
	place    *dataplane.Place
	paths    dataplane.PathSet
	flowlets *dataplane.Flowlets
	random   unit.Random
	seed     uint32

	rates  []estimator // by port
	uplink []uint8     // by port, its tag; noFeedback: it leads down
	port   []dataplane.PortID
	leaf   []uint32 // by address, its leaf
	to     []metric // by leaf and tag: Congestion-To-Leaf
	from   []metric // by leaf and tag: Congestion-From-Leaf
	tags   []uint8  // by leaf, one more than the highest tag that came
	next   []uint8  // by leaf, the tag that was told last
	most   uint8
}

// metric is a congestion metric and when it came.
type metric struct {
	at      unit.Time
	value   uint8
	known   bool
	changed bool
}

// estimator is a DRE (§3.2): X grows by the bytes that leave and shrinks by alpha each
// period, so that X is R·tau for a rate R.
type estimator struct {
	x    float64
	last unit.Time // when it was decremented last
	full float64   // bytes in tau at the port's rate
}

// New returns the program for a leaf or spine; the error says why the network is no
// leaf-spine one.
func New(site *dataplane.Site, c Config) (*Program, error) {
	if site.Place == nil {
		return nil, fmt.Errorf("conga: the network is not known")
	}
	place, err := site.Place()
	switch {
	case err != nil:
		return nil, fmt.Errorf("conga needs a leaf-spine network: %w", err)
	case place.Tiers != 2:
		return nil, fmt.Errorf("conga needs a leaf-spine network; this one has %d tiers", place.Tiers)
	case c.Period > c.Tau || c.Period <= 0:
		return nil, fmt.Errorf("conga: a period of %v; above 0 and up to tau, %v, is possible", c.Period, c.Tau)
	case len(place.Up) > noFeedback:
		return nil, fmt.Errorf("conga: %d uplinks; at most %d are possible", len(place.Up), noFeedback)
	}
	f, err := dataplane.NewFlowlets(c.Cells, c.Gap)
	if err != nil {
		return nil, fmt.Errorf("conga: %w", err)
	}
	r := site.Random("conga")
	g := &Program{config: c, place: place, paths: dataplane.NewPathSet(site), flowlets: f, random: r, seed: uint32(r.Uint64()),
		rates: make([]estimator, site.Ports), uplink: make([]uint8, site.Ports), port: place.Up, leaf: site.Routes.Paths(4).Class, most: uint8(1<<c.Bits - 1)}
	for i := range g.rates {
		rate := site.Lines[i].Rate
		if g.rates[i].full = float64(rate.Bits) / 8 * c.Tau.Seconds(); rate.Packets > 0 {
			g.rates[i].full = float64(rate.Packets) * float64(max(site.MaxFrame, 1)) * c.Tau.Seconds()
		}
		g.uplink[i] = noFeedback
	}
	for k, p := range place.Up {
		g.uplink[p] = uint8(k)
	}
	leaves := 0
	for _, x := range g.leaf {
		leaves = max(leaves, int(x)+1)
	}
	if place.Tier == 1 {
		g.to, g.from = make([]metric, leaves*len(place.Up)), make([]metric, leaves*noFeedback)
		g.tags, g.next = make([]uint8, leaves), make([]uint8, leaves)
	}
	return g, nil
}

// Name is "conga".
func (g *Program) Name() string { return "conga" }

// level is a port's congestion in 2^Q − 1 steps of its rate.
func (g *Program) level(e *estimator, now unit.Time) uint8 {
	if n := (now - e.last) / g.config.Period; n > 0 {
		e.x *= math.Pow(1-float64(g.config.Period)/float64(g.config.Tau), float64(n))
		e.last += n * g.config.Period
	}
	return uint8(min(e.x/e.full*float64(g.most), float64(g.most)))
}

// Ingress takes in what the other leaf tells, and chooses the port.
func (g *Program) Ingress(env *dataplane.Env, p *packet.Packet, m *dataplane.Metadata) dataplane.Verdict {
	ports, _, v := g.paths.To(p)
	if v != dataplane.Accept {
		return v
	}
	m.Out = ports[0]
	if g.place.Tier != 1 {
		return dataplane.Accept
	}
	now := env.Now()
	if p.Asks(Extension) { // from another leaf: it ends here
		g.learn(now, p)
		g.resize(p, func() { p.RemoveExtension(Extension) })
		return dataplane.Accept
	}
	if g.uplink[m.Out] == noFeedback {
		return dataplane.Accept
	}
	to := int(g.leaf[p.Dst])
	hash := dataplane.MixHash(p.Hash ^ g.seed)
	if port, goesOn := g.flowlets.Port(now, hash); goesOn && int(port) < len(g.uplink) && g.uplink[port] != noFeedback {
		m.Out = port
	} else {
		m.Out = g.choose(now, to, hash)
		g.flowlets.Begin(now, hash, m.Out)
	}
	var header [4]byte
	header[tag], header[fbTag] = g.uplink[m.Out], noFeedback
	g.tell(now, to, &header)
	g.resize(p, func() { p.SetExtension(Extension, header[:]) })
	return dataplane.Accept
}

// resize counts what a change of the extensions does to the packet's length.
func (g *Program) resize(p *packet.Packet, change func()) {
	before := p.ExtensionBytes()
	change()
	p.Size += p.ExtensionBytes() - before
}

// choose is §3.5: the uplink with the least of the larger of local and remote
// congestion; of several the flow's last, or one at random.
func (g *Program) choose(now unit.Time, leaf int, hash uint32) dataplane.PortID {
	least, ties := uint8(255), 0
	best := g.port[0]
	last, had := g.flowlets.Last(hash)
	kept := false
	for k, port := range g.port {
		x := g.level(&g.rates[port], now)
		if t := &g.to[leaf*len(g.port)+k]; t.known && now-t.at <= g.config.Age {
			x = max(x, t.value)
		}
		if x > least {
			continue
		}
		if x < least {
			least, ties, kept = x, 0, false
		}
		ties++
		if had && port == last {
			best, kept = port, true
		} else if !kept && g.random.Uint64()>>32*uint64(ties)>>32 == 0 {
			best = port
		}
	}
	return best
}

// learn takes in a packet from another leaf: its path's congestion, and what that leaf
// tells of the paths to it.
func (g *Program) learn(now unit.Time, p *packet.Packet) {
	h, ok := p.Extension(Extension)
	if !ok || len(h) != 4 || int(p.Src) >= len(g.leaf) {
		return
	}
	leaf := int(g.leaf[p.Src])
	if h[tag] < noFeedback {
		g.tags[leaf] = max(g.tags[leaf], h[tag]+1)
		f := &g.from[leaf*noFeedback+int(h[tag])]
		f.changed = f.changed || !f.known || f.value != h[ce]
		f.at, f.value, f.known = now, h[ce], true
	}
	if k := int(h[fbTag]); k < len(g.port) {
		g.to[leaf*len(g.port)+k] = metric{at: now, value: h[fbMetric], known: true}
	}
}

// tell puts one value of the paths from a leaf into a packet that goes there: in turn, and
// those that have changed since they were told before the others (§3.3).
func (g *Program) tell(now unit.Time, leaf int, header *[4]byte) {
	from := g.from[leaf*noFeedback:][:g.tags[leaf]]
	pick := -1
	for i := range from {
		k := (int(g.next[leaf]) + 1 + i) % len(from)
		f := &from[k]
		if !f.known || now-f.at > g.config.Age {
			continue
		}
		if pick < 0 || f.changed {
			pick = k
		}
		if f.changed {
			break
		}
	}
	if pick >= 0 {
		header[fbTag], header[fbMetric] = uint8(pick), from[pick].value
		from[pick].changed = false
		g.next[leaf] = uint8(pick)
	}
}

// Egress counts what leaves, and raises the packet's congestion to its link's.
func (g *Program) Egress(env *dataplane.Env, p *packet.Packet, m *dataplane.Metadata) dataplane.Verdict {
	e := &g.rates[m.Out]
	level := g.level(e, env.Now())
	e.x += float64(p.Size)
	if p.Asks(Extension) {
		if h, ok := p.Extension(Extension); ok && len(h) == 4 && h[ce] < level {
			h[ce] = level
		}
	}
	return dataplane.Accept
}
