package tcp

import (
	"fmt"
	"math/bits"
	"slices"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/telemetry"
	"weir/core/transport"
	"weir/core/unit"
)

// Config are the parameters of a connection: Linux' sysctls, and the behaviour of the application.
type Config struct {
	InitialWindow int        // packets (RFC 6928)
	RTOMin        unit.Time  // minimum part of the RTO above the smoothed RTT
	Rate          unit.Rate  // at which the application writes; 0: as fast as the send buffer accepts
	Write         unit.Bytes // of one write of the application; 0: as much as a segment holds
	Connected     bool       // the application begins when the connection is established, not at the flow's start
	ECN           bool       // RFC 3168 negotiated
	ECNFallback   bool       // a SYN that is resent does not ask for ECN
	Bursts        bool       // segments are sent in bursts, as Linux makes them for segmentation offload
	Pacing        bool       // paced also without a controller's rate, as with Linux' fq
	SendBuffer    unit.Bytes // largest memory of the send buffer (tcp_wmem[2])
	ReceiveBuffer unit.Bytes // largest memory of the receive buffer (tcp_rmem[2])
	Autotuning    bool       // of the receive buffer; false: it has its largest size from the start
	DelayedACK    unit.Time  // longest delay of an ACK (TCP_DELACK_MIN)
	Telemetry     transport.TelemetryOptions
	Nacks         string    // response to NACKs of the network: transport.NacksLoss, …
	CompressedACK unit.Time // longest delay of an ACK with SACK blocks (tcp_comp_sack_delay_ns)
	Weir          bool      // in the lab the hosts are Weir's own
	RTOInitial    unit.Time // RTO before the first sample of the round trip, as of a SYN (TCP_TIMEOUT_INIT)

	// InitialSeq is the initial sequence number of the sender, InitialPeerSeq the
	// receiver's. Both are 0 in experiments, for readable traces.
	InitialSeq, InitialPeerSeq uint32
}

// Defaults returns the parameters of Linux 6.18 on an Ethernet without offloads.
func Defaults() Config { return scheme.Defaults[Config]() }

// Params binds the options of tcp to the fields of c, which keep their values. The initial sequence numbers are no
// options.
func (c *Config) Params(p *scheme.Params) {
	p.Rate(&c.Rate, "rate", "0bps", "rate at which the application writes payload; 0bps: no limit", "Weir")
	p.Size(&c.Write, "write", "0 B", "payload that the application writes at a time, with Nagle's algorithm for data "+
		"that does not fill a segment; 0 B: one segment at a time", "Weir; iperf3: -l").Min("0 B").Max("1048576 B")
	p.BoolWords(&c.Connected, [2]string{"start", "connected"}, "begins", "start",
		"when the application begins to write; start: at the flow's start; connected: once the connection is "+
			"established, from which fct_written counts as well", "Weir; iperf3: connected")
	p.Packets(&c.InitialWindow, "initial_window", "10 packets", "initial congestion window; larger: short flows end "+
		"in fewer round trips, but begin with longer bursts", "RFC 6928").
		Min("1 packet").Max("10000 packets")
	p.Time(&c.RTOMin, "rto_min", "200ms", "minimum part of the retransmission timeout above the smoothed RTT; lower "+
		"it where round-trip times are far below 1 ms",
		"Linux 6.18: tcp_rto_min_us").Min("1us").Max("120s")
	p.Bool(&c.ECN, "ecn", "false", "negotiate ECN; controllers that require ECN always negotiate it",
		"Linux 6.18: tcp_ecn=2 asks for none")
	p.Bool(&c.ECNFallback, "ecn_fallback", "false",
		"do not request ECN in a retransmitted SYN, so that a lost SYN leads to a connection without ECN",
		"RFC 3168 §6.1.1.1; Linux 6.18: tcp_ecn_fallback=1, which is off here")
	p.Bool(&c.Pacing, "pacing", "false", "pace at 2 windows per round-trip time in slow start and 1.2 afterwards, as "+
		"Linux does with fq", "Linux 6.18: not without fq")
	p.Bool(&c.Bursts, "bursts", "true",
		"send in bursts of about 1 ms, like Linux's segmentation offload, and wait until they are full",
		"Linux 6.18: tcp_tso_autosize, tcp_tso_should_defer")
	p.Size(&c.SendBuffer, "send_buffer", "4194304 B",
		"maximum memory for unacknowledged data; it grows with the window; raise it for paths with a larger "+
			"bandwidth-delay product", "Linux 6.18: tcp_wmem[2]").
		Min("4096 B").Max("2147483647 B")
	p.Size(&c.ReceiveBuffer, "receive_buffer", "33554432 B",
		"maximum memory at the receiver; half of it is window, or the part that jumbo frames leave; autotuning raises "+
			"it up to this", "Linux 6.18: tcp_rmem[2]").
		Min("4096 B").Max("2147483647 B")
	p.Bool(&c.Autotuning, "autotuning", "true", "let the receive buffer grow from 128 KiB with the flow",
		"Linux 6.18: tcp_moderate_rcvbuf")
	p.Time(&c.DelayedACK, "delayed_ack", "40ms", "maximum time that an ACK waits for a second segment",
		"Linux 6.18: TCP_DELACK_MIN; RFC 9293 §3.8.6.3").Min("0s").Max("500ms")
	p.Time(&c.CompressedACK, "compressed_ack", "1ms",
		"maximum time that an ACK with SACK blocks waits for another segment, from the fourth such ACK on",
		"Linux 6.18: tcp_comp_sack_delay_ns").Min("0s").Max("1s")
	p.Time(&c.RTOInitial, "rto_initial", "1s", "retransmission timeout before the first round-trip sample, which "+
		"applies to a SYN", "RFC 6298 §2.1").Min("1us").Max("120s")
	c.Telemetry.Params(p)
	transport.BindNacks(p, &c.Nacks)
	transport.BindStack(p, &c.Weir)
}

// Traits returns the traits of the transport. It delays ACKs, since one acknowledges two segments (RFC 9293 §3.8.6.3).
func (c *Config) Traits() transport.Traits {
	return transport.Traits{AppRate: c.Rate, OwnStack: c.Weir, DelaysAcks: true, Telemetry: &c.Telemetry,
		WhyUnmarked: c.whyUnmarked, TakesSupply: c.Nacks == transport.NacksSupply}
}

// windowScale returns the scale of the windows that a connection announces (tcp_select_initial_window): with it the
// field of 16 bits can hold the whole receive buffer. RFC 7323 §2.3 allows 14, a window of 1 GiB.
func (c *Config) windowScale() uint8 {
	return uint8(min(max(bits.Len64(uint64(c.ReceiveBuffer-1))-15, minScale), maxScale))
}

// whyUnmarked returns why a controller that uses ECN in this mode gets no marks; "": it gets them. ECN is negotiated if
// the configuration or the controller requires it; TCP has no CNPs.
func (c *Config) whyUnmarked(mode cc.ECNMode) string {
	switch {
	case mode == cc.CNPMode:
		return "tcp has no CNPs"
	case mode == cc.DCTCPMode || c.ECN:
		return ""
	}
	return "ecn: false of tcp asks for no marks"
}

// Kinds of warnings.
var (
	warnSendBuffer = scheme.WarningKind{ID: "tcp-send-buffer",
		Condition: "send_buffer holds less than a round trip of a path at its slowest link, or at the application's rate"}
	warnUneven = scheme.WarningKind{ID: "tcp-uneven-paths",
		Condition: "packets of a flow are spread over paths, and a slow path has less than 3/4 of the rate of another"}
	warnReceiveBuffer = scheme.WarningKind{ID: "tcp-receive-buffer",
		Condition: "the window of receive_buffer holds less than a round trip of a path at its slowest link, or at the " +
			"application's rate"}
)

// evenPath is the part of another path's rate below which packets that wait in a slow path are declared lost.
const evenPath = 0.75

// Check warns of buffers that hold less than a round trip of a path at its slowest link, or at the rate of the
// application. It also warns of paths of different rates over which packets of a flow are spread.
func (c *Config) Check(s *cc.FlowContext) (all []scheme.Remark) {
	if s.AppRate > 0 {
		own := *s
		own.Paths = slices.Clone(s.Paths)
		for i := range own.Paths {
			own.Paths[i].NarrowLink.Payload = min(own.Paths[i].NarrowLink.Payload, s.AppRate)
		}
		s = &own
	}
	all = s.WarnSmallWindow(warnSendBuffer, "send_buffer", c.SendBuffer.String()+" are", float64(c.SendBuffer), 1)
	share := shareOf(int64(s.MSS), packet.IPv4Header) // equals IPv6's except for 20 bytes of a page
	part := "half of it"
	if share != memoryParts/2 {
		part = fmt.Sprintf("%.2f of it", float64(share)/memoryParts)
	}
	window := c.ReceiveBuffer * unit.Bytes(share) / memoryParts
	if s.SpraysUnevenly(evenPath) {
		all = append(all, s.WarnSlowPath(warnUneven, "",
			"what waits there for longer than its reordering window is taken for "+
				"lost and sent again, and the window no longer bounds it; flows that keep their path suit it, as with ecmp"))
	}
	return append(all, s.WarnSmallWindow(warnReceiveBuffer, "receive_buffer", fmt.Sprintf("a window of %v, %s, is",
		window, part),
		float64(window), 1)...)
}

// Other constants of Linux.
const (
	initialRTO        = unit.Second            // RFC 6298 §2.1
	largestRTO        = 120 * unit.Second      // TCP_RTO_MAX
	probeSlack        = 2 * unit.Millisecond   // TCP_TIMEOUT_MIN: two jiffies of 1 ms
	minRTTWindow      = 300 * unit.Second      // tcp_min_rtt_wlen
	tick              = unit.Millisecond       // of the time stamps
	reordering        = 3                      // tcp_reordering: DupThresh (RFC 6675 §2)
	maxReordering     = 300                    // tcp_max_reordering
	maxRetries        = 15                     // tcp_retries2
	synRetries        = 6                      // tcp_syn_retries
	initialReceive    = 131072                 // tcp_rmem[1]
	memoryParts       = 256                    // 1 << TCP_RMEM_TO_WIN_SCALE
	page              = 4096                   // PAGE_SIZE
	blockState        = 384                    // in the block of a frame: skb_shared_info, and room before it
	blockHead         = 256                    // in addition to the block: sk_buff
	pagesState        = 832                    // in addition to a frame's pages: sk_buff, and a head with skb_shared_info
	largestOrdinary   = 1500                   // IP packet of an 802.3 frame that is not a jumbo one
	maxQuickAcks      = 16                     // TCP_MAX_QUICKACKS
	maxCompressedAcks = 44                     // tcp_comp_sack_nr
	burstBytes        = 65536                  // sk_gso_max_size
	burstShift        = 10                     // sk_pacing_shift: about 1 ms at the pacing rate
	burstRTT          = 512 * unit.Microsecond // tcp_tso_rtt_log: bursts halve for each of these in the minimum RTT
	burstShare        = 3                      // tcp_tso_win_divisor
	minScale          = 10                     // of the window: for receive buffers up to 32 MiB, tcp_rmem[2]
	maxScale          = 14                     // RFC 7323 §2.3
	timestampBytes    = 12                     // in every segment
	reorderingSteps   = 4                      // RFC 8985 §6.2 step 4: a quarter of the minimum RTT each
	persistRounds     = 16                     // TCP_RACK_RECOVERY_THRESH
)

// Scheme returns the transport tcp.
func Scheme() transport.Scheme {
	return transport.Define(transport.Scheme{
		Scheme: scheme.Scheme{Name: "tcp", Doc: "TCP as in Linux 6.18", Source: "RFC 9293; Linux 6.18",
			Warnings: []scheme.WarningKind{warnSendBuffer, warnReceiveBuffer, warnUneven}},
		Controlled: true, Gauged: true, Buffered: true, Timed: true, Kernel: packet.ProtoTCP, Proto: packet.ProtoTCP,
		Headers: packet.TCPHeader + timestampBytes, Tick: tick,
	}, New)
}

// New makes the two endpoints of a connection. It returns an error for a payload outside 88 … 65,483 bytes, without a
// controller, or for options that do not go together.
func New(f transport.Flow, c Config) (*Sender, *Receiver, error) {
	if f.Payload < 88 || f.Payload > 65483 {
		return nil, nil, fmt.Errorf("transport tcp: payload %d; allowed: 88 … 65483 bytes", f.Payload)
	}
	if f.CC == nil {
		return nil, nil, fmt.Errorf("transport tcp: the flow has no congestion controller")
	}
	known := cc.Flow{
		MSS: f.Payload, MTU: f.Payload + packet.TCPHeader + timestampBytes + packet.IPHeader(f.Version),
		InitialWindow: c.InitialWindow, Start: f.Start, Paced: c.Pacing, Bursts: c.Bursts, Random: f.Random, Path: f.Path,
		Loads: f.Telemetry.IsRelative(),
	}
	known.Frame = frameOf(&f, c.Telemetry)
	control, err := f.CC.Build(known, f.CCConfig)
	if err != nil {
		return nil, nil, err
	}
	if control, err = transport.WrapNacks(c.Nacks, control, known); err != nil {
		return nil, nil, fmt.Errorf("transport tcp: %w", err)
	}
	asker, err := transport.NewTelemetryRequester(&f, c.Telemetry)
	if err != nil {
		return nil, nil, fmt.Errorf("transport tcp: %w", err)
	}
	answerer, err := transport.NewTelemetryResponder(&f, known, c.Telemetry)
	if err != nil {
		return nil, nil, err
	}
	if f.CC.ECN == cc.DCTCPMode {
		c.ECN = true
	}
	s, r := newSender(f, c, control), newReceiver(f, c)
	s.requester, r.tele = asker, answerer
	return s, r, nil
}

// frameOf returns the length of a full segment's frame in bytes, with telemetry if the flow asks for it.
func frameOf(f *transport.Flow, a transport.TelemetryOptions) int32 {
	headers := packet.EthernetHeader + packet.IPHeader(f.Version) + packet.TCPHeader + timestampBytes
	asks := f.CC.Telemetry == telemetry.HopRecords && a.When == transport.AskPacket
	if t := f.Telemetry; asks && t != nil && !t.InFraming {
		headers += t.Bytes(f.Path.Hops)
	}
	return f.Framing.FrameBytes(headers, f.Payload, true)
}

// header is the part of the headers that one end puts into each of its segments.
type header struct {
	framing          packet.Framing
	hash             uint32
	headers          int32 // Ethernet, IP, TCP without options
	srcPort, dstPort uint16
	version, tos     uint8
	scale            uint8 // of the windows that this end announces
}

// newHeader returns the header of one end of flow f. back: its segments go from the flow's destination to its source.
func newHeader(f *transport.Flow, c *Config, back bool) header {
	h := header{framing: f.Framing, headers: packet.EthernetHeader + packet.IPHeader(f.Version) + packet.TCPHeader,
		srcPort: f.SrcPort, dstPort: f.DstPort, version: f.Version, tos: f.TOS &^ packet.ECN, scale: c.windowScale()}
	src, dst := f.Src, f.Dst
	if back {
		src, dst = dst, src
		h.srcPort, h.dstPort = h.dstPort, h.srcPort
	}
	h.hash = packet.FlowHash(src, dst, h.srcPort, h.dstPort, packet.ProtoTCP)
	return h
}

// fillHeaders writes a segment's headers except for addresses, flow, and sequence and acknowledgement numbers. p has
// its TCP part and extensions already. payload is in bytes, and ecn is the ECN field.
func (h *header) fillHeaders(p *packet.Packet, payload int32, ecn uint8) {
	p.Kind = packet.Ack
	if payload > 0 {
		p.Kind = packet.Data
	}
	p.Payload = payload
	headers := h.headers + p.TCP.OptionBytes() + p.ExtensionBytes()
	p.Size = h.framing.FrameBytes(headers, payload, payload > 0)
	p.Hash, p.SrcPort, p.DstPort = h.hash, h.srcPort, h.dstPort
	p.Proto, p.Version, p.TOS, p.HopLimit = packet.ProtoTCP, h.version, h.tos|ecn, 64
}

// writeStamp writes the time-stamps option (RFC 7323 §3).
func writeStamp(s *packet.Segment, now unit.Time, echo uint32) {
	s.Present |= packet.HasTimestamps
	s.TSVal, s.TSEcho = stampOf(now), echo
}

// stampOf returns the time-stamp clock at now: milliseconds, from 1 on, since an echo of 0 is no echo.
func stampOf(now unit.Time) uint32 { return uint32(now/tick) + 1 }

// extendSeq returns the extended sequence number nearest to near with the lower 32 bits of seq.
func extendSeq(seq int64, near int64) int64 { return near + int64(int32(uint32(seq)-uint32(near))) }
