package rdma

import (
	"math/bits"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
)

// Sender is the sending half of a queue pair.
//
// Packets are numbered: those below una are acknowledged, those from top on were never
// sent, and next is what comes next unless something lost goes first. With go-back-N
// next may fall behind top; otherwise the two are one.
type Sender struct {
	ends
	config   Config
	control  cc.Controller
	asker    transport.Asker
	decision cc.Decision
	report   cc.Ack
	counters transport.Counters
	start    unit.Time
	stop     unit.Time
	bound    int64 // of bytes between una and top
	ecn      uint8 // of data
	repeats  bool  // selective repeat
	begun    bool  // Config.WindowTest is BegunPacket
	timed    bool  // it has a retransmission timer
	keeps    bool  // OnSend leaves the decision as it is

	una, next, top int64
	goBack         packet.ResendCause // go-back-N: why next fell behind top last
	ring           []sent             // packet n at n mod its length, a power of two, for una ≤ n < top

	// what will be sent
	plan   int64 // packet; −1: none
	planAt unit.Time
	probe  unit.Time // when a probe goes; Never: none

	sinceAsked int64 // bytes sent since the last packet that asked for an acknowledgement

	// pacing
	lastSend   unit.Time
	lastBytes  unit.Bytes // that make a gap: 0 without pacing
	pacedUntil unit.Time

	// selective repeat
	sackedOut int   // packets beyond una that the receiver holds
	goneOut   int   // packets that are taken for lost and not sent again yet
	judged    int64 // packets below are SACKed, or taken for lost
	eligible  int64 // those taken for lost below this are sent again
	hint      int64 // none of them is below this

	paths     *paths  // nil: one
	orders    []order // selective repeat with a reordering window: of each path; nil: without
	tolerance tolerance
	waits     *waits // on paths of different rates, with reordering: adaptive; nil: on others

	state   cc.State
	recover int64 // the state ends when una reaches it: IRN's recovery sequence

	delivered   int64
	deliveredCE int64
	lostTotal   int64
	firstSent   unit.Time // when the first packet of the sample's flight was sent
	deliveredAt unit.Time
	appLimited  int64 // samples are, until so many are delivered; 0: they are not

	roundTrip transport.RoundTrip
	loss      transport.LossTimer
	probes    bool      // no timeout of its own: it has loss
	probeDue  bool      // loss asks for a probe
	reorders  bool      // the path reorders packets
	limitedAt unit.Time // when the limit of loss was over last
	probeSeq  int64     // sequence number of the latest probe of loss
	timerFrom unit.Time // when the retransmission timer was started anew
	timerAt   unit.Time
	backoff   int
	timeouts  int64
	notices   int64
	noticed   int64 // packets below have had one, as far as is still of interest (late)

	// NACKs of the network
	gate      transport.NackGate
	namedOut  int   // of the packets in goneOut, those that the network has named
	namedHint int64 // none of them is below this
	hold      transport.HoldOff
}

// sent is the state of one packet, of its last transmission.
type sent struct {
	at          unit.Time
	first       unit.Time // Sender.firstSent then
	deliveredAt unit.Time
	delivered   int64
	flags       uint16
	number      uint8 // of the transmission, mod 128
	path        uint8
}

const (
	sacked    uint16 = 1 << iota // the receiver holds it
	gone                         // taken for lost, and not sent again yet
	resent                       // sent again since it was taken for lost; with go-back-N since a NACK of the network
	everSent                     // sent more than once: no RTT sample (Karn)
	noticed                      // this transmission has had a notice
	limited                      // the application had no more when it was sent
	nacked                       // the network has said that this transmission is gone
	throttled                    // or, of it, that the flow is an elephant
	answered                     // the receiver has answered it
	unasked                      // its answer may have waited for others
	expired                      // taken for lost because no answer arrived in time
	proven                       // taken for lost because a probe that was sent later was answered
	waited                       // taken for lost after the patience (waits), without proof
)

// Room for so many packets is made before any is sent, or for all of a flow that has fewer; another flow keeps the
// room of one that is over up to mostRing.
const (
	firstRing = 16
	mostRing  = 64
)

// begin makes it the sender of a flow, whatever it was but for its controller.
func (s *Sender) begin(f *transport.Flow, c *Config, paths *paths, bound int64, asker transport.Asker) {
	e := newEnds(f, false)
	control, ring, first := s.control, s.ring, int(min(e.packets, firstRing))
	if len(ring) < first || len(ring) > mostRing {
		ring = make([]sent, 1<<bits.Len(uint(first-1)))
	}
	*s = Sender{ends: e, config: *c, control: control, asker: asker, start: f.Start, stop: f.Stop,
		bound: bound, keeps: f.CC.KeepsOnSend && paths == nil, repeats: c.Recovery == SelectiveRepeat,
		begun: c.WindowTest == BegunPacket, timed: c.Recovery != NoRecovery && c.RTO != NoRTO,
		ring: ring, timerAt: unit.Never}
	s.loss, s.reorders = transport.NewLossTimer(transport.LossLimit(&f.Path, c.replyDelay())), f.Path.Reorders
	s.probes = c.probes() && (s.loss.Limit < unit.Never || !f.Path.Reorders || c.Reordering != ReorderNone)
	if c.ECN == ECNEcho || c.ECN == ECNNotify {
		s.ecn = packet.ECT0
	}
	if s.repeats && c.Reordering != ReorderNone {
		s.orders = []order{newOrder()}
	}
	s.tolerance.steps = 1
	if paths != nil {
		s.paths, s.control, s.orders = paths, paths, nil
		for range paths.each {
			s.orders = append(s.orders, newOrder())
		}
	}
	if s.stop == 0 {
		s.stop = unit.Never
	}
	s.counters.Finished, s.counters.DelayMin = unit.Never, unit.Never
	s.decide()
	if s.orders != nil && paths == nil && f.Path.Uneven && c.Reordering == ReorderAdaptive {
		s.waits = newWaits(s.loss.Limit, c.BaseRTT, int64(s.decision.Window))
	}
	s.schedule(f.Start)
}

// Class is the priority class of data.
func (s *Sender) Class() uint8 { return uint8(s.config.Class) }

// Counters returns what was counted. SentBytes is what was sent for the first time;
// Finished is when the last byte was acknowledged.
func (s *Sender) Counters() *transport.Counters { return &s.counters }

// State is the state of recovery; InFlight what is sent and neither acknowledged nor
// taken for lost, in packets; Timeouts, and Notices that were passed on, are counts.
func (s *Sender) State() cc.State  { return s.state }
func (s *Sender) InFlight() int    { return int(s.inFlight()) }
func (s *Sender) Timeouts() int64  { return s.timeouts }
func (s *Sender) Notices() int64   { return s.notices }
func (s *Sender) SRTT() unit.Time  { return s.roundTrip.Smoothed }
func (s *Sender) at(n int64) *sent { return &s.ring[n&int64(len(s.ring)-1)] }

// Gauge is the controller's window and rate, and what is in flight.
func (s *Sender) Gauge() transport.Gauge {
	return transport.Gauge{Window: s.decision.Window, InFlight: unit.Bytes(s.inFlight()) * unit.Bytes(s.payload),
		Rate: s.decision.Rate}
}

func (s *Sender) inFlight() int64 {
	return s.next - s.una - int64(s.sackedOut) - int64(s.goneOut)
}

// decide reads the controller's answer. A new rate moves the pending send: the gap behind the last
// packet becomes what it is at the new rate (HPCC simulator, with HPCC and PINT; Config.Keeps has
// what it does with others).
func (s *Sender) decide() {
	old := s.decision.Rate
	s.decision = s.control.Decision()
	if s.decision.Rate != old && !s.config.Keeps {
		s.pacedUntil = paced(s.lastSend, s.lastBytes, s.decision.Rate)
	}
}

// paced is when the packet after one of so many bytes may go.
func paced(last unit.Time, bytes unit.Bytes, rate unit.Rate) unit.Time {
	if rate <= 0 {
		return last
	}
	if gap := unit.TransmitTime(bytes, rate); gap < unit.Never-last {
		return last + gap
	}
	return unit.Never - 1
}

// room is how many bytes of packet n must have room in the window and the bound: those of the
// whole packet, or its first one.
func (s *Sender) room(n int64) int64 {
	if s.begun {
		return 1
	}
	return s.bytes(n)
}

// fits reports whether the window has room for so many bytes. One packet always may go.
func (s *Sender) fits(bytes int64) bool {
	n := s.inFlight()
	return n <= 0 || (n+s.waits.inNetwork(s.shortestRTT()))*s.payload+bytes <= int64(s.decision.Window)
}

// schedule decides what is sent next and when, and when the retransmission timer runs out.
// It is called after everything that happens.
func (s *Sender) schedule(now unit.Time) {
	s.plan, s.planAt = -1, unit.Never
	if s.hold.Waits() {
		s.hold.Update(now, s.trip(), s.rto(), s.inFlight(), s.hash)
	}
	if s.paths != nil && s.una < s.packets {
		s.planPaths(now)
	} else if at := max(s.start, s.pacedUntil, s.hold.Ready()); s.una < s.packets {
		if n := s.lost(); n >= 0 { // IRN §3.1: in recovery what is lost goes before what is new
			// With recovery: none nobody says what came beyond the first packet, and it may fill the window.
			if s.fits(s.room(n)) || n == s.una && s.config.Recovery == NoRecovery {
				s.plan, s.planAt = n, at
			}
		} else if n := s.next; n < s.packets && (n < s.top || max(at, now) < s.stop) && n-s.una < mostOut {
			room := s.room(n)
			if s.fits(room) && (n == s.una || (n-s.una)*s.payload+room <= s.bound) { // IRN §3.2: BDP-FC
				s.plan, s.planAt = n, at
			}
		}
		if s.plan < 0 && s.next == s.packets && s.fits(s.payload) {
			s.appLimited = max(s.delivered+s.inFlight(), 1)
		}
	}
	s.probe = unit.Never
	if s.una < s.packets && (s.una < s.top || s.plan >= 0) {
		if at := s.asker.NextProbe(s.roundTrip.Smoothed); at < unit.Never {
			s.probe = max(s.start, at)
		}
	}
	s.timerAt = unit.Never
	if s.paths != nil && s.una < s.packets {
		s.schedulePaths()
	} else if s.una < s.top && s.timed && s.plan != s.una && (s.plan < 0 || s.inFlight() > 0) {
		// What only waits for its time to go again, pace or hold-off, has not been silent: it has been asked for.
		if s.timerAt = s.timerFrom + s.rto(); s.probes {
			s.timerAt = s.loss.Earlier(s.timerAt, s.timerFrom, s.unaTime())
		}
	}
	if s.probeDue {
		s.planProbe()
	}
}

// lost is the first packet that is to be sent again with selective repeat, or because the
// network has named it; −1: none.
func (s *Sender) lost() int64 {
	if s.goneOut == 0 {
		return -1
	}
	n := int64(-1)
	for s.hint = max(s.hint, s.una); s.hint < s.eligible; s.hint++ {
		if s.at(s.hint).flags&gone != 0 {
			n = s.hint
			break
		}
	}
	if s.namedOut == 0 {
		return n
	}
	for s.namedHint = max(s.namedHint, s.una); s.namedHint < s.top; s.namedHint++ {
		if s.at(s.namedHint).flags&(gone|nacked) == gone|nacked {
			if n < 0 || s.namedHint < n {
				return s.namedHint
			}
			break
		}
	}
	return n
}

// NextSend is when Emit has something to send.
func (s *Sender) NextSend() unit.Time { return min(s.planAt, s.probe) }

// Emit sends what was planned.
func (s *Sender) Emit(now unit.Time, p *packet.Packet) {
	if s.probe <= now {
		s.emitProbe(now, p)
		return
	}
	n := s.plan
	if n < 0 {
		return
	}
	again := n < s.top
	bytes := s.bytes(n)
	note := cc.Sent{Bytes: unit.Bytes(bytes), InFlight: int(s.inFlight()), Retransmitted: again,
		AppLimited: s.appLimited > 0, Left: unit.Bytes(s.size - n*s.payload)}
	if s.una == s.top && s.counters.SentPackets > 0 {
		note.Idle = now - s.lastSend
	}
	if s.paths != nil {
		s.selectPath(s.paths.next)
	}
	if s.control.OnSend(now, note); !s.keeps {
		s.decide()
	}

	s.asker.Ask(now, p, s.roundTrip.Smoothed)
	s.asker.Request(now, p, s.decision.Request)
	number := uint8(0)
	if again {
		number = (s.at(n).number + 1) & packet.TransmissionMask
	}
	place, length := s.place(n)
	if p.Message = length; s.config.AckEvery > 1 {
		place |= s.asks(bytes)
	}
	if s.config.Trimmable {
		place |= packet.Cuttable
	}
	s.fill(p, packet.Data, n, int64(number), bytes, p.ExtensionBytes(), place, s.ecn)
	if s.una == s.top { // draft-cheng-iccrg-delivery-rate-estimation §3.2
		s.firstSent, s.deliveredAt = now, now
	}
	if !again && n-s.una == int64(len(s.ring)) {
		s.grow()
	}
	x := s.at(n)
	flags := uint16(0)
	if again {
		p.Resent = s.resendCause(x)
		flags = s.again(now, n, x)
	} else {
		s.counters.SentBytes += unit.Bytes(bytes)
	}
	if s.appLimited > 0 {
		flags |= limited
	}
	if place&packet.Unasked != 0 {
		flags |= unasked
	}
	*x = sent{at: now, first: s.firstSent, deliveredAt: s.deliveredAt, delivered: s.delivered, flags: flags,
		number: number}
	if s.orders != nil {
		s.order(now, n, x, p)
	}
	if n == s.next {
		s.next++
	}
	s.top = max(s.top, s.next)
	s.counters.SentPackets++
	if n == s.una || s.timerAt == unit.Never {
		s.timerFrom = now
	}
	s.lastSend = now
	if s.config.Pacing {
		s.lastBytes = unit.Bytes(bytes)
	}
	if s.paths == nil {
		s.pacedUntil = paced(s.lastSend, s.lastBytes, s.decision.Rate)
	}
	s.hold.Sent(now, s.hash)
	s.schedule(now)
}

// asksInWindow is how many acknowledgements a sender asks for within a window. Queues of HPCC grow to a window with two
// or three (TestThinnedWindows), and are as with an ACK a packet from four on; eight are twice that.
const asksInWindow = 8

// asks is what data of so many bytes says of its acknowledgement: it is asked for (BTH's AckReq) when an eighth of a
// window was sent since one last was. So a window that holds fewer packets than an ACK is for never stands still.
func (s *Sender) asks(bytes int64) uint8 {
	since, window := &s.sinceAsked, int64(s.decision.Window)
	if s.paths != nil {
		p := &s.paths.each[s.paths.next]
		since, window = &p.sinceAsked, int64(p.decision.Window)
	}
	if *since += bytes; *since < min(window, s.bound)/asksInWindow {
		return packet.Unasked
	}
	*since = 0
	return 0
}

// again notes that packet n, x, is sent again, and returns its flags.
func (s *Sender) again(now unit.Time, n int64, x *sent) (flags uint16) {
	if x.flags&gone != 0 {
		if x.flags&waited != 0 {
			patience, _ := s.patience()
			s.waits.addWaiting(n, now, x.at+min(2*patience, s.loss.Limit))
		}
		s.remain(x)
		flags = resent
	}
	if x.flags&nacked != 0 {
		flags = resent
	}
	s.counters.Retransmitted++
	return flags | everSent
}

// order notes the path of packet n, which is sent as p, and its place in the order of time.
func (s *Sender) order(now unit.Time, n int64, x *sent, p *packet.Packet) {
	if s.paths != nil {
		x.path = uint8(s.paths.next)
		s.steer(p, s.paths.next)
		gap := unit.Bytes(p.Payload)
		if !s.config.Pacing {
			gap = 0
		}
		s.paths.sent(now, s.paths.next, gap)
	}
	s.orders[x.path].sent(n, now)
}

// emitProbe sends a probe: of the flow's 5-tuple and class (draft-miao §6.1, guideline 4), or of a path's.
func (s *Sender) emitProbe(now unit.Time, p *packet.Packet) {
	k := 0
	if s.paths != nil {
		k = s.probePath(now)
		s.asker.SelectPath(k)
	}
	if l := s.lossProbe(k); l != nil {
		s.probeDue = false
		if s.paths != nil && s.asker.Wants() {
			s.asker.Probe(now, p)
		}
		s.fill(p, packet.Probe, s.number24(l.Record(now), k), 0, 0, p.ExtensionBytes(), 0, s.ecn)
		s.steer(p, k)
		s.schedule(now)
		return
	}
	if s.asker.Wants() {
		s.asker.Probe(now, p)
	}
	s.fill(p, packet.Probe, s.top, 0, 0, p.ExtensionBytes(), 0, packet.NotECT)
	s.steer(p, k)
	s.schedule(now)
}

// steer sends p on path k.
func (s *Sender) steer(p *packet.Packet, k int) {
	if s.paths != nil {
		p.SrcPort, p.Hash = s.paths.each[k].port, s.paths.each[k].hash
	}
}

// grow doubles the ring.
func (s *Sender) grow() {
	ring := make([]sent, 2*len(s.ring))
	for n := s.una; n < s.top; n++ {
		ring[n&int64(len(ring)-1)] = *s.at(n)
	}
	s.ring = ring
}

// Receive takes an ACK, a NACK or a notice. What is not of this flow, or not sealed as it must be, or acknowledges
// what was never sent, or says nothing new, changes nothing.
func (s *Sender) Receive(now unit.Time, p *packet.Packet) bool {
	s.counters.ReceivedPackets++
	if (p.Kind == packet.Nack || p.Kind == packet.Notice) && p.Notifies() {
		s.notified(now, p)
		return false
	}
	if !s.comes(p) || p.Meta.Flags&packet.Trimmed != 0 || !s.asker.Genuine(p) {
		return false
	}
	switch p.Kind {
	case packet.Ack, packet.Nack:
		s.acknowledged(now, p)
	case packet.Notice:
		s.notice(now, p)
	case packet.Probe:
		s.probed(now, p)
	default:
		return false
	}
	s.schedule(now)
	return false
}

// comes reports whether p belongs to this flow, and notes by which path it comes back.
func (s *Sender) comes(p *packet.Packet) bool {
	if s.paths == nil {
		return s.mine(p)
	}
	k := s.paths.of(p.DstPort)
	if k < 0 || p.SrcPort != s.dstPort || p.Proto != packet.ProtoRDMA {
		return false
	}
	s.selectPath(k)
	return true
}

// selectPath makes what happens next be about path k.
func (s *Sender) selectPath(k int) {
	s.paths.now = k
	s.asker.SelectPath(k)
}

// probed takes the answer to a probe: telemetry of its own, which delivers nothing.
func (s *Sender) probed(now unit.Time, p *packet.Packet) {
	if s.probes && s.receiveProbeReply(now, p) {
		return
	}
	s.report = cc.Ack{}
	if s.paths != nil {
		s.paths.alive(now, s.paths.now)
	}
	if n := s.number(p.Seq, s.una); n >= 0 && n <= s.top && s.una < s.packets && s.asker.Read(now, p, &s.report) {
		s.report.Seq = s.seq(n) + 1
		prior := s.inFlight()
		s.conclude(now, p, 0, 0, prior, s.full(prior), &sampling{})
	}
}

// sampling is the packet that gives the delivery-rate sample: of those newly delivered
// the one sent last.
type sampling struct {
	sent
	has bool
}

// NextTimer is the retransmission timer's, or the controller's.
func (s *Sender) NextTimer() unit.Time {
	if s.una == s.packets { // a controller's timers have nothing to do any more
		return unit.Never
	}
	at := min(s.timerAt, s.decision.NextTimer)
	for k := range s.orders {
		at = min(at, s.orders[k].due)
	}
	return at
}

// Advance is called when the timer's time has come.
func (s *Sender) Advance(now unit.Time) {
	if s.decision.NextTimer <= now {
		s.control.OnTimer(now)
		s.decide()
	}
	if s.orders != nil {
		lost := s.overdue(now)
		s.lostTotal += int64(lost)
		s.updateState(now, lost, false)
	}
	switch {
	case s.timerAt > now:
	case s.paths != nil:
		s.silence(now)
	case s.probes:
		s.lossTimeout(now)
	default:
		s.timeout(now)
	}
	s.schedule(now)
}
