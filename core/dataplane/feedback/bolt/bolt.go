package bolt

import (
	"fmt"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// config holds the program's parameters in an experiment.
type config struct {
	Threshold    unit.Depth
	SRC, PRU, SM bool
	Tokens       int        // max tokens of PRU
	MTU          unit.Bytes // frame; 0: the largest frame of hosts
	TOS          int
}

// Params binds the options of bolt to the fields of c, which keep their values.
func (c *config) Params(p *scheme.Params) {
	p.Depth(&c.Threshold, "threshold", "2 packets", "CC_THRESHOLD: queue from which on the switch notifies senders; "+
		"raise it if bursts of few packets are usual",
		"Bolt simulator bolt-pru-benchmarks.cc: 3 KB with packets of 1500").Min("1 B")
	p.Bool(&c.SRC, "src", "true", "true: the switch notifies senders itself; false: acknowledgements notify them, one "+
		"round-trip time later", "Bolt §3.1; Bolt simulator: EnableBts")
	p.Bool(&c.PRU, "pru", "true", "grant the capacity of flows that are about to end to other flows in advance",
		"Bolt §3.2; Bolt simulator: EnablePru")
	p.Bool(&c.SM, "sm", "true", "grant the capacity that the port has not used since the last packet",
		"Bolt §3.3; Bolt simulator: EnableAbs")
	p.Int(&c.Tokens, "pru_tokens", "256", "maximum grants that are kept for later packets; lower it so that the end "+
		"of many flows causes no burst later",
		"Bolt simulator: MaxNumPruTokens").Min("1").Max("65535").When("pru: true", func() bool { return c.PRU })
	p.Size(&c.MTU, "mtu", "0 B", "size that a grant counts as; 0 B: the largest frame that hosts send; set it if "+
		"other traffic has larger frames than the flows of bolt",
		"Bolt algorithm 3: MTU").Max("1MB")
	p.Int(&c.TOS, "tos", "0", "TOS byte of notices; 0 is class 0", "Weir").Min("0").Max("252")

	p.AddRule("tos", func() error {
		if c.TOS&int(packet.ECN) != 0 {
			return fmt.Errorf("%d has ECN bits, the lower two, which must be 0", c.TOS)
		}
		return nil
	})
}

// Traits returns that the program answers requests of packets. It cannot run standalone, because hosts must support its
// messages.
func (*config) Traits() dataplane.Traits {
	return dataplane.Traits{WhyNotStandalone: dataplane.NotifiesHosts, AnswersRequests: true}
}

// frameBytes returns the size of the MTU as links count it. defaultSize replaces an MTU of 0.
func (c *config) frameBytes(defaultSize unit.Bytes) unit.Bytes {
	if c.MTU > 0 {
		return c.MTU
	}
	return defaultSize
}

// minExactRate is the rate below which a message's rounding exceeds a tenth.
const minExactRate = 10 * unit.Mbps

// Kinds of warnings.
var (
	warnSlow = scheme.WarningKind{ID: "bolt-slow",
		Condition: "a port at which data can queue is slower than 10 Mb/s, and messages round its rate up to Mb/s"}
	warnThreshold = scheme.WarningKind{ID: "bolt-threshold",
		Condition: "the buffer of a port at which data can queue is full before the threshold"}
	warnCrowded = scheme.WarningKind{ID: "bolt-crowded",
		Condition: "a port's buffer does not hold a packet of each flow to its receiver"}
)

// Check refuses any port with a rate in packets/s. Of the ports at which data can queue, it warns of those with a rate
// too low for messages, and of those with a buffer that is full before the threshold. It also warns of such ports with
// more flows than their buffer holds at an additive increase of a packet a round trip each. Each warning is about the
// worst port of its kind.
func (c *config) Check(s *dataplane.SwitchContext) (all []scheme.Remark) {
	for i := range s.Ports {
		if p := &s.Ports[i]; p.Rate.Bits == 0 {
			all = append(all, scheme.NewRefusal("",
				"the rate of the port to %s is in packets/s, but its messages need a rate in bit/s", p.To))
			break
		}
	}
	for _, p := range s.QueueingPorts() {
		if p.Rate.Bits > 0 && p.Rate.Bits < minExactRate {
			all = append(all, warnSlow.NewRemark("", "the port to %s has %v, but its messages round rates up to whole Mb/s: "+
				"below %v senders drain their queue too slowly", p.To, p.Rate.Bits, minExactRate).
				WithPort(p.PortName(), float64(minExactRate)/float64(p.Rate.Bits)))
		}
		holds := bufferBytes(s, p)
		if holds == 0 {
			continue
		}
		if from := c.Threshold.BytesAt(p.Rate.Bits, c.frameBytes(s.FrameSize())); from >= holds {
			all = append(all, warnThreshold.NewRemark("threshold", "the buffer of the port to %s is full before %.0f B are "+
				"queued, so packets are lost before any sender is notified", p.To, from).WithPort(p.PortName(), from/holds))
		}
		if need := float64(p.Senders) * float64(c.frameBytes(s.FrameSize())); need > holds {
			all = append(all, warnCrowded.NewRemark("",
				"%d flows to %s each add a packet in a round trip (ai of cc bolt), which the buffer of its port does not hold, "+
					"so packets are lost", p.Senders, p.To).WithPort(p.PortName(), need/holds))
		}
	}
	return scheme.KeepWorst(all)
}

// bufferBytes returns the size of a port's buffer in bytes; 0: no limit, or the port sends packets, not bits.
func bufferBytes(s *dataplane.SwitchContext, p *dataplane.Peer) float64 {
	if p.Rate.Bits == 0 {
		return 0
	}
	return unit.Depth{Packets: p.Buffer.Packets, Bytes: p.Buffer.Bytes}.BytesAt(p.Rate.Bits, s.FrameSize())
}

// Scheme returns the scheme of the program bolt, which needs a program before it that chooses the port:
// switch: [ecmp, bolt].
func Scheme() dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{Name: "bolt", Doc: "notifies senders of cc bolt directly of a queue, and " +
		"grants packets when flows end or capacity is unused", Source: "Bolt (NSDI 2023)",
		Warnings: []scheme.WarningKind{warnSlow, warnThreshold, warnCrowded}}, newProgram)
}

// program is the switch's part of Bolt.
type program struct {
	config  config
	framing packet.Framing
	ports   []port
	mtu     float64
	sent    uint64
}

// port is the state of one egress port.
type port struct {
	threshold unit.Bytes
	linkRate  unit.Rate
	supply    float64   // bytes per picosecond
	token     float64   // sm_token [bytes]
	countedAt unit.Time // last_sm_time
	tokens    int32     // pru_token
}

// newProgram returns the program of a switch. At a port without a rate in bit/s the supply is 0, and a threshold as a
// time is 1 byte. The error is always nil.
func newProgram(site *dataplane.Site, c config) (*program, error) {
	largest := unit.Bytes(site.MaxFrame)
	if largest == 0 {
		largest = unit.Bytes(site.Framing.FrameBytes(1514, 0, true))
	}
	frame := c.frameBytes(largest)
	b := &program{config: c, framing: site.Framing, ports: make([]port, site.Ports), mtu: float64(frame)}
	for i := range b.ports {
		p := &b.ports[i]
		if i < len(site.Lines) {
			p.linkRate = site.Lines[i].Rate.Bits
		}
		p.threshold = max(unit.Bytes(c.Threshold.BytesAt(p.linkRate, frame)), 1)
		p.supply = float64(p.linkRate) / 8e12
	}
	return b, nil
}

// Name returns "bolt".
func (b *program) Name() string { return "bolt" }

// Book runs Bolt's algorithm 1 for p, which has entered its queue. It updates the port's supply for every packet. For
// untrimmed data with a Bolt header it then changes that header. If the queue before p, in bytes, has reached the
// threshold, p is marked or its sender notified (notifyCongestion). Otherwise p's request is granted or withdrawn, and
// the port's tokens change (grantRequest).
func (b *program) Book(env *dataplane.Env, p *packet.Packet) {
	m := &p.Meta
	at := &b.ports[m.Out]
	at.countSupply(env.Now(), p.Size, b.mtu)
	if !p.HasHotExtension(packet.ExtBolt) || p.Kind != packet.Data || m.Flags&packet.Trimmed != 0 {
		return
	}
	var h packet.Bolt
	if !p.Bolt(&h, false) {
		return
	}
	before := h
	if queue := env.Port(m.Out).Bytes() - unit.Bytes(p.Size); queue >= at.threshold {
		b.notifyCongestion(env, p, &h, queue, at.linkRate)
	} else {
		b.grantRequest(at, &h)
	}
	if h != before {
		p.SetBolt(&h, false)
	}
}

// countSupply is algorithm 3 of Bolt. It adds to p.token the bytes that the port could have sent since the last packet,
// and subtracts this packet's size. The result is at most mtu, and may be negative.
func (p *port) countSupply(now unit.Time, size int32, mtu float64) {
	supply := float64(float64(now-p.countedAt) * p.supply)
	p.token = min(p.token+supply-float64(size), mtu)
	p.countedAt = now
}

// notifyCongestion withdraws p's request and, unless a switch has notified the sender already, sends the sender a
// notice. With src: false it writes the queue into the header h instead, if that queue takes longest to drain on the
// path so far. At a port without a rate in bit/s it only withdraws the request.
func (b *program) notifyCongestion(env *dataplane.Env, p *packet.Packet, h *packet.Bolt, queue unit.Bytes,
	link unit.Rate) {
	h.Flags &^= packet.BoltIncrease
	switch notified := h.Flags&packet.BoltNotified != 0; {
	case notified || link == 0:
		return
	case !b.config.SRC:
		if h.Flags&packet.BoltDecrease == 0 || float64(queue)*float64(h.Link) > float64(h.Queue)*float64(link) {
			h.Queue, h.Link = queue, link
		}
		h.Flags |= packet.BoltDecrease
		return
	}
	h.Flags |= packet.BoltDecrease | packet.BoltNotified
	b.sendNotice(env, p, &packet.Bolt{Flags: h.Flags, Sent: h.Sent, Queue: queue, Link: link})
	b.sent++
}

// grantRequest decides about the request in header h, and changes h. With pru, the last packet of a flow of several
// packets adds a token to the port, up to pru_tokens. A packet with a request takes a token or, with sm, an MTU of
// unused supply. Without either its request is withdrawn.
func (b *program) grantRequest(p *port, h *packet.Bolt) {
	switch {
	case b.config.PRU && h.Flags&packet.BoltLast != 0:
		if h.Flags&packet.BoltFirst == 0 && int(p.tokens) < b.config.Tokens {
			p.tokens++
		}
	case h.Flags&packet.BoltIncrease == 0:
	case b.config.PRU && p.tokens > 0:
		p.tokens--
	case b.config.SM && p.token >= b.mtu:
		p.token -= b.mtu
	default:
		h.Flags &^= packet.BoltIncrease
	}
}

// sendNotice makes a notice with header h and p's flow and Seq, and sends it to p's sender through the ingress. p stays
// as it is.
func (b *program) sendNotice(env *dataplane.Env, p *packet.Packet, h *packet.Bolt) {
	n := env.NewPacket()
	n.Kind, n.Proto, n.Version, n.TOS = packet.Notice, p.Proto, p.Version, uint8(b.config.TOS)
	n.Flow, n.Src, n.Dst, n.SrcPort, n.DstPort = p.Flow, p.Src, p.Dst, p.SrcPort, p.DstPort
	n.Seq, n.Sent = p.Seq, env.Now()
	n.SwapEnds()
	n.SetBolt(h, true)
	n.Size = b.framing.FrameBytes(n.Headers()+n.ExtensionBytes(), 0, false)
	env.InjectPacket(n)
}

// Footprint returns the use by supply and demand of the port, and its tokens. The queue is read before the enqueue,
// which P4TE §4.2 does not allow.
func (b *program) Footprint() dataplane.Footprint {
	cells := len(b.ports)
	return dataplane.Footprint{Stages: []dataplane.Stage{
		{Name: "supply", Gress: dataplane.InIngress, Registers: []dataplane.RegisterUse{
			{Name: "sm_token", Cells: cells, Bits: 64, Reads: 1, Writes: 1},
			{Name: "last_sm_time", Cells: cells, Bits: 64, Reads: 1, Writes: 1}},
			Operations: []dataplane.Operation{{Kind: dataplane.FloatingPoint, What: "time by rate", Times: 1}}},
		{Name: "queue, tokens", Gress: dataplane.InIngress, Registers: []dataplane.RegisterUse{
			{Name: "pru_token", Cells: cells, Bits: 32, Reads: 1, Writes: 1}},
			Operations: []dataplane.Operation{{Kind: dataplane.ReadingEgress, What: "bytes of the port", Times: 1},
				{Kind: dataplane.Recirculating, What: "message", Times: 1}}}}}
}
