package ndp

import (
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
)

// Sender is the sending half of a flow: a first window at line rate, then a packet for each
// PULL, what is to be sent again before what is new.
type Sender struct {
	ends
	config Config
	start  unit.Time
	stop   unit.Time
	outstanding
	pulling
	prober
	timer transport.RTO // how long the receiver may be silent
	planned
	counters transport.Counters
}

// outstanding are the packets that are sent and not acknowledged.
type outstanding struct {
	una      int64                  // first packet that is not acknowledged
	next     int64                  // first packet never sent
	ring     transport.Ring[sent]   // of packets from una to next
	flights  transport.Flights      // stale ones among them
	repairs  transport.Queue[int64] // packets to be sent again; stale ones among them
	inFlight int64                  // packets of which nothing was heard since they were sent
	refused  int64                  // packets that a NACK was for and that are not sent again yet
}

// pulling is what the sender may send, and what it waits for.
type pulling struct {
	free     int64               // new packets that need no PULL
	credit   int64               // packets that PULLs have asked for and that were not sent yet; below 0: sent without
	pulled   int64               // highest PULL
	answered int64               // ACKs and NACKs, for each of which there will be a PULL
	returned int64               // packets of the first window whose headers switches have sent back
	bounced  int64               // all whose headers switches have sent back
	probing  bool                // a PULL may be lost: one packet goes without
	helpedAt unit.Time           // when the timer last helped
	wait     transport.RoundTrip // from NACKs to the PULLs that send their packets again
}

// prober has the probes of a sender without a timeout of its own.
type prober struct {
	loss      transport.LossTimer
	dueAt     unit.Time              // when loss last asked for a probe
	asked     transport.Queue[probe] // by time
	lastProbe uint8                  // number of the latest probe
}

// planned is what is sent next, and when the retransmission timer expires.
type planned struct {
	plan    int64 // −1: nothing
	repair  bool  // plan is at the head of repairs
	timerAt unit.Time
}

// sent is a packet that is not acknowledged.
type sent struct {
	at    unit.Time // when it was last sent or, if it waits to be sent again, why it does was heard
	flags uint8
}

// What there is of a packet, as bits of sent.flags.
const (
	flying   uint8 = 1 << iota // sent, and nothing heard
	waiting                    // to be sent again
	nacked                     // waiting because of a NACK
	acked                      // received
	unasked                    // sent without a PULL, in the first window
	repeated                   // sent more than once: its RTT says nothing (Karn)
	expired                    // waiting because no answer arrived in time
	proven                     // waiting because a probe that was sent later was answered
)

func newSender(f transport.Flow, c Config, e ends) *Sender {
	s := &Sender{ends: e, config: c, start: f.Start, stop: f.Stop, pulling: pulling{free: int64(c.Window)},
		outstanding: outstanding{ring: transport.NewRing[sent](firstRing)}, planned: planned{timerAt: unit.Never},
		timer: transport.RTO{BaseRTT: f.Path.BaseRTT, Floor: c.shortestRTO(), From: f.Start}}
	if s.stop == 0 {
		s.stop = unit.Never
	}
	if c.RTOMin == 0 {
		s.timer.First = transport.FirstTimeout(f.Path.BaseRTT)
	}
	s.loss = transport.NewLossTimer(&f.Path, max(c.NIC.Ack, c.NIC.Nack))
	if s.loss.Used = c.RTOMin == 0 && s.loss.FindsLosses(); s.loss.Used {
		s.timer.Floor = transport.MinProbeWait
	}
	s.counters.Finished, s.counters.DelayMin = unit.Never, unit.Never
	s.schedule(f.Start)
	return s
}

// firstRing is for how many packets there is room before any is sent.
const firstRing = 64

// Counters returns what was counted. SentBytes is what was sent for the first time;
// Finished is when the last byte was acknowledged.
func (s *Sender) Counters() *transport.Counters { return &s.counters }

// Timeouts returns the number of expiries of the retransmission timer since the start, and of probes that proved a
// loss.
func (s *Sender) Timeouts() int64 { return s.timer.Timeouts }

// Returned returns the number of headers that switches have sent back and that were of packets in flight.
func (s *Sender) Returned() int64 { return s.bounced }

// Gauge is the first window, in payload, and what is in flight: there is no other window,
// and no rate of the sender's own.
func (s *Sender) Gauge() transport.Gauge {
	return transport.Gauge{Window: unit.Bytes(int64(s.config.Window) * s.payload),
		InFlight: unit.Bytes(s.inFlight * s.payload)}
}

func (o *outstanding) at(n int64) *sent { return o.ring.At(n) }

// isLive reports whether transmission f is its packet's latest one, and has no answer.
func (o *outstanding) isLive(f *transport.Flight) bool {
	if f.Packet < o.una {
		return false
	}
	x := o.at(f.Packet)
	return x.flags&flying != 0 && x.at == f.At
}

// oldest returns the first transmission without an answer; nil: there is none.
func (o *outstanding) oldest() *transport.Flight {
	return o.flights.OldestLive(func(f *transport.Flight) bool { return o.isLive(f) })
}

// schedule decides what is sent next, and when the retransmission timer expires. It is
// called after everything that happens.
func (s *Sender) schedule(now unit.Time) {
	s.plan, s.repair, s.timerAt = -1, false, unit.Never
	s.loss.Due = s.loss.Due && s.inFlight > 0
	if s.una == s.packets {
		return
	}
	for s.repairs.Len() > 0 {
		if n := *s.repairs.Head(); n >= s.una && s.at(n).flags&waiting != 0 {
			break
		}
		s.repairs.Pop()
	}
	fresh := s.next < s.packets && s.next-s.una < mostOut && max(now, s.start) < s.stop
	switch {
	// NDP §3.2: before what is new
	case s.repairs.Len() > 0 && (s.credit > 0 || s.probing || s.inFlight == 0 && !s.expecting()):
		s.plan, s.repair = *s.repairs.Head(), true
	case fresh && (s.free > 0 || s.credit > 0 || s.probing):
		s.plan = s.next
	}
	if f := s.oldest(); f != nil {
		if s.timerAt = f.At + s.timer.Timeout(); s.loss.Used {
			s.timerAt = s.lossTimeout(f)
		}
	}
	if s.plan < 0 && s.inFlight == 0 && (s.repairs.Len() > 0 || fresh) {
		s.timerAt = s.timer.From + s.pullTimeout()
	}
	s.timerAt = max(s.timerAt, now)
}

// expecting reports whether PULLs are to come. While there are new packets that wait for them
// there is one for each packet that has arrived, whole or not; then for NACKed ones.
// With none to come and nothing out, a packet whose header was sent back is sent again at
// once: the receiver may know of none (NDP §3.2.4; htsim's processRTS).
func (s *Sender) expecting() bool {
	if s.packets-s.next > s.free {
		return s.answered > s.pulled
	}
	return s.refused > 0
}

// pullTimeout is for how long a sender that waits for a PULL may hear nothing: it has waited longer for others.
func (s *Sender) pullTimeout() unit.Time {
	return s.timer.After(max(s.config.shortestRTO(), s.wait.Timeout()), s.timer.Backoff)
}

// measureWait takes in how long a packet has waited for a PULL since it was NACKed. A wait in which the timer has
// helped counts as no longer than the timer without its doubling: PULLs that are lost would multiply it.
func (s *Sender) measureWait(now, nacked unit.Time) {
	wait := now - nacked
	if nacked <= s.helpedAt {
		wait = min(wait, max(s.config.shortestRTO(), s.timer.Trip.Timeout(), s.wait.Timeout()))
	}
	s.wait.Measure(max(wait, 1))
}

// NextSend is when Emit has something to send.
func (s *Sender) NextSend() unit.Time {
	if s.plan < 0 && !s.loss.Due {
		return unit.Never
	}
	return s.start
}

// Emit sends what was planned. The acknowledgement field of data counts the
// packets of the first window that came back; FIN says that what is new needs no further PULL.
func (s *Sender) Emit(now unit.Time, p *packet.Packet) {
	if s.loss.Due {
		s.emitProbe(now, p)
		return
	}
	n := s.plan
	if n < 0 {
		return
	}
	if s.repair {
		s.repairs.Pop()
		x := s.at(n)
		p.Resent = packet.ResentSwitch // which has trimmed it or returned its header
		if x.flags&expired != 0 {
			p.Resent = packet.ResentTimeout
		} else if x.flags&proven != 0 {
			p.Resent = packet.ResentProbe
		}
		if x.flags&nacked != 0 {
			s.refused--
			s.measureWait(now, x.at)
		}
		*x = sent{now, flying | repeated}
		s.credit--
		s.counters.Retransmitted++
	} else {
		s.ring.Reserve(s.una, s.next)
		s.next++
		*s.at(n) = sent{now, flying}
		if s.free > 0 {
			s.free--
			s.at(n).flags |= unasked
		} else {
			s.credit--
		}
		s.counters.SentBytes += unit.Bytes(s.bytes(n))
	}
	s.flights.Record(n, now)
	s.inFlight++
	s.counters.SentPackets++
	s.timer.From, s.probing = now, false
	flags := packet.Trimmable
	if s.packets-s.next <= s.free {
		flags |= packet.FIN
	}
	s.fill(p, packet.Data, s.seq(n), s.returned, s.bytes(n), flags)
	s.schedule(now)
}

// Receive takes an ACK, a NACK, a PULL, or a header that a switch has sent back. What is of
// another flow, or about packets that are not out, changes nothing.
func (s *Sender) Receive(now unit.Time, p *packet.Packet) bool {
	s.counters.ReceivedPackets++
	if !s.mine(p) || p.Payload != 0 || p.Extended() {
		return false
	}
	switch p.Kind {
	case packet.Ack, packet.Nack:
		about := s.number(p.Seq, s.una)
		if !s.acknowledged(now, p) || about < 0 || about >= s.next {
			return false
		}
		s.answered++
		if probeNumber(p) > 0 && s.receiveProbeReply(now, about, p) || about < s.una {
			break
		}
		if x := s.at(about); p.Kind == packet.Ack {
			s.sample(now, x, p)
			s.deliver(x)
			s.advance(now)
		} else if x.flags&flying != 0 {
			s.sample(now, x, p)
			s.inFlight--
			s.refused++
			s.again(now, about, nacked)
		}
	case packet.Notice:
		if !s.acknowledged(now, p) {
			return false
		}
		if pull := unwrap(p.Seq, s.pulled); pull > s.pulled && pull-s.pulled <= mostOut {
			s.credit += pull - s.pulled
			s.pulled = pull
		}
	case packet.Data:
		n := s.number(p.Seq, s.una)
		if p.TCP.Flags&packet.Returned == 0 || n < s.una || n >= s.next || s.at(n).flags&flying == 0 {
			return false
		}
		s.restartTimers(now)
		s.inFlight--
		s.bounced++
		if s.at(n).flags&unasked != 0 {
			s.returned++
		} else { // the PULL that asked for it is not spent
			s.credit++
		}
		s.again(now, n, 0)
	default:
		return false
	}
	s.schedule(now)
	return false
}

func (s *Sender) restartTimers(now unit.Time) {
	s.timer.Restart(now)
	s.loss.Answered()
}

// sample measures the round trip by packet x, which p answers, unless p answers a probe for it.
func (s *Sender) sample(now unit.Time, x *sent, p *packet.Packet) {
	if x.flags&(flying|repeated) == flying && probeNumber(p) == 0 {
		s.timer.Trip.Measure(max(now-x.at, 1))
	}
}

// acknowledged takes the cumulative acknowledgement that every packet of the receiver
// has. It returns false if that is of what was never sent.
func (s *Sender) acknowledged(now unit.Time, p *packet.Packet) bool {
	ack := s.number(p.Ack, s.una)
	if ack < 0 || ack > s.next {
		return false
	}
	s.restartTimers(now)
	about := s.number(p.Seq, s.una)
	for ; s.una < ack; s.una++ {
		x := s.at(s.una)
		if s.una == about && p.Kind == packet.Ack {
			s.sample(now, x, p)
		}
		s.deliver(x)
	}
	s.advance(now)
	return true
}

// advance goes on to the first packet that has not arrived.
func (s *Sender) advance(now unit.Time) {
	for s.una < s.next && s.at(s.una).flags&acked != 0 {
		s.una++
	}
	if s.una == s.packets && s.counters.Finished == unit.Never {
		s.counters.Finished = now
	}
}

// deliver notes that a packet has arrived.
func (s *Sender) deliver(x *sent) {
	if x.flags&flying != 0 {
		s.inFlight--
	}
	if x.flags&nacked != 0 {
		s.refused--
	}
	x.flags = acked
}

// again notes that packet n, which is in flight no more, is to be sent again.
func (s *Sender) again(now unit.Time, n int64, why uint8) {
	*s.at(n) = sent{now, waiting | why}
	s.repairs.Push(n)
}

// NextTimer is when the retransmission timer expires.
func (s *Sender) NextTimer() unit.Time { return s.timerAt }

// Advance sends again what the receiver has not answered, beside all PULLs, for none will come
// for it; or, when it is a PULL that should have come, one packet, so that another one comes.
func (s *Sender) Advance(now unit.Time) {
	if now < s.timerAt {
		return
	}
	if s.loss.Used && s.probesFirst(now) {
		s.schedule(now)
		return
	}
	s.timer.Timeouts++
	due := now - s.timer.Timeout()
	if s.loss.Used {
		due = now - s.loss.Limit
		s.loss.Expire()
	}
	s.probing = s.inFlight == 0
	for f := s.oldest(); f != nil && f.At <= due; f = s.oldest() {
		s.inFlight--
		s.credit++
		s.again(now, f.Packet, expired)
	}
	s.timer.Expire(now)
	s.helpedAt = now
	s.schedule(now)
}
