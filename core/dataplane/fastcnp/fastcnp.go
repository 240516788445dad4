package fastcnp

import (
	"fmt"

	"weir/core/dataplane"
	"weir/core/dataplane/ecn"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// Config is what a program is made of.
type Config struct {
	Curves   []ecn.Curve // by port: when a packet is notified about
	Enqueue  bool        // by the queue that a packet finds; otherwise by the one that it leaves behind
	Mark     bool        // packets that were congested are marked, too, so that the receiver reports it as well
	Interval unit.Time   // least time between CNPs about a flow, above 0
	Flows    int         // how many flows' last CNPs are remembered, at least 1; rounded up to whole sets
	TOS      uint8       // of CNPs; its ECN bits are 0
	Switch   uint32      // who sends it, with Signed
	Signed   bool
	Framing  packet.Framing
	Random   unit.Random // of marks
	Seed     uint32      // of the table's hash
}

// New returns the program.
func New(c Config) (dataplane.Program, error) {
	switch {
	case c.Interval < 1:
		return nil, fmt.Errorf("fast_cnp: an interval of %v; it must be above 0", c.Interval)
	case c.Flows < 1 || c.Flows > MostFlows:
		return nil, fmt.Errorf("fast_cnp: a table of %d flows; 1 … %d are possible", c.Flows, MostFlows)
	case c.TOS&packet.ECN != 0:
		return nil, fmt.Errorf("fast_cnp: a CNP's tos is %d; its ECN bits, the lower two, must be 0", c.TOS)
	}
	n := notifier{config: c, recent: newTable(c.Flows, c.Interval, c.Seed)}
	if c.Enqueue {
		return &Enqueue{n}, nil
	}
	return &Dequeue{n}, nil
}

// Scheme is what an experiment names: switch: [ecmp, {fast_cnp: {kmin: 100KB, kmax: 400KB}}].
func Scheme() dataplane.Scheme {
	return dataplane.Scheme{
		Scheme: scheme.Scheme{Name: "fast_cnp", Doc: "tells senders of RDMA by CNPs of the switch where ecn would mark; " +
			"marks other transports' packets", Source: "draft-xiao-rtgwg-rocev2-fast-cnp (abstract), DCQCN §3.1",
			Params: append(ecn.Params(),
				scheme.Param{Name: "at", Kind: scheme.Text, Words: []string{"dequeue", "enqueue"}, Default: "dequeue",
					Doc: "by the queue that a packet leaves behind, or by the one that it finds", Source: "ours, as ecn"},
				scheme.Param{Name: "mark", Kind: scheme.Bool, Default: "false",
					Doc: "RDMA's packets are marked besides, so that the receiver sends CNPs, too", Source: "ours"},
				scheme.Param{Name: "interval", Kind: scheme.Duration, Default: "50us", Min: "1ns", Max: "60s",
					Doc: "least time between CNPs of this switch about a flow", Source: "DCQCN §3.1: N, of the receiver"},
				scheme.Param{Name: "flows", Kind: scheme.Int, Default: "4096", Min: "1", Max: "1048576",
					Doc:    "size of the table of flows that have had a CNP in the last interval; of further ones some have none",
					Source: "ours"},
				scheme.Param{Name: "tos", Kind: scheme.Int, Default: "0", Min: "0", Max: "252",
					Doc: "TOS byte of CNPs; 0 is of class 0", Source: "ours"},
				scheme.Param{Name: "signed", Kind: scheme.Bool, Default: "false", Doc: "CNPs say which switch they are of",
					Source: "ours"},
			)},
		NeedsNetwork: dataplane.Always(dataplane.NotifiesHosts),
		Build: func(site *dataplane.Site, v scheme.Values) (dataplane.Program, error) {
			curves, err := ecn.Curves(site, v)
			if err != nil {
				return nil, fmt.Errorf("fast_cnp: %w", err)
			}
			return New(Config{
				Curves: curves, Enqueue: v.Text("at") == "enqueue", Mark: v.Bool("mark"), Interval: v.Time("interval"),
				Flows: v.Int("flows"),
				TOS:   uint8(v.Int("tos")), Switch: uint32(site.ID), Signed: v.Bool("signed"), Framing: site.Framing,
				Random: site.Random("fast_cnp"), Seed: uint32(site.Random("fast_cnp table").Uint64()),
			})
		},
	}
}

// notifier is what notifying before and after the queue have in common.
type notifier struct {
	config Config
	recent table
	sent   uint64
}

// Enqueue notifies by the queue that they find when they come.
type Enqueue struct{ notifier }

// Dequeue notifies by the queue that they leave behind.
type Dequeue struct{ notifier }

// Name is "fast_cnp".
func (n *notifier) Name() string { return "fast_cnp" }

// Sent returns how many CNPs were sent, Suppressed how many were not because the flow had
// one within the interval, Crowded how many because the table had no room.
func (n *notifier) Sent() uint64       { return n.sent }
func (n *notifier) Suppressed() uint64 { return n.recent.suppressed }
func (n *notifier) Crowded() uint64    { return n.recent.crowded }

// Book considers a packet that has entered its queue.
func (e *Enqueue) Book(env *dataplane.Env, p *packet.Packet) {
	m := &p.Meta
	if ecn.Markable(p) {
		e.consider(env, p, env.Port(m.Out).Queue(m.Queue).Bytes()-unit.Bytes(p.Size))
	}
}

// Egress considers a packet that has left its queue.
func (d *Dequeue) Egress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	m := &p.Meta
	if ecn.Markable(p) {
		d.consider(env, p, env.Port(m.Out).Queue(m.Queue).Bytes())
	}
	return dataplane.Accept
}

func (n *notifier) consider(env *dataplane.Env, p *packet.Packet, length unit.Bytes) {
	m := &p.Meta
	if !n.config.Curves[m.Out].Hits(length, n.config.Random) {
		return
	}
	notify := p.Kind == packet.Data && p.Proto == packet.ProtoRDMA && p.Payload > 0 &&
		m.Flags&(packet.Internal|packet.Trimmed) == 0 && !p.Notifies()
	if notify && n.recent.due(env.Now(), p.Hash) {
		n.sent++
		env.Inject(n.notification(env, p))
	}
	if n.config.Mark || !notify {
		p.TOS |= packet.CE
	}
}

// transport is the length of RDMA's header.
const transport = 16

// notification is the CNP about p.
func (n *notifier) notification(env *dataplane.Env, p *packet.Packet) *packet.Packet {
	c := env.New()
	c.Kind, c.Proto, c.Version, c.TOS = packet.Notice, p.Proto, p.Version, n.config.TOS
	c.Flow, c.Src, c.Dst, c.SrcPort, c.DstPort = p.Flow, p.Src, p.Dst, p.SrcPort, p.DstPort
	c.Seq, c.Sent = p.Seq, env.Now()
	c.TurnRound()
	c.SetNotification(&packet.Notification{Cause: packet.CauseMarked, Switch: n.config.Switch, Signed: n.config.Signed})
	headers := int32(packet.EthernetHeader + packet.IPv4Header + transport)
	if c.Version == 6 {
		headers += packet.IPv6Header - packet.IPv4Header
	}
	c.Size = n.config.Framing.Frame(headers+c.ExtensionBytes(), 0, false)
	return c
}
