package fastcnp

import (
	"fmt"

	"weir/core/dataplane"
	"weir/core/dataplane/aqm/ecn"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// Config holds the parts of a program.
type Config struct {
	Curves   []ecn.Curve // by port: queue lengths for notifications
	Enqueue  bool        // by the queue that a packet finds, not the one that it leaves behind
	Mark     bool        // packets in congestion are also marked, so that the receiver reports it as well
	Interval unit.Time   // min time between CNPs about a flow, above 0
	Flows    int         // number of flows with a stored last CNP, at least 1; rounded up to whole sets
	TOS      uint8       // of CNPs; its ECN bits are 0
	Switch   uint32      // identity of the sending switch, with Signed
	Signed   bool
	Framing  packet.Framing
	Random   unit.Random // of marks
	Seed     uint32      // of the table's hash
}

// Options are the parameters in an experiment, from which a Config follows.
type Options struct {
	ecn.Thresholds
	Enqueue, Mark, Signed bool
	Interval              unit.Time
	Flows, TOS            int
}

// Params binds the options of fast_cnp to the fields of o, which keep their values.
func (o *Options) Params(p *scheme.Params) {
	o.Thresholds.Params(p)
	p.BoolWords(&o.Enqueue, [2]string{"dequeue", "enqueue"}, "at", "dequeue",
		"queue length that decides; dequeue: the length that a departing packet leaves behind; enqueue: the length that "+
			"an arriving packet finds", "Weir: as ecn")
	p.Bool(&o.Mark, "mark", "false", "also mark packets of RDMA, so that the receiver sends CNPs as well", "Weir")
	p.Time(&o.Interval, "interval", "50us", "minimum time between two CNPs of this switch for a flow; shorter: "+
		"senders respond more often to one queue",
		"DCQCN §3.1: N, of the receiver").Min("1ns").Max("60s")
	p.Int(&o.Flows, "flows", "4096",
		"size of the table of flows with a CNP in the last interval; if it is full, some other flows get no CNP",
		"Weir").Min("1").Max("1048576")
	p.Int(&o.TOS, "tos", "0", "TOS byte of CNPs; 0 is class 0", "Weir").Min("0").Max("252")
	p.Bool(&o.Signed, "signed", "false", "CNPs contain the number of the switch, which shows hosts the place of "+
		"congestion", "Weir")

	p.AddRule("tos", func() error {
		if o.TOS&int(packet.ECN) != 0 {
			return fmt.Errorf("%d has ECN bits, the lower two, which must be 0", o.TOS)
		}
		return nil
	})
}

// Traits returns the traits of the thresholds. The program cannot run standalone, because hosts must support CNPs.
func (o *Options) Traits() dataplane.Traits {
	t := o.Thresholds.Traits()
	t.WhyNotStandalone = dataplane.NotifiesHosts
	return t
}

// Scheme returns the scheme of the program fast_cnp. A program before it chooses the port:
// switch: [ecmp, {fast_cnp: {kmin: 100KB, kmax: 400KB}}].
func Scheme() dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{Name: "fast_cnp", Doc: "sends CNPs from the switch to senders of RDMA where " +
		"ecn would mark; marks packets of other transports", Source: "draft-xiao-rtgwg-rocev2-fast-cnp, DCQCN §3.1"},
		func(site *dataplane.Site, o Options) (dataplane.Program, error) {
			return New(Config{
				Curves: o.BuildCurves(site), Enqueue: o.Enqueue, Mark: o.Mark, Interval: o.Interval, Flows: o.Flows,
				TOS:    uint8(o.TOS),
				Switch: uint32(site.ID), Signed: o.Signed, Framing: site.Framing, Random: site.Random("fast_cnp"),
				Seed: uint32(site.Random("fast_cnp table").Uint64()),
			}), nil
		})
}

// New returns the program: an *enqueue if c.Enqueue is set, else a *dequeue. It does not check c.
func New(c Config) dataplane.Program {
	n := notifier{config: c, recent: newTable(c.Flows, c.Interval, c.Seed)}
	if c.Enqueue {
		return &enqueue{n}
	}
	return &dequeue{n}
}

// notifier is the part that notifying before and after the queue share.
type notifier struct {
	config Config
	recent table
	sent   uint64
}

// enqueue notifies by the queue that packets find on arrival.
type enqueue struct{ notifier }

// dequeue notifies by the queue that packets leave behind.
type dequeue struct{ notifier }

// Name returns "fast_cnp".
func (n *notifier) Name() string { return "fast_cnp" }

// SentCount returns the number of CNPs sent.
func (n *notifier) SentCount() uint64 { return n.sent }

// Book notifies the sender of a markable packet, or marks the packet, by the queue that it found on arrival
// (notifyOrMark).
func (e *enqueue) Book(env *dataplane.Env, p *packet.Packet) {
	m := &p.Meta
	if ecn.IsMarkable(p) {
		e.notifyOrMark(env, p, e.config.Curves[m.Out].LengthOnArrival(env.Port(m.Out).Queue(m.Queue), unit.Bytes(p.Size)))
	}
}

// Egress notifies the sender of a markable packet, or marks the packet, by the queue that it leaves behind
// (notifyOrMark). It accepts every packet.
func (d *dequeue) Egress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	m := &p.Meta
	if ecn.IsMarkable(p) {
		d.notifyOrMark(env, p, d.config.Curves[m.Out].QueueLength(env.Port(m.Out).Queue(m.Queue)))
	}
	return dataplane.Accept
}

// notifyOrMark draws by the queue's length, in the units of the port's curve, whether p is congested. If so, it sends a
// CNP about RDMA data when one is due, and counts it. It marks other packets, or all with Config.Mark.
func (n *notifier) notifyOrMark(env *dataplane.Env, p *packet.Packet, length unit.Bytes) {
	m := &p.Meta
	if !n.config.Curves[m.Out].DrawMark(length, n.config.Random) {
		return
	}
	notify := p.Kind == packet.Data && p.Proto == packet.ProtoRDMA && p.Payload > 0 &&
		m.Flags&(packet.Internal|packet.Trimmed) == 0 && !p.IsNotification()
	if notify && n.recent.recordIfDue(env.Now(), p.Hash) {
		n.sent++
		env.InjectPacket(n.newNotification(env, p))
	}
	if n.config.Mark || !notify {
		p.TOS |= packet.CE
	}
}

// newNotification returns a new packet with the CNP about p, from p's destination to its source.
func (n *notifier) newNotification(env *dataplane.Env, p *packet.Packet) *packet.Packet {
	c := env.NewPacket()
	c.Kind, c.Proto, c.Version, c.TOS = packet.Notice, p.Proto, p.Version, n.config.TOS
	c.Flow, c.Src, c.Dst, c.SrcPort, c.DstPort = p.Flow, p.Src, p.Dst, p.SrcPort, p.DstPort
	c.Seq, c.Sent = p.Seq, env.Now()
	c.SwapEnds()
	c.SetNotification(&packet.Notification{Cause: packet.CauseMarked, Switch: n.config.Switch, Signed: n.config.Signed})
	c.Size = n.config.Framing.FrameBytes(c.Headers()+c.ExtensionBytes(), 0, false)
	return c
}
