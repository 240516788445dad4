package p4abc

import (
	"embed"
	"encoding/binary"
	"fmt"
	"math"
	"net/netip"
	"slices"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// Experiments are the paper's figures.
//
//go:embed experiments/*.yaml
var Experiments embed.FS

// Role is the place of a switch in the ABC domain (figure 1).
type Role string

// Roles.
const (
	Alone Role = "alone" // one switch is the whole domain, as in the prototype (§5.1): packets carry nothing
	Edge  Role = "edge"  // ingress node: meters, marks, and has the AQM
	Core  Role = "core"  // forwarding node: the AQM, by the mark
	Exit  Role = "exit"  // egress node: the AQM, then removes the mark
)

// Aggregate is a group of users metered together: a prefix of source addresses, and its reference rate
// R_r.
type Aggregate = scheme.Pair[netip.Prefix, unit.Rate]

// Config has the parameters of the paper's §6.1.3.
type Config struct {
	Role       Role
	Memory     unit.Time   // M_AM, of the activity meter
	Reference  unit.Rate   // R_r of sources without an aggregate
	Average    unit.Time   // M_AA, of the average of accepted packets' activity
	QMin       unit.Length // Q_min; all three are in packets, or all in bytes
	QBase      unit.Length // Q_base
	Gamma      unit.Length // γ
	Register   bool        // the prototype's queue length (§5.1)
	Shared     bool        // sources without an aggregate share one, instead of one each
	Aggregates []Aggregate
}

// Program is ABC in one switch: one activity meter per aggregate, and one activity AQM per egress port.
// The meters are its only per-user state, and in the core it has none.
type Program struct {
	config             Config
	qMin, qBase, gamma float64
	inBytes            bool
	book               *packet.Book

	aggregateOf [2][]int32 // by family (IPv4, IPv6) and source address; −1: not looked up yet
	own         []int32    // by source address: the aggregate of a source that is in no prefix; −1: none yet
	meters      []Meter    // by aggregate
	reference   []unit.Rate
	prefixes    *dataplane.LPM[int32]
	common      int32 // aggregate of all sources without one of their own, −1: each gets its own

	averages  []Average // by egress port
	registers []int64   // queue length as the prototype's ingress sees it, by egress port

	activity float64 // of the current packet, between Ingress and Book
}

// Loses packets where queues grow.
func (*Config) Loses() {}

// Params binds the configuration.
func (c *Config) Params(p *scheme.Params) {
	scheme.Word(p, &c.Role, "role", string(Alone), "place in the ABC domain", "P4-ABC §3.1, §5.1", Alone, Edge, Core, Exit)
	p.Time(&c.Memory, "memory", "3s", "M_AM of the activity meter", "P4-ABC §6.1.3").Min("1us")
	p.Rate(&c.Reference, "reference", "10kbps", "R_r of sources that no aggregate has", "P4-ABC §6.1.3").Min("1bps")
	p.Time(&c.Average, "average_memory", "300ms", "M_AA of the average activity", "P4-ABC §6.1.3").Min("1us")
	p.Length(&c.QMin, "q_min", "6 packets", "Q_min: no drop at queues up to this", "P4-ABC §6.1.3")
	p.Length(&c.QBase, "q_base", "20 packets", "Q_base: threshold for average activity", "P4-ABC §6.1.3")
	p.Length(&c.Gamma, "gamma", "16 packets", "γ: threshold per unit of activity", "P4-ABC §6.1.3").Min("1 packet")
	p.Either(&c.Register, [2]string{"exact", "register"}, "queue", "exact",
		"queue length: the queue's, or the prototype's register", "register: P4-ABC §5.1, §5.3")
	scheme.MapOf(p, &c.Aggregates, prefixOf, scheme.Rates, "aggregates",
		"reference rate by source prefix, metered as one; longest prefix wins", "P4-ABC §3.1, §3.4").Min("1bps")
	p.Either(&c.Shared, [2]string{"each", "shared"}, "others", "each",
		"sources without an aggregate: one each, or one for all", "each: P4-ABC §5.2")

	p.Rule("gamma", func() error {
		for _, l := range []unit.Length{c.QMin, c.QBase, c.Gamma} {
			if c.inBytes() && l.Packets > 0 || !c.inBytes() && l.Bytes > 0 {
				return fmt.Errorf("q_min %v, q_base %v, gamma %v: all in packets or all in bytes are needed", c.QMin, c.QBase,
					c.Gamma)
			}
		}
		return nil
	})
	p.Rule("queue", func() error {
		if c.inBytes() && c.Register {
			return fmt.Errorf("the prototype's register counts packets; q_min, q_base and gamma are in bytes")
		}
		return nil
	})
	p.Rule("aggregates", func() error {
		for i, g := range c.Aggregates {
			if !g.Key.IsValid() {
				return fmt.Errorf("%v is no prefix", g.Key)
			}
			for _, h := range c.Aggregates[:i] {
				if h.Key.Masked() == g.Key.Masked() {
					return fmt.Errorf("%v and %v are the same prefix", h.Key, g.Key)
				}
			}
		}
		return nil
	})
}

// inBytes reports whether queues are measured in bytes.
func (c *Config) inBytes() bool { return c.QBase.Bytes > 0 }

// prefixOf parses an address or a prefix.
func prefixOf(s string) (netip.Prefix, error) {
	if prefix, err := netip.ParsePrefix(s); err == nil {
		return prefix, nil
	}
	a, err := netip.ParseAddr(s)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("aggregate %q is neither an address nor a prefix", s)
	}
	return netip.PrefixFrom(a, a.BitLen()), nil
}

// NeedsNetwork says that the roles of a domain write activities into packets.
func (c *Config) NeedsNetwork() (why string) {
	if c.Role == Alone {
		return ""
	}
	return fmt.Sprintf("role %s puts activities into packets, or expects them there, and an access link "+
		"has no room for them; role %s does without", c.Role, Alone)
}

// Scheme is what an experiment names: switch: [forward, {abc: {…}}].
func Scheme() dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{
		Name: "abc", Doc: "activity-based congestion management: activity meters and activity AQM",
		Source: "P4-ABC (Menth et al., 2019)"}, New)
}

// New returns the program for a site.
func New(site *dataplane.Site, c Config) (*Program, error) {
	a := &Program{
		config: c, book: site.Book, common: -1, prefixes: dataplane.NewLPM[int32](len(c.Aggregates) + 1),
		own:      make([]int32, site.Book.Len()),
		averages: make([]Average, site.Ports), registers: make([]int64, site.Ports),
		inBytes: c.inBytes(),
	}
	value := func(l unit.Length) float64 {
		if a.inBytes {
			return float64(l.Bytes)
		}
		return float64(l.Packets)
	}
	a.qMin, a.qBase, a.gamma = value(c.QMin), value(c.QBase), value(c.Gamma)
	for i := range a.own {
		a.own[i] = -1
	}
	a.aggregateOf = [2][]int32{slices.Clone(a.own), slices.Clone(a.own)}
	for _, g := range c.Aggregates {
		if err := a.prefixes.Insert(g.Key, a.newMeter(g.Value)); err != nil {
			return nil, err
		}
	}
	if c.Shared {
		a.common = a.newMeter(c.Reference)
	}
	return a, nil
}

func (a *Program) newMeter(reference unit.Rate) int32 {
	a.meters = append(a.meters, NewMeter(0))
	a.reference = append(a.reference, reference)
	return int32(len(a.meters) - 1)
}

// Name is "abc".
func (a *Program) Name() string { return "abc" }

// aggregate returns the meter of a packet's source: that of the longest prefix with its address; otherwise
// the common one or, over both families, the source's own.
func (a *Program) aggregate(p *packet.Packet) int32 {
	family, address := 0, netip.Addr{}
	if p.Version == 6 {
		family = 1
	}
	g := &a.aggregateOf[family][p.Src]
	if *g >= 0 {
		return *g
	}
	if family == 1 {
		address = a.book.V6(p.Src)
	} else {
		address = a.book.V4(p.Src)
	}
	found, ok := a.prefixes.Lookup(address)
	switch {
	case ok:
		*g = found
	case a.common >= 0:
		*g = a.common
	default:
		if a.own[p.Src] < 0 { // a user of its own (§5.2: exact match on the source address)
			a.own[p.Src] = a.newMeter(a.config.Reference)
		}
		*g = a.own[p.Src]
	}
	return *g
}

// Ingress is the activity meter (§3.2, §5.2: the first table); in the core it reads the mark. Packets made
// by switches, and packets without a mark in the core, are outside the domain: they have no activity,
// which is NaN here. A frame counts each time it passes the meter, so programs that recirculate must
// precede this one.
func (a *Program) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	a.activity = math.NaN()
	if p.Meta.Flags&packet.Internal != 0 {
		return dataplane.Accept
	}
	switch a.config.Role {
	case Alone, Edge:
		g := a.aggregate(p)
		meter := &a.meters[g]
		meter.Update(env.Now(), float64(p.Size)*8, a.config.Memory)
		a.activity = Activity(meter.Rate(env.Now(), a.config.Memory), a.reference[g])
		if a.config.Role == Edge {
			var mark [4]byte
			binary.BigEndian.PutUint32(mark[:], math.Float32bits(float32(a.activity)))
			before := p.ExtensionBytes()
			p.SetExtension(packet.ExtActivity, mark[:])
			p.Size += p.ExtensionBytes() - before
			a.activity = float64(float32(a.activity)) // what the core will see
		}
	default:
		if mark, ok := p.Extension(packet.ExtActivity); ok && len(mark) == 4 {
			a.activity = float64(math.Float32frombits(binary.BigEndian.Uint32(mark)))
		}
	}
	return dataplane.Accept
}

// outside reports whether the packet is outside the domain: it passes the AQM and does not enter A_avg.
func (a *Program) outside(m *dataplane.Metadata) bool {
	return m.Flags&packet.Internal != 0 || math.IsNaN(a.activity) || math.IsInf(a.activity, 0)
}

// Admit is the activity AQM (§3.3, §5.2: the second table).
func (a *Program) Admit(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	m := &p.Meta
	if a.outside(m) {
		return dataplane.Accept
	}
	t := Threshold(a.activity, a.averages[m.Out].Value(), a.qMin, a.qBase, a.gamma)
	if a.queue(env, m.Out) > t {
		return dataplane.Drop(dataplane.ActivityExceeded)
	}
	return dataplane.Accept
}

// queue is Q in the thresholds' unit: the packets that wait, without the one on the wire.
func (a *Program) queue(env *dataplane.Env, out dataplane.PortID) float64 {
	switch {
	case a.config.Register:
		return float64(a.registers[out])
	case a.inBytes:
		return float64(env.Port(out).Bytes())
	}
	return float64(env.Port(out).Packets())
}

// Book counts an accepted packet. The average covers accepted packets of the domain only (§3.3); the
// prototype's register grows by one for any packet (§5.2).
func (a *Program) Book(env *dataplane.Env, p *packet.Packet) {
	m := &p.Meta
	a.registers[m.Out]++
	if a.outside(m) {
		return
	}
	a.averages[m.Out].Update(env.Now(), a.activity, a.config.Average)
}

// Egress copies the queue's length to the register (§5.3), and removes the mark at the end of the domain
// (§3.1).
func (a *Program) Egress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	a.registers[p.Meta.Out] = int64(env.Port(p.Meta.Out).Packets())
	if a.config.Role == Exit {
		before := p.ExtensionBytes()
		p.RemoveExtension(packet.ExtActivity)
		p.Size -= before - p.ExtensionBytes()
	}
	return dataplane.Accept
}

// Config returns what the program was made with.
func (a *Program) Config() Config { return a.config }

// Average returns A_avg at an egress port.
func (a *Program) Average(out dataplane.PortID) float64 { return a.averages[out].Value() }
