package sockdiag

import (
	"encoding/binary"
	"fmt"
	"math"

	"weir/core/unit"
)

// ne is this machine's byte order, which netlink uses.
var ne = binary.NativeEndian

// isLittleEndian also decides the order of bit fields.
var isLittleEndian = ne.Uint16([]byte{1, 0}) == 1

// TCPState is the state of a TCP socket (RFC 9293 §3.3.2; net/tcp_states.h).
type TCPState uint8

// States.
const (
	Established TCPState = 1 + iota
	SynSent
	SynReceived // with a socket of its own: Fast Open, simultaneous open
	FinWait1
	FinWait2
	TimeWait
	Closed
	CloseWait
	LastAck
	Listen
	Closing
	NewSynReceived // a request at a listening socket
)

var states = [...]string{
	Established: "ESTABLISHED", SynSent: "SYN-SENT", SynReceived: "SYN-RECEIVED", FinWait1: "FIN-WAIT-1",
	FinWait2: "FIN-WAIT-2", TimeWait: "TIME-WAIT", Closed: "CLOSED", CloseWait: "CLOSE-WAIT", LastAck: "LAST-ACK",
	Listen: "LISTEN", Closing: "CLOSING", NewSynReceived: "NEW-SYN-RECEIVED",
}

func (s TCPState) String() string {
	if int(s) < len(states) && states[s] != "" {
		return states[s]
	}
	return fmt.Sprintf("state %d", uint8(s))
}

// CAState is the state of loss recovery (enum tcp_ca_state).
type CAState uint8

// States of loss recovery.
const (
	caOpen     CAState = iota // no sign of loss or congestion
	caDisorder                // duplicate or selective acknowledgements
	cacwr                     // the window was reduced for ECN or a full local queue
	caRecovery                // fast retransmission
	caLoss                    // after a retransmission timeout
)

var caStates = [...]string{caOpen: "open", caDisorder: "disorder", cacwr: "cwr", caRecovery: "recovery", caLoss: "loss"}

func (s CAState) String() string {
	if int(s) < len(caStates) {
		return caStates[s]
	}
	return fmt.Sprintf("state %d", uint8(s))
}

// TCPOptions are the options negotiated by the two ends (TCPI_OPT_*).
type TCPOptions uint8

// Options.
const (
	Timestamps            TCPOptions = 1 << iota // RFC 7323 §3
	SACK                                         // RFC 2018
	WindowScale                                  // RFC 7323 §2
	ECN                                          // RFC 3168 §6.1.1
	ECNSeen                                      // a packet with an ECN codepoint has arrived
	SynData                                      // data in the SYN were acknowledged (RFC 7413)
	MicrosecondTimestamps                        // TCP_USEC_TS
	FastOpenChild                                // a server's connection, opened by Fast Open
)

// NoLimit is the rate of unlimited pacing.
const NoLimit = unit.Rate(math.MaxInt64)

// Info is TCP's state of a connection: struct tcp_info of Linux 6.18, with the kernel's field names in brackets.
// Older kernels send fewer bytes; fields that were not sent are 0, and hasField distinguishes them.
type Info struct {
	// Size is the number of bytes that the kernel has sent; 0 for sockets in TIME-WAIT and requests at a listening
	// socket, which have no such state.
	Size int

	State              TCPState   // [tcpi_state]
	CAState            CAState    // [tcpi_ca_state]
	Retransmits        uint8      // consecutive timeouts without an answer [tcpi_retransmits]
	Probes             uint8      // window probes and keep-alives without an answer [tcpi_probes]
	Backoff            uint8      // doublings of the timeout [tcpi_backoff]
	Options            TCPOptions // [tcpi_options]
	SendWindowScale    uint8      // window scale of the other end's offers, in bits [tcpi_snd_wscale]
	ReceiveWindowScale uint8      // window scale of our offers, in bits [tcpi_rcv_wscale]
	AppLimited         bool       // DeliveryRate was limited by the application [tcpi_delivery_rate_app_limited]
	FastOpenFail       uint8      // why Fast Open failed; 0: it did not [tcpi_fastopen_client_fail]

	RTO        unit.Time  // retransmission timeout (RFC 6298) [tcpi_rto]
	ATO        unit.Time  // current delay of ACKs [tcpi_ato]
	SendMSS    unit.Bytes // payload of a full segment [tcpi_snd_mss]
	ReceiveMSS unit.Bytes // estimated payload of the other end's full segments [tcpi_rcv_mss]

	// Packets are segments of at most SendMSS.
	// Packets sent and not acknowledged; at a listening socket, connections that wait for accept(2) [tcpi_unacked]
	Unacked uint32
	// Packets of Unacked that the other end has selectively acknowledged (RFC 2018); at a listening socket, the
	// limit of waiting connections [tcpi_sacked]
	Sacked  uint32
	Lost    uint32 // packets of Unacked presumed lost [tcpi_lost]
	Retrans uint32 // packets of Unacked that were retransmitted and are in flight [tcpi_retrans]
	Fackets uint32 // always 0 since Linux 4.15 [tcpi_fackets]

	LastDataSent     unit.Time // time since then, in ms [tcpi_last_data_sent]
	LastAckSent      unit.Time // always 0: Linux does not record it [tcpi_last_ack_sent]
	LastDataReceived unit.Time // in ms [tcpi_last_data_recv]
	LastAckReceived  unit.Time // in ms [tcpi_last_ack_recv]

	PathMTU         unit.Bytes // [tcpi_pmtu]
	ReceiveSsthresh unit.Bytes // largest window that may be offered [tcpi_rcv_ssthresh]
	RTT             unit.Time  // smoothed (RFC 6298 §2), to the microsecond [tcpi_rtt]
	RTTVar          unit.Time  // its mean deviation, to the microsecond [tcpi_rttvar]
	Ssthresh        uint32     // slow-start threshold, packets; 2³¹-1: not set [tcpi_snd_ssthresh]
	Window          uint32     // congestion window, packets [tcpi_snd_cwnd]
	AdvertisedMSS   unit.Bytes // [tcpi_advmss]
	Reordering      uint32     // distance in packets up to which a gap counts as reordering [tcpi_reordering]
	ReceiveRTT      unit.Time  // the receiver's estimate; 0: no estimate [tcpi_rcv_rtt]
	ReceiveSpace    unit.Bytes // bytes read by the application in the last RTT, for autotuning [tcpi_rcv_space]
	TotalRetrans    uint32     // packets retransmitted since the start, including SYN [tcpi_total_retrans]
	PacingRate      unit.Rate  // rate of payload and headers, or NoLimit [tcpi_pacing_rate]
	MaxPacingRate   unit.Rate  // SO_MAX_PACING_RATE, or NoLimit [tcpi_max_pacing_rate]
	// Bytes acknowledged since the start; SYN and FIN count as one each (RFC 4898: tcpEStatsAppHCThruOctetsAcked)
	// [tcpi_bytes_acked]
	BytesAcked      unit.Bytes
	BytesReceived   unit.Bytes // in order since the start (tcpEStatsAppHCThruOctetsReceived) [tcpi_bytes_received]
	SegmentsOut     uint32     // all segments, with ACKs and retransmissions (tcpEStatsPerfSegsOut) [tcpi_segs_out]
	SegmentsIn      uint32     // all segments (tcpEStatsPerfSegsIn) [tcpi_segs_in]
	NotSent         unit.Bytes // written by the application and not yet sent [tcpi_notsent_bytes]
	MinRTT          unit.Time  // of the last five minutes (tcp_min_rtt_wlen); unit.Never: no sample [tcpi_min_rtt]
	DataSegmentsIn  uint32     // with payload (tcpEStatsDataSegsIn) [tcpi_data_segs_in]
	DataSegmentsOut uint32     // with payload, retransmissions too (tcpEStatsDataSegsOut) [tcpi_data_segs_out]
	// Rate of payload in the last sample (draft-cheng-iccrg-delivery-rate-estimation) [tcpi_delivery_rate]
	DeliveryRate  unit.Rate
	BusyTime      unit.Time // with data unacknowledged or to send, to the microsecond [tcpi_busy_time]
	WindowLimited unit.Time // part of BusyTime limited by the receiver's window [tcpi_rwnd_limited]
	BufferLimited unit.Time // part of BusyTime limited by the send buffer [tcpi_sndbuf_limited]
	Delivered     uint32    // packets since the start, including SYN [tcpi_delivered]
	DeliveredCE   uint32    // packets of Delivered with ECE in their ACKs [tcpi_delivered_ce]
	// Payload since the start, including retransmissions (tcpEStatsPerfHCDataOctetsOut) [tcpi_bytes_sent]
	BytesSent         unit.Bytes
	BytesRetrans      unit.Bytes // retransmissions in BytesSent (tcpEStatsPerfOctetsRetrans) [tcpi_bytes_retrans]
	DSACKs            uint32     // segments reported as received twice (RFC 2883) [tcpi_dsack_dups]
	ReorderingSeen    uint32     // times that packets were reordered and not lost [tcpi_reord_seen]
	OutOfOrder        uint32     // packets received out of order [tcpi_rcv_ooopack]
	SendWindow        unit.Bytes // offered by the other end [tcpi_snd_wnd]
	ReceiveWindow     unit.Bytes // offered to the other end [tcpi_rcv_wnd]
	Rehash            uint32     // attempts to find another path by a new flow hash [tcpi_rehash]
	Timeouts          uint16     // RTOs since the start, including SYN's [tcpi_total_rto]
	TimeoutRecoveries uint16     // runs of one or more consecutive RTOs [tcpi_total_rto_recoveries]
	TimeoutTime       unit.Time  // time spent in those runs, in ms [tcpi_total_rto_time]

	// Accurate ECN (draft-ietf-tcpm-accurate-ecn); bytes are modulo 2³².
	ReceivedCE       uint32     // packets received with CE [tcpi_received_ce]
	DeliveredE1Bytes unit.Bytes // payload that the other end received as ECT(1) [tcpi_delivered_e1_bytes]
	DeliveredE0Bytes unit.Bytes // as ECT(0) [tcpi_delivered_e0_bytes]
	DeliveredCEBytes unit.Bytes // as CE [tcpi_delivered_ce_bytes]
	ReceivedE1Bytes  unit.Bytes // payload received as ECT(1) [tcpi_received_e1_bytes]
	ReceivedE0Bytes  unit.Bytes // as ECT(0) [tcpi_received_e0_bytes]
	ReceivedCEBytes  unit.Bytes // as CE [tcpi_received_ce_bytes]
	// AccECN holds the 4 bytes that follow: in Linux 6.18 [tcpi_accecn_fail_mode] and [tcpi_accecn_opt_seen] of 16
	// bits each, in Linux 7.0 bit fields.
	AccECN uint32
}

// InFlight returns the number of packets in flight: sent, and neither acknowledged nor presumed lost. The kernel
// compares it with the congestion window (tcp_packets_in_flight).
func (i *Info) InFlight() int64 {
	return int64(i.Unacked) - int64(i.Sacked) - int64(i.Lost) + int64(i.Retrans)
}

// field is a field of Info that some kernels do not send. Fields from before Linux 3.15 are always present.
type field uint8

// Fields.
const (
	pacingRate field = iota
	maxPacingRate
	bytesAcked
	bytesReceived
	segmentsOut
	segmentsIn
	notSent
	minRTT
	dataSegmentsIn
	dataSegmentsOut
	deliveryRate // with AppLimited
	busyTime
	windowLimited
	bufferLimited
	delivered
	deliveredCE
	bytesSent
	bytesRetrans
	dsacKs
	reorderingSeen
	outOfOrder
	sendWindow
	receiveWindow
	rehash
	timeouts
	timeoutRecoveries
	timeoutTime
	receivedCE
	deliveredE1Bytes
	deliveredE0Bytes
	deliveredCEBytes
	receivedE1Bytes
	receivedE0Bytes
	receivedCEBytes
	accECN
	fieldCount
)

// fields gives the kernel's name, the end offset in struct tcp_info and the first Linux version of each field.
var fields = [fieldCount]struct {
	name  string
	end   int
	since string
}{
	pacingRate:        {"tcpi_pacing_rate", 112, "3.15"},
	maxPacingRate:     {"tcpi_max_pacing_rate", 120, "3.15"},
	bytesAcked:        {"tcpi_bytes_acked", 128, "4.1"},
	bytesReceived:     {"tcpi_bytes_received", 136, "4.1"},
	segmentsOut:       {"tcpi_segs_out", 140, "4.2"},
	segmentsIn:        {"tcpi_segs_in", 144, "4.2"},
	notSent:           {"tcpi_notsent_bytes", 148, "4.6"},
	minRTT:            {"tcpi_min_rtt", 152, "4.6"},
	dataSegmentsIn:    {"tcpi_data_segs_in", 156, "4.6"},
	dataSegmentsOut:   {"tcpi_data_segs_out", 160, "4.6"},
	deliveryRate:      {"tcpi_delivery_rate", 168, "4.9"},
	busyTime:          {"tcpi_busy_time", 176, "4.10"},
	windowLimited:     {"tcpi_rwnd_limited", 184, "4.10"},
	bufferLimited:     {"tcpi_sndbuf_limited", 192, "4.10"},
	delivered:         {"tcpi_delivered", 196, "4.18"},
	deliveredCE:       {"tcpi_delivered_ce", 200, "4.18"},
	bytesSent:         {"tcpi_bytes_sent", 208, "4.19"},
	bytesRetrans:      {"tcpi_bytes_retrans", 216, "4.19"},
	dsacKs:            {"tcpi_dsack_dups", 220, "4.19"},
	reorderingSeen:    {"tcpi_reord_seen", 224, "4.19"},
	outOfOrder:        {"tcpi_rcv_ooopack", 228, "5.4"},
	sendWindow:        {"tcpi_snd_wnd", 232, "5.4"},
	receiveWindow:     {"tcpi_rcv_wnd", 236, "6.2"},
	rehash:            {"tcpi_rehash", 240, "6.2"},
	timeouts:          {"tcpi_total_rto", 242, "6.7"},
	timeoutRecoveries: {"tcpi_total_rto_recoveries", 244, "6.7"},
	timeoutTime:       {"tcpi_total_rto_time", 248, "6.7"},
	receivedCE:        {"tcpi_received_ce", 252, "6.18"},
	deliveredE1Bytes:  {"tcpi_delivered_e1_bytes", 256, "6.18"},
	deliveredE0Bytes:  {"tcpi_delivered_e0_bytes", 260, "6.18"},
	deliveredCEBytes:  {"tcpi_delivered_ce_bytes", 264, "6.18"},
	receivedE1Bytes:   {"tcpi_received_e1_bytes", 268, "6.18"},
	receivedE0Bytes:   {"tcpi_received_e0_bytes", 272, "6.18"},
	receivedCEBytes:   {"tcpi_received_ce_bytes", 276, "6.18"},
	accECN:            {"tcpi_accecn_fail_mode", 280, "6.18"},
}

// infoBytes is the size of struct tcp_info of Linux 6.18.
const infoBytes = 280

// String returns the kernel's name of the field.
func (f field) String() string {
	if f < fieldCount {
		return fields[f].name
	}
	return fmt.Sprintf("field %d", uint8(f))
}

// hasField reports whether the kernel sent the field.
func (i *Info) hasField(f field) bool { return f < fieldCount && i.Size >= fields[f].end }

// takeBits returns n bits of a byte from the given position in the order of this machine's bit fields.
func takeBits(b byte, position, n int) uint8 {
	if !isLittleEndian {
		position = 8 - position - n
	}
	return b >> position & (1<<n - 1)
}

// toBitRate converts the kernel's bytes/s to a rate, NoLimit if it is out of range.
func toBitRate(v uint64) unit.Rate {
	if v > math.MaxInt64/8 {
		return NoLimit
	}
	return unit.Rate(8 * v)
}

// toTime returns n times the unit u, unit.Never if it is out of range.
func toTime(n uint64, u unit.Time) unit.Time {
	if n > uint64(unit.Never/u) {
		return unit.Never
	}
	return unit.Time(n) * u
}

// parseInfo sets i from a struct tcp_info of this machine's kernel, by sock_diag or getsockopt(TCP_INFO). It may have
// any length; missing fields become 0.
func (i *Info) parseInfo(data []byte) {
	var whole [infoBytes]byte
	copy(whole[:], data)
	b := whole[:]
	u32 := func(offset int) uint32 { return ne.Uint32(b[offset:]) }
	u64 := func(offset int) uint64 { return ne.Uint64(b[offset:]) }
	size := func(offset int) unit.Bytes { return unit.Bytes(u32(offset)) }
	total := func(offset int) unit.Bytes { return unit.Bytes(min(u64(offset), math.MaxInt64)) }
	us := func(offset int) unit.Time { return unit.Time(u32(offset)) * unit.Microsecond }
	ms := func(offset int) unit.Time { return unit.Time(u32(offset)) * unit.Millisecond }
	*i = Info{
		Size:  len(data),
		State: TCPState(b[0]), CAState: CAState(b[1]), Retransmits: b[2], Probes: b[3], Backoff: b[4],
		Options:         TCPOptions(b[5]),
		SendWindowScale: takeBits(b[6], 0, 4), ReceiveWindowScale: takeBits(b[6], 4, 4),
		AppLimited: takeBits(b[7], 0, 1) != 0, FastOpenFail: takeBits(b[7], 1, 2),
		RTO: us(8), ATO: us(12), SendMSS: size(16), ReceiveMSS: size(20),
		Unacked: u32(24), Sacked: u32(28), Lost: u32(32), Retrans: u32(36), Fackets: u32(40),
		LastDataSent: ms(44), LastAckSent: ms(48), LastDataReceived: ms(52), LastAckReceived: ms(56),
		PathMTU: size(60), ReceiveSsthresh: size(64), RTT: us(68), RTTVar: us(72), Ssthresh: u32(76), Window: u32(80),
		AdvertisedMSS: size(84), Reordering: u32(88), ReceiveRTT: us(92), ReceiveSpace: size(96), TotalRetrans: u32(100),
		PacingRate: toBitRate(u64(104)), MaxPacingRate: toBitRate(u64(112)),
		BytesAcked: total(120), BytesReceived: total(128),
		SegmentsOut: u32(136), SegmentsIn: u32(140), NotSent: size(144), MinRTT: us(148),
		DataSegmentsIn: u32(152), DataSegmentsOut: u32(156), DeliveryRate: toBitRate(u64(160)),
		BusyTime: toTime(u64(168), unit.Microsecond), WindowLimited: toTime(u64(176), unit.Microsecond),
		BufferLimited: toTime(u64(184), unit.Microsecond),
		Delivered:     u32(192), DeliveredCE: u32(196), BytesSent: total(200), BytesRetrans: total(208),
		DSACKs: u32(216), ReorderingSeen: u32(220), OutOfOrder: u32(224), SendWindow: size(228), ReceiveWindow: size(232),
		Rehash: u32(236), Timeouts: ne.Uint16(b[240:]), TimeoutRecoveries: ne.Uint16(b[242:]), TimeoutTime: ms(244),
		ReceivedCE: u32(248), DeliveredE1Bytes: size(252), DeliveredE0Bytes: size(256), DeliveredCEBytes: size(260),
		ReceivedE1Bytes: size(264), ReceivedE0Bytes: size(268), ReceivedCEBytes: size(272), AccECN: u32(276),
	}
	if u32(148) == math.MaxUint32 {
		i.MinRTT = unit.Never
	}
}
