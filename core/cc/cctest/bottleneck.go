package cctest

import (
	"slices"

	"weir/core/cc"
	"weir/core/telemetry"
	"weir/core/unit"
)

// Reactions of a Bottleneck's sender to a NACK; transports call the parameter nacks.
const (
	Resend = "resend" // it sends the lost packets again, and OnNotice is called
	Reduce = "loss"   // and OnLoss, as for a loss, once a round trip
)

// Bottleneck is a small closed loop: senders with controllers at one queue. The queue marks and trims, writes
// telemetry and sends NACKs directly to the senders. Each packet is acknowledged, and only trimmed packets are lost,
// so there are no timeouts. It is exact in time and deterministic.
type Bottleneck struct {
	Rate   unit.Rate // of frames
	Frame  unit.Bytes
	Buffer int // packets that may wait; others are trimmed
	MarkAt int // queue length in packets from which an arriving packet is marked; 0: never
	Flows  []*Sender
	// Supply returns the supply in the NACK of a flow; nil: no supply.
	Supply func(b *Bottleneck, s *Sender) unit.Rate

	Now      unit.Time
	MaxQueue int // max packets that have waited; a test may reset it to 0
	Trimmed  int // packets

	queue   []passage
	busy    bool
	txBytes uint64       // bytes
	events  []occurrence // by time; events of one time in the order of their addition
}

// Sender is one flow through a Bottleneck. Its packets are of MSS bytes.
type Sender struct {
	Controller cc.Controller
	RTT        unit.Time // on the empty path, without the time that the bottleneck sends
	NIC        unit.Rate // of frames
	Nacks      string    // reaction to NACKs: Resend or Reduce
	ECN        bool      // marks are echoed
	CNP        unit.Time // marks are answered by CNPs instead, spaced by this; 0: they are not
	Delivered  int64     // packets

	index        int
	packets      []packetState // by number
	resend       []int
	una, next    int
	inFlight     int
	deliveredCE  int64
	lostTotal    int64
	deliveredAt  unit.Time
	lastSend     unit.Time // time of the last sent packet
	started      bool
	sendDue      unit.Time // when a send is due; 0: no send is due
	timer        unit.Time
	srtt, minRTT unit.Time
	state        cc.RecoveryState
	recoveryEnd  int // recovery or reduction ends at this packet
	nackedAt     unit.Time
	hasNack      bool
	cnpAt        unit.Time
	hasCNP       bool
}

// packetState is a sender's state of one packet.
type packetState struct {
	sent, deliveredAt           unit.Time
	delivered                   int64
	acknowledged, retransmitted bool
}

// passage is a packet on its way: the sender's index and the packet's number.
type passage struct {
	flow, number int
	marked       bool
}

// occurrence is an event of the loop.
type occurrence struct {
	time unit.Time
	kind byte // 's' send, 'q' into the queue, 'd' the port is free, 'a' ACK, 'n' NACK, 'c' CNP, 't' timer
	passage
	hop telemetry.Hop
}

// schedule inserts an event behind all others of its time. Few events are pending at once: one for each packet in
// flight, and a timer for each flow.
func (b *Bottleneck) schedule(o occurrence) {
	i, _ := slices.BinarySearchFunc(b.events, o.time, func(e occurrence, at unit.Time) int {
		if e.time <= at {
			return -1
		}
		return 1
	})
	b.events = slices.Insert(b.events, i, o)
}

// InFlight returns the flow's packets that are neither delivered nor known to be lost.
func (s *Sender) InFlight() int { return s.inFlight }

// Run runs the loop up to the time end, with the events at that time. The first call starts the flows. A later call
// continues.
func (b *Bottleneck) Run(end unit.Time) {
	for i, s := range b.Flows {
		if !s.started {
			s.index, s.started, s.timer, s.lastSend = i, true, unit.Never, -unit.Second
			b.sendPackets(s)
		}
	}
	for len(b.events) > 0 && b.events[0].time <= end {
		o := b.events[0]
		b.events = b.events[1:]
		b.Now = o.time
		s := b.Flows[o.flow]
		switch o.kind {
		case 's':
			if s.sendDue != o.time {
				continue // it has been moved
			}
			s.sendDue = 0
		case 'q':
			b.enqueuePacket(s, o.number)
			continue
		case 'd':
			b.busy = false
			b.sendNext()
			continue
		case 'a':
			b.handleAck(s, &o)
		case 'n':
			b.handleNack(s, o.number)
		case 'c':
			s.Controller.OnNotice(b.Now, cc.Notice{Kind: cc.CNPNotice, Seq: int64(o.number) * MSS})
		case 't':
			if s.timer != o.time {
				continue
			}
			s.timer = unit.Never
			if s.Controller.Decision().NextTimer <= b.Now {
				s.Controller.OnTimer(b.Now)
			}
		}
		b.sendPackets(s)
	}
	b.Now = end
}

// sendPackets sends as many packets as window, rate and NIC allow, and schedules the next send when rate or NIC allow
// it.
func (b *Bottleneck) sendPackets(s *Sender) {
	for {
		d := s.Controller.Decision()
		if d.NextTimer != s.timer && d.NextTimer != unit.Never {
			s.timer = max(d.NextTimer, b.Now)
			b.schedule(occurrence{time: s.timer, kind: 't', passage: passage{flow: s.index}})
		}
		if (s.inFlight+1)*MSS > int(d.Window) && s.inFlight > 0 {
			return
		}
		free := s.lastSend + unit.TransmitTime(b.Frame, s.NIC)
		if d.Rate > 0 {
			free = max(free, s.lastSend+unit.TransmitTime(MSS, d.Rate))
		}
		if free > b.Now {
			if s.sendDue != free {
				s.sendDue = free
				b.schedule(occurrence{time: free, kind: 's', passage: passage{flow: s.index}})
			}
			return
		}
		n, again := s.next, len(s.resend) > 0
		if again {
			n, s.resend = s.resend[0], s.resend[1:]
		} else {
			s.next++
			s.packets = append(s.packets, packetState{})
		}
		s.Controller.OnSend(b.Now, cc.Sent{Bytes: MSS, InFlight: s.inFlight, Retransmitted: again})
		if s.inFlight == 0 {
			s.deliveredAt = b.Now
		}
		s.packets[n] = packetState{sent: b.Now, deliveredAt: s.deliveredAt, delivered: s.Delivered, retransmitted: again}
		s.inFlight++
		s.lastSend, s.sendDue = b.Now, 0
		b.schedule(occurrence{time: b.Now + s.RTT/4, kind: 'q', passage: passage{flow: s.index, number: n}})
	}
}

// enqueuePacket puts packet n into the queue, or trims it. The NACK then takes the way back at once.
func (b *Bottleneck) enqueuePacket(s *Sender, n int) {
	if b.busy && len(b.queue) >= b.Buffer {
		b.Trimmed++
		b.schedule(occurrence{time: b.Now + s.RTT/4, kind: 'n', passage: passage{flow: s.index, number: n}})
		return
	}
	marked := b.MarkAt > 0 && len(b.queue) >= b.MarkAt
	b.queue = append(b.queue, passage{s.index, n, marked})
	b.sendNext()
	b.MaxQueue = max(b.MaxQueue, len(b.queue))
}

// sendNext sends the next packet of the queue, if the port is free, and schedules its acknowledgement.
func (b *Bottleneck) sendNext() {
	if b.busy || len(b.queue) == 0 {
		return
	}
	p := b.queue[0]
	b.queue = b.queue[1:]
	b.busy = true
	s := b.Flows[p.flow]
	h := telemetry.Hop{Switch: 1, Port: 1, Rate: b.Rate, Time: b.Now, TxBytes: b.txBytes,
		Queue: unit.Bytes(len(b.queue)) * b.Frame, Flags: telemetry.NoSojourn}
	b.txBytes += uint64(b.Frame)
	done := b.Now + unit.TransmitTime(b.Frame, b.Rate)
	b.schedule(occurrence{time: done, kind: 'd'})
	back := done + s.RTT - s.RTT/4
	if p.marked && s.CNP > 0 {
		if !s.hasCNP || done-s.cnpAt >= s.CNP {
			s.cnpAt, s.hasCNP = done, true
			b.schedule(occurrence{time: back, kind: 'c', passage: p})
		}
		p.marked = false
	}
	p.marked = p.marked && s.ECN
	b.schedule(occurrence{time: back, kind: 'a', passage: p, hop: h})
}

// newLoss returns a Loss of a kind with the sender's counts.
func (s *Sender) newLoss(kind cc.LossKind) cc.Loss {
	return cc.Loss{Kind: kind, InFlight: s.inFlight, Lost: len(s.resend), Next: int64(s.next) * MSS,
		LostTotal: s.lostTotal}
}

// handleAck processes the arrival of an ACK, o, at sender s. It updates the sender's counts and round trips, and calls
// OnAck; OnLoss for the first mark of a window and for the end of a recovery.
func (b *Bottleneck) handleAck(s *Sender, o *occurrence) {
	p := &s.packets[o.number]
	prior := s.inFlight
	d := s.Controller.Decision()
	limited := d.IsLimited(int64(s.inFlight)*MSS, MSS)
	p.acknowledged = true
	s.inFlight--
	s.Delivered++
	before := s.una
	for s.una < s.next && s.packets[s.una].acknowledged {
		s.una++
	}
	rtt := b.Now - p.sent
	if s.srtt == 0 {
		s.srtt, s.minRTT = rtt, rtt
	}
	s.srtt += (rtt - s.srtt) / 8
	s.minRTT = min(s.minRTT, rtt)
	if o.marked {
		s.deliveredCE++
		if s.state == cc.Open {
			s.state, s.recoveryEnd = cc.Reduced, s.next
			s.Controller.OnLoss(b.Now, s.newLoss(cc.ECNEcho))
		}
	}
	a := &cc.Ack{Packets: 1, Bytes: MSS, Advanced: s.una > before, Limited: limited, FirstUnacked: int64(s.una) * MSS,
		Next: int64(s.next) * MSS, Seq: int64(o.number+1) * MSS, Delivered: s.Delivered,
		RTT: cc.RTT{Sample: rtt, Smoothed: s.srtt, Min: s.minRTT},
		Delivery: cc.Delivery{Packets: int(s.Delivered - p.delivered), Interval: b.Now - p.deliveredAt,
			PriorDelivered: p.delivered, Retransmitted: p.retransmitted},
		Flight:    cc.Flight{Before: prior, After: s.inFlight, NextSend: b.Now},
		Losses:    cc.Losses{Total: s.lostTotal, State: s.state},
		ECN:       cc.ECN{Echo: o.marked, Delivered: s.deliveredCE},
		Telemetry: cc.Telemetry{Hops: []telemetry.Hop{o.hop}, Path: 1}}
	s.deliveredAt = b.Now
	s.Controller.OnAck(b.Now, a)
	if s.state != cc.Open && s.una >= s.recoveryEnd {
		s.state = cc.Open
		s.Controller.OnLoss(b.Now, s.newLoss(cc.Recovered))
	}
}

// handleNack processes the arrival of a NACK: packet n is lost and is sent next. It calls OnNotice and, with Reduce,
// once a round trip OnLoss.
func (b *Bottleneck) handleNack(s *Sender, n int) {
	s.inFlight--
	s.lostTotal++
	s.resend = append(s.resend, n)
	notice := cc.Notice{Kind: cc.NackNotice, Seq: int64(n) * MSS, Lost: MSS}
	if b.Supply != nil {
		notice.Supply = b.Supply(b, s)
	}
	s.Controller.OnNotice(b.Now, notice)
	if s.Nacks != Reduce || s.hasNack && b.Now-s.nackedAt < s.srtt {
		return
	}
	s.nackedAt, s.hasNack = b.Now, true
	if s.state == cc.Reduced {
		s.Controller.OnLoss(b.Now, s.newLoss(cc.LossInReduction))
		return
	}
	s.state, s.recoveryEnd = cc.Recovery, s.next
	s.Controller.OnLoss(b.Now, s.newLoss(cc.FastRecovery))
}
