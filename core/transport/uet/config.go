package uet

import (
	"fmt"
	"math"
	"math/bits"

	"weir/core/cc"
	"weir/core/cc/nscc"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/transport"
	"weir/core/unit"
)

// Controllers of a flow: words of Config.Control.
const (
	bySender   = "nscc"
	byReceiver = "rccc"
	byBoth     = "both"
)

// Words of Config.RTO.
const (
	fixedRTO     = "fixed"
	estimatedRTO = "estimated"
)

// Config are the parameters of a flow.
type Config struct {
	Control string
	Network unit.Time // longest round trip of the network without queues; 0: the one of the flow's path

	Balance string
	Paths   int
	Freeze  unit.Time
	Explore int
	Memory  int

	AckBytes  unit.Bytes
	AskLate   float64
	Reorder   int
	AckDelay  unit.Time
	NackDelay unit.Time

	RTO       string
	RTOBase   unit.Time
	RTOQueues float64
	RTOMin    unit.Time

	Sleek       bool
	SleekFactor float64
	SleekMin    int
	ProbeFirst  float64
	ProbeAgain  float64

	Quantum     unit.Bytes
	PullQuanta  int
	PullRate    float64
	PullIdle    int
	Ahead       float64
	PullEntropy int

	Oversubscription float64
	SlowEvery        float64
	SlowMarks        float64
	SlowStep         float64

	Law nscc.Config
}

// simulator is the prefix of the defaults' sources.
const simulator = "UEC htsim uec.cpp: "

// Params binds the options of uet to the fields of c, which keep their values.
func (c *Config) Params(p *scheme.Params) {
	p.Text(&c.Control, "control", bySender, "congestion control; nscc: a window at the sender; rccc: credit from the "+
		"receiver; both: a packet requires window and credit", "UEC htsim main_uec.cpp: -sender_cc_only").
		Words(bySender, byReceiver, byBoth)
	p.Time(&c.Network, "network_rtt", "0s", "maximum round-trip time of a full frame in the network without queues, "+
		"from which windows and timeouts follow; 0s: the round-trip time of the flow's path",
		"UEC htsim main_uec.cpp: the round-trip time "+
			"of the diameter").
		Max("1s")
	c.bindBalance(p)
	p.Size(&c.AckBytes, "ack_bytes", "16384 B", "bytes of frames after which the receiver acknowledges if no packet "+
		"requests it earlier", simulator+"16384").Min("0 B").Max("1GB")
	p.Share(&c.AskLate, "ask_late", "0%", "share of the timeout that the transmission of ack_bytes may take; a flow "+
		"with slower turns at its NIC requests an acknowledgement of each packet; 0%: no flow does, and packets that "+
		"wait for others may be resent unnecessarily", simulator+"no such requests").Min("0%").Max("100%")
	p.Packets(&c.Reorder, "reorder_window", "16384 packets", "maximum packets that may arrive ahead of the first "+
		"missing packet",
		simulator+"16384").Min("64 packets").Max("1048576 packets")
	p.Time(&c.AckDelay, "ack_delay", "0s", "time in which a NIC creates an acknowledgement", "Weir").Max("1s")
	p.Time(&c.NackDelay, "nack_delay", "0s", "time in which a NIC creates a NACK of a trimmed packet", "Weir").Max("1s")
	c.bindRecovery(p)
	c.bindCredit(p)
	c.Law.Params(p)
	p.AddRule("paths", func() error {
		if bits.OnesCount(uint(c.Paths)) != 1 {
			return fmt.Errorf("%d is no power of two", c.Paths)
		}
		return nil
	})
	p.AddRule("sleek", func() error {
		if c.Sleek && c.Control == byReceiver {
			return fmt.Errorf("it goes by the sender's window, and with control: rccc there is none")
		}
		return nil
	})
}

// bindBalance binds the parameters of the balancer.
func (c *Config) bindBalance(p *scheme.Params) {
	p.Text(&c.Balance, "balance", balanceMixed, "choice of entropy values; mixed: values that succeeded again, otherwise "+
		"values without a penalty; oblivious: all in turn; bitmap: values without a penalty; reps: the latest values "+
		"that succeeded, once each; reps_legacy: all values that succeeded; one: one value per flow, as with ECMP",
		simulator+"mixed").Words(balanceKinds[:]...)
	p.Int(&c.Paths, "paths", "64", "number of entropy values of a flow, a power of two; at least the number of paths, "+
		"or some stay unused", "UEC htsim main_uec.cpp: 64").
		Min("1").Max("65536")
	p.Time(&c.Freeze, "freeze", "10ms", "time after a timeout in which reps cycles through its stored values",
		"UEC htsim uec_mp.cpp: 10 ms").Max("10s")
	p.Packets(&c.Explore, "explore", "16 packets", "packets that reps then sends with random entropy values",
		"UEC htsim uec_mp.cpp: 16").Min("0 packets").Max("1000000 packets")
	p.Int(&c.Memory, "memory", "8", "number of entropy values that reps stores",
		"UEC htsim uec_mp.cpp: 8").Min("1").Max("65536")
}

// bindRecovery binds the parameters of timeouts and of losses without trimming.
func (c *Config) bindRecovery(p *scheme.Params) {
	p.Text(&c.RTO, "rto", fixedRTO, "retransmission timeout; fixed: the same for all flows; estimated: SRTT + 4 "+
		"RTTVAR and at least 5/4 SRTT, doubled up to 64 times", simulator+"fixed; Weir: 5/4").Words(fixedRTO, estimatedRTO)
	p.Time(&c.RTOBase, "rto_base", "15us", "with rto: fixed: timeout without queues", "UEC htsim main_uec.cpp: 15 us").
		Min("1ns").Max("10s")
	p.Float(&c.RTOQueues, "rto_queues", "6", "with rto: fixed: time for queues, in products of line rate and "+
		"round-trip time; one per hop", "UEC htsim main_uec.cpp: 6 hops").Min("0").Max("1000")
	p.Time(&c.RTOMin, "rto_min", "100us", "with rto: estimated: minimum timeout",
		"Weir: about the fixed timeout at 100 Gb/s").
		Min("1ns").Max("10s")
	p.Bool(&c.Sleek, "sleek", "false", "detect losses by reordering and probes, for switches that do not trim",
		simulator+"off")
	p.Float(&c.SleekFactor, "sleek_factor", "1.5", "reordering that counts as a loss, in windows",
		simulator+"1.5").Min("0.1").
		Max("100")
	p.Packets(&c.SleekMin, "sleek_least", "5 packets", "minimum reordering that counts as a loss, in packets",
		simulator+"5").
		Min("1 packet").Max("1000000 packets")
	p.Float(&c.ProbeFirst, "probe_first", "3", "round-trip times without an acknowledgement until the first probe",
		simulator+"3").
		Min("0.1").Max("1000")
	p.Float(&c.ProbeAgain, "probe_again", "5", "round-trip times until the next probe",
		simulator+"5").Min("0.1").Max("1000")
}

// bindCredit binds the parameters of the receiver's credit.
func (c *Config) bindCredit(p *scheme.Params) {
	p.Size(&c.Quantum, "quantum", "256 B", "unit of credit", simulator+"256").Min("1 B").Max("64kB")
	p.Int(&c.PullQuanta, "pull_quanta", "64", "number of units of credit per PULL", simulator+"4 × 4096 B").Min("1").
		Max("1000000")
	p.Share(&c.PullRate, "pull_rate", "99%", "share of the receiver's link that PULLs request",
		"UEC htsim main_uec.cpp: 0.99").Min("1%").Max("100%")
	p.Int(&c.PullIdle, "pull_idle", "4", "duration of a PULL without credit, as the number of units that could be "+
		"sent in it", simulator+"1024 B").
		Min("1").Max("1000000")
	p.Float(&c.Ahead, "ahead", "1.5", "initial and maximum credit of a sender, in products of line rate and "+
		"round-trip time", simulator+"1.5").Min("0.01").Max("1000")
	p.Int(&c.PullEntropy, "pull_paths", "128", "number of entropy values of PULLs, used in turn",
		simulator+"128").Min("1").Max("65536")
	p.Float(&c.Oversubscription, "oversubscription", "1", "oversubscription of the network, with control: rccc; above "+
		"1, a receiver reduces its requests down to 0.9 over this value when packets are marked or are trimmed before "+
		"its own switch",
		simulator+"off by default").Min("1").Max("1000")
	p.Float(&c.SlowEvery, "slow_every", "1.5", "round-trip times between changes of the requested rate, varied by a "+
		"quarter", simulator+"1.5").
		Min("0.1").Max("1000")
	p.Share(&c.SlowMarks, "slow_marks", "30%", "smoothed share of marked packets above which a receiver reduces its "+
		"requests",
		simulator+"0.3").Min("0%").Max("100%")
	p.Share(&c.SlowStep, "slow_step", "1%", "increase of the requested rate as a share of the link, doubled while no "+
		"packet is marked",
		simulator+"0.01").Min("0.01%").Max("100%")
	p.AddRule("oversubscription", func() error {
		if c.Oversubscription > 1 && c.Control != byReceiver {
			return fmt.Errorf("with control: %s the sender's window knows of the network; rccc alone does not", c.Control)
		}
		return nil
	})
}

// Defaults returns the parameters of the simulator.
func Defaults() Config { return scheme.Defaults[Config]() }

// headerBytes is the transport's own header on the wire (packet.Emit).
const headerBytes = 16

// Scheme returns the transport uet.
func Scheme() transport.Scheme {
	return transport.DefineReusing(transport.Scheme{
		Scheme: scheme.Scheme{Name: "uet", Doc: "Ultra Ethernet transport: packet spraying, NACKs of trimmed packets, a " +
			"window by NSCC or credit by RCCC; for switches with the program trimming", Source: "UEC htsim uec.cpp",
			Warnings: []scheme.WarningKind{warnSleekNeeded, warnSleekTwice, warnREPS, warnUnmarked, warnBalance,
				warnNetworkRTT, warnRTOBase, warnRTOQueues}},
		Headers: headerBytes, Proto: packet.ProtoOwn, Gauged: true,
	}, renew)
}

// New makes the two endpoints of a flow. Receivers of one host must get the same f.Host, through which they share the
// pace of their PULLs; without a host a flow is paced alone. It returns an error for values out of range, and for a
// path without the rates or the round trip that the configuration needs.
func New(f transport.Flow, c Config) (*Sender, *Receiver, error) {
	return renew(f, c, transport.EndpointPair{})
}

// renew works as New and reuses the memory of the ends of a flow that is over. They must have no other references.
func renew(f transport.Flow, c Config, old transport.EndpointPair) (*Sender, *Receiver, error) {
	switch {
	case f.Payload < 1 || f.Payload > 65000:
		return nil, nil, fmt.Errorf("transport uet: payload %d; allowed: 1 … 65000 bytes", f.Payload)
	case f.Size < 0:
		return nil, nil, fmt.Errorf("transport uet: a size of %d bytes", f.Size)
	case f.Path.NICRate == 0:
		return nil, nil, fmt.Errorf("transport uet: its window needs a sender's link with a rate in bit/s")
	case f.Path.ReceiverRate == 0 && c.Control != bySender:
		return nil, nil, fmt.Errorf("transport uet: control: %s needs a receiver's link with a rate in bit/s", c.Control)
	}
	if c.Network == 0 {
		c.Network = f.Path.BaseRTT
	}
	if c.Network == 0 {
		return nil, nil, fmt.Errorf("transport uet: network_rtt: 0s needs a path whose round trip is known")
	}
	x := newEnds(&f, &c)
	upper := uint16(f.Random.IntN(1<<16)) &^ uint16(c.Paths-1)
	x.first = upper
	host := f.Host
	if host == nil {
		host = &cc.Host{}
	}
	var p *pacer
	if c.Control != bySender {
		p = host.GetShared("uet pacer", func() any { return &pacer{} }).(*pacer)
		if c.Oversubscription > 1 && p.slow == nil {
			p.slow = newSlowdown(f.Start, &c, unit.NewRandom(f.Seed, fmt.Sprintf("uet receiver %d", f.Dst)))
		}
	}
	s, sent := old.Sender.(*Sender)
	r, received := old.Receiver.(*Receiver)
	if !sent || !received || p != nil { // a pacer may still refer to the old one
		s, r = &Sender{}, &Receiver{}
	}
	config := s.config
	if config == nil {
		config = &Config{}
	}
	*config = c
	back := x
	back.src, back.dst = x.dst, x.src
	r.initReceiver(&f, config, back, upper, p)
	s.initSender(&f, config, x)
	return s, r, nil
}

// ends is the common part of the two ends of a flow. Packets are numbered from 0.
type ends struct {
	framing      packet.Framing
	src, dst     packet.Addr
	headers      int32  // Ethernet to transport
	port         uint16 // of the receiver
	first, paths uint16 // first entropy value, and mask of their number
	version, tos uint8
	frame        int64 // bytes of a full packet's frame
	header       int64 // bytes of a frame without payload
	payload      int64 // of a full packet
	size         int64 // payload of the flow; MaxInt64: no end
	product      int64 // bytes of line rate and round trip
}

// newEnds returns the common part for the sender of flow f, without the first entropy value. The path's NICRate and
// c.Network give the product.
func newEnds(f *transport.Flow, c *Config) ends {
	e := ends{framing: f.Framing, headers: packet.EthernetHeader + packet.IPHeader(f.Version) + headerBytes,
		port: f.DstPort, paths: uint16(c.Paths - 1), version: f.Version, tos: f.TOS &^ packet.ECN, payload: int64(f.Payload),
		size: math.MaxInt64, src: f.Src, dst: f.Dst}
	e.frame = int64(f.Framing.FrameBytes(e.headers, f.Payload, true))
	e.header = max(e.frame-e.payload, 1)
	if f.Size > 0 {
		e.size = int64(f.Size)
	}
	e.product = int64(f.Path.NICRate.BytesIn(c.Network))
	return e
}

// Flags of the transport's header in addition to Trimmable and LastHop.
const (
	asks     = packet.ACK // of data: acknowledge at once
	again    = packet.URG // of data: resent; of an acknowledgement: the packet was resent
	probing  = packet.CWR // of data without payload: a probe; of an acknowledgement: an answer to one
	requests = packet.PSH // of an acknowledgement: of a request to send
	echoes   = packet.ECE // of an acknowledgement or a NACK: the packet was marked
)

// fillHeaders writes the headers of p, which has its extensions already, except addresses, flow and numbers. ev is the
// entropy value, one of the two ports. bySender means that p is a packet of the sender. payload is in bytes.
func (e *ends) fillHeaders(p *packet.Packet, kind packet.Kind, ev uint16, bySender bool, payload int64, flags uint8) {
	p.Kind, p.Payload, p.TCP.Flags = kind, int32(payload), flags
	p.Size = e.framing.FrameBytes(e.headers+p.ExtensionBytes(), p.Payload, kind == packet.Data && payload > 0)
	if kind == packet.Data && payload == 0 {
		p.Size = int32(e.header)
	}
	p.SrcPort, p.DstPort = ev, e.port
	if !bySender {
		p.SrcPort, p.DstPort = e.port, ev
	}
	p.Hash = packet.FlowHash(e.src, e.dst, p.SrcPort, p.DstPort, packet.ProtoOwn)
	p.Proto, p.Version, p.TOS, p.HopLimit = packet.ProtoOwn, e.version, e.tos, 64
	if kind == packet.Data && payload > 0 {
		p.TOS |= packet.ECT0
	}
}
