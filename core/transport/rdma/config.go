package rdma

import (
	"fmt"
	"math"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/transport"
	"weir/core/unit"
)

// Ways to repair losses: values of Config.Recovery.
const (
	GoBackN         = "go_back_n"        // the receiver takes packets in order only
	SelectiveRepeat = "selective_repeat" // IRN §3.1
	NoRecovery      = "none"             // for lossless networks: a lost packet leaves the flow unfinished
)

// Bounds of the bytes in flight in addition to the controller's window: values of Config.Bound.
const (
	boundNone  = "none"
	boundBDP   = "bdp"   // IRN §3.2: line rate × base RTT
	boundBytes = "bytes" // Config.BoundBytes
)

// Conditions under which the window has room: values of Config.WindowTest.
const (
	wholePacket = "fits"  // a packet is sent if the bytes in flight and its own are at most the window
	begunPacket = "below" // a packet is sent while the bytes in flight are below the window
)

// First windows of a flow: values of Config.Start.
const (
	startAtLineRate      = "line_rate"      // the controller's first window is a BDP
	startAtInitialWindow = "initial_window" // Config.Packets
)

// Sources of the retransmission timeout: values of Config.RTO.
const (
	measuredRTO = "measured" // the floor, or SRTT + 4 RTTVAR or 1¼ SRTT if that is more
	fixedRTO    = "fixed"    // the floor
	noRTO       = "none"     // no timer: only NACKs and SACKs repair losses
)

// Packets that selective repeat resends after a timeout: values of Config.Resends.
const (
	resendFirst = "first" // the first packet; of the others those below one that was received
	resendAll   = "all"   // all packets that are not acknowledged
)

// Uses of ECN: values of Config.ECN.
const (
	ecnByController = "controller" // as the controller's scheme requests
	ecnOff          = "off"        // data is not ECN-capable
	ecnEcho         = "echo"       // each ACK echoes the mark of its packet
	ecnNotify       = "cnp"        // marks are answered by CNPs, and echoed as well
)

// Config are the parameters of a queue pair.
type Config struct {
	Recovery   string
	Start      string
	WindowTest string
	Pacing     bool
	Keeps      bool // a new rate leaves the packet that waits where it is
	Bound      string
	BoundBytes unit.Bytes
	Packets    int       // initial window, with Start startAtInitialWindow
	LineRate   unit.Rate // 0: of the flow
	BaseRTT    unit.Time // 0: of the flow

	AckEvery     int       // packets an ACK
	AckDelay     unit.Time // longest wait of a coalesced ACK
	NackInterval unit.Time // between NACKs of one expected sequence, with GoBackN
	NIC          transport.NICDelays

	Paths         int // paths that the sender chooses among
	Reordering    string
	ReorderWindow unit.Time // 0: a quarter of the minimum round-trip time, with reorderAdaptive

	RTO           string
	RTOMin        unit.Time // IRN's RTO_high
	RTOLow        unit.Time // with at most RTOLowPackets in flight; 0: RTOMin always
	RTOLowPackets int
	RTOMax        unit.Time // limit of the doubled timeout; 0: 64 times the timeout
	Resends       string

	ECN         string
	CNPInterval unit.Time

	Class       int  // priority class of data and, without AckPriority, ACKs, at the hosts' NICs
	AckPriority bool // ACKs, NACKs and CNPs are of class 0 there
	Telemetry   transport.TelemetryOptions
	AckTOS      int // TOS of ACKs, NACKs and CNPs, by which switches may recognize them; −1: the data's

	Nacks     string // response to NACKs of the network: transport.NacksLoss …
	Trimmable bool   // switches may cut payload off
}

// Defaults returns the configuration of a RoCE NIC as in the HPCC simulator, with a retransmission timer.
func Defaults() Config { return scheme.Defaults[Config]() }

// Params binds the options of rdma to the fields of c, which keep their values.
func (c *Config) Params(p *scheme.Params) {
	p.Text(&c.Recovery, "recovery", GoBackN, "loss recovery; go_back_n: resend all from the lost packet on; "+
		"selective_repeat: resend lost packets; none: no recovery, for lossless networks",
		"HPCC simulator; selective_repeat: IRN §3.1").Words(GoBackN, SelectiveRepeat, NoRecovery)
	c.bindWindow(p)
	c.bindReplies(p)
	c.bindReordering(p)
	c.bindTimeout(p)
	c.bindMarks(p)
	transport.BindNacks(p, &c.Nacks)
	p.Bool(&c.Trimmable, "trimmable", "false", "switches that trim (trimming, ndp) may remove the payload of packets; "+
		"the receiver then reports the packet to the sender in a NACK like a switch's (nacks)", "Weir; NDP §3.2")
	c.Telemetry.Params(p)
}

// bindWindow binds the limits of the bytes in flight, and the values from which they follow.
func (c *Config) bindWindow(p *scheme.Params) {
	p.Text(&c.Start, "first_window", startAtLineRate,
		"initial window of the controller; line_rate: line_rate × base_rtt; initial_window: the option initial_window",
		"HPCC §3.2: a new flow starts at line rate").Words(startAtLineRate, startAtInitialWindow)
	p.Packets(&c.Packets, "initial_window", "10 packets", "with first_window: initial_window: initial window of the "+
		"controller", "RFC 6928").
		Min("1 packet").Max("1000000 packets").
		When("first_window: initial_window", func() bool { return c.Start == startAtInitialWindow })
	p.Text(&c.WindowTest, "window_test", wholePacket,
		"when a packet is sent; fits: if the bytes in flight with the packet fit into the window and the bound; below: "+
			"while the bytes in flight are below both, so that they can exceed them by less than a packet",
		"Weir; HPCC simulator rdma-queue-pair.cc").
		Words(wholePacket, begunPacket)
	p.Bool(&c.Pacing, "pacing", "true", "pace packets at the controller's rate; false: at the link's rate",
		"HPCC §3.2; HPCC simulator: RATE_BOUND")
	p.BoolWords(&c.Keeps, [2]string{"pending", "next"}, "new_rate", "pending",
		"when a new rate takes effect; pending: for the packet that waits for its turn; next: from the packet after "+
			"that one on", "HPCC simulator rdma-hw.cc: pending with HPCC and PINT, next with the others")
	p.Text(&c.Bound, "bound", boundNone, "limit of the bytes in flight in addition to the controller's window; none: "+
		"no limit; bdp: line_rate × base_rtt; bytes: bound_bytes", "Weir: RoCE has none; bdp: IRN §3.2").
		Words(boundNone, boundBDP, boundBytes)
	p.Size(&c.BoundBytes, "bound_bytes", "0 B", "with bound: bytes: limit of the bytes in flight; one packet may "+
		"always be in flight", "Weir").
		When("bound: bytes", func() bool { return c.Bound == boundBytes })
	p.Rate(&c.LineRate, "line_rate", "0bps", "rate of the sender's NIC; 0bps: the rate of its link", "Weir")
	p.Time(&c.BaseRTT, "base_rtt", "0s",
		"round-trip time without queues; 0s: for a full packet and its ACK on the flow's shortest path, with "+
			"nic_ack_delay", "HPCC §3.2: T, slightly greater than the largest RTT").Max("60s")
	p.AddRule("bound_bytes", func() error {
		if c.Bound == boundBytes && c.BoundBytes == 0 {
			return fmt.Errorf("bound: bytes needs it above 0")
		}
		return nil
	})
}

// bindReplies binds when the receiver answers, and the delays of its NIC.
func (c *Config) bindReplies(p *scheme.Params) {
	p.Packets(&c.AckEvery, "ack_every", "1 packet", "packets per ACK; the sender requests an ACK when it has sent an "+
		"eighth of its window since the last one", "HPCC simulator: L2_ACK_INTERVAL 1").Min("1 packet").Max("1000000 packets")
	p.Time(&c.AckDelay, "ack_delay", "0s", "with ack_every above 1: time that an ACK waits for more packets; 0s: "+
		"base_rtt, for a window that has become too small to request an ACK", "Weir").Max("60s").
		When("ack_every above 1 packet", func() bool { return c.AckEvery > 1 })
	p.Time(&c.NackInterval, "nack_interval", "500us", "go_back_n: minimum time between NACKs of the same expected "+
		"sequence; about a round-trip time, after which resent data arrives",
		"HPCC simulator: NACK generation interval").Min("1ns").Max("60s").
		When("recovery: go_back_n", func() bool { return c.Recovery == GoBackN })
	c.NIC.Params(p)
	c.NIC.ParamsCNP(p)
}

// bindReordering binds the number of paths, and the parameters that distinguish a loss from reordering.
func (c *Config) bindReordering(p *scheme.Params) {
	p.Int(&c.Paths, "paths", "1", "number of source ports among which the sender chooses, each a path with its own "+
		"window, in networks whose switches use hashes (ecmp); 1: the sender does not choose paths",
		"Weir").Min("1").Max("64")
	p.AddRule("paths", func() error {
		if c.Paths > 1 && c.Recovery != SelectiveRepeat {
			return fmt.Errorf("%d paths need recovery: selective_repeat, for packets overtake each other", c.Paths)
		}
		return nil
	})
	p.Text(&c.Reordering, "reordering", reorderNone, "selective_repeat: when reordering counts as a loss; none: when "+
		"a later packet has arrived; fixed: after reorder_window; adaptive: after a window that grows until few packets "+
		"are retransmitted unnecessarily",
		"none: IRN §3.1; RFC 8985 §6.2: RACK").Words(reorderNone, reorderFixed, reorderAdaptive)
	p.Time(&c.ReorderWindow, "reorder_window", "0s", "with reordering: time by which a packet may arrive after a "+
		"packet that was sent later; adaptive: the initial window and its step; 0s: a quarter of the minimum round-trip "+
		"time", "RFC 8985 §6.2: min_RTT/4").Max("60s")
	p.AddRule("reorder_window", func() error {
		if c.Reordering == reorderFixed && c.ReorderWindow == 0 {
			return fmt.Errorf("reordering: fixed needs it above 0")
		}
		return nil
	})
	p.AddRule("reordering", func() error {
		if c.Reordering != reorderNone && c.Recovery != SelectiveRepeat {
			return fmt.Errorf("%s needs recovery: selective_repeat; with %s packets that overtake are lost, or losses are "+
				"not repaired", c.Reordering, c.Recovery)
		}
		return nil
	})
}

// bindMarks binds the flow's use of the IP header: ECN and classes.
func (c *Config) bindMarks(p *scheme.Params) {
	p.Text(&c.ECN, "ecn", ecnByController,
		"use of ECN; controller: as the controller requires; off: no ECN; echo: ACKs echo marks; cnp: CNPs answer marks "+
			"and ACKs echo them", "RFC 8257 §3.2; DCQCN (SIGCOMM 2015) §3.1").Words(ecnByController, ecnOff, ecnEcho, ecnNotify)
	p.Time(&c.CNPInterval, "cnp_interval", "50us", "minimum time between CNPs of a flow; shorter: senders respond "+
		"more often to one queue, with more packets back", "DCQCN §3.1: N").
		Min("1ns").Max("60s").
		When("ecn: cnp, or controller where that wants CNPs", func() bool {
			return c.ECN == ecnNotify ||
				c.ECN == ecnByController
		})
	p.Int(&c.Class, "class", "0", "priority class at the NIC, which PFC can pause; 0: class 0, the first in strict "+
		"priority, or the class from the upper three bits of the traffic's TOS; traffic without a DSCP in its TOS gets "+
		"the class there, so that switches can classify it", "RFC 2474 §4.2.2: class selector").Min("0").Max("7")
	p.Bool(&c.AckPriority, "ack_priority", "false", "send ACKs, NACKs and CNPs in class 0 instead of the data's class",
		"HPCC simulator: ACK_HIGH_PRIO 0")
	p.Int(&c.AckTOS, "ack_tos", "-1",
		"TOS byte of ACKs, NACKs and CNPs, by which switches can prioritise them; -1: the TOS byte of the data",
		"Weir").Min("-1").Max("255")
}

// Traits returns the traits of the transport. With integrity: keyed the transport refuses packets of switches.
func (c *Config) Traits() transport.Traits {
	t := transport.Traits{Paths: c.Paths, WhyInOrder: c.whyInOrder(), Timer: c.describeTimer, MinTimeout: c.minTimeout(),
		DelaysAcks: c.AckEvery > 1, AckDelay: c.NIC.Ack, SeparatesAcks: c.separatesAcks, Telemetry: &c.Telemetry,
		WhyUnmarked: c.whyUnmarked, CarriesRequests: true, TakesSupply: c.Nacks == transport.NacksSupply}
	// go-back-N resends packets that were in flight before; adaptive reordering waits
	t.KeepsSlow = c.Recovery == GoBackN || c.Reordering == reorderAdaptive
	if c.Telemetry.Integrity == transport.IntegrityKeyed {
		t.WhyUnanswered = "integrity: keyed refuses what switches send, which have no key"
	}
	return t
}

// separatesAcks reports whether the DSCPs of data with this TOS and of its acknowledgements differ.
func (c *Config) separatesAcks(tos uint8) bool {
	ack := tos
	if tos&^packet.ECN == 0 {
		tos |= uint8(c.Class) << 5
		if !c.AckPriority {
			ack = tos
		}
	}
	if c.AckTOS >= 0 {
		ack = uint8(c.AckTOS)
	}
	return (ack^tos)&^packet.ECN != 0
}

// Warns returns remarks about parameters without an effect.
func (c *Config) Warns() (all []scheme.Remark) {
	if c.AckPriority && c.Class == 0 {
		all = append(all, warnAckPriority.NewRemark("ack_priority", "it has no effect, since the data already has class 0"))
	}
	if c.ReorderWindow > 0 && c.Reordering == reorderNone {
		all = append(all, warnReorderWindow.NewRemark("reorder_window",
			"it has no effect, since reordering: none treats a packet as lost when a later one arrives"))
	}
	if c.Telemetry.Integrity == transport.IntegrityKeyed && (c.Nacks == transport.NacksSupply ||
		c.Nacks == transport.NacksResend) {
		all = append(all, warnNacksKeyed.NewRemark("nacks",
			"it has no effect, since NACKs of switches carry no authentication code and integrity: keyed refuses them"))
	}
	return all
}

// whyUnmarked returns why a controller that uses ECN in this mode gets no marks; "": it gets them.
func (c *Config) whyUnmarked(mode cc.ECNMode) (why string) {
	switch {
	case c.ECN == ecnOff, c.ECN == ecnByController && mode == cc.AsConfigured:
		return "ecn: " + c.ECN + " of rdma asks for no marks"
	case c.ECN == ecnEcho && mode == cc.CNPMode:
		return "ecn: echo of rdma sends no CNPs"
	}
	return ""
}

// whyInOrder returns the reason why overtaking packets slow the transport down; "": they do not.
func (c *Config) whyInOrder() string {
	switch {
	case c.Recovery == GoBackN:
		return "recovery: go_back_n takes packets in order only, and sends all again from the first that is missing; " +
			"recovery: selective_repeat with reordering: adaptive takes them in any"
	case c.Recovery == SelectiveRepeat && c.Reordering == reorderNone && c.Paths > 1:
		return "paths keep packets in order where switches hash, which this does not; reordering: adaptive waits"
	case c.Recovery == SelectiveRepeat && c.Reordering == reorderNone:
		return "reordering: none takes a packet that is overtaken for lost and sends it again; reordering: adaptive waits"
	}
	return ""
}

// longestWait returns how long an ACK waits for more packets: ack_delay, or a base RTT where that is known, or else 20
// µs.
func (c *Config) longestWait() unit.Time {
	switch {
	case c.AckDelay > 0:
		return c.AckDelay
	case c.BaseRTT > 0:
		return c.BaseRTT
	}
	return 20 * unit.Microsecond
}

// maxOutstanding limits the packets that may be unacknowledged, and the distance from the expected one at which a
// receiver accepts packets. It bounds memory, far above any window.
const maxOutstanding = 1 << 20

// Scheme returns the transport rdma.
func Scheme() transport.Scheme {
	return transport.DefineReusing(transport.Scheme{
		Scheme: scheme.Scheme{Name: "rdma", Doc: "queue pair of an RDMA NIC, with window and pacing, go-back-N or " +
			"selective repeat, telemetry echo and CNPs",
			Source: "HPCC (SIGCOMM 2019) §4; HPCC simulator; IRN (SIGCOMM 2018) §3",
			Warnings: []scheme.WarningKind{warnBaseRTT, warnBoundBytes, warnRecoveryDelay, warnAckEvery, warnTrimmable,
				warnRTOFixed, warnAckPriority, warnReorderWindow, warnNacksKeyed}},
		Controlled: true, Gauged: true, Proto: packet.ProtoRDMA,
		Headers: packet.RDMAHeaders, First: packet.RDMAFirst, Reply: packet.RDMAReply, Multiple: 4,
	}, renew)
}

// New makes the two endpoints of a flow. Line rate and base RTT are the flow's where the configuration leaves them out.
// It returns an error for a first window or bound of 0, a payload outside 1 … 65,000 bytes, or a missing controller.
func New(f transport.Flow, c Config) (*Sender, *Receiver, error) {
	return renew(f, c, transport.EndpointPair{})
}

// renew works as New and reuses the memory of the ends of a flow that is over. They must have no other references.
func renew(f transport.Flow, c Config, old transport.EndpointPair) (*Sender, *Receiver, error) {
	if c.LineRate == 0 {
		c.LineRate = f.Path.NICRate
	}
	if c.BaseRTT == 0 {
		c.BaseRTT = f.Path.BaseRTT + c.NIC.Ack
	}
	if (c.Start == startAtLineRate || c.Bound == boundBDP) && (c.LineRate == 0 || c.BaseRTT == 0) {
		return nil, nil, fmt.Errorf("transport rdma: first_window: line_rate and bound: bdp need line_rate and base_rtt "+
			"above 0; they are %v and %v", c.LineRate, c.BaseRTT)
	}
	if f.Payload < 1 || f.Payload > 65000 {
		return nil, nil, fmt.Errorf("transport rdma: payload %d; allowed: 1 … 65000 bytes", f.Payload)
	}
	if f.Size < 0 {
		return nil, nil, fmt.Errorf("transport rdma: a size of %d bytes", f.Size)
	}
	if f.CC == nil {
		return nil, nil, fmt.Errorf("transport rdma: the flow has no congestion controller")
	}
	path := cc.Path{NICRate: c.LineRate, BaseRTT: c.BaseRTT, LineRate: f.Path.LineRate, Hops: f.Path.Hops,
		MaxQueueing: f.Path.MaxQueueing, Reorders: f.Path.Reorders, Uneven: f.Path.Uneven}
	if f.Path.NICRate > 0 && c.LineRate != f.Path.NICRate { // payload has the same share of another rate
		path.LineRate = unit.Rate(float64(path.LineRate) * float64(c.LineRate) / float64(f.Path.NICRate))
	}
	c.AckDelay = c.longestWait()
	payload, bdp, initial := int64(f.Payload), int64(c.LineRate.BytesIn(c.BaseRTT)), c.Packets
	if c.Start == startAtLineRate {
		initial = int(min(max((bdp+payload-1)/payload, 1), maxOutstanding))
	}
	known := cc.Flow{MSS: f.Payload, MTU: f.Payload + packet.RDMAHeaders + packet.IPHeader(f.Version), Path: path,
		InitialWindow: initial, Start: f.Start, Random: f.Random, Loads: f.Telemetry.IsRelative()}
	s, r := endsFor(&c, &old)
	controls, err := newControls(&f, &c, known)
	if err == nil && controls == nil {
		s.control.Controller, err = newControl(&f, &c, known, s.control.Controller)
	}
	if err != nil {
		return nil, nil, err
	}
	longest := max(c.BaseRTT, f.Path.BaseRTT+c.NIC.Ack) // base_rtt of the file may be too short
	f.Path = path
	asker, err := transport.MakeTelemetryRequester(&f, c.Telemetry, &s.requester)
	if err != nil {
		return nil, nil, fmt.Errorf("transport rdma: %w", err)
	}
	known.Paths = c.Paths
	answerer, err := transport.NewTelemetryResponder(&f, known, c.Telemetry)
	if err != nil {
		return nil, nil, err
	}
	c.resolveECN(f.CC.ECN)
	bound := int64(math.MaxInt64)
	switch c.Bound {
	case boundBDP:
		bound = max(bdp, payload)
	case boundBytes:
		bound = max(int64(c.BoundBytes), payload)
	}
	// A flow without a DSCP carries its class as class selector (RFC 2474 §4.2.2), from which switches read it. A flow
	// with a DSCP and no class has the class that the DSCP selects.
	reply := f
	switch {
	case f.TOS&^packet.ECN != 0 && c.Class == 0:
		c.Class = int(f.TOS >> 5)
	case f.TOS&^packet.ECN == 0:
		if f.TOS |= uint8(c.Class) << 5; !c.AckPriority {
			reply.TOS = f.TOS
		}
	}
	var chosen *paths
	if c.Paths > 1 {
		chosen = newPaths(&f, &c, controls)
		asker.SetPaths(c.Paths)
	}
	f.Path.BaseRTT = longest
	s.initSender(&f, &c, chosen, bound, asker)
	r.initReceiver(&reply, &c, answerer)
	return s, r, nil
}

// endsFor returns the ends for a flow: the old ones if no other receiver shares their state and neither flow chooses
// paths, or else new ones.
func endsFor(c *Config, old *transport.EndpointPair) (*Sender, *Receiver) {
	s, sent := old.Sender.(*Sender)
	r, received := old.Receiver.(*Receiver)
	if !sent || !received || !r.tele.IsStandalone() || s.paths != nil || c.Paths > 1 {
		return &Sender{}, &Receiver{}
	}
	return s, r
}

// resolveECN replaces ecnByController by the use of ECN that the controller's mode requires.
func (c *Config) resolveECN(mode cc.ECNMode) {
	if c.ECN != ecnByController {
		return
	}
	switch mode {
	case cc.DCTCPMode:
		c.ECN = ecnEcho
	case cc.CNPMode:
		c.ECN = ecnNotify
	default:
		c.ECN = ecnOff
	}
}

// newControl makes the controller of a flow that does not choose among paths, wrapped for NacksSupply. It may reuse the
// memory of old, which must have no other user.
func newControl(f *transport.Flow, c *Config, known cc.Flow, old cc.Controller) (cc.Controller, error) {
	known.Paths = 1
	if f.CC.Rebuild != nil && c.Nacks != transport.NacksSupply { // else old is wrapped
		if k, err := f.CC.Rebuild(known, f.CCConfig, old); k != nil || err != nil {
			return k, err
		}
	}
	k, err := f.CC.Build(known, f.CCConfig)
	if err != nil {
		return nil, err
	}
	return transport.WrapNacks(c.Nacks, k, known)
}

// newControls makes the controllers of a flow, one for each path; nil if it does not choose paths. It returns an error
// for a scheme that is not made for several paths.
func newControls(f *transport.Flow, c *Config, known cc.Flow) (all []cc.Controller, err error) {
	if c.Paths <= 1 {
		return nil, nil
	}
	if known.Paths = c.Paths; !f.CC.PerPath {
		return nil, fmt.Errorf("transport rdma: paths: %d needs a controller a path, which cc %s is not made for", c.Paths,
			f.CC.Name)
	}
	for range known.Paths {
		k, err := f.CC.Build(known, f.CCConfig)
		if err == nil {
			k, err = transport.WrapNacks(c.Nacks, k, known)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, k)
	}
	return all, nil
}

// ends is the common part of the two ends of a flow: headers and numbering. Packets are numbered from 0. All but the
// last have a full payload.
type ends struct {
	framing          packet.Framing
	hash             uint32
	headers          int32 // Ethernet and IP
	srcPort, dstPort uint16
	version, tos     uint8
	payload          int64
	size             int64 // bytes of the flow; MaxInt64: no end
	packets          int64 // packets of the flow
	message          int64 // packets of a message, except the last one: a WRITE has at most 2³¹ bytes
}

// maxMessageBytes is the maximum size of a message in bytes.
const maxMessageBytes = 1 << 31

// newEnds returns the common part for one end of flow f. back: the packets of this end go from the flow's destination
// to its source.
func newEnds(f *transport.Flow, back bool) ends {
	e := ends{framing: f.Framing, headers: packet.EthernetHeader + packet.IPHeader(f.Version),
		srcPort: f.SrcPort, dstPort: f.DstPort, version: f.Version, tos: f.TOS &^ packet.ECN,
		payload: int64(f.Payload), size: math.MaxInt64, packets: math.MaxInt64 / int64(f.Payload),
		message: maxMessageBytes / int64(f.Payload)}
	src, dst := f.Src, f.Dst
	if back {
		src, dst = dst, src
		e.srcPort, e.dstPort = e.dstPort, e.srcPort
	}
	e.hash = packet.FlowHash(src, dst, e.srcPort, e.dstPort, packet.ProtoRDMA)
	if f.Size > 0 {
		e.size = int64(f.Size)
		e.packets = (e.size + e.payload - 1) / e.payload
	}
	return e
}

// packetSeq returns the number of the first byte of packet n, or of the byte after the last packet.
func (e *ends) packetSeq(n int64) int64 { return min(n*e.payload, e.size) }

// payloadOf returns the payload of packet n.
func (e *ends) payloadOf(n int64) int64 { return e.packetSeq(n+1) - e.packetSeq(n) }

// findPacket returns the packet with sequence number psn that is nearest to packet near, since sequence numbers have 24
// bits on the wire. −1: the flow has no such packet, and psn does not follow its last one.
func (e *ends) findPacket(psn, near int64) int64 {
	n := near + (psn-near)<<40>>40
	if n > e.packets {
		return -1
	}
	return max(n, -1)
}

// messagePlace returns the place of packet n in its message, as flags, and for the first packet of a message its length
// in bytes.
func (e *ends) messagePlace(n int64) (flags uint8, length uint32) {
	at := n
	if n >= e.message {
		at %= e.message
	}
	if at == 0 {
		flags, length = packet.FirstOfMessage, uint32(min(e.size-n*e.payload, e.message*e.payload))
	}
	if at+1 == e.message || n+1 == e.packets {
		flags |= packet.LastOfMessage
	}
	return flags, length
}

// completeMessages returns the number of messages that end before packet n, which is at most the flow's number of
// packets.
func (e *ends) completeMessages(n int64) uint32 {
	switch {
	case n == e.packets:
		return uint32((n + e.message - 1) / e.message)
	case n < e.message:
		return 0
	}
	return uint32(n / e.message)
}

// isFromPeer reports whether p has the protocol and the ports of a packet from the flow's other end. It compares no
// addresses: the host has assigned p to its flow.
func (e *ends) isFromPeer(p *packet.Packet) bool {
	return p.SrcPort == e.dstPort && p.DstPort == e.srcPort && p.Proto == packet.ProtoRDMA
}

// fillHeaders writes the headers of p, except addresses and flow. p has its extensions already, and they take ext
// bytes. seq and ack are packet numbers, and it writes their lower 24 bits. payload is in bytes, and ecn is the ECN
// field.
func (e *ends) fillHeaders(p *packet.Packet, kind packet.Kind, seq, ack, payload int64, ext int32, flags, ecn uint8) {
	p.Kind, p.Seq, p.Ack, p.Payload, p.TCP.Flags = kind, seq&packet.PSNMask, ack&packet.PSNMask, int32(payload), flags
	p.Size = e.framing.FrameBytes(e.headers+p.RDMAHeader()+ext, p.Payload, kind == packet.Data)
	p.Hash, p.SrcPort, p.DstPort = e.hash, e.srcPort, e.dstPort
	p.Proto, p.Version, p.TOS, p.HopLimit = packet.ProtoRDMA, e.version, e.tos|ecn, 64
}

// gapBytes returns the bytes that determine the gap after a packet with this payload; 0 without pacing.
func (c *Config) gapBytes(payload int64) unit.Bytes {
	if !c.Pacing {
		return 0
	}
	return unit.Bytes(payload)
}
