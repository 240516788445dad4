// Package conga is CONGA (Alizadeh et al., SIGCOMM 2014). In leaf-spine networks, every flowlet takes the uplink with
// the least congested path to the destination's leaf, according to that leaf's feedback.
//
// Every port has a discounting rate estimator (DRE; CONGA §3.2). Packets between leaves carry the uplink that they
// took (LBTag) and the largest congestion of their links (CE; CONGA §3.3). The leaf at the end stores that by leaf and
// tag, and returns it, one value a packet, in packets in the other direction (CONGA §3.3, feedback). A new flowlet
// takes the port with the smallest maximum of local congestion and the other leaf's feedback (CONGA §3.5).
//
// The paper leaves failures to the fabric's routing. Here a leaf avoids uplinks that are down. For paths with a failed
// last link, one of its own, it reports Unreachable in place of a metric. In two tiers there are no other links.
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

// Extension is the packet extension in place of CONGA's overlay header (CONGA §3.1): LBTag, CE, FB_LBTag, FB_Metric,
// a byte each. Switches change it en route. FB_LBTag 0xff: no feedback.
const Extension uint8 = 0x39

const (
	tag, ce, fbTag, fbMetric = 0, 1, 2, 3
	noFeedback               = 0xff
)

// Unreachable is the FB_Metric of a path with a failed last link.
const Unreachable = 0xff

// config holds CONGA's parameters.
type config struct {
	Gap    unit.Time // T_fl, min gap between flowlets; 0: derived
	Cells  int       // of the flowlet table
	Tau    unit.Time // time constant of the DRE; 0: derived
	Period unit.Time // T_dre, between decrements; 0: Tau/10
	Bits   int       // Q, bits of a congestion metric
	Age    unit.Time // age from which a leaf's report decays; 0: derived
}

// Default times (CONGA §3.3, §3.6).
var (
	derivedGap = dataplane.DerivedTime{Published: 500 * unit.Microsecond}
	derivedTau = dataplane.DerivedTime{Published: 160 * unit.Microsecond}
	derivedAge = dataplane.DerivedTime{Published: 10 * unit.Millisecond, Min: unit.Microsecond}
)

// Params binds the options of conga to the fields of c, which keep their values.
func (c *config) Params(p *scheme.Params) {
	derivedGap.BindParam(p, &c.Gap, "gap", "idle time that ends a flowlet", "CONGA §3.6").Max("10s")
	p.Int(&c.Cells, "cells", "65536", "entries of the flowlet table, rounded up to a power of two; flows of one entry "+
		"share a path, so it should be far above the number of flows at a time",
		"CONGA §3.4: 64 K entries").Min("1").Max("16777216")
	derivedTau.BindParam(p, &c.Tau, "tau", "time constant of the rate estimators", "CONGA §3.6").Max("10s")
	p.Time(&c.Period, "period", "0s", "period between decrements of the rate estimators, at most tau; 0s: a tenth of "+
		"tau", "CONGA §3.2: T_dre; Weir: the value, with alpha 0.1").Max("10s")
	p.Int(&c.Bits, "bits", "3", "bits of a congestion metric, which has 2^bits levels; more levels show smaller "+
		"differences of paths", "CONGA §3.6: Q = 3").Min("1").Max("7")
	derivedAge.BindParam(p, &c.Age, "age", "time after which a metric from another leaf counts half; after each "+
		"further period it counts half as much again", "CONGA §3.3").Max("60s")

	p.AddRule("period", func() error {
		if c.Tau > 0 && c.Period > c.Tau {
			return fmt.Errorf("%v is above tau, which is %v", c.Period, c.Tau)
		}
		return nil
	})
}

// setDefaultTimes sets the times that are 0. A derived tau is at least a given period. A Period of 0 becomes a tenth of
// tau.
func (c *config) setDefaultTimes(site *dataplane.Site) {
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

// Traits returns that the program selects a path for each flowlet. It cannot run standalone, because a bridge has one
// path.
func (*config) Traits() dataplane.Traits {
	return dataplane.Traits{WhyNotStandalone: dataplane.ChoosesPaths, SelectsPath: true, Spreads: dataplane.EachFlowlet}
}

// Scheme returns the scheme of switch: [conga].
func Scheme() dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{Name: "conga", Doc: "sends flowlets over the path with the lowest " +
		"congestion, which leaves report to each other; for leaf-spine networks; decrements the hop limit",
		Source: "CONGA (Alizadeh et al., SIGCOMM 2014)"}, newProgram)
}

// program is CONGA at a leaf or at a spine.
type program struct {
	config   config
	place    *dataplane.TreePosition
	paths    dataplane.PathSet
	flowlets *dataplane.Flowlets
	random   unit.Random
	seed     uint32

	rates        []estimator     // by port
	decayFactors [64]float64     // by number of periods, the share of X that remains
	uplinkTag    []uint8         // by port, its tag; noFeedback: a downward port
	tagPort      []packet.PortID // by tag
	leafOf       []int32         // by address, the number of its leaf
	toLeaf       []metric        // by leaf and tag: Congestion-To-Leaf
	fromLeaf     []metric        // by leaf and tag: Congestion-From-Leaf
	turns        []turn          // by leaf: order of feedback
	levels       []uint8         // by tag, for the current choice
	maxMetric    float64         // largest metric
}

// metric is a congestion metric, 0 (idle) to 2^Q − 1 or Unreachable, and the time of its arrival.
type metric struct {
	updatedAt unit.Time
	value     uint8
	known     bool
	fedBack   uint16 // Congestion-From-Leaf: value of the last feedback, plus 1; 0: no feedback yet
}

// turn selects the next of a leaf's tags for feedback.
type turn struct {
	last    uint8
	changed [4]uint64 // bit k: tag k has a value without feedback yet
}

// nextChanged returns the first changed tag after the last one, cyclically; ok is false without such a tag.
func (t *turn) nextChanged() (tag int, ok bool) {
	start := uint(t.last) + 1
	for i := range uint(5) { // one cycle, and the first word's lower part
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

// estimator is a DRE (CONGA §3.2). X grows by the bytes that depart and shrinks by alpha each period, so that X is
// R·tau for a rate R.
type estimator struct {
	bytes     float64
	decayedAt unit.Time // time of the last decrement
	scale     float64   // factor from X to 2^Q steps, by the rate
	rate      unit.LinkRate
	level     uint8 // X in 2^Q steps
}

// newProgram returns the program for a leaf or spine. It fails if the network is no leaf-spine network, or a leaf has
// more uplinks than tags.
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
		return nil, fmt.Errorf("conga: %d uplinks; allowed: at most %d", len(place.Up), noFeedback)
	}
	c.setDefaultTimes(site)
	r := site.Random("conga")
	g := &program{config: c, place: place, paths: dataplane.NewPathSet(site),
		flowlets: dataplane.NewFlowlets(c.Cells, c.Gap), random: r,
		seed:  uint32(r.Uint64()),
		rates: make([]estimator, site.Ports), uplinkTag: make([]uint8, site.Ports), leafOf: place.Leaf,
		maxMetric: float64(int(1)<<c.Bits - 1)}
	for i := range g.decayFactors {
		g.decayFactors[i] = math.Pow(1-float64(c.Period)/float64(c.Tau), float64(i))
	}
	for i := range g.rates {
		g.setRate(&g.rates[i], site.Lines[i].Rate)
		g.uplinkTag[i] = noFeedback
	}
	// A tag stands for the same spine at all leaves, so that they know the path with a failed last link.
	for _, i := range byAbove(place) {
		g.uplinkTag[place.Up[i]] = uint8(len(g.tagPort))
		g.tagPort = append(g.tagPort, place.Up[i])
	}
	if place.Tier == 1 { // each spine is linked to each leaf, so all have as many uplinks
		n := place.Leaves * len(place.Up)
		g.toLeaf, g.fromLeaf, g.turns, g.levels = make([]metric, n), make([]metric, n), make([]turn, place.Leaves),
			make([]uint8, len(place.Up))
	}
	return g, nil
}

// Name returns "conga".
func (g *program) Name() string { return "conga" }

// byAbove returns the numbers of the uplinks in ascending order of the node numbers of the switches above.
func byAbove(place *dataplane.TreePosition) []int {
	order := make([]int, len(place.Up))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return place.Above[a] - place.Above[b] })
	return order
}

// setRate sets the rate of an estimator's link, and its scale.
func (g *program) setRate(e *estimator, r unit.LinkRate) {
	e.rate, e.scale = r, float64(int(1)<<g.config.Bits)/dataplane.LinkLoad(r, g.config.Tau)
}

// portLevel returns a port's congestion, in 2^Q equal steps up to its rate (CONGA §3.2), after it has applied the
// decrements of the periods that have passed to e.
func (g *program) portLevel(e *estimator, now unit.Time) uint8 {
	if now-e.decayedAt >= g.config.Period {
		g.decayEstimator(e, now)
	}
	return e.level
}

// decayEstimator applies the decrements of the periods that have passed, at least one, and sets the level. At least one
// period must have passed.
func (g *program) decayEstimator(e *estimator, now unit.Time) {
	n := unit.Time(1)
	if past := now - e.decayedAt; past >= 2*g.config.Period {
		n = past / g.config.Period
	}
	e.decayedAt += n * g.config.Period
	if n < unit.Time(len(g.decayFactors)) {
		e.bytes *= g.decayFactors[n]
	} else {
		e.bytes *= math.Pow(g.decayFactors[1], float64(n))
	}
	g.quantiseLevel(e)
}

// quantiseLevel sets e.level from X, in steps of the rate up to maxMetric.
func (g *program) quantiseLevel(e *estimator) {
	if x := e.bytes * e.scale; x < g.maxMetric {
		e.level = uint8(x)
	} else {
		e.level = uint8(g.maxMetric)
	}
}

// Ingress decrements the hop limit, chooses the port, and drops packets without route or hops. At a leaf it removes the
// extension from a packet of another leaf and stores its feedback. A packet to another leaf gets an uplink by flowlet,
// and the extension with its tag and feedback. A spine only forwards.
func (g *program) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	m := &p.Meta
	ports, _, v := g.paths.TakeHop(p)
	if v != dataplane.Accept {
		return v
	}
	m.Out = ports[0]
	if g.place.Tier != 1 {
		return dataplane.Accept
	}
	now := env.Now()
	// A packet with the extension from another leaf ends its way here.
	if p.HasHotExtension(Extension) && int(m.In) < len(g.uplinkTag) && g.uplinkTag[m.In] != noFeedback {
		g.learnFeedback(now, p)
		before := p.ExtensionBytes()
		p.RemoveExtension(Extension)
		p.Size += p.ExtensionBytes() - before
		return dataplane.Accept
	}
	if g.uplinkTag[m.Out] == noFeedback || int(p.Dst) >= len(g.leafOf) || g.leafOf[p.Dst] < 0 {
		return dataplane.Accept
	}
	to, hash := int(g.leafOf[p.Dst]), dataplane.MixHash(p.Hash^g.seed)
	if port, active := g.flowlets.ContinueFlowlet(now, hash); active && g.reachesLeaf(env, now, to, port) {
		m.Out = port
	} else {
		m.Out = g.chooseUplink(env, to, hash)
		g.flowlets.BeginFlowlet(now, hash, m.Out)
	}
	var header [4]byte
	header[tag], header[fbTag] = g.uplinkTag[m.Out], noFeedback
	g.addFeedback(env, to, &header)
	before := p.ExtensionBytes()
	p.SetExtension(Extension, header[:])
	p.Size += p.ExtensionBytes() - before
	return dataplane.Accept
}

// reachesLeaf reports whether port is an uplink, is up, and leads to leaf, as far as that leaf has reported. A report
// older than Age does not count.
func (g *program) reachesLeaf(env *dataplane.Env, now unit.Time, leaf int, port packet.PortID) bool {
	k := g.uplinkTag[port]
	if k == noFeedback || env.Port(port).IsDown() {
		return false
	}
	t := &g.toLeaf[leaf*len(g.tagPort)+int(k)]
	return t.value != Unreachable || now-t.updatedAt > g.config.Age
}

// agedValue returns the metric as of now (CONGA §3.3), without a change of t. It halves with each further age. Without
// a report it is 0, and so is Unreachable after one age.
func (t *metric) agedValue(now, age unit.Time) uint8 {
	past := now - t.updatedAt
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

// chooseUplink returns the uplink with the least maximum of local and remote congestion (CONGA §3.5). Of several it
// takes the flow's last one, or a random one. It overwrites g.levels and updates the estimators. If no uplink works,
// all are equal.
func (g *program) chooseUplink(env *dataplane.Env, leaf int, hash uint32) packet.PortID {
	now := env.Now()
	least, ties := uint8(Unreachable), uint64(0)
	to := g.toLeaf[leaf*len(g.tagPort):][:len(g.tagPort)]
	for k, port := range g.tagPort {
		x := uint8(Unreachable)
		if !env.Port(port).IsDown() {
			x = max(g.portLevel(&g.rates[port], now), to[k].agedValue(now, g.config.Age))
		}
		if g.levels[k] = x; x < least {
			least, ties = x, 0
		}
		if x == least {
			ties++
		}
	}
	// If no uplink works, all are equal.
	if last, had := g.flowlets.LastPort(hash); had && g.uplinkTag[last] != noFeedback &&
		g.levels[g.uplinkTag[last]] == least {
		return last
	}
	pick := g.random.Uint64() >> 32 * ties >> 32
	for k, x := range g.levels {
		if x == least {
			if pick == 0 {
				return g.tagPort[k]
			}
			pick--
		}
	}
	return g.tagPort[0]
}

// learnFeedback processes a packet from another leaf: the congestion of its path, and that leaf's feedback about the
// paths to it. A packet without a valid extension, or from an address without a leaf, has no effect.
func (g *program) learnFeedback(now unit.Time, p *packet.Packet) {
	h, ok := p.Extension(Extension)
	if !ok || len(h) != 4 || int(p.Src) >= len(g.leafOf) || g.leafOf[p.Src] < 0 {
		return
	}
	leaf := int(g.leafOf[p.Src])
	first := leaf * len(g.tagPort)
	if k := int(h[tag]); k < len(g.tagPort) {
		f := &g.fromLeaf[first+k]
		if f.updatedAt, f.value, f.known = now, h[ce], true; f.fedBack != uint16(h[ce])+1 {
			g.turns[leaf].changed[k/64] |= 1 << (k % 64)
		}
	}
	if k := int(h[fbTag]); k < len(g.tagPort) {
		g.toLeaf[first+k] = metric{updatedAt: now, value: h[fbMetric], known: true}
	}
}

// addFeedback writes one value for the paths from a leaf into a packet to that leaf, round robin, values without
// feedback yet first (CONGA §3.3). An uplink that is down is reported as Unreachable. It notes that the value has been
// fed back. Without any value, header stays as it is.
func (g *program) addFeedback(env *dataplane.Env, leaf int, header *[4]byte) {
	t, n := &g.turns[leaf], len(g.tagPort)
	from := g.fromLeaf[leaf*n:][:n]
	k, changed := t.nextChanged()
	if !changed {
		k = int(t.last)
		for i := 0; ; i++ {
			if k++; k >= n {
				k = 0
			}
			if from[k].known || env.Port(g.tagPort[k]).IsDown() {
				break
			}
			if i == n {
				return
			}
		}
	}
	f := &from[k]
	x := f.agedValue(env.Now(), g.config.Age)
	if env.Port(g.tagPort[k]).IsDown() {
		x = Unreachable
	}
	header[fbTag], header[fbMetric] = uint8(k), x
	f.fedBack, t.last = uint16(x)+1, uint8(k)
	t.changed[k/64] &^= 1 << (k % 64)
}

// Egress raises the packet's congestion value to the link's level, and counts the packet in the port's estimator. If
// the port's rate has changed, the estimator's changes first.
func (g *program) Egress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	e := &g.rates[p.Meta.Out]
	if r := env.Port(p.Meta.Out).Rate(); r != e.rate { // an event has changed it
		g.setRate(e, r)
	}
	level := g.portLevel(e, env.Now())
	e.bytes += dataplane.FrameLoad(e.rate, p.Size)
	g.quantiseLevel(e)
	if p.HasHotExtension(Extension) {
		if h, ok := p.Extension(Extension); ok && len(h) == 4 && h[ce] < level {
			h[ce] = level
		}
	}
	return dataplane.Accept
}
