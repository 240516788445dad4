package cctest

import (
	"slices"

	"weir/core/cc"
	"weir/core/telemetry"
	"weir/core/unit"
)

// What a Bottleneck's sender does when a NACK comes; transports call it nacks.
const (
	Resend = "resend" // it sends again what is gone, and OnNotice is called
	Reduce = "loss"   // and OnLoss, as for a loss, once a round trip
)

// Bottleneck is a small closed loop: senders with controllers at one queue, which marks
// and trims, writes telemetry and sends NACKs straight to the senders. Each packet is
// acknowledged; nothing else is lost, so there are no timeouts. It is exact in time, and
// the same each time.
type Bottleneck struct {
	Rate   unit.Rate // of frames
	Frame  unit.Bytes
	Buffer int // packets that may wait; what finds no room is trimmed
	MarkAt int // waiting packets from which an arriving one is marked; 0: none are
	Flows  []*Sender
	// Supply is what a NACK says for a flow; nil: nothing.
	Supply func(b *Bottleneck, s *Sender) unit.Rate

	Now     unit.Time
	Most    int // packets that have waited at most; may be set to 0
	Trimmed int // packets

	queue  []passage
	busy   bool
	tx     uint64       // bytes
	events []occurrence // by time, those of one time as they were added
}

// Sender is one flow through a Bottleneck. Its packets are of MSS bytes.
type Sender struct {
	Controller cc.Controller
	RTT        unit.Time // on the empty path, without the time that the bottleneck sends
	NIC        unit.Rate // of frames
	Nacks      string    // Resend, Reduce
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
	last         unit.Time // when a packet was sent last
	started      bool
	waiting      unit.Time // a send is due then; 0: none is
	timer        unit.Time
	srtt, least  unit.Time
	state        cc.RecoveryState
	high         int // recovery or reduction ends there
	nacked       unit.Time
	everNacked   bool
	notifiedAt   unit.Time
	everNotified bool
}

type packetState struct {
	sent, deliveredAt unit.Time
	delivered         int64
	done, again       bool
}

type passage struct {
	flow, number int
	marked       bool
}

type occurrence struct {
	at   unit.Time
	kind byte // 's' send, 'q' into the queue, 'd' the port is free, 'a' ACK, 'n' NACK, 'c' CNP, 't' timer
	passage
	hop telemetry.Hop
}

// add puts what will happen into its place by time, behind all else of that time. Few events
// are under way at once: for each packet in flight one, and a timer for each flow.
func (b *Bottleneck) add(o occurrence) {
	i, _ := slices.BinarySearchFunc(b.events, o.at, func(e occurrence, at unit.Time) int {
		if e.at <= at {
			return -1
		}
		return 1
	})
	b.events = slices.Insert(b.events, i, o)
}

// InFlight is the flow's packets that are neither delivered nor known to be lost.
func (s *Sender) InFlight() int { return s.inFlight }

// Run lets the loop run until a time.
func (b *Bottleneck) Run(until unit.Time) {
	for i, s := range b.Flows {
		if !s.started {
			s.index, s.started, s.timer, s.last = i, true, unit.Never, -unit.Second
			b.send(s)
		}
	}
	for len(b.events) > 0 && b.events[0].at <= until {
		o := b.events[0]
		b.events = b.events[1:]
		b.Now = o.at
		s := b.Flows[o.flow]
		switch o.kind {
		case 's':
			if s.waiting != o.at {
				continue // it has been moved
			}
			s.waiting = 0
		case 'q':
			b.arrive(s, o.number)
			continue
		case 'd':
			b.busy = false
			b.serve()
			continue
		case 'a':
			b.acknowledge(s, &o)
		case 'n':
			b.notify(s, o.number)
		case 'c':
			s.Controller.OnNotice(b.Now, cc.Notice{Kind: cc.CNPNotice, Seq: int64(o.number) * MSS})
		case 't':
			if s.timer != o.at {
				continue
			}
			s.timer = unit.Never
			if s.Controller.Decision().NextTimer <= b.Now {
				s.Controller.OnTimer(b.Now)
			}
		}
		b.send(s)
	}
	b.Now = until
}

// send sends what window, rate and NIC allow, and comes back when rate or NIC do.
func (b *Bottleneck) send(s *Sender) {
	for {
		d := s.Controller.Decision()
		if d.NextTimer != s.timer && d.NextTimer != unit.Never {
			s.timer = max(d.NextTimer, b.Now)
			b.add(occurrence{at: s.timer, kind: 't', passage: passage{flow: s.index}})
		}
		if (s.inFlight+1)*MSS > int(d.Window) && s.inFlight > 0 {
			return
		}
		free := s.last + unit.TransmitTime(b.Frame, s.NIC)
		if d.Rate > 0 {
			free = max(free, s.last+unit.TransmitTime(MSS, d.Rate))
		}
		if free > b.Now {
			if s.waiting != free {
				s.waiting = free
				b.add(occurrence{at: free, kind: 's', passage: passage{flow: s.index}})
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
		s.packets[n] = packetState{sent: b.Now, deliveredAt: s.deliveredAt, delivered: s.Delivered, again: again}
		s.inFlight++
		s.last, s.waiting = b.Now, 0
		b.add(occurrence{at: b.Now + s.RTT/4, kind: 'q', passage: passage{flow: s.index, number: n}})
	}
}

// arrive puts a packet into the queue, or trims it: the NACK goes back the way it came.
func (b *Bottleneck) arrive(s *Sender, n int) {
	if b.busy && len(b.queue) >= b.Buffer {
		b.Trimmed++
		b.add(occurrence{at: b.Now + s.RTT/4, kind: 'n', passage: passage{flow: s.index, number: n}})
		return
	}
	marked := b.MarkAt > 0 && len(b.queue) >= b.MarkAt
	b.queue = append(b.queue, passage{s.index, n, marked})
	b.serve()
	b.Most = max(b.Most, len(b.queue))
}

// serve sends the next packet; it is received and acknowledged.
func (b *Bottleneck) serve() {
	if b.busy || len(b.queue) == 0 {
		return
	}
	p := b.queue[0]
	b.queue = b.queue[1:]
	b.busy = true
	s := b.Flows[p.flow]
	h := telemetry.Hop{Switch: 1, Port: 1, Rate: b.Rate, Time: b.Now, TxBytes: b.tx,
		Queue: unit.Bytes(len(b.queue)) * b.Frame, Flags: telemetry.NoSojourn}
	b.tx += uint64(b.Frame)
	done := b.Now + unit.TransmitTime(b.Frame, b.Rate)
	b.add(occurrence{at: done, kind: 'd'})
	back := done + s.RTT - s.RTT/4
	if p.marked && s.CNP > 0 {
		if !s.everNotified || done-s.notifiedAt >= s.CNP {
			s.notifiedAt, s.everNotified = done, true
			b.add(occurrence{at: back, kind: 'c', passage: p})
		}
		p.marked = false
	}
	p.marked = p.marked && s.ECN
	b.add(occurrence{at: back, kind: 'a', passage: p, hop: h})
}

func (s *Sender) loss(kind cc.LossKind) cc.Loss {
	return cc.Loss{Kind: kind, InFlight: s.inFlight, Lost: len(s.resend), Next: int64(s.next) * MSS,
		LostTotal: s.lostTotal}
}

// acknowledge is an ACK's arrival.
func (b *Bottleneck) acknowledge(s *Sender, o *occurrence) {
	p := &s.packets[o.number]
	prior := s.inFlight
	d := s.Controller.Decision()
	limited := d.IsLimited(int64(s.inFlight)*MSS, MSS)
	p.done = true
	s.inFlight--
	s.Delivered++
	before := s.una
	for s.una < s.next && s.packets[s.una].done {
		s.una++
	}
	rtt := b.Now - p.sent
	if s.srtt == 0 {
		s.srtt, s.least = rtt, rtt
	}
	s.srtt += (rtt - s.srtt) / 8
	s.least = min(s.least, rtt)
	if o.marked {
		s.deliveredCE++
		if s.state == cc.Open {
			s.state, s.high = cc.Reduced, s.next
			s.Controller.OnLoss(b.Now, s.loss(cc.ECNEcho))
		}
	}
	a := &cc.Ack{Packets: 1, Bytes: MSS, Advanced: s.una > before, Limited: limited, Una: int64(s.una) * MSS,
		Next: int64(s.next) * MSS, Seq: int64(o.number+1) * MSS, Delivered: s.Delivered,
		RTT: cc.RTT{Sample: rtt, Smoothed: s.srtt, Min: s.least},
		Delivery: cc.Delivery{Packets: int(s.Delivered - p.delivered), Interval: b.Now - p.deliveredAt,
			PriorDelivered: p.delivered, Retransmitted: p.again},
		Flight:    cc.Flight{Before: prior, After: s.inFlight, NextSend: b.Now},
		Losses:    cc.Losses{Total: s.lostTotal, State: s.state},
		ECN:       cc.ECN{Echo: o.marked, Delivered: s.deliveredCE},
		Telemetry: cc.Telemetry{Hops: []telemetry.Hop{o.hop}, Path: 1}}
	s.deliveredAt = b.Now
	s.Controller.OnAck(b.Now, a)
	if s.state != cc.Open && s.una >= s.high {
		s.state = cc.Open
		s.Controller.OnLoss(b.Now, s.loss(cc.Recovered))
	}
}

// notify is a NACK's arrival: its packet is lost and is the next to be sent.
func (b *Bottleneck) notify(s *Sender, n int) {
	s.inFlight--
	s.lostTotal++
	s.resend = append(s.resend, n)
	notice := cc.Notice{Kind: cc.NackNotice, Seq: int64(n) * MSS, Lost: MSS}
	if b.Supply != nil {
		notice.Supply = b.Supply(b, s)
	}
	s.Controller.OnNotice(b.Now, notice)
	if s.Nacks != Reduce || s.everNacked && b.Now-s.nacked < s.srtt {
		return
	}
	s.nacked, s.everNacked = b.Now, true
	if s.state == cc.Reduced {
		s.Controller.OnLoss(b.Now, s.loss(cc.LossInReduction))
		return
	}
	s.state, s.high = cc.Recovery, s.next
	s.Controller.OnLoss(b.Now, s.loss(cc.FastRecovery))
}
