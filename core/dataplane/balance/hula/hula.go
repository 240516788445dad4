// Package hula is HULA (Katta, Hira, Kim, Sivaraman, Rexford, SOSR 2016). In fat trees of two or three tiers, every
// flowlet takes the next hop of the least loaded path to its ToR, according to probes.
//
// Every ToR (leaf) sends probes upward, and switches spread them. A probe from below goes to all ports except its
// arrival port, one from above only downward. So a probe arrives on every path that data to its ToR can take, and
// never in a circle (HULA §3.1). It collects the utilisation of the most loaded link, in the direction of the data
// (HULA §3.2). A switch stores, by ToR, the best next hop and its utilisation, and forwards that value, so that
// switches need data only from their neighbours (HULA §3.3). A hop without probes for some probe periods has failed:
// the next probe replaces it (HULA §3.3).
//
// Downward there is one way, for data and probes; HULA chooses upward.
//
// Times follow from T, the longest round trip of the tree without queues, unless a file states them
// (dataplane.DerivedTime): the probe period and the gap are 2 T and T, the 200 us and 100 us of HULA §3.4 at a T of 100
// us. In two tiers a link carries a probe of each leaf in a period, and a derived period is long enough that these take
// at most 5 % of the slowest link. In three tiers it carries one for each path by which a probe arrives, unless forward
// is best, and probes can take more. HULA §3.4 has periods of up to 1 ms.
package hula

import (
	"fmt"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// Extension is the packet extension of a probe, the paper's header of 32 bits (HULA §3.1): the ToR's number in 24
// bits, most significant first, and the path's utilisation in 8, with 255 for the whole rate.
const Extension uint8 = 0x14

// maxToRs is the number of ToRs that a probe can address.
const maxToRs = 1 << 24

// config holds HULA's parameters.
type config struct {
	Probe    unit.Time // period of a ToR's probes; 0: derived
	Gap      unit.Time // min gap between flowlets; 0: derived
	Cells    int       // of the flowlet table
	Tau      unit.Time // time constant of the estimators of utilisation; 0: 2·Probe
	Age      unit.Time // time without probes after which a hop has failed; 0: 10·Probe
	OnlyBest bool      // probes that do not change a switch's table are not forwarded
}

// Default times (HULA §3.4), and the maximum part of the slowest link, 1/probeShare, that the probes of all leaves use
// with a derived period.
var (
	derivedProbe = dataplane.DerivedTime{Published: 200 * unit.Microsecond, Min: unit.Microsecond}
	derivedGap   = dataplane.DerivedTime{Published: 100 * unit.Microsecond}
)

const probeShare = 20

// ProbeCounters count the probes of a switch: sent as a ToR, received, and forwarded.
type ProbeCounters struct{ Sent, Received, Forwarded uint64 }

// Params binds the options of hula to the fields of c, which keep their values.
func (c *config) Params(p *scheme.Params) {
	derivedProbe.BindParam(p, &c.Probe, "probe", "period between probes of a leaf, derived so that the probes of all "+
		"leaves use at most 5 % of the slowest link", "HULA §3.4").Max("10s")
	derivedGap.BindParam(p, &c.Gap, "gap", "idle time that ends a flowlet", "HULA §3.4").Max("10s")
	p.Int(&c.Cells, "cells", "65536", "entries of the flowlet table, rounded up to a power of two; flows of one entry "+
		"share a path, so it should be far above the number of flows at a time",
		"CONGA §3.4: 64 K entries").Min("1").Max("16777216")
	p.Time(&c.Tau, "tau", "0s", "time constant of the utilisation estimators; 0s: twice the probe period",
		"HULA §3.2: at least twice").Max("10s")
	p.Time(&c.Age, "age", "0s", "time without a probe after which a next hop counts as failed; 0s: ten probe periods",
		"HULA §3.3: 10 probe periods").Max("60s")
	p.BoolWords(&c.OnlyBest, [2]string{"all", "best"}, "forward", "all",
		"probes that a switch forwards; all: every probe; best: only those that change its table, which is one path per "+
			"period, or more while paths improve", "HULA §3.1; best: Weir: the load of §4")
}

// setDefaultTimes sets the times that are 0. leaves is the number of leaves with probes. A derived probe period is
// longer if the probes of all leaves would use more than 1/probeShare of the slowest link.
func (c *config) setDefaultTimes(site *dataplane.Site, leaves int) {
	derivedGap.SetDefault(&c.Gap, site)
	if c.Probe == 0 {
		derivedProbe.SetDefault(&c.Probe, site)
		if trip := site.MaxTrip(); trip > 0 && len(site.Rates) > 0 {
			probes := unit.Bytes(leaves) * unit.Bytes(probeSize(site.Framing, 6, probeExtension))
			c.Probe = max(c.Probe, probeShare*unit.TransmitTime(probes, site.Rates[0]))
		}
	}
	if c.Tau == 0 {
		c.Tau = 2 * c.Probe
	}
	if c.Age == 0 {
		c.Age = 10 * c.Probe
	}
}

// Traits returns that the program selects a path for each flowlet. It cannot run standalone, because a bridge has one
// path.
func (*config) Traits() dataplane.Traits {
	return dataplane.Traits{WhyNotStandalone: dataplane.ChoosesPaths, SelectsPath: true, Spreads: dataplane.EachFlowlet}
}

// Scheme returns the scheme of switch: [hula].
func Scheme() dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{Name: "hula", Doc: "sends flowlets over the path with the lowest " +
		"utilisation, which probes report; for fat trees of 2 or 3 tiers; decrements the hop limit",
		Source: "HULA (Katta et al., SOSR 2016)"}, newProgram)
}

// Program is HULA at a ToR or a switch above.
type Program struct {
	config   config
	place    *dataplane.TreePosition
	paths    dataplane.PathSet
	flowlets *dataplane.Flowlets
	framing  packet.Framing
	address  packet.Addr
	version  uint8
	ownToR   int // number of this ToR; −1 for other switches
	seed     uint32
	phase    unit.Time // of the probes
	links    []link    // by port
	best     []hop     // by ToR
	counts   ProbeCounters
}

// link is the state of a port.
type link struct {
	load      float64 // U: bytes that departed recently
	updatedAt unit.Time
	probedAt  unit.Time // time of the last probe that arrived
	scale     float64   // factor from U to 255, by the rate
	rate      unit.LinkRate
	up        bool // the port leads to the tier above
}

// hop is an entry of the best-hop table.
type hop struct {
	updatedAt unit.Time // time of the last probe
	port      packet.PortID
	util      uint8
	known     bool
}

// newProgram returns the program for a switch of a fat tree. It fails if the network is no fat tree, or has more leaves
// than probes can address.
func newProgram(site *dataplane.Site, c config) (*Program, error) {
	if site.Place == nil {
		return nil, fmt.Errorf("hula: the network is not known")
	}
	place, err := site.Place()
	switch {
	case err != nil:
		return nil, fmt.Errorf("hula needs a fat tree of two or three tiers: %w", err)
	case place.Leaves > maxToRs:
		return nil, fmt.Errorf("hula: %d leaves; allowed: at most %d", place.Leaves, maxToRs)
	}
	c.setDefaultTimes(site, place.Leaves)
	r := site.Random("hula")
	h := &Program{config: c, place: place, paths: dataplane.NewPathSet(site),
		flowlets: dataplane.NewFlowlets(c.Cells, c.Gap), framing: site.Framing, ownToR: -1,
		seed:  uint32(r.Uint64()),
		phase: 1 + unit.Time(r.Uint64()%uint64(c.Probe)), links: make([]link, site.Ports), best: make([]hop, place.Leaves)}
	for i := range h.links {
		h.links[i].setRate(site.Lines[i].Rate, c.Tau)
	}
	for _, p := range place.Up {
		h.links[p].up = true
	}
	if a := packet.Addr(site.ID + 1); site.Book != nil && int(a) < site.Book.Len() {
		h.address, h.version = a, 4
		if !site.Book.V4(a).IsValid() {
			h.version = 6
		}
		if place.Tier == 1 && int(a) < len(place.Leaf) {
			h.ownToR = int(place.Leaf[a])
		}
	}
	return h, nil
}

// setRate sets the link's rate, and its scale.
func (l *link) setRate(r unit.LinkRate, tau unit.Time) {
	l.rate, l.scale = r, 255/dataplane.LinkLoad(r, tau)
}

// Name returns "hula".
func (h *Program) Name() string { return "hula" }

// Counts returns the numbers of probes so far.
func (h *Program) Counts() ProbeCounters { return h.counts }

// BestHop returns the next hop to a ToR and its path's utilisation in 1/255, from the latest probes. ok is false if
// there was no probe, or not recently.
func (h *Program) BestHop(now unit.Time, tor int) (port packet.PortID, util uint8, ok bool) {
	if tor < 0 || tor >= len(h.best) {
		return 0, 0, false
	}
	b := &h.best[tor]
	return b.port, b.util, b.known && now-b.updatedAt <= h.config.Age
}

// currentUtilisation returns the link's utilisation in 1/255 at now, without a frame that departs.
func (l *link) currentUtilisation(now, tau unit.Time) uint8 {
	if past := now - l.updatedAt; past < tau {
		return uint8(min(l.load*(1-float64(past)/float64(tau))*l.scale, 255))
	}
	return 0
}

// Egress updates the estimator (HULA §3.2): U = D + U·(1 − Δt/τ), which is C·τ for a busy link. If the port's rate has
// changed, the estimator's changes first.
func (h *Program) Egress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	l, now := &h.links[p.Meta.Out], env.Now()
	if r := env.Port(p.Meta.Out).Rate(); r != l.rate { // an event has changed it
		l.setRate(r, h.config.Tau)
	}
	d := dataplane.FrameLoad(l.rate, p.Size)
	if past := now - l.updatedAt; past < h.config.Tau {
		d += float64(l.load * (1 - float64(past)/float64(h.config.Tau)))
	}
	l.load, l.updatedAt = d, now
	return dataplane.Accept
}

// Ingress consumes probes. For other packets it decrements the hop limit, chooses the port, and drops those without
// route or hops. With several ports, a flowlet keeps its uplink while that receives probes. A new flowlet takes the
// best hop or, without a recent probe, a port by its hash.
func (h *Program) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	m := &p.Meta
	if p.Kind == packet.Probe && h.handleProbe(env, p) {
		return dataplane.Consume
	}
	ports, _, v := h.paths.TakeHop(p)
	if v != dataplane.Accept {
		return v
	}
	if m.Out = ports[0]; len(ports) == 1 || int(p.Dst) >= len(h.place.Leaf) {
		return dataplane.Accept
	}
	now, hash := env.Now(), dataplane.MixHash(p.Hash^h.seed)
	if port, active := h.flowlets.ContinueFlowlet(now, hash); active && h.links[port].up &&
		now-h.links[port].probedAt <= h.config.Age {
		m.Out = port
		return dataplane.Accept
	}
	if port, _, ok := h.BestHop(now, int(h.place.Leaf[p.Dst])); ok && h.links[port].up {
		m.Out = port
	} else { // before the first probe, or cut off
		m.Out = ports[uint64(hash)*uint64(len(ports))>>32]
	}
	h.flowlets.BeginFlowlet(now, hash, m.Out)
	return dataplane.Accept
}

// Normalize clears flowlets that have ended, and loads that have decayed to 0 (dataplane.Normalizer).
func (h *Program) Normalize(now unit.Time) {
	h.flowlets.Normalize(now)
	for i := range h.links {
		if l := &h.links[i]; now-l.updatedAt >= h.config.Tau {
			l.load, l.updatedAt = 0, 0
		}
	}
}

// handleProbe updates the best hop to the probe's ToR, and sends copies on to other switches; the caller consumes p. It
// returns false if the packet is no probe, or comes from a host.
func (h *Program) handleProbe(env *dataplane.Env, p *packet.Packet) bool {
	m := &p.Meta
	e, ok := p.Extension(Extension)
	if !ok || len(e) != 4 || int(m.In) >= len(h.links) {
		return false
	}
	l, now := &h.links[m.In], env.Now()
	if !l.up && h.place.Tier == 1 {
		return false // from a host
	}
	tor := int(e[0])<<16 | int(e[1])<<8 | int(e[2])
	h.counts.Received++
	l.probedAt = now
	if tor >= len(h.best) || tor == h.ownToR {
		return true
	}
	util, b := max(e[3], l.currentUtilisation(now, h.config.Tau)), &h.best[tor]
	changes := !b.known || util < b.util || m.In == b.port || now-b.updatedAt > h.config.Age
	if changes {
		*b = hop{updatedAt: now, port: m.In, util: util, known: true}
	} else if h.config.OnlyBest {
		return true
	}
	if !l.up {
		h.spreadProbe(env, h.place.Up, packet.NoPort, tor, b.util)
	}
	if h.place.Tier > 1 {
		h.spreadProbe(env, h.place.Down, m.In, tor, b.util)
	}
	return true
}

// spreadProbe sends and counts a probe about ToR tor, with the path's utilisation util in 1/255, out of ports except
// excludedPort; packet.NoPort excludes no port.
func (h *Program) spreadProbe(env *dataplane.Env, ports []packet.PortID, excludedPort packet.PortID, tor int,
	util uint8) {
	for _, port := range ports {
		if port != excludedPort {
			h.counts.Forwarded++
			h.sendProbe(env, port, tor, util)
		}
	}
}

// shimHeader is the length of ProtoOwn's header, which has a field for the kind (packet.Emit).
const shimHeader = 16

// probeExtension is the length of a probe's extension in a frame: 4 bytes with type, length and padding.
const probeExtension = 8

// probeSize returns the Size in bytes of a probe in an IP version, with so many bytes of extensions. It has no payload.
func probeSize(f packet.Framing, version uint8, extensions int32) int32 {
	headers := packet.EthernetHeader + packet.IPv4Header + shimHeader + extensions
	if version == 6 {
		headers += packet.IPv6Header - packet.IPv4Header
	}
	return f.FrameBytes(headers, 0, false)
}

// sendProbe sends a probe about ToR number tor to the neighbour at a port, with the path's utilisation in 1/255.
func (h *Program) sendProbe(env *dataplane.Env, port packet.PortID, tor int, util uint8) {
	p := env.NewPacket()
	p.Kind, p.Proto, p.Version, p.HopLimit = packet.Probe, packet.ProtoOwn, h.version, 1
	p.Src, p.Dst = h.address, h.address
	p.Hash = packet.FlowHash(p.Src, p.Dst, 0, 0, p.Proto)
	p.SetExtension(Extension, []byte{byte(tor >> 16), byte(tor >> 8), byte(tor), util})
	p.Size = probeSize(h.framing, p.Version, p.ExtensionBytes())
	env.SendPacket(p, port, 0)
}

// Tick sends and counts a ToR's own probes, and returns the time of the next ones: the first at 0, the next after a
// random part of the period, so that ToRs do not synchronise. Other switches, and ToRs without other ToRs or uplinks,
// send no probes and get unit.Never.
func (h *Program) Tick(env *dataplane.Env) unit.Time {
	if h.ownToR < 0 || h.place.Leaves < 2 || len(h.place.Up) == 0 {
		return unit.Never
	}
	for _, port := range h.place.Up {
		h.counts.Sent++
		h.sendProbe(env, port, h.ownToR, 0)
	}
	if env.Now() < h.phase {
		return h.phase
	}
	return env.Now() + h.config.Probe
}

// Idle returns true: probes change the paths of packets, and cause no packets.
func (h *Program) Idle() bool { return true }
