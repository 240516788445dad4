package uet

import (
	"math"

	"weir/core/cc/nscc"
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
)

// Sender is the sending half of a flow.
type Sender struct {
	ends
	config   *Config
	law      *nscc.Law // nil: only the receiver controls
	credited bool      // the receiver gives credit
	counts   bool      // the balancer uses the number of packets in the window
	reorder  int64     // maximum packets from una to next
	balance  balancer
	start    unit.Time
	stop     unit.Time
	outstanding
	crediting

	maySend  bool          // window and credit permit the next packet
	turn     unit.Time     // time since when they permit it and no packet was sent
	slow     unit.Time     // a later turn asks for an acknowledgement
	timer    transport.RTO // WaitStart is when Backoff last grew: packets sent earlier have the previous timeout
	timerAt  unit.Time
	sleek    recovery
	counters transport.Counters
}

// outstanding are the packets that are to be sent, or sent and not acknowledged.
type outstanding struct {
	left     int64                  // payload never sent
	next     int64                  // first number never used
	una      int64                  // first number not acknowledged
	last     int64                  // number of the last packet with payload; −1: not sent yet
	ring     transport.Ring[record] // numbers from una to next
	flights  transport.Flights      // stale ones among them
	repairs  numbers                // packets to be resent; stale ones among them
	repaired int64                  // bytes of frames of those that are not stale
	waits    int                    // number of these
	inFlight int64                  // bytes of frames, according to the receiver's counter
	got      int64                  // that counter
	done     bool
}

// crediting is the credit of a sender, and how it gets more.
type crediting struct {
	credit      int64     // bytes; below 0 by up to a packet
	maxCredit   int64     // maximum bytes of credit
	pulled      int64     // units that PULLs have given
	speculating bool      // no answer was received yet
	quiet       unit.Time // time of the latest packet sent or received
	asked       unit.Time // when a request to send was sent; Never: not yet
	wantsAsk    bool      // a request is to be sent
	asks        int       // requests since the last PULL that gave credit
	pulledAt    unit.Time // when that PULL arrived; 0: not yet
	every       unit.Time // time between it and the one before
}

// record is a packet that is not acknowledged.
type record struct {
	sentAt unit.Time // when it was last sent
	size   int32     // of its frame
	sent   uint8     // number of transmissions, at most 255
	state  uint8
	cause  packet.ResendCause // of state waiting
}

// States of a packet.
const (
	acked uint8 = iota
	flying
	waiting // to be resent
)

// Initial sizes of the ring and of the flights, in packets. A flow with fewer packets has smaller ones. Another flow
// keeps the memory of one that is over up to firstRing.
const (
	firstRing    = 64
	firstFlights = 16
)

// initSender makes s the sender of flow f, and removes all earlier state.
func (s *Sender) initSender(f *transport.Flow, c *Config, e ends) {
	packets := firstRing
	if e.size < firstRing*e.payload {
		packets = int((e.size + e.payload - 1) / e.payload)
	}
	ring, flights, repairs, law, balance := s.ring, s.flights, s.repairs[:0], s.law, s.balance
	ring.Renew(packets, firstRing)
	flights.Renew(min(packets, firstFlights))
	*s = Sender{ends: e, config: c, start: f.Start, stop: f.Stop, credited: c.Control != bySender,
		counts: c.Balance == balanceRecycleAll, reorder: int64(c.Reorder), timerAt: unit.Never,
		outstanding: outstanding{left: e.size, last: -1, ring: ring, flights: flights, repairs: repairs},
		crediting:   crediting{speculating: true, asked: unit.Never}}
	if m, is := balance.(*mixed); is {
		m.resetFor(c.Paths, e.first, f.Random)
		s.balance = m
	} else {
		s.balance = newBalancer(c.Balance, c.Paths, e.first, c.Freeze, c.Explore, c.Memory, f.Random)
	}
	if c.Control != byReceiver {
		if law == nil {
			law = &nscc.Law{}
		}
		s.law = law
		law.Restart(&c.Law, nscc.Conditions{Frame: e.frame, Payload: e.payload, Rate: f.Path.NICRate, RTT: c.Network,
			Credit: s.credited})
	}
	s.maxCredit = int64(c.Ahead * float64(e.product))
	s.credit = s.maxCredit
	queue := (e.product + e.frame - 1) / e.frame * e.frame
	fixed := c.RTOBase + unit.Time(c.RTOQueues*float64(unit.TransmitTime(unit.Bytes(queue), f.Path.NICRate)))
	if s.timer = (transport.RTO{Floor: c.RTOMin, MinFirst: fixed}); c.RTO == fixedRTO {
		s.timer = transport.RTO{Floor: fixed, MaxTimeout: fixed, Fixed: true}
	}
	if s.stop == 0 {
		s.stop = unit.Never
	}
	s.turn = s.start
	s.setSlow()
	s.sleek.probeAt = unit.Never
	s.counters.Finished, s.counters.DelayMin = unit.Never, unit.Never
}

// Counters returns the sender's counters. SentBytes counts first transmissions. Finished is when the last byte was
// acknowledged.
func (s *Sender) Counters() *transport.Counters { return &s.counters }

// Timeouts returns the number of expiries of timers.
func (s *Sender) Timeouts() int64 { return s.timer.Timeouts }

// Gauge returns the window of NSCC or the credit, and the bytes in flight.
func (s *Sender) Gauge() transport.Gauge {
	g := transport.Gauge{Window: unit.Bytes(max(s.credit, 0)), InFlight: unit.Bytes(max(s.inFlight, 0)),
		RTT: s.timer.Trip.Smoothed}
	if s.law != nil {
		g.Window = unit.Bytes(s.law.Window())
	}
	return g
}

// recordOf returns the record of packet n, which must be in the window: una ≤ n < next. The pointer is valid until the
// ring grows.
func (o *outstanding) recordOf(n int64) *record { return o.ring.At(n) }

// isLive reports whether transmission f is its packet's latest one, and has no answer.
func (o *outstanding) isLive(f *transport.Flight) bool {
	if f.Packet < o.una {
		return false
	}
	x := o.recordOf(f.Packet)
	return x.state == flying && x.sentAt == f.SentAt
}

// oldestFlight returns the first transmission without an answer; nil: there is no such transmission.
func (o *outstanding) oldestFlight() *transport.Flight {
	return o.flights.OldestLive(func(f *transport.Flight) bool { return o.isLive(f) })
}

// nextFrame returns the frame size in bytes of the packet that would be sent next; 0: there is no packet. It removes
// stale packets from the head of repairs.
func (s *Sender) nextFrame() int64 {
	if s.waits > 0 {
		for n := s.repairs[0]; n < s.una || s.recordOf(n).state != waiting; n = s.repairs[0] {
			s.repairs.pop()
		}
		return int64(s.recordOf(s.repairs[0]).size)
	}
	if s.left == 0 || s.next-s.una >= s.reorder {
		return 0
	}
	return s.header + min(s.left, s.payload)
}

// isPermitted reports whether window and credit permit the next packet, if there is one. It also removes stale packets
// from the head of repairs.
func (s *Sender) isPermitted() bool {
	if s.credited && s.credit <= 0 {
		return false
	}
	size := s.nextFrame()
	if size == 0 {
		return false
	}
	if s.law == nil || s.inFlight+size <= s.law.Window() {
		return true
	}
	return s.sleek.on && s.waits > 0
}

// NextSend returns when Emit has a packet to send: the start of the flow, or unit.Never. It also stores whether window
// and credit permit a packet, which Receive and Advance use.
func (s *Sender) NextSend() unit.Time {
	if s.waits == 0 && !s.wantsAsk && !s.sleek.due { // like isPermitted, for new packets
		s.maySend = !s.done && s.left > 0 && s.next-s.una < s.reorder && !(s.credited && s.credit <= 0) &&
			(s.law == nil || s.inFlight+s.header+min(s.left, s.payload) <= s.law.Window())
		if !s.maySend {
			return unit.Never
		}
		return s.start
	}
	s.maySend = !s.done && s.isPermitted()
	if !s.maySend && (s.done || !s.wantsAsk && !s.sleek.due) {
		return unit.Never
	}
	return s.start
}

// setSlow sets the delay of a turn from which the sender asks for acknowledgements. At that pace the receiver gets the
// bytes after which it acknowledges unasked in a share of the timeout.
func (s *Sender) setSlow() {
	s.slow = unit.Never
	if s.config.AskLate > 0 {
		packets := max((int64(s.config.AckBytes)+s.frame-1)/s.frame, 1)
		s.slow = unit.Time(s.config.AskLate*float64(s.timer.Timeout())) / unit.Time(packets)
	}
}

// Emit fills p with the next permitted packet: a probe or a request before retransmissions, and those before new
// packets. NextSend must have permitted it. It records the packet and sets the timer.
func (s *Sender) Emit(now unit.Time, p *packet.Packet) {
	switch {
	case s.sleek.due:
		s.fillProbe(now, p)
		return
	case s.wantsAsk:
		s.wantsAsk, s.asked = false, now
		s.addRecord(now, s.next, s.header)
		s.next++
		s.fillPacket(now, p, s.next-1, 0, 0)
		return
	}
	s.counters.SentPackets++
	late := now-s.turn > s.slow
	s.turn = now
	if s.waits > 0 {
		s.nextFrame() // removes stale packets from the head of repairs
		s.emitResent(now, p)
		return
	}
	n, payload := s.next, min(s.left, s.payload)
	size := s.header + payload
	if s.size != math.MaxInt64 {
		if s.left -= payload; s.left == 0 {
			s.last = n
		}
	}
	s.addRecord(now, n, size)
	s.next++
	s.inFlight += size
	s.spendCredit(size)
	s.counters.SentBytes += unit.Bytes(payload)
	flags := packet.Trimmable
	if late || s.left == 0 || s.credited && s.credit <= 0 || s.law != nil && s.inFlight+size >= s.law.Window() {
		flags |= asks
	}
	s.fillPacket(now, p, n, payload, flags)
}

// emitResent fills p with the first of the packets to be resent; there must be one.
func (s *Sender) emitResent(now unit.Time, p *packet.Packet) {
	n := s.repairs[0]
	s.repairs.pop()
	x := s.recordOf(n)
	size := int64(x.size)
	s.waits--
	s.repaired -= size
	x.sent = min(x.sent+1, math.MaxUint8)
	x.sentAt, x.state = now, flying
	s.flights.Record(n, now)
	s.inFlight += size
	s.spendCredit(size)
	s.counters.Retransmitted++
	p.Resent = x.cause
	if size == s.header { // a request that was lost
		s.fillPacket(now, p, n, 0, again)
		return
	}
	s.fillPacket(now, p, n, size-s.header, packet.Trimmable|again|asks)
}

// addRecord makes the record of number n, which is used for the first time, by a packet with a frame of size bytes that
// is sent now.
func (s *Sender) addRecord(now unit.Time, n, size int64) {
	s.ring.Reserve(s.una, n)
	*s.recordOf(n) = record{sentAt: now, size: int32(size), sent: 1, state: flying}
	s.flights.Record(n, now)
}

// fillPacket writes the headers of packet n, which is sent now, with the target of credit and the balancer's next
// entropy value. It sets the timer.
func (s *Sender) fillPacket(now unit.Time, p *packet.Packet, n, payload int64, flags uint8) {
	window := int64(0)
	if s.counts {
		if window = s.maxCredit; s.law != nil {
			window = s.law.Window()
		}
		window /= s.payload
	}
	p.Seq, p.Ack = n, s.creditTarget()
	s.fillHeaders(p, packet.Data, s.balance.nextValue(now, n, window), true, payload, flags)
	if flags&probing == 0 {
		s.quiet = now
	}
	if s.flights.Len() > 1 && flags&probing == 0 && now < s.stop {
		s.timerAt = max(s.timerAt, now) // the oldest transmission is the one that setTimer has found
		return
	}
	s.setTimer(now)
}

// spendCredit subtracts a packet's bytes from the credit, if the receiver gives credit.
func (s *Sender) spendCredit(size int64) {
	if s.credited {
		s.credit -= size
	}
}

// creditTarget returns the total units of credit that the flow asks for: its data to send within its limits, less its
// unused credit.
func (s *Sender) creditTarget() int64 {
	if !s.credited {
		return 0
	}
	want := s.repaired
	if left := min(s.left, 2*s.maxCredit); left > 0 {
		want += left + (left+s.payload-1)/s.payload*s.header
	}
	if s.law != nil {
		want = min(want, s.law.Window()+s.frame)
	}
	want = min(want, s.maxCredit) - s.credit
	if s.speculating && want < s.frame && s.left > 0 {
		want = s.frame
	}
	quantum := int64(s.config.Quantum)
	want += s.pulled * quantum
	return max((want+quantum-1)/quantum, 0)
}

// setTimer sets the timer for the oldest transmission without an answer, or for missing credit, and the next probe.
// From the stop of the flow on it drops the data never sent. Without a transmission it sets inFlight to 0.
func (s *Sender) setTimer(now unit.Time) {
	s.timerAt = unit.Never
	if s.done {
		return
	}
	if now >= s.stop {
		s.left = 0
	}
	if f := s.oldestFlight(); f != nil {
		s.timerAt = f.SentAt + s.timeoutOf(f.SentAt)
	} else {
		s.inFlight = 0 // corrects bytes that were duplicated or lost on the way
		if s.credited && s.credit <= 0 && !s.wantsAsk && s.nextFrame() > 0 {
			s.timerAt = s.quiet + s.creditWait()
		}
	}
	s.timerAt = max(min(s.timerAt, s.sleek.probeAt), now)
}

// creditWait returns how long a flow waits for credit until it asks, since a PULL may be lost. It is longer than the
// wait for the latest ones, since the receiver may have many other flows, and doubles for each request.
func (s *Sender) creditWait() unit.Time {
	return transport.BackOff64(max(s.timer.Timeout(), 2*s.every), s.asks)
}

// timeoutOf returns the timeout of a packet that was sent at the time sent.
func (s *Sender) timeoutOf(sent unit.Time) unit.Time {
	if sent < s.timer.WaitStart {
		return s.timer.TimeoutWith(s.timer.Floor, max(s.timer.Backoff-1, 0))
	}
	return s.timer.Timeout()
}

// NextTimer returns when a timeout or a probe is due.
func (s *Sender) NextTimer() unit.Time { return s.timerAt }

// Advance queues the oldest packet without an answer for a timeout to be resent, or asks to send it. It notifies the
// congestion law and the balancer of the timeout. It also makes a probe due.
func (s *Sender) Advance(now unit.Time) {
	if now < s.timerAt {
		return
	}
	if !s.maySend {
		s.turn = now
	}
	if s.sleek.probeAt <= now {
		s.sleek.due, s.sleek.probeAt = true, unit.Never
	}
	s.setTimer(now)
	if s.timerAt > now {
		return
	}
	if s.flights.Len() == 0 {
		s.timer.Timeouts++
		s.asks++
		s.quiet, s.wantsAsk = now, true
		s.endSpeculation()
		s.setTimer(now)
		return
	}
	n := s.flights.Oldest().Packet
	x := s.recordOf(n)
	s.balance.handleFeedback(now, s.first, timeout)
	s.timer.Timeouts++
	if x.sentAt >= s.timer.WaitStart { // losses of one window double it once
		s.timer.RecordExpiry(now)
	}
	s.flights.RemoveOldest()
	s.inFlight -= int64(x.size)
	if s.law != nil {
		s.law.OnTimeout(int64(x.size))
	}
	more := s.waits > 0
	if more {
		s.endSpeculation()
	}
	s.queueRepair(n, packet.ResentTimeout)
	switch {
	case more && s.credited,
		!more && s.law != nil && s.law.Window() < int64(x.size)+s.inFlight,
		!more && s.credited && s.credit <= 0:
		s.wantsAsk = s.asked == unit.Never || now-s.asked >= s.config.Network
	}
	s.setTimer(now)
}

// queueRepair queues packet n, which is no longer in flight, to be resent, because of why. The caller subtracts its
// bytes from inFlight.
func (s *Sender) queueRepair(n int64, why packet.ResendCause) {
	x := s.recordOf(n)
	x.state, x.cause = waiting, why
	s.repairs.push(n)
	s.waits++
	s.repaired += int64(x.size)
}

// endSpeculation ends the first window, which needs no credit: the rest of it is not used.
func (s *Sender) endSpeculation() {
	if s.speculating {
		s.speculating = false
		s.credit = min(s.credit, 0)
	}
}
