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

	una      int64                   // first packet that is not acknowledged
	next     int64                   // first packet never sent
	ring     []sent                  // of packets from una to next
	flights  transport.Queue[flight] // transmissions by time; stale ones among them
	repairs  transport.Queue[int64]  // packets to be sent again; stale ones among them
	inFlight int64                   // packets of which nothing was heard since they were sent
	refused  int64                   // packets that a NACK was for and that are not sent again yet
	free     int64                   // new packets that need no PULL
	credit   int64                   // packets that PULLs have asked for and that were not sent yet; below 0: sent without
	pulled   int64                   // highest PULL
	answered int64                   // ACKs and NACKs, for each of which there will be a PULL
	returned int64                   // packets of the first window whose headers switches have sent back
	bounced  int64                   // all whose headers switches have sent back
	probing  bool                    // a PULL may be lost: one packet goes without
	quiet    unit.Time               // when something was last heard or sent
	backoff  int                     // timeouts since something was heard
	helpedAt unit.Time               // when the timer last helped
	base     unit.Time               // round trip without queues
	round    transport.RoundTrip
	wait     transport.RoundTrip // from NACKs to the PULLs that send their packets again

	loss      transport.LossTimer
	probes    bool                   // no timeout of its own: it has loss
	proves    bool                   // a probe's answer proves losses: the path keeps the order
	probeDue  bool                   // loss asks for a probe
	dueAt     unit.Time              // when it last did
	asked     transport.Queue[probe] // by time
	lastProbe uint8                  // number of the latest probe

	plan     int64 // what is sent next, −1: nothing
	repair   bool  // plan is at the head of repairs
	timerAt  unit.Time
	timeouts int64
	counters transport.Counters
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

// flight is a transmission.
type flight struct {
	n  int64
	at unit.Time
}

func newSender(f transport.Flow, c Config, e ends) *Sender {
	s := &Sender{ends: e, config: c, start: f.Start, stop: f.Stop, free: int64(c.Window), ring: make([]sent, 64),
		quiet: f.Start, timerAt: unit.Never}
	if s.stop == 0 {
		s.stop = unit.Never
	}
	s.loss = transport.NewLossTimer(transport.LossLimit(&f.Path, max(c.NIC.Ack, c.NIC.Nack)))
	s.proves = !f.Path.Reorders
	s.probes = c.RTOMin == 0 && (s.proves || s.loss.Limit < unit.Never)
	s.base = f.Path.BaseRTT
	s.counters.Finished, s.counters.DelayMin = unit.Never, unit.Never
	s.schedule(f.Start)
	return s
}

// Counters returns what was counted. SentBytes is what was sent for the first time;
// Finished is when the last byte was acknowledged.
func (s *Sender) Counters() *transport.Counters { return &s.counters }

// Timeouts is how often a timer had to help. Returned is how many headers switches have
// sent back.
func (s *Sender) Timeouts() int64 { return s.timeouts }
func (s *Sender) Returned() int64 { return s.bounced }

// Gauge is the first window, in payload, and what is in flight: there is no other window,
// and no rate of the sender's own.
func (s *Sender) Gauge() transport.Gauge {
	return transport.Gauge{Window: unit.Bytes(int64(s.config.Window) * s.payload),
		InFlight: unit.Bytes(s.inFlight * s.payload)}
}

func (s *Sender) at(n int64) *sent { return &s.ring[n&int64(len(s.ring)-1)] }

// schedule decides what is sent next, and when the retransmission timer expires. It is
// called after everything that happens.
func (s *Sender) schedule(now unit.Time) {
	s.plan, s.repair, s.timerAt = -1, false, unit.Never
	s.probeDue = s.probeDue && s.inFlight > 0
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
	for s.flights.Len() > 0 {
		f := s.flights.Head()
		if f.n >= s.una && s.at(f.n).flags&flying != 0 && s.at(f.n).at == f.at {
			if s.timerAt = f.at + s.rto(0); s.probes {
				s.timerAt = s.lossTimeout(f)
			}
			break
		}
		s.flights.Pop()
	}
	if s.plan < 0 && s.inFlight == 0 && (s.repairs.Len() > 0 || fresh) {
		s.timerAt = s.quiet + s.rto(s.wait.Timeout())
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

// rto is how long the receiver may be silent: at least RTOMin, the timeout of the measured round trips
// (transport.RoundTrip) and least, doubled for each timeout since its last packet. Before the first sample of a flow
// without a timeout of its own the round trip without queues counts as it (RFC 6298 §2.2).
func (s *Sender) rto(least unit.Time) unit.Time {
	if s.config.RTOMin == 0 && s.round.Smoothed == 0 {
		least = max(least, 3*s.base)
	}
	return max(s.config.shortestRTO(), s.round.Timeout(), least) << min(s.backoff, 6)
}

// measureWait takes in how long a packet has waited for a PULL since it was NACKed. A wait in which the timer has
// helped counts as no longer than the timer without its doubling: PULLs that are lost would multiply it.
func (s *Sender) measureWait(now, nacked unit.Time) {
	wait := now - nacked
	if nacked <= s.helpedAt {
		wait = min(wait, max(s.config.shortestRTO(), s.round.Timeout(), s.wait.Timeout()))
	}
	s.wait.Measure(max(wait, 1))
}

// NextSend is when Emit has something to send.
func (s *Sender) NextSend() unit.Time {
	if s.plan < 0 && !s.probeDue {
		return unit.Never
	}
	return s.start
}

// Emit sends what was planned. The acknowledgement field of data counts the
// packets of the first window that came back; FIN says that what is new needs no further PULL.
func (s *Sender) Emit(now unit.Time, p *packet.Packet) {
	if s.probeDue {
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
		if s.next-s.una == int64(len(s.ring)) {
			s.grow()
		}
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
	s.flights.Push(flight{n, now})
	s.inFlight++
	s.counters.SentPackets++
	s.quiet, s.probing = now, false
	flags := packet.Trimmable
	if s.packets-s.next <= s.free {
		flags |= packet.FIN
	}
	s.fill(p, packet.Data, s.seq(n), s.returned, s.bytes(n), flags)
	s.schedule(now)
}

// grow doubles the ring.
func (s *Sender) grow() {
	ring := make([]sent, 2*len(s.ring))
	for n := s.una; n < s.next; n++ {
		ring[n&int64(len(ring)-1)] = *s.at(n)
	}
	s.ring = ring
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
		s.heard(now)
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

func (s *Sender) heard(now unit.Time) {
	s.quiet, s.backoff = now, 0
	s.loss.Answered()
}

// sample measures the round trip by packet x, which p answers, unless p answers a probe for it.
func (s *Sender) sample(now unit.Time, x *sent, p *packet.Packet) {
	if x.flags&(flying|repeated) == flying && probeNumber(p) == 0 {
		s.round.Measure(max(now-x.at, 1))
	}
}

// acknowledged takes the cumulative acknowledgement that every packet of the receiver
// has. It returns false if that is of what was never sent.
func (s *Sender) acknowledged(now unit.Time, p *packet.Packet) bool {
	ack := s.number(p.Ack, s.una)
	if ack < 0 || ack > s.next {
		return false
	}
	s.heard(now)
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
	if s.probes && s.probesFirst(now) {
		s.schedule(now)
		return
	}
	s.timeouts++
	due := now - s.rto(0)
	if s.probes {
		due = now - s.loss.Limit
		s.loss.Expire()
	}
	s.probing = s.inFlight == 0
	for s.flights.Len() > 0 {
		f := *s.flights.Head()
		live := f.n >= s.una && s.at(f.n).flags&flying != 0 && s.at(f.n).at == f.at
		if live && f.at > due {
			break
		}
		if s.flights.Pop(); live {
			s.inFlight--
			s.credit++
			s.again(now, f.n, expired)
		}
	}
	s.backoff++
	s.quiet, s.helpedAt = now, now
	s.schedule(now)
}
