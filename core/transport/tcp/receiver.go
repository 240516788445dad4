package tcp

import (
	"math"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
)

// Receiver is the passive end of a connection. Its application reads all data at once.
type Receiver struct {
	header
	config   Config
	flow     transport.Flow
	counters transport.Counters
	tele     transport.TelemetryResponder
	firsts   firsts
	asked    bool // the segment in hand asks for telemetry, or feedback for the sender is due
	dctcp    bool
	mss      int64

	peerState
	outOfOrder
	acking
	announced

	synSent unit.Time
	rto     rto
}

// peerState is the receiver's state of the connection.
type peerState struct {
	established, synReceived bool
	initial                  int64
	peerStart                int64 // first byte of data
	next                     int64 // RCV.NXT
	finSeq                   int64 // of FIN; MaxInt64: not known
	reset                    bool
	tsRecent                 uint32
	lastAckSent              int64 // rcv_wup: next when the last ACK went
	lastAnswer               unit.Time
	answered                 bool
}

// outOfOrder is the data that has arrived out of order.
type outOfOrder struct {
	ranges    []span  // sorted, disjoint
	held      int64   // bytes in them
	blocks    [4]span // for SACK, the latest first (RFC 2018 §4)
	blockN    int
	duplicate span // for DSACK (RFC 2883); right == 0: no range
}

// acking is the state of ACKs that wait.
type acking struct {
	due        bool      // an ACK waits to be emitted
	delayed    bool      // one is delayed
	quick      int       // ACKs that are not to be delayed
	timeout    unit.Time // ato
	lastData   unit.Time
	timerAt    unit.Time
	compressed int // ACKs that wait together
	compressAt unit.Time
	dupAcks    int
	dupNext    int64
	segment    int64 // rcv_mss
}

// announced is the state that ACKs announce: congestion marks and the window.
type announced struct {
	ecn    bool
	echo   bool // every ACK has ECE (RFC 3168 §6.1.3)
	marked bool // DCTCP.CE (RFC 8257 §3.2)
	ect    bool // ECT was seen

	// window
	share     uint16 // scaling_ratio: 256ths of the memory that are data; at this place it needs no padding
	buffer    int64  // memory
	clamp     int64  // largest window
	threshold int64  // rcv_ssthresh
	window    int64  // rcv_wnd, as last announced
	windowEnd int64
	rtt       unit.Time // 8 times the round-trip time
	lastEcho  uint32
	spaceAt   unit.Time // rcvq_space
	spaceSeq  int64
	space     int64
}

// newReceiver returns the receiver of flow f, before the handshake. f must have a controller's scheme.
func newReceiver(f transport.Flow, c Config) *Receiver {
	r := &Receiver{header: newHeader(&f, &c, true), config: c, flow: f, dctcp: f.CC.ECN == cc.DCTCPMode,
		mss:       int64(f.Payload),
		peerState: peerState{initial: int64(c.InitialPeerSeq), finSeq: math.MaxInt64},
		acking:    acking{timerAt: unit.Never, compressAt: unit.Never, segment: 536},
		rto:       newRTO(c.RTOInitial)}
	r.counters.Finished, r.counters.Written, r.counters.DelayMin = unit.Never, unit.Never, unit.Never
	r.buffer = int64(c.ReceiveBuffer)
	if c.Autotuning {
		r.buffer = min(r.buffer, initialReceive)
	}
	r.share = memoryParts / 2 // until the first large segment is measured (TCP_DEFAULT_SCALING_RATIO)
	r.clamp = r.windowFrom(r.buffer)
	r.window = min(r.clamp, 65535) / r.mss * r.mss
	if r.window == 0 {
		r.window = r.clamp
	}
	r.threshold = r.window
	r.space = min(r.window, 10*r.mss)
	return r
}

// Counters returns the receiver's counters: ReceivedBytes is the data that the application could read; Finished is when
// it had all. SYNs and pure ACKs do not count.
func (r *Receiver) Counters() *transport.Counters { return &r.counters }

// NextSend returns 0 if an ACK is due for which there is no arriving segment to turn round, or unit.Never.
func (r *Receiver) NextSend() unit.Time {
	if r.due {
		return 0
	}
	return unit.Never
}

// NextTimer returns when the timer of a delayed or compressed ACK, of the SYN-ACK, or of the controller's part expires.
func (r *Receiver) NextTimer() unit.Time {
	at := min(r.timerAt, r.compressAt)
	if r.established && r.counters.Finished == unit.Never {
		at = min(at, r.tele.NextTimer())
	}
	return at
}

// Emit fills p with an ACK of all data in order or, before the connection is established, the SYN-ACK. No ACK is due
// then.
func (r *Receiver) Emit(now unit.Time, p *packet.Packet) {
	r.due = false
	if r.synReceived && !r.established {
		r.synAck(now, p)
		return
	}
	r.fillAck(now, p, r.next)
}

// Advance makes the ACK or SYN-ACK due that has waited long enough.
func (r *Receiver) Advance(now unit.Time) {
	if r.compressAt <= now {
		r.compressAt = unit.Never
		if r.compressed > 0 {
			r.due = true
		}
	}
	if r.established && r.tele.RunTimer(now) {
		r.due = true
	}
	if r.timerAt > now {
		return
	}
	r.timerAt = unit.Never
	switch {
	case r.synReceived && !r.established:
		if r.rto.repeatSYN() {
			r.timerAt = now + r.rto.value
			r.due = true
		}
	case r.delayed: // tcp_delack_timer_handler
		r.due = true
	}
}

// synAck fills p, with an empty p.TCP, with the SYN-ACK, and stores the time for the first round trip.
func (r *Receiver) synAck(now unit.Time, p *packet.Packet) {
	p.Seq, p.Ack = r.initial, r.next
	t := &p.TCP
	t.Flags, t.Window, t.MSS = packet.SYN|packet.ACK, uint16(min(r.window, 65535)), uint16(r.mss+timestampBytes)
	t.Present, t.Scale = packet.HasSACKPermitted|packet.HasScale, r.scale
	if r.ecn {
		t.Flags |= packet.ECE
	}
	writeStamp(t, now, r.tsRecent)
	r.synSent = now
	r.tele.AddSeal(p)
	r.fillHeaders(p, 0, r.ecnOf())
	r.tele.WriteCode(p)
}

// ecnOf returns the ECN field of an ACK: ECT with DCTCP.
func (r *Receiver) ecnOf() uint8 {
	if r.dctcp {
		return packet.ECT0
	}
	return packet.NotECT
}

// fillAck fills p with an ACK of all data before next, with SACK blocks and feedback. It ends the waits of delayed and
// compressed ACKs, and clears the range for DSACK. p.TCP must be empty.
func (r *Receiver) fillAck(now unit.Time, p *packet.Packet, next int64) {
	t := &p.TCP
	p.Seq, p.Ack = r.initial+1, next
	t.Flags, t.Window = packet.ACK, uint16(r.selectWindow()>>r.scale)
	if r.echo {
		t.Flags |= packet.ECE
	}
	writeStamp(t, now, r.tsRecent)
	if r.duplicate.right != 0 {
		t.SACK[0] = packet.SACKBlock{Left: uint32(r.duplicate.left), Right: uint32(r.duplicate.right)}
		t.Blocks = 1
		r.duplicate = span{}
	}
	for i := 0; i < r.blockN && t.Blocks < 3; i++ { // with time stamps there is room for three
		t.SACK[t.Blocks] = packet.SACKBlock{Left: uint32(r.blocks[i].left), Right: uint32(r.blocks[i].right)}
		t.Blocks++
	}
	r.tele.GiveAnswer(p)
	r.tele.AddSeal(p)
	r.fillHeaders(p, 0, r.ecnOf())
	r.tele.WriteCode(p)
	r.lastAckSent = next
	r.quick = max(r.quick-1, 0)
	r.compressed, r.compressAt = 0, unit.Never
	r.delayed = false
	r.timerAt = unit.Never
}

// turnIntoAck turns p into an ACK of all data before next. It returns true.
func (r *Receiver) turnIntoAck(now unit.Time, p *packet.Packet, next int64) bool {
	r.turnBack(p)
	r.fillAck(now, p, next)
	return true
}

// turnBack removes p's frame and TCP part and sets its addresses for the way back.
func (r *Receiver) turnBack(p *packet.Packet) {
	p.Src, p.Dst = r.flow.Dst, r.flow.Src
	p.Data = nil
	p.TCP = packet.Segment{}
}

// Receive handles a segment (tcp_rcv_established, tcp_data_queue), and reports whether p became an answer.
func (r *Receiver) Receive(now unit.Time, p *packet.Packet) bool {
	// a receiver's segments are not NACKed
	if p.Proto != packet.ProtoTCP || p.Meta.Flags&packet.Trimmed != 0 || p.IsNotification() || r.reset {
		return false
	}
	t := &p.TCP
	if !r.established && !r.handleHandshake(now, p) {
		return r.synReceived && t.Flags&packet.SYN != 0 && r.answerSYN(now, p)
	}
	seq := extendSeq(p.Seq, r.next)
	end := seq + int64(p.Payload)
	fin := t.Flags&packet.FIN != 0
	if fin {
		end++
	}
	if p.Payload > 0 {
		r.counters.ReceivedPackets++
	}
	stamped := t.Present&packet.HasTimestamps != 0
	if stamped && int32(r.tsRecent-t.TSVal) > 1 && t.Flags&packet.RST == 0 { // PAWS
		return r.refuseSegment(now, p, seq, end)
	}
	if t.Flags&packet.RST != 0 {
		r.reset = seq == r.next // RFC 5961 §3.2
		if r.reset {
			r.timerAt, r.compressAt, r.due = unit.Never, unit.Never, false
		}
		return !r.reset && r.refuseSegment(now, p, seq, end)
	}
	if end < r.lastAckSent || end > max(r.next, r.windowEnd)+1 || seq > max(r.next, r.windowEnd) ||
		t.Flags&packet.SYN != 0 {
		return r.refuseSegment(now, p, seq, end)
	}
	if stamped && seq <= r.lastAckSent && int32(r.tsRecent-t.TSVal) <= 0 {
		r.tsRecent = t.TSVal
	}
	if r.asked = false; r.tele.IsActive() {
		r.asked = p.HasExtensions() && !r.tele.DelaysAcks()
		place := int64(-1)
		if end > seq {
			place = r.firsts.placeData(now, seq, end, r.flow.Path.BaseRTT)
		}
		r.asked = r.tele.HandleData(now, p, place) || r.asked
		r.tele.KeepAnswer(p)
		p.ClearExtensions()
		if r.asked && seq == end {
			return r.turnIntoAck(now, p, r.next)
		}
	}
	if seq == end { // a pure ACK; out of sequence it is a probe of the window
		return seq < r.next && r.refuseSegment(now, p, seq, end)
	}
	return r.handleData(now, p, seq, end, fin, stamped)
}

// handleHandshake handles segments before the connection is established. It returns true if the connection is
// established now, and the segment is to be handled further.
func (r *Receiver) handleHandshake(now unit.Time, p *packet.Packet) bool {
	t := &p.TCP
	if t.Flags&(packet.SYN|packet.ACK|packet.RST) == packet.SYN {
		if !r.synReceived {
			r.synReceived = true
			r.peerStart = int64(uint32(p.Seq)) + 1
			r.next, r.lastAckSent = r.peerStart, r.peerStart
			r.spaceSeq, r.spaceAt = r.next, now
			r.windowEnd = r.next + r.window
			r.timerAt = now + r.rto.value
			if t.MSS > timestampBytes {
				r.mss = min(r.mss, int64(t.MSS)-timestampBytes)
			}
			r.ecn = r.config.ECN && t.Flags&(packet.ECE|packet.CWR) == packet.ECE|packet.CWR
			r.dctcp = r.dctcp && (r.ecn || !r.config.ECNFallback)
		}
		if t.Present&packet.HasTimestamps != 0 {
			r.tsRecent = t.TSVal
		}
		return false
	}
	if !r.synReceived || t.Flags&packet.ACK == 0 || uint32(p.Ack) != uint32(r.initial+1) {
		return false
	}
	r.established = true
	r.due = false
	r.timerAt = unit.Never
	if r.rto.retries == 0 {
		r.rtt = 8 * max(now-r.synSent, 1)
	}
	return true
}

// answerSYN turns p into the SYN-ACK. It returns true.
func (r *Receiver) answerSYN(now unit.Time, p *packet.Packet) bool {
	r.turnBack(p)
	r.synAck(now, p)
	return true
}

// refuseSegment answers a segment that is not acceptable (tcp_send_dupack): with DSACK if it has data, else at most
// twice a second. It reports whether p became the ACK.
func (r *Receiver) refuseSegment(now unit.Time, p *packet.Packet, seq, end int64) bool {
	if p.Payload == 0 {
		if r.answered && now-r.lastAnswer < unit.Second/2 {
			return false
		}
		r.answered, r.lastAnswer = true, now
	}
	if end > seq && seq < r.next {
		r.enterQuickAck(maxQuickAcks)
		r.recordDuplicate(seq, min(end, r.next))
		r.counters.CountDuplicate(p)
	}
	return r.turnIntoAck(now, p, r.next)
}

// enterQuickAck enters quick-ACK mode for at most limit ACKs (tcp_enter_quickack_mode).
func (r *Receiver) enterQuickAck(limit int) {
	r.quick = max(r.quick, r.quickFor(limit))
	r.timeout = r.config.DelayedACK
}

// quickFor returns the number of quick ACKs: half a window of segments, from 2 to limit (tcp_incr_quickack).
func (r *Receiver) quickFor(limit int) int {
	return int(min(max(r.window/(2*r.segment), 2), int64(limit)))
}

// handleData handles a segment with data or FIN, and reports whether p became an answer.
func (r *Receiver) handleData(now unit.Time, p *packet.Packet, seq, end int64, fin, stamped bool) bool {
	payload := int64(p.Payload)
	prior, hole := r.next, len(r.ranges) > 0
	atOnce := false
	if r.ecn && p.TCP.Flags&packet.CWR != 0 && !r.dctcp { // tcp_ecn_accept_cwr
		r.echo = false
		atOnce = payload > 0
	}
	if end <= r.next { // all of it had arrived before
		r.counters.CountDuplicate(p)
		r.recordDuplicate(seq, end)
		r.enterQuickAck(maxQuickAcks)
		return r.turnIntoAck(now, p, r.next)
	}
	if fin {
		r.finSeq = end - 1
	}
	r.measureSegment(now, p, payload, stamped)
	if seq <= r.next {
		if seq < r.next {
			r.recordDuplicate(seq, r.next)
			r.enterQuickAck(maxQuickAcks)
		}
		r.deliverData(now, p, end)
		atOnce = atOnce || hole && len(r.ranges) == 0 // a gap was filled (RFC 5681 §4.2)
	} else if !r.holdSegment(now, p, seq, end) {
		atOnce = true // it has no new data: DSACK
	}
	if r.ecn && r.markedCE(p.TOS&packet.ECN, prior) {
		// Delayed data is acknowledged with its own mark, then this segment.
		r.echo = !r.marked
		r.turnIntoAck(now, p, prior)
		r.echo = r.marked
		r.due = true
		return true
	}
	return r.scheduleAck(now, p, atOnce, payload)
}

// markedCE records the ECN field of a segment; prior is RCV.NXT before it. With DCTCP it returns true when the mark
// changes and an ACK is delayed: the delayed data is acknowledged first, in the old state (RFC 8257 §3.2, figure 1).
func (r *Receiver) markedCE(field uint8, prior int64) (delayed bool) {
	if field == packet.NotECT { // after ECT: a retransmission, most likely
		if r.ect {
			r.enterQuickAck(2)
		}
		return false
	}
	r.ect = true
	ce := field == packet.CE
	if !r.dctcp {
		if ce && !r.echo { // RFC 3168 §6.1.3
			r.enterQuickAck(2)
			r.echo = true
		}
		return false
	}
	if ce == r.marked {
		return false
	}
	r.marked, r.echo = ce, ce
	r.quick = max(r.quick, 1)
	return r.delayed && prior > r.lastAckSent
}

// putFirst puts a range first in SACK's list, and removes the ranges inside it.
func (r *Receiver) putFirst(b span) {
	var list [4]span
	list[0] = b
	n := 1
	for _, o := range r.blocks[:r.blockN] {
		if n < len(list) && (o.right < b.left || o.left > b.right) {
			list[n] = o
			n++
		}
	}
	r.blocks, r.blockN = list, n
}

// scheduleAck acknowledges now, later, or together with others (__tcp_ack_snd_check), and reports whether p became the
// ACK. A segment that asks for telemetry is answered at once: windows may be below two segments, and acknowledgements
// clock the feedback (draft-miao §9.3).
func (r *Receiver) scheduleAck(now unit.Time, p *packet.Packet, atOnce bool, payload int64) bool {
	switch {
	case atOnce, r.asked, r.next > r.finSeq, r.config.DelayedACK == 0,
		r.next-r.lastAckSent > r.segment, // the second full segment (RFC 9293 §3.8.6.3)
		r.quick > 0,
		// the end of a burst, and the application has read it (tcp_cleanup_rbuf)
		len(r.ranges) == 0 && (payload < r.segment || p.TCP.Flags&packet.PSH != 0):
		return r.turnIntoAck(now, p, r.next)
	case len(r.ranges) > 0:
		return r.compressAck(now, p)
	}
	if !r.delayed {
		r.delayed = true
		r.timerAt = now + min(r.timeout, r.config.DelayedACK)
	}
	return false
}

// compressAck sends the first ACKs with SACK blocks at once, and later ones together (tcp_comp_sack_delay_ns). It
// reports whether p became the ACK.
func (r *Receiver) compressAck(now unit.Time, p *packet.Packet) bool {
	if r.dupNext != r.next {
		r.dupNext, r.dupAcks = r.next, 0
	}
	if r.config.CompressedACK == 0 || r.compressed >= maxCompressedAcks {
		return r.turnIntoAck(now, p, r.next)
	}
	if r.dupAcks < 3 {
		r.dupAcks++
		return r.turnIntoAck(now, p, r.next)
	}
	r.compressed++
	if r.compressAt == unit.Never {
		delay := min(r.config.CompressedACK, r.rtt/8/20) // 5 % of the RTT
		r.compressAt = now + delay
	}
	return false
}
