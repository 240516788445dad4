package tcp

import (
	"testing"

	"weir/core/cc"
	"weir/core/cc/bbr"
	"weir/core/cc/cubic"
	"weir/core/cc/dctcp"
	"weir/core/cc/reno"
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
)

const ms = unit.Millisecond

// pipe is a path between the two ends of a connection: a bottleneck with a queue
// one way, a delay both ways, and hooks to lose, delay, change or add packets.
type pipe struct {
	t         *testing.T
	now       unit.Time
	s         *Sender
	r         *Receiver
	rate      unit.Rate
	delay     unit.Time // each way
	limit     int       // packets that may wait; 0: no limit
	nic       unit.Rate // of the sender's host
	mark      int       // queue length above which packets are marked CE; 0: never
	forward   []flight  // queue of the bottleneck and the way behind it
	backward  []flight
	waiting   int // in the bottleneck's queue
	free      unit.Time
	nicFree   unit.Time
	longest   int
	drops     int
	onData    func(p *packet.Packet) (keep bool, later unit.Time) // before the queue
	onAck     func(p *packet.Packet) (keep bool, later unit.Time) // at the switch, on the way back
	after     func()
	onDrop    func(p *packet.Packet) // after the drop
	steps     int
	unchecked bool // leave out the recount after every step
	emitted   func(p *packet.Packet)
}

type flight struct {
	at     unit.Time
	leaves unit.Time // the bottleneck
	p      *packet.Packet
	id     int
}

var controllers = map[string]cc.Scheme{"reno": reno.Scheme(), "cubic": cubic.Scheme(), "dctcp": dctcp.Scheme(),
	"bbr": bbr.Scheme()}

// newPipe makes a connection over 50 Mb/s, 5 ms each way, 100 packets of queue: the
// path of docs/sources.md#injected-acks.
func newPipe(t *testing.T, controller string, size unit.Bytes, change func(c *Config)) *pipe {
	return newPipeOf(t, controller, 4, 1448, size, change)
}

// newPipeOf is newPipe with segments of that payload, over that version of IP.
func newPipeOf(t *testing.T, controller string, version uint8, payload int32, size unit.Bytes,
	change func(c *Config)) *pipe {
	s := controllers[controller]
	c := Defaults()
	if change != nil {
		change(&c)
	}
	l2, _ := packet.FramingByName("l2")
	f := transport.Flow{Src: 1, Dst: 2, SrcPort: 10000, DstPort: 5000, Version: version, Size: size, Payload: payload,
		Framing: l2, Random: unit.NewRandom(1, "flow"), CC: &s, Stop: unit.Never}
	tx, rx, err := New(f, c)
	if err != nil {
		t.Fatal(err)
	}
	return &pipe{t: t, s: tx, r: rx, rate: 50 * unit.Mbps, delay: 5 * ms, limit: 100, nic: unit.Gbps}
}

func (w *pipe) data(p *packet.Packet) {
	var later unit.Time
	if w.onData != nil {
		keep, l := w.onData(p)
		if !keep {
			w.dropped(p)
			return
		}
		later = l
	}
	if w.waiting = 0; w.limit > 0 {
		for i := len(w.forward) - 1; i >= 0 && w.forward[i].leaves > w.now; i-- {
			w.waiting++
		}
		if w.waiting > w.limit {
			w.dropped(p)
			return
		}
	}
	w.longest = max(w.longest, w.waiting)
	if w.mark > 0 && w.waiting > w.mark && p.TOS&3 == packet.ECT0 {
		p.TOS |= packet.CE
	}
	w.free = max(w.free, w.now) + unit.TransmitTime(unit.Bytes(p.Size), w.rate)
	insert(&w.forward, flight{w.free + w.delay + later, w.free, p, 0})
}

func (w *pipe) dropped(p *packet.Packet) {
	w.drops++
	if w.onDrop != nil {
		w.onDrop(p)
	}
}

func insert(q *[]flight, f flight) {
	i := len(*q)
	for i > 0 && (*q)[i-1].at > f.at {
		i--
	}
	*q = append(*q, flight{})
	copy((*q)[i+1:], (*q)[i:])
	(*q)[i] = f
}

// ack sends a packet of the receiver's side, or an injected one, back.
func (w *pipe) ack(p *packet.Packet) {
	var later unit.Time
	if w.onAck != nil {
		keep, l := w.onAck(p)
		if !keep {
			return
		}
		later = l
	}
	w.inject(p, w.delay+later)
}

// inject makes p arrive at the sender after the time in.
func (w *pipe) inject(p *packet.Packet, in unit.Time) {
	insert(&w.backward, flight{w.now + in, 0, p, 0})
}

// checkAlways has long queues checked after every step, which the stage slow does, and not after every eighth only. A
// short queue always is. What check finds stays for a round trip: the segments are in the queue for so long.
var checkAlways bool

// step runs the next event. It returns false if there is no event before until.
func (w *pipe) step(until unit.Time) bool {
	next := min(w.s.NextTimer(), w.r.NextTimer(), max(w.r.NextSend(), w.now))
	if t := w.s.NextSend(); t != unit.Never {
		next = min(next, max(t, w.nicFree))
	}
	if len(w.forward) > 0 {
		next = min(next, w.forward[0].at)
	}
	if len(w.backward) > 0 {
		next = min(next, w.backward[0].at)
	}
	if next > until || next == unit.Never {
		w.now = until
		return false
	}
	w.now = max(w.now, next)
	switch {
	case len(w.forward) > 0 && w.forward[0].at <= w.now:
		p := w.forward[0].p
		w.forward = w.forward[1:]
		if w.r.Receive(w.now, p) {
			w.ack(p)
		}
	case len(w.backward) > 0 && w.backward[0].at <= w.now:
		p := w.backward[0].p
		w.backward = w.backward[1:]
		if w.s.Receive(w.now, p) {
			w.data(p)
		}
	case w.r.NextTimer() <= w.now:
		w.r.Advance(w.now)
	case w.r.NextSend() <= w.now:
		p := &packet.Packet{Src: 2, Dst: 1}
		w.r.Emit(w.now, p)
		w.ack(p)
	case w.s.NextTimer() <= w.now:
		w.s.Advance(w.now)
	default:
		p := &packet.Packet{Src: 1, Dst: 2, Sent: w.now}
		w.s.Emit(w.now, p)
		w.nicFree = w.now + unit.TransmitTime(unit.Bytes(p.Size), w.nic)
		if w.emitted != nil {
			w.emitted(p)
		}
		w.data(p)
	}
	if w.steps++; !w.unchecked && (checkAlways || w.s.queue.len() < 64 || w.steps%8 == 0) {
		w.s.check(w.t, w.now)
	}
	if w.after != nil {
		w.after()
	}
	return true
}

// runUntil runs the events of the pipe until the given time.
func (w *pipe) runUntil(until unit.Time) {
	for w.step(until) {
	}
}

// goodput is what was received since the counters were b, in Mb/s.
func (w *pipe) goodput(b unit.Bytes, since unit.Time) float64 {
	return float64(w.r.counters.ReceivedBytes-b) * 8 / (w.now - since).Seconds() / 1e6
}

// check counts everything again. It runs after nearly every step: it does not call Helper, which walks the stack, and
// compares a segment without flags with its neighbour only.
func (s *Sender) check(t *testing.T, now unit.Time) {
	var nSacked, nLost, nResent, nWaiting int
	var end int64 // of the segment before
	for n := s.queue.first; n != s.queue.end; n++ {
		g := s.queue.at(n)
		if n != s.queue.first && g.seq != end {
			t.Fatalf("%v: a gap in the queue before %d", now, g.seq)
		}
		if end = g.end; g.flags == 0 && g.listed {
			continue
		}
		if g.flags&sacked != 0 {
			nSacked++
			if g.flags&lost != 0 {
				t.Fatalf("%v: segment %d is delivered and lost", now, g.seq)
			}
		}
		if g.flags&lost != 0 {
			nLost++
		}
		if g.flags&resent != 0 {
			nResent++
		}
		if g.flags&nacked != 0 && g.flags&(lost|resent|lostByNack) != lost|lostByNack {
			t.Fatalf("%v: segment %d was NACKed, and has flags %b", now, g.seq, g.flags)
		}
		if g.flags&(lost|resent) == lost {
			nWaiting++
			if int32(n-s.hint) < 0 {
				t.Fatalf("%v: segment %d waits before the hint", now, g.seq)
			}
		}
		if !g.listed && g.flags&(sacked|lost) == 0 {
			t.Fatalf("%v: segment %d is outstanding and not in the list", now, g.seq)
		}
	}
	if nSacked != s.sackedOut || nLost != s.lostOut || nResent != s.resentOut || nWaiting != s.waiting {
		t.Fatalf("%v: counted %d SACKed, %d lost, %d resent, %d waiting; noted %d, %d, %d, %d", now,
			nSacked, nLost, nResent, nWaiting, s.sackedOut, s.lostOut, s.resentOut, s.waiting)
	}
	if s.quiet && s.state != cc.Recovery {
		t.Fatalf("%v: %v, quiet", now, s.state)
	}
	for slot, last := s.queue.head, unit.Time(0); slot != none; slot = s.queue.ring[slot].after {
		if s.queue.ring[slot].sent < last {
			t.Fatalf("%v: the list by time is not sorted", now)
		}
		last = s.queue.ring[slot].sent
	}
	if s.phase == established && s.queue.len() > 0 && s.timer.at == unit.Never {
		t.Fatalf("%v: no timer runs, and %d segments are out", now, s.queue.len())
	}
	if s.phase == established && s.queue.len() > 0 && s.queue.at(s.queue.first).seq > s.una {
		t.Fatalf("%v: the queue begins at %d, una is %d", now, s.queue.at(s.queue.first).seq, s.una)
	}
	if s.NextSend() == unit.Never && s.NextTimer() == unit.Never && s.phase == established && s.next < s.app.end &&
		s.app.rate == 0 {
		t.Fatalf("%v: stalled", now)
	}
}
