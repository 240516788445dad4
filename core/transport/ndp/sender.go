package ndp

import (
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
)

// Sender is the sending half of a flow: it sends a first window at line rate, then a packet for each PULL. Packets to
// be resent go before new ones.
type Sender struct {
	ends
	config Config
	start  unit.Time
	stop   unit.Time
	outstanding
	pulling
	prober
	timer transport.RTO // how long an answer of the receiver may be missing
	planned
	counters transport.Counters
}

// outstanding are the packets that are sent and not acknowledged.
type outstanding struct {
	una      int64                  // first packet that is not acknowledged
	next     int64                  // first packet never sent
	ring     transport.Ring[sent]   // packets from una to next
	flights  transport.Flights      // stale ones among them
	repairs  transport.Queue[int64] // packets to be resent; stale ones among them
	inFlight int64                  // packets without an answer since they were sent
	refused  int64                  // packets with a NACK that are not resent yet
}

// pulling counts the packets that the sender may send, and those for which it waits.
type pulling struct {
	free     int64               // new packets that need no PULL
	credit   int64               // packets that PULLs have asked for and that were not sent yet; below 0: sent without
	pulled   int64               // highest PULL
	answered int64               // ACKs and NACKs; for each a PULL will follow
	returned int64               // packets of the first window with headers that switches have sent back
	bounced  int64               // all packets with headers that switches have sent back
	probing  bool                // a PULL may be lost: one packet is sent without
	helpedAt unit.Time           // when the timer last expired
	wait     transport.RoundTrip // from NACKs to the PULLs with which their packets are resent
}

// prober has the probes of a sender without a retransmission timeout.
type prober struct {
	loss      transport.LossTimer
	dueAt     unit.Time              // when loss last asked for a probe
	asked     transport.Queue[probe] // by time
	lastProbe uint8                  // number of the latest probe
}

// planned is the packet that is sent next, and the expiry of the retransmission timer.
type planned struct {
	plan    int64 // −1: no packet
	repair  bool  // plan is at the head of repairs
	timerAt unit.Time
}

// sent is a packet that is not acknowledged.
type sent struct {
	sentAt unit.Time // when it was last sent or, if it waits to be resent, when the reason was received
	flags  uint8
}

// States of a packet, as bits of sent.flags.
const (
	flying   uint8 = 1 << iota // sent, without an answer
	waiting                    // to be resent
	nacked                     // waiting because of a NACK
	acked                      // received
	unasked                    // sent without a PULL, in the first window
	repeated                   // sent more than once: it gives no RTT sample (Karn)
	expired                    // waiting because no answer arrived in time
	proven                     // waiting because a probe that was sent later was answered
)

// newSender returns the sender of flow f, with its first packet planned. e is the common part for the sender's end.
func newSender(f transport.Flow, c Config, e ends) *Sender {
	s := &Sender{ends: e, config: c, start: f.Start, stop: f.Stop, pulling: pulling{free: int64(c.Window)},
		outstanding: outstanding{ring: transport.NewRing[sent](firstRing)}, planned: planned{timerAt: unit.Never},
		timer: transport.RTO{BaseRTT: f.Path.BaseRTT, Floor: c.shortestRTO(), WaitStart: f.Start}}
	if s.stop == 0 {
		s.stop = unit.Never
	}
	if c.RTOMin == 0 {
		s.timer.MinFirst = transport.FirstTimeout(f.Path.BaseRTT)
	}
	s.loss = transport.NewLossTimer(&f.Path, max(c.NIC.Ack, c.NIC.Nack))
	if s.loss.Enabled = c.RTOMin == 0 && s.loss.FindsLosses(); s.loss.Enabled {
		s.timer.Floor = transport.MinProbeWait
	}
	s.counters.Finished, s.counters.DelayMin = unit.Never, unit.Never
	s.planNext(f.Start)
	return s
}

// firstRing is the initial size of the ring in packets.
const firstRing = 64

// Counters returns the sender's counters. SentBytes counts first transmissions. Finished is when the last byte was
// acknowledged.
func (s *Sender) Counters() *transport.Counters { return &s.counters }

// Timeouts returns the number of expiries of the retransmission timer since the start, and of probes that proved a
// loss.
func (s *Sender) Timeouts() int64 { return s.timer.Timeouts }

// Gauge returns the first window, in payload, and the payload in flight. The sender has no other window, and no rate.
func (s *Sender) Gauge() transport.Gauge {
	return transport.Gauge{Window: unit.Bytes(int64(s.config.Window) * s.payload),
		InFlight: unit.Bytes(s.inFlight * s.payload)}
}

// packetState returns the state of packet n, which must be in the window: una ≤ n < next. The pointer is valid until
// the ring grows.
func (o *outstanding) packetState(n int64) *sent { return o.ring.At(n) }

// isLive reports whether transmission f is its packet's latest one, and has no answer.
func (o *outstanding) isLive(f *transport.Flight) bool {
	if f.Packet < o.una {
		return false
	}
	x := o.packetState(f.Packet)
	return x.flags&flying != 0 && x.sentAt == f.SentAt
}

// oldestFlight returns the first transmission without an answer; nil: there is no such transmission.
func (o *outstanding) oldestFlight() *transport.Flight {
	return o.flights.OldestLive(func(f *transport.Flight) bool { return o.isLive(f) })
}

// planNext plans the next packet and the retransmission timer. It is called after every event.
func (s *Sender) planNext(now unit.Time) {
	s.plan, s.repair, s.timerAt = -1, false, unit.Never
	s.loss.ProbeDue = s.loss.ProbeDue && s.inFlight > 0
	if s.una == s.packets {
		return
	}
	for s.repairs.Len() > 0 {
		if n := *s.repairs.Head(); n >= s.una && s.packetState(n).flags&waiting != 0 {
			break
		}
		s.repairs.Pop()
	}
	fresh := s.next < s.packets && s.next-s.una < maxOutstanding && max(now, s.start) < s.stop
	switch {
	// NDP §3.2: before new packets
	case s.repairs.Len() > 0 && (s.credit > 0 || s.probing || s.inFlight == 0 && !s.expectsPulls()):
		s.plan, s.repair = *s.repairs.Head(), true
	case fresh && (s.free > 0 || s.credit > 0 || s.probing):
		s.plan = s.next
	}
	if f := s.oldestFlight(); f != nil {
		if s.timerAt = f.SentAt + s.timer.Timeout(); s.loss.Enabled {
			s.timerAt = s.lossTimeout(f)
		}
	}
	if s.plan < 0 && s.inFlight == 0 && (s.repairs.Len() > 0 || fresh) {
		s.timerAt = s.timer.WaitStart + s.pullTimeout()
	}
	s.timerAt = max(s.timerAt, now)
}

// expectsPulls reports whether PULLs are expected. While new packets wait for PULLs, there is one for each packet that
// has arrived, whole or not; then for packets with a NACK. If no PULL is expected and no packet is in flight, a packet
// with a header that was sent back is resent at once, because the receiver may not know of it (NDP §3.2.4; htsim's
// processRTS).
func (s *Sender) expectsPulls() bool {
	if s.packets-s.next > s.free {
		return s.answered > s.pulled
	}
	return s.refused > 0
}

// pullTimeout returns how long a sender waits for a PULL without any answer, at least as long as for earlier PULLs.
func (s *Sender) pullTimeout() unit.Time {
	return s.timer.TimeoutWith(max(s.config.shortestRTO(), s.wait.Timeout()), s.timer.Backoff)
}

// measureWait records how long a packet has waited for a PULL since its NACK, at time nacked. A wait in which the timer
// has expired counts as no longer than the timer without its doubling: lost PULLs would multiply it.
func (s *Sender) measureWait(now, nacked unit.Time) {
	wait := now - nacked
	if nacked <= s.helpedAt {
		wait = min(wait, max(s.config.shortestRTO(), s.timer.Trip.Timeout(), s.wait.Timeout()))
	}
	s.wait.AddSample(max(wait, 1))
}

// NextSend returns the flow's start if Emit has a packet or probe to send, and unit.Never otherwise.
func (s *Sender) NextSend() unit.Time {
	if s.plan < 0 && !s.loss.ProbeDue {
		return unit.Never
	}
	return s.start
}

// Emit fills p with the planned packet or a probe, counts it, and plans the next one. Without one p stays as it is. The
// acknowledgement field of data counts the packets of the first window that were returned. FIN reports that new packets
// need no further PULL.
func (s *Sender) Emit(now unit.Time, p *packet.Packet) {
	if s.loss.ProbeDue {
		s.emitProbe(now, p)
		return
	}
	n := s.plan
	if n < 0 {
		return
	}
	if s.repair {
		s.repairs.Pop()
		x := s.packetState(n)
		p.Resent = packet.ResentSwitch // the switch has trimmed it or returned its header
		if x.flags&expired != 0 {
			p.Resent = packet.ResentTimeout
		} else if x.flags&proven != 0 {
			p.Resent = packet.ResentProbe
		}
		if x.flags&nacked != 0 {
			s.refused--
			s.measureWait(now, x.sentAt)
		}
		*x = sent{now, flying | repeated}
		s.credit--
		s.counters.Retransmitted++
	} else {
		s.ring.Reserve(s.una, s.next)
		s.next++
		*s.packetState(n) = sent{now, flying}
		if s.free > 0 {
			s.free--
			s.packetState(n).flags |= unasked
		} else {
			s.credit--
		}
		s.counters.SentBytes += unit.Bytes(s.payloadOf(n))
	}
	s.flights.Record(n, now)
	s.inFlight++
	s.counters.SentPackets++
	s.timer.WaitStart, s.probing = now, false
	flags := packet.Trimmable
	if s.packets-s.next <= s.free {
		flags |= packet.FIN
	}
	s.fillHeaders(p, packet.Data, s.packetSeq(n), s.returned, s.payloadOf(n), flags)
	s.planNext(now)
}

// Receive handles an ACK, a NACK, a PULL, or a header that a switch has sent back. A packet of another flow, or about
// packets that are not in flight, has no effect. It plans the next packet, and always returns false, since p becomes no
// answer.
func (s *Sender) Receive(now unit.Time, p *packet.Packet) bool {
	s.counters.ReceivedPackets++
	if !s.isFromPeer(p) || p.Payload != 0 || p.HasExtensions() {
		return false
	}
	switch p.Kind {
	case packet.Ack, packet.Nack:
		about := s.findPacket(p.Seq, s.una)
		if !s.handleCumulativeAck(now, p) || about < 0 || about >= s.next {
			return false
		}
		s.answered++
		if probeNumber(p) > 0 && s.receiveProbeReply(now, about, p) || about < s.una {
			break
		}
		if x := s.packetState(about); p.Kind == packet.Ack {
			s.sampleRTT(now, x, p)
			s.recordArrival(x)
			s.advanceUna(now)
		} else if x.flags&flying != 0 {
			s.sampleRTT(now, x, p)
			s.inFlight--
			s.refused++
			s.queueRepair(now, about, nacked)
		}
	case packet.Notice:
		if !s.handleCumulativeAck(now, p) {
			return false
		}
		if pull := unwrapNumber(p.Seq, s.pulled); pull > s.pulled && pull-s.pulled <= maxOutstanding {
			s.credit += pull - s.pulled
			s.pulled = pull
		}
	case packet.Data:
		n := s.findPacket(p.Seq, s.una)
		if p.TCP.Flags&packet.Returned == 0 || n < s.una || n >= s.next || s.packetState(n).flags&flying == 0 {
			return false
		}
		s.restartTimers(now)
		s.inFlight--
		s.bounced++
		if s.packetState(n).flags&unasked != 0 {
			s.returned++
		} else { // the PULL that asked for it is not spent
			s.credit++
		}
		s.queueRepair(now, n, 0)
	default:
		return false
	}
	s.planNext(now)
	return false
}

// restartTimers restarts the timers after an answer.
func (s *Sender) restartTimers(now unit.Time) {
	s.timer.RestartWait(now)
	s.loss.RecordAnswer()
}

// sampleRTT measures the round trip by packet x, which p answers, unless p answers a probe for it.
func (s *Sender) sampleRTT(now unit.Time, x *sent, p *packet.Packet) {
	if x.flags&(flying|repeated) == flying && probeNumber(p) == 0 {
		s.timer.Trip.AddSample(max(now-x.sentAt, 1))
	}
}

// handleCumulativeAck handles the cumulative acknowledgement that every packet of the receiver has: it moves una,
// records arrivals and restarts the timers. It returns false if it acknowledges packets that were never sent.
func (s *Sender) handleCumulativeAck(now unit.Time, p *packet.Packet) bool {
	ack := s.findPacket(p.Ack, s.una)
	if ack < 0 || ack > s.next {
		return false
	}
	s.restartTimers(now)
	about := s.findPacket(p.Seq, s.una)
	for ; s.una < ack; s.una++ {
		x := s.packetState(s.una)
		if s.una == about && p.Kind == packet.Ack {
			s.sampleRTT(now, x, p)
		}
		s.recordArrival(x)
	}
	s.advanceUna(now)
	return true
}

// advanceUna moves una to the first packet that has not arrived. It sets the time at which the flow has finished.
func (s *Sender) advanceUna(now unit.Time) {
	for s.una < s.next && s.packetState(s.una).flags&acked != 0 {
		s.una++
	}
	if s.una == s.packets && s.counters.Finished == unit.Never {
		s.counters.Finished = now
	}
}

// recordArrival records that packet x, a state in the window, has arrived. x no longer counts as in flight or refused.
func (s *Sender) recordArrival(x *sent) {
	if x.flags&flying != 0 {
		s.inFlight--
	}
	if x.flags&nacked != 0 {
		s.refused--
	}
	x.flags = acked
}

// queueRepair queues packet n, which is no longer in flight, to be resent. why has the flags of the reason (nacked,
// expired, proven; 0: a header sent back). The caller adapts inFlight and refused.
func (s *Sender) queueRepair(now unit.Time, n int64, why uint8) {
	*s.packetState(n) = sent{now, waiting | why}
	s.repairs.Push(n)
}

// NextTimer returns when the retransmission timer expires.
func (s *Sender) NextTimer() unit.Time { return s.timerAt }

// Advance has an effect only from timerAt on. It sends a probe first if the sender uses probes; else it queues packets
// without an answer in time to be resent, in addition to the PULLs, because no PULL will arrive for them. If only a
// PULL is missing it sends one packet, so that another PULL follows.
func (s *Sender) Advance(now unit.Time) {
	if now < s.timerAt {
		return
	}
	if s.loss.Enabled && s.probesFirst(now) {
		s.planNext(now)
		return
	}
	s.timer.Timeouts++
	due := now - s.timer.Timeout()
	if s.loss.Enabled {
		due = now - s.loss.Limit
		s.loss.DoubleLimit()
	}
	s.probing = s.inFlight == 0
	for f := s.oldestFlight(); f != nil && f.SentAt <= due; f = s.oldestFlight() {
		s.inFlight--
		s.credit++
		s.queueRepair(now, f.Packet, expired)
	}
	s.timer.RecordExpiry(now)
	s.helpedAt = now
	s.planNext(now)
}
