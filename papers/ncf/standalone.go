package ncf

import (
	"slices"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/unit"
)

// NCF in a standalone switch, a bridge between hosts that do not expect it. This is Weir's addition. Addresses of
// packets are users there, so flows are distinguished by their frames (dataplane.Frames), and frames without IP are
// data, too.
//
// A NACK has the addresses of its flow, so the bridge needs none of its own. It departs by the port where the flow
// arrives: the sender is behind that port, even if a table has learned another one. Hosts get only what any TCP
// tolerates: segments of the flow, never an extension, and no message to senders of UDP.

// header holds the headers of a frame in a standalone switch, for a message to its sender.
type header struct {
	bytes  [headerRoom]byte
	n      uint8
	in     packet.PortID // ingress port of the frame
	window uint32        // number of the window in which it was stored
}

// headerRoom holds the headers of Ethernet with two tags, PPPoE, IPv6, and TCP with all its options.
const headerRoom = packet.EthernetHeader + 2*4 + 8 + packet.IPv6Header + packet.TCPHeader + 40

// store copies the headers and the ingress port of p's frame into h, and returns h.
func (h *header) store(f dataplane.Frames, p *packet.Packet) *header {
	h.n, h.in = uint8(f.CopyHeader(p, h.bytes[:])), p.Meta.In
	return h
}

// copyHeaders returns a new packet with the headers of p that a NACK about p needs. The caller sends it or frees it.
func (g *Program) copyHeaders(env *dataplane.Env, p *packet.Packet) *packet.Packet {
	if g.frames == nil {
		return env.ClonePacket(p, true)
	}
	c := g.newMessage(env)
	c.Proto, c.SrcPort, c.DstPort, c.Seq, c.Ack, c.TCP = p.Proto, p.SrcPort, p.DstPort, p.Seq, p.Ack, p.TCP
	return c
}

// newMessage returns an empty packet for a message to a host. The caller sends it or frees it.
func (g *Program) newMessage(env *dataplane.Env) *packet.Packet {
	if g.frames == nil {
		return env.NewPacket()
	}
	return env.NewFrame(g.room)
}

// sendMessage sends c, a message to a host with a flow that arrives at port in: by the routes or, in a standalone
// switch, by that port. There it frees a message without a frame or with an unknown port. c belongs to the caller
// before, and not after.
func (g *Program) sendMessage(env *dataplane.Env, c *packet.Packet, in packet.PortID) {
	if g.frames == nil {
		env.InjectPacket(c)
		return
	}
	if int(in) >= env.Ports() || len(c.Data) == 0 {
		env.FreePacket(c)
		return
	}
	c.Size = g.framing.FrameBytes(int32(len(c.Data)), 0, false)
	class := Control
	if c.Kind == packet.Ack {
		class = g.config.Acks // it must not overtake earlier acknowledgements
	}
	g.portAt(in).input.add(env.Now(), class, c.Size)
	env.SendPacket(c, in, selectQueue(class, 0, env.Port(in).Queues()))
}

// isExempt reports whether p is a frame that a standalone switch assigns to no user: ARP, neighbour discovery.
func (g *Program) isExempt(p *packet.Packet) bool {
	return g.frames != nil && p.Meta.Flags&packet.Internal != 0
}

// whyNotStandalone returns which messages need hosts that understand them, and the parameters that avoid them; "" if
// none.
func (o *Options) whyNotStandalone() string {
	switch {
	case o.Nack == NackNone:
		return ""
	case o.Form == AsExtension:
		return dataplane.NotifiesHosts + "; other hosts discard form: tcp_option, and TCP with ECN supports form: ece"
	case o.UDP:
		return dataplane.NotifiesHosts + ", which senders of UDP do not; set udp: false"
	}
	return ""
}

// Adopt continues after a reload with overloads, repeats and all counts since the start. If windows and sketches are
// the same, flows' counts continue, too. A port with a changed d, by its rate or buffer, counts its flows from 0;
// others keep their counts. It takes over the old program's tables themselves, so that program must not run any more.
// Queued packets are booked again by the caller. kept is empty, and g unchanged, if other is no NCF or has another
// number of ports.
func (g *Program) Adopt(_ unit.Time, other dataplane.Program) (kept string, lost []string) {
	old, ok := other.(*Program)
	if !ok || len(old.ports) != len(g.ports) {
		return "", nil
	}
	g.nacks = old.nacks
	if g.echoes != nil && old.echoes != nil {
		g.echoes = old.echoes
	}
	was, is := old.config.Sketch, g.config.Sketch
	was.Seed, was.Duration = is.Seed, is.Duration // each port has its own d
	same := was == is && old.config.Scope == g.config.Scope && heaviest(old.config.Top) == heaviest(g.config.Top)
	adopted := 0
	for i := range g.ports {
		x, y := &g.ports[i], &old.ports[i]
		x.overload = y.overload
		if len(x.repeats) == len(y.repeats) {
			x.repeats = y.repeats
		}
		if same && x.sketch.Duration() == y.sketch.Duration() {
			x.sketch, x.top, x.mice = y.sketch, y.top, y.mice
			adopted++
		}
	}
	if adopted == 0 {
		return "its counts of NACKs", []string{"what flows have sent"}
	}
	if (g.allowance == nil) == (old.allowance == nil) && g.config.NackBudget == old.config.NackBudget {
		g.allowance = old.allowance
	}
	if adopted < len(g.ports) {
		lost = []string{"what flows have sent to ports whose windows have another length"}
	}
	return "what flows have sent, and its counts", lost
}

// Metrics describes what NCF reports in a running switch.
func (g *Program) Metrics() []dataplane.Metric {
	return []dataplane.Metric{
		{Name: "weir_ncf_notices_total", Help: "Notices to senders, as NACKs or as copies of acknowledgements with ECE.",
			Label: "cause", Counter: true},
		{Name: "weir_ncf_untold_total", Help: "Frames that did not fit and caused no notice to a sender, by reason.",
			Label: "why", Counter: true},
		{Name: "weir_ncf_reclaimed_total", Help: "Frames that were evicted for other frames.", Counter: true},
		{Name: "weir_ncf_ignored_total", Help: "Frames dropped first because their elephant did not respond to notices.",
			Counter: true},
		{Name: "weir_ncf_lost_notices_total", Help: "Notices that did not fit.", Counter: true},
		{Name: "weir_ncf_elephants", Help: "Elephants that sent recently, up to the maximum that the port notifies.",
			Label: "port", ByPort: true},
		{Name: "weir_ncf_memory", Help: "Share of the port's memory that is in use.", Label: "port", ByPort: true},
		{Name: "weir_ncf_memory_elephants", Help: "Share of the port's memory that elephants use.", Label: "port",
			ByPort: true},
		{Name: "weir_ncf_congested", Help: "1 while the port's memory is congested.", Label: "port", ByPort: true},
	}
}

// Sample fills samples with the metrics' values, as far as there is room, and returns their number.
func (g *Program) Sample(now unit.Time, samples []dataplane.Sample) (n int) {
	put := func(s dataplane.Sample) {
		if n < len(samples) {
			samples[n] = s
			n++
		}
	}
	c := &g.nacks
	for _, cause := range [...]packet.Cause{packet.CauseTrimmed, packet.CauseReclaimed, packet.CauseElephant} {
		put(dataplane.Sample{Word: cause.String(), Value: float64(c.Nacks[cause])})
	}
	rest := c.Dropped - c.NoBudget - c.NoECN - c.NoAck - c.NotifiedOtherwise
	for _, x := range [...]struct {
		why silenceReason
		n   uint64
	}{{noBudget, c.NoBudget}, {noECN, c.NoECN}, {noAck, c.NoAck}, {notifiedAlready, c.NotifiedOtherwise}, {otherReason,
		rest}} {
		put(dataplane.Sample{Metric: 1, Word: string(x.why), Value: float64(x.n)})
	}
	for i, x := range [...]uint64{c.Reclaimed, c.TrimmedUnresponsive, c.Lost} {
		put(dataplane.Sample{Metric: 2 + i, Value: float64(x)})
	}
	for i := range g.ports[:len(g.ports)-1] {
		x := &g.ports[i]
		port, fresh := packet.PortID(i), 0
		for k := range x.top.Len() {
			if x.sketch.isLive(now) && x.sketch.Window()-x.top.At(k).LastWindow < uint32(g.config.Sketch.Windows) {
				fresh++
			}
		}
		put(dataplane.Sample{Metric: 5, Port: port, Value: float64(fresh)})
		m := x.ownMemory()
		if m == nil {
			continue
		}
		size, congested := float64(m.Size()), 0.
		if m.IsCongested() {
			congested = 1
		}
		put(dataplane.Sample{Metric: 6, Port: port, Value: float64(m.total()) / size})
		put(dataplane.Sample{Metric: 7, Port: port, Value: float64(m.Used(Elephants)) / size})
		put(dataplane.Sample{Metric: 8, Port: port, Value: congested})
	}
	return n
}

// storeHeaders stores the headers of an elephant's frame, once in a window, in a standalone switch.
func (g *Program) storeHeaders(x *port, o *Origin, p *packet.Packet) {
	if g.frames == nil {
		return
	}
	if h := x.top.headerOf(o); h.n == 0 || h.window != x.sketch.Window() {
		h.store(g.frames, p).window = x.sketch.Window()
	}
}

// headerOf returns the stored headers of elephant o, which must be in the table of a standalone switch. The caller may
// change them.
func (t *HeaviestFlows) headerOf(o *Origin) *header { return &t.headers[slices.Index(t.keys, o.Key)] }
