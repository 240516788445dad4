package fastcnp

import (
	"fmt"

	"weir/core/dataplane"
	"weir/core/dataplane/aqm/ecn"
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

// Options are what an experiment says of a Config.
type Options struct {
	ecn.Thresholds
	Enqueue, Mark, Signed bool
	Interval              unit.Time
	Flows, TOS            int
}

// Params binds the options.
func (o *Options) Params(p *scheme.Params) {
	o.Thresholds.Params(p)
	p.Either(&o.Enqueue, [2]string{"dequeue", "enqueue"}, "at", "dequeue",
		"by the queue that a packet leaves behind, or by the one that it finds", "ours: as ecn")
	p.Bool(&o.Mark, "mark", "false", "RDMA's packets are marked besides, so that the receiver sends CNPs, too", "ours")
	p.Time(&o.Interval, "interval", "50us", "least time between CNPs of this switch about a flow",
		"DCQCN §3.1: N, of the receiver").Min("1ns").Max("60s")
	p.Int(&o.Flows, "flows", "4096",
		"size of the table of flows that have had a CNP in the last interval; of further ones some have none",
		"ours").Min("1").Max("1048576")
	p.Int(&o.TOS, "tos", "0", "TOS byte of CNPs; 0 is of class 0", "ours").Min("0").Max("252")
	p.Bool(&o.Signed, "signed", "false", "CNPs say which switch they are of", "ours")

	p.Rule("tos", func() error {
		if o.TOS&int(packet.ECN) != 0 {
			return fmt.Errorf("%d has ECN bits, the lower two, which must be 0", o.TOS)
		}
		return nil
	})
}

// Traits returns the thresholds'. Hosts have to know CNPs.
func (o *Options) Traits() dataplane.Traits {
	t := o.Thresholds.Traits()
	t.WhyNotStandalone = dataplane.NotifiesHosts
	return t
}

// Scheme is what an experiment names: switch: [ecmp, {fast_cnp: {kmin: 100KB, kmax: 400KB}}].
func Scheme() dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{Name: "fast_cnp", Doc: "tells senders of RDMA by CNPs of the switch where ecn " +
		"would mark; marks other transports' packets", Source: "draft-xiao-rtgwg-rocev2-fast-cnp, DCQCN §3.1"},
		func(site *dataplane.Site, o Options) (dataplane.Program, error) {
			return New(Config{
				Curves: o.Curves(site), Enqueue: o.Enqueue, Mark: o.Mark, Interval: o.Interval, Flows: o.Flows, TOS: uint8(o.TOS),
				Switch: uint32(site.ID), Signed: o.Signed, Framing: site.Framing, Random: site.Random("fast_cnp"),
				Seed: uint32(site.Random("fast_cnp table").Uint64()),
			}), nil
		})
}

// New returns the program: an enqueue or a dequeue.
func New(c Config) dataplane.Program {
	n := notifier{config: c, recent: newTable(c.Flows, c.Interval, c.Seed)}
	if c.Enqueue {
		return &enqueue{n}
	}
	return &dequeue{n}
}

// notifier is what notifying before and after the queue have in common.
type notifier struct {
	config Config
	recent table
	sent   uint64
}

// enqueue notifies by the queue that they find when they come.
type enqueue struct{ notifier }

// dequeue notifies by the queue that they leave behind.
type dequeue struct{ notifier }

// Name is "fast_cnp".
func (n *notifier) Name() string { return "fast_cnp" }

// Sent returns how many CNPs were sent.
func (n *notifier) Sent() uint64 { return n.sent }

// Book considers a packet that has entered its queue.
func (e *enqueue) Book(env *dataplane.Env, p *packet.Packet) {
	m := &p.Meta
	if ecn.Markable(p) {
		e.consider(env, p, e.config.Curves[m.Out].Found(env.Port(m.Out).Queue(m.Queue), unit.Bytes(p.Size)))
	}
}

// Egress considers a packet that has left its queue.
func (d *dequeue) Egress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	m := &p.Meta
	if ecn.Markable(p) {
		d.consider(env, p, d.config.Curves[m.Out].Length(env.Port(m.Out).Queue(m.Queue)))
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

// notification is the CNP about p.
func (n *notifier) notification(env *dataplane.Env, p *packet.Packet) *packet.Packet {
	c := env.New()
	c.Kind, c.Proto, c.Version, c.TOS = packet.Notice, p.Proto, p.Version, n.config.TOS
	c.Flow, c.Src, c.Dst, c.SrcPort, c.DstPort = p.Flow, p.Src, p.Dst, p.SrcPort, p.DstPort
	c.Seq, c.Sent = p.Seq, env.Now()
	c.TurnRound()
	c.SetNotification(&packet.Notification{Cause: packet.CauseMarked, Switch: n.config.Switch, Signed: n.config.Signed})
	c.Size = n.config.Framing.Frame(c.Headers()+c.ExtensionBytes(), 0, false)
	return c
}
