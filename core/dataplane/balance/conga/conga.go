// Package conga is CONGA (Alizadeh et al., SIGCOMM 2014): in leaf-spine networks, every
// flowlet takes the uplink whose path to the destination's leaf is least congested, as that
// leaf tells.
//
// Every port has a discounting rate estimator (DRE; §3.2). The packets between leaves carry
// the uplink that they took (LBTag) and the largest congestion of their links (CE; §3.3);
// the leaf at the end keeps that by leaf and tag, and gives it back, one value a packet, in
// packets that go the other way (§3.3, feedback). A new flowlet takes the port for which
// the larger of local congestion and what the other leaf fed back is least (§3.5).
//
// The paper leaves failures to the fabric's routing. Here a leaf avoids uplinks that are
// down, and says of the paths whose last link is down, one of its own, that they carry
// nothing (Unreachable, in place of a metric); other links there are none in two tiers.
//
// Times follow from T, the longest round trip of the network without queues, unless a file states them
// (dataplane.DerivedTime): T_fl, tau and the age are 5 T, 1.6 T and 100 T, so that they are the paper's 500 us, 160 us
// and 10 ms at a T of 100 us.
package conga

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// Extension is the packet extension in place of CONGA's overlay header (§3.1): LBTag, CE,
// FB_LBTag, FB_Metric, a byte each. It changes en route. FB_LBTag 0xff: no feedback.
const Extension uint8 = 0x39

const (
	tag, ce, fbTag, fbMetric = 0, 1, 2, 3
	noFeedback               = 0xff
)

// Unreachable is the FB_Metric of a path whose last link is down.
const Unreachable = 0xff

// config are CONGA's parameters.
type config struct {
	Gap    unit.Time // T_fl, that ends a flowlet; 0: derived
	Cells  int       // of the flowlet table
	Tau    unit.Time // time constant of the DRE; 0: derived
	Period unit.Time // T_dre, of its decrements; 0: Tau/10
	Bits   int       // Q, of a congestion metric
	Age    unit.Time // after which a report of a leaf begins to decay; 0: derived
}

// Times of a network without them in its file (§3.3, §3.6).
var (
	derivedGap = dataplane.DerivedTime{Published: 500 * unit.Microsecond}
	derivedTau = dataplane.DerivedTime{Published: 160 * unit.Microsecond}
	derivedAge = dataplane.DerivedTime{Published: 10 * unit.Millisecond, Min: unit.Microsecond}
)

// Params binds the configuration.
func (c *config) Params(p *scheme.Params) {
	derivedGap.Bind(p, &c.Gap, "gap", "that ends a flowlet", "CONGA §3.6").Max("10s")
	p.Int(&c.Cells, "cells", "65536", "of the flowlet table, rounded up to a power of two",
		"CONGA §3.4: 64 K entries").Min("1").Max("16777216")
	derivedTau.Bind(p, &c.Tau, "tau", "time constant of the rate estimators", "CONGA §3.6").Max("10s")
	p.Time(&c.Period, "period", "0s", "of their decrements, at most tau; 0s: a tenth of tau",
		"CONGA §3.2: T_dre; ours: the value, alpha 0.1").Max("10s")
	p.Int(&c.Bits, "bits", "3", "of a congestion metric", "CONGA §3.6: Q = 3").Min("1").Max("7")
	derivedAge.Bind(p, &c.Age, "age", "after which what a leaf told counts half, and half of that each time again",
		"CONGA §3.3").Max("60s")

	p.Rule("period", func() error {
		if c.Tau > 0 && c.Period > c.Tau {
			return fmt.Errorf("%v is above tau, which is %v", c.Period, c.Tau)
		}
		return nil
	})
}

// settle sets the times that are 0. A stated period bounds a derived tau from below.
func (c *config) settle(site *dataplane.Site) {
	derivedGap.SetDefault(&c.Gap, site)
	derivedAge.SetDefault(&c.Age, site)
	if c.Tau == 0 {
		derivedTau.SetDefault(&c.Tau, site)
		c.Tau = max(c.Tau, c.Period)
	}
	if c.Period == 0 {
		c.Period = max(c.Tau/10, 1)
	}
}

// Traits returns that it selects a path for each flowlet.
func (*config) Traits() dataplane.Traits {
	return dataplane.Traits{WhyNotStandalone: dataplane.ChoosesPaths, SelectsPath: true, Spreads: dataplane.EachFlowlet}
}

// Scheme is what an experiment names: switch: [conga].
func Scheme() dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{Name: "conga", Doc: "flowlets by congestion of the whole path, which leaves " +
		"tell each other; leaf-spine networks; hop limit", Source: "CONGA (Alizadeh et al., SIGCOMM 2014)"}, newProgram)
}

// program is CONGA at a leaf or at a spine.
type program struct {
	config   config
	place    *dataplane.TreePosition
	paths    dataplane.PathSet
	flowlets *dataplane.Flowlets
	random   unit.Random
	seed     uint32

	rates  []estimator     // by port
	decay  [64]float64     // by periods, what X has kept
	uplink []uint8         // by port, its tag; noFeedback: a downward port
	port   []packet.PortID // by tag
	leaf   []int32         // by address, its leaf
	to     []metric        // by leaf and tag: Congestion-To-Leaf
	from   []metric        // by leaf and tag: Congestion-From-Leaf
	turns  []turn          // by leaf
	levels []uint8         // by tag, for the current choice
	most   float64         // largest metric
}

// metric is a congestion metric and when it came.
type metric struct {
	at      unit.Time
	value   uint8
	known   bool
	fedBack uint16 // Congestion-From-Leaf: what was fed back last, plus 1; 0: nothing
}

// turn selects which of a leaf's tags to feed back next.
type turn struct {
	last    uint8
	changed [4]uint64 // bit k: tag k has a value that was not fed back yet
}

// next returns the first tag after the last that has changed.
func (t *turn) next() (tag int, ok bool) {
	start := uint(t.last) + 1
	for i := range uint(5) { // once round, and the first word's lower part
		w := (start/64 + i) % 4
		set := t.changed[w]
		switch i {
		case 0:
			set &= ^uint64(0) << (start % 64)
		case 4:
			set &= 1<<(start%64) - 1
		}
		if set != 0 {
			return int(64*w) + bits.TrailingZeros64(set), true
		}
	}
	return 0, false
}

// estimator is a DRE (§3.2): X grows by the bytes that leave and shrinks by alpha each
// period, so that X is R·tau for a rate R.
type estimator struct {
	x     float64
	last  unit.Time // when it was decremented last
	scale float64   // of X to 2^Q steps, by the rate
	rate  unit.LinkRate
	level uint8 // of X
}

// newProgram returns the program for a leaf or spine; the error says why the network is no
// leaf-spine one.
func newProgram(site *dataplane.Site, c config) (*program, error) {
	if site.Place == nil {
		return nil, fmt.Errorf("conga: the network is not known")
	}
	place, err := site.Place()
	switch {
	case err != nil:
		return nil, fmt.Errorf("conga needs a leaf-spine network: %w", err)
	case place.Tiers != 2:
		return nil, fmt.Errorf("conga needs a leaf-spine network; this one has %d tiers", place.Tiers)
	case len(place.Up) > noFeedback:
		return nil, fmt.Errorf("conga: %d uplinks; at most %d are possible", len(place.Up), noFeedback)
	}
	c.settle(site)
	r := site.Random("conga")
	g := &program{config: c, place: place, paths: dataplane.NewPathSet(site),
		flowlets: dataplane.NewFlowlets(c.Cells, c.Gap), random: r,
		seed:  uint32(r.Uint64()),
		rates: make([]estimator, site.Ports), uplink: make([]uint8, site.Ports), leaf: place.Leaf,
		most: float64(int(1)<<c.Bits - 1)}
	for i := range g.decay {
		g.decay[i] = math.Pow(1-float64(c.Period)/float64(c.Tau), float64(i))
	}
	for i := range g.rates {
		g.setRate(&g.rates[i], site.Lines[i].Rate)
		g.uplink[i] = noFeedback
	}
	// A tag stands for the same spine at all leaves, so that they know whose last link is down.
	for _, i := range byAbove(place) {
		g.uplink[place.Up[i]] = uint8(len(g.port))
		g.port = append(g.port, place.Up[i])
	}
	if place.Tier == 1 { // each spine is linked to each leaf, so all have as many uplinks
		n := place.Leaves * len(place.Up)
		g.to, g.from, g.turns, g.levels = make([]metric, n), make([]metric, n), make([]turn, place.Leaves),
			make([]uint8, len(place.Up))
	}
	return g, nil
}

// Name is "conga".
func (g *program) Name() string { return "conga" }

// byAbove returns the numbers of the uplinks in the order of the switches above.
func byAbove(place *dataplane.TreePosition) []int {
	order := make([]int, len(place.Up))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return place.Above[a] - place.Above[b] })
	return order
}

func (g *program) setRate(e *estimator, r unit.LinkRate) {
	e.rate, e.scale = r, float64(int(1)<<g.config.Bits)/dataplane.Carries(r, g.config.Tau)
}

// level returns a port's congestion, in 2^Q equal steps up to its rate (§3.2), after applying the periods
// of T_dre that have passed.
func (g *program) level(e *estimator, now unit.Time) uint8 {
	if now-e.last >= g.config.Period {
		g.decrement(e, now)
	}
	return e.level
}

func (g *program) decrement(e *estimator, now unit.Time) {
	n := unit.Time(1)
	if past := now - e.last; past >= 2*g.config.Period {
		n = past / g.config.Period
	}
	e.last += n * g.config.Period
	if n < unit.Time(len(g.decay)) {
		e.x *= g.decay[n]
	} else {
		e.x *= math.Pow(g.decay[1], float64(n))
	}
	g.quantise(e)
}

func (g *program) quantise(e *estimator) {
	if x := e.x * e.scale; x < g.most {
		e.level = uint8(x)
	} else {
		e.level = uint8(g.most)
	}
}

// Ingress learns from the other leaf's feedback, and chooses the port.
func (g *program) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	m := &p.Meta
	ports, _, v := g.paths.To(p)
	if v != dataplane.Accept {
		return v
	}
	m.Out = ports[0]
	if g.place.Tier != 1 {
		return dataplane.Accept
	}
	now := env.Now()
	if p.Asks(Extension) && int(m.In) < len(g.uplink) && g.uplink[m.In] != noFeedback { // from another leaf: it ends here
		g.learn(now, p)
		before := p.ExtensionBytes()
		p.RemoveExtension(Extension)
		p.Size += p.ExtensionBytes() - before
		return dataplane.Accept
	}
	if g.uplink[m.Out] == noFeedback || int(p.Dst) >= len(g.leaf) || g.leaf[p.Dst] < 0 {
		return dataplane.Accept
	}
	to, hash := int(g.leaf[p.Dst]), dataplane.MixHash(p.Hash^g.seed)
	if port, active := g.flowlets.Port(now, hash); active && g.reaches(env, now, to, port) {
		m.Out = port
	} else {
		m.Out = g.chooseUplink(env, to, hash)
		g.flowlets.Begin(now, hash, m.Out)
	}
	var header [4]byte
	header[tag], header[fbTag] = g.uplink[m.Out], noFeedback
	g.piggyback(env, to, &header)
	before := p.ExtensionBytes()
	p.SetExtension(Extension, header[:])
	p.Size += p.ExtensionBytes() - before
	return dataplane.Accept
}

// reaches reports whether an uplink is up and, as far as a leaf has fed back, leads there.
func (g *program) reaches(env *dataplane.Env, now unit.Time, leaf int, port packet.PortID) bool {
	k := g.uplink[port]
	if k == noFeedback || env.Port(port).Down() {
		return false
	}
	t := &g.to[leaf*len(g.port)+int(k)]
	return t.value != Unreachable || now-t.at > g.config.Age
}

// aged returns the metric as of now (§3.3): old values decay, and 0 stands for values that no leaf has fed
// back.
func (t *metric) aged(now, age unit.Time) uint8 {
	past := now - t.at
	switch {
	case !t.known:
		return 0
	case past <= age:
		return t.value
	case t.value == Unreachable || past >= 8*age:
		return 0 // to be tried again
	}
	return t.value >> (past / age)
}

// chooseUplink is §3.5: it takes the uplink with the least maximum of local and remote congestion; among
// several, the flow's last one, or one at random.
func (g *program) chooseUplink(env *dataplane.Env, leaf int, hash uint32) packet.PortID {
	now := env.Now()
	least, ties := uint8(Unreachable), uint64(0)
	to := g.to[leaf*len(g.port):][:len(g.port)]
	for k, port := range g.port {
		x := uint8(Unreachable)
		if !env.Port(port).Down() {
			x = max(g.level(&g.rates[port], now), to[k].aged(now, g.config.Age))
		}
		if g.levels[k] = x; x < least {
			least, ties = x, 0
		}
		if x == least {
			ties++
		}
	}
	// if nothing carries all are as good
	if last, had := g.flowlets.Last(hash); had && g.uplink[last] != noFeedback && g.levels[g.uplink[last]] == least {
		return last
	}
	pick := g.random.Uint64() >> 32 * ties >> 32
	for k, x := range g.levels {
		if x == least {
			if pick == 0 {
				return g.port[k]
			}
			pick--
		}
	}
	return g.port[0]
}

// learn processes a packet from another leaf: the congestion of its path, and that leaf's feedback about
// the paths to it.
func (g *program) learn(now unit.Time, p *packet.Packet) {
	h, ok := p.Extension(Extension)
	if !ok || len(h) != 4 || int(p.Src) >= len(g.leaf) || g.leaf[p.Src] < 0 {
		return
	}
	leaf := int(g.leaf[p.Src])
	first := leaf * len(g.port)
	if k := int(h[tag]); k < len(g.port) {
		f := &g.from[first+k]
		if f.at, f.value, f.known = now, h[ce], true; f.fedBack != uint16(h[ce])+1 {
			g.turns[leaf].changed[k/64] |= 1 << (k % 64)
		}
	}
	if k := int(h[fbTag]); k < len(g.port) {
		g.to[first+k] = metric{at: now, value: h[fbMetric], known: true}
	}
}

// piggyback puts one value for the paths from a leaf into a packet that goes there: round robin, those
// that have changed since they were fed back first (§3.3).
func (g *program) piggyback(env *dataplane.Env, leaf int, header *[4]byte) {
	t, n := &g.turns[leaf], len(g.port)
	from := g.from[leaf*n:][:n]
	k, changed := t.next()
	if !changed {
		k = int(t.last)
		for i := 0; ; i++ {
			if k++; k >= n {
				k = 0
			}
			if from[k].known || env.Port(g.port[k]).Down() {
				break
			}
			if i == n {
				return
			}
		}
	}
	f := &from[k]
	x := f.aged(env.Now(), g.config.Age)
	if env.Port(g.port[k]).Down() {
		x = Unreachable
	}
	header[fbTag], header[fbMetric] = uint8(k), x
	f.fedBack, t.last = uint16(x)+1, uint8(k)
	t.changed[k/64] &^= 1 << (k % 64)
}

// Egress counts the packet, and raises its congestion to that of its link.
func (g *program) Egress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	e := &g.rates[p.Meta.Out]
	if r := env.Port(p.Meta.Out).Rate(); r != e.rate { // an event has changed it
		g.setRate(e, r)
	}
	level := g.level(e, env.Now())
	e.x += dataplane.FrameLoad(e.rate, p.Size)
	g.quantise(e)
	if p.Asks(Extension) {
		if h, ok := p.Extension(Extension); ok && len(h) == 4 && h[ce] < level {
			h[ce] = level
		}
	}
	return dataplane.Accept
}
