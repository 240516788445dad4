package ndp

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/transport/transporttest/flowtest"
	"weir/core/unit"
)

const us = unit.Microsecond

// the paths of the tests: 10 Gb/s and 2 µs each way; a frame is 1050 bytes, 840 ns.
const (
	lineRate = 10 * unit.Gbps
	delay    = 2 * us
	payload  = 1000
	gap      = 840 * unit.Nanosecond
)

// newFlow returns a flow of an incast to host 1 with a round trip of 4 µs. Flows of one receiver share its host.
func newFlow(id int, size unit.Bytes, host *cc.Host) transport.Flow {
	f := flowtest.NewIncastFlow(id, size)
	f.Path, f.Host = cc.Path{NICRate: lineRate, ReceiverRate: lineRate, BaseRTT: 4 * us}, host
	return f
}

type passage struct {
	at unit.Time
	p  *packet.Packet
}

// fate is what happens to a packet on its way.
type fate struct {
	copies int
	later  unit.Time
	trim   bool
	back   bool // trimmed, and sent back
}

// pipe is some senders, each with a NIC of its own, and their receivers at one host with
// one NIC, all at one distance; hooks lose, delay, trim, return and double packets.
type pipe struct {
	t      testing.TB
	book   *packet.Book
	wire   bool
	now    unit.Time
	s      []*Sender
	r      []*Receiver
	free   []unit.Time // of the senders' NICs
	nic    unit.Time   // of the receiving host's
	air    []passage
	onData func(p *packet.Packet) fate
	onBack func(p *packet.Packet) fate
	log    *strings.Builder
	pulls  []unit.Time // when PULLs went
	of     []int       // whose they were
	steps  int
	last   int // receiver that was served last
}

func newPipe(t testing.TB, sizes []unit.Bytes, change func(i int, c *Config)) *pipe {
	t.Helper()
	w := &pipe{t: t, book: packet.NewBook()}
	host := &cc.Host{}
	for i := range len(sizes) + 1 {
		w.book.Add(netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)}), netip.MustParseAddr(fmt.Sprintf("fd00::%x", i+1)))
	}
	for i, size := range sizes {
		c := defaults()
		if change != nil {
			change(i, &c)
		}
		s, r, err := New(newFlow(i, size, host), c)
		if err != nil {
			t.Fatal(err)
		}
		w.s, w.r, w.free = append(w.s, s), append(w.r, r), append(w.free, 0)
	}
	return w
}

// cross is what a link does in wire mode: it carries only the bytes and the size.
func (w *pipe) cross(p *packet.Packet) *packet.Packet {
	if !w.wire {
		c := *p
		return &c
	}
	b, err := p.Emit(w.book, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	c := &packet.Packet{Size: p.Size, Sent: p.Sent, Flow: p.Flow}
	if err := c.Parse(w.book, b); err != nil {
		w.t.Fatal(err)
	}
	if c.Kind != p.Kind || c.Seq != p.Seq || c.Ack != p.Ack || c.Payload != p.Payload || c.TCP.Flags != p.TCP.Flags ||
		c.Hash != p.Hash ||
		c.Src != p.Src || c.Dst != p.Dst || c.SrcPort != p.SrcPort || c.DstPort != p.DstPort || c.Proto != p.Proto {
		w.t.Fatalf("sent %+v, parsed %+v", p, c)
	}
	return c
}

func describe(p *packet.Packet) string {
	flags := ""
	if p.TCP.Flags&packet.FIN != 0 {
		flags = " FIN"
	}
	switch {
	case p.TCP.Flags&packet.Returned != 0:
		return fmt.Sprintf("returned %d", p.Seq)
	case p.Kind == packet.Data && p.Payload == 0:
		return fmt.Sprintf("header %d%s", p.Seq, flags)
	case p.Kind == packet.Data:
		return fmt.Sprintf("data %d +%d, returned %d%s", p.Seq, p.Payload, p.Ack, flags)
	case p.Kind == packet.Ack:
		return fmt.Sprintf("ack %d for %d", p.Ack, p.Seq)
	case p.Kind == packet.Nack:
		return fmt.Sprintf("nack %d for %d", p.Ack, p.Seq)
	}
	return fmt.Sprintf("pull %d", p.Seq)
}

func (w *pipe) put(p *packet.Packet, hook func(*packet.Packet) fate, at unit.Time, arrow string) {
	f := fate{copies: 1}
	if hook != nil {
		f = hook(p)
	}
	if p.Kind == packet.Data && (f.trim || f.back) {
		p.Size -= p.Payload
		p.Payload = 0
		if f.back {
			p.SwapEnds()
			p.TCP.Flags = p.TCP.Flags&^packet.Trimmable | packet.Returned
		}
	}
	if w.log != nil {
		fmt.Fprintf(w.log, "%9.3f us %d %s %s%s\n", w.now.Seconds()*1e6, p.Flow, arrow, describe(p), []string{" (lost)", "",
			" (twice)"}[min(f.copies, 2)])
	}
	for range f.copies {
		x := passage{at + f.later, w.cross(p)}
		i := len(w.air)
		for i > 0 && w.air[i-1].at > x.at {
			i--
		}
		w.air = append(w.air, passage{})
		copy(w.air[i+1:], w.air[i:])
		w.air[i] = x
	}
}

// stir reads, as a host does, the changes of endpoint i for others: it must name the flow that may send next.
func (w *pipe) stir(i int, before *member) {
	named := false
	for f, ok := w.r[i].Rescheduled(); ok; f, ok = w.r[i].Rescheduled() {
		named = named || w.r[f].queue.nextMember() == &w.r[f].member
	}
	if h := w.r[i].queue.nextMember(); h != nil && h != before && h != &w.r[i].member && !named {
		w.t.Fatalf("%v: flow %d may send PULLs, and the host is not told", w.now, h.flow)
	}
}

// step runs the next event. It returns false if there is no event before until.
func (w *pipe) step(until unit.Time) bool {
	next := unit.Never
	for i, s := range w.s {
		next = min(next, s.NextTimer())
		if t := s.NextSend(); t != unit.Never {
			next = min(next, max(t, w.free[i]))
		}
		if t := w.r[i].NextSend(); t != unit.Never {
			next = min(next, max(t, w.nic))
		}
	}
	if len(w.air) > 0 {
		next = min(next, w.air[0].at)
	}
	if next > until || next == unit.Never {
		return false
	}
	w.now = max(w.now, next)
	w.act()
	w.check()
	if w.steps++; w.steps > 200_000 {
		w.t.Fatalf("%v: no end", w.now)
	}
	return true
}

func (w *pipe) act() {
	if len(w.air) > 0 && w.air[0].at <= w.now {
		p := w.air[0].p
		w.air = w.air[1:]
		i := int(p.Flow)
		if p.Dst != 1 {
			w.s[i].Receive(w.now, p)
			return
		}
		before := w.r[i].queue.nextMember()
		if w.r[i].Receive(w.now, p) {
			w.put(p, w.onBack, w.now+delay, "<")
		}
		w.stir(i, before)
		return
	}
	for k := range w.r {
		i := (w.last + 1 + k) % len(w.r)
		if r := w.r[i]; r.NextSend() <= w.now && w.nic <= w.now {
			w.last = i
			p := &packet.Packet{Src: 1, Dst: packet.Addr(i + 2), Flow: packet.FlowID(i)}
			before := r.queue.nextMember()
			r.Emit(w.now, p)
			w.stir(i, before)
			w.pulls, w.of = append(w.pulls, w.now), append(w.of, i)
			w.nic = w.now + unit.TransmitTime(unit.Bytes(p.Size), lineRate)
			w.put(p, w.onBack, w.now+delay, "<")
			return
		}
	}
	for i, s := range w.s {
		if s.NextTimer() <= w.now {
			before := s.Timeouts()
			s.Advance(w.now)
			if s.NextTimer() <= w.now && s.NextSend() == unit.Never {
				w.t.Fatalf("%v: the timer is still due after timeout %d", w.now, before)
			}
			return
		}
		if s.NextSend() <= w.now && w.free[i] <= w.now {
			p := &packet.Packet{Src: packet.Addr(i + 2), Dst: 1, Flow: packet.FlowID(i), Sent: w.now}
			s.Emit(w.now, p)
			w.free[i] = w.now + unit.TransmitTime(unit.Bytes(p.Size), lineRate)
			w.put(p, w.onData, w.free[i]+delay, ">")
			return
		}
	}
}

// runUntil runs the events of the pipe until the given time.
func (w *pipe) runUntil(until unit.Time) {
	for w.step(until) {
	}
}

// check counts everything again, and looks for a stall.
func (w *pipe) check() {
	for i, s := range w.s {
		var flies, refusals int64
		for n := s.una; n < s.next; n++ {
			switch f := s.packetState(n).flags; {
			case f&flying != 0 && f&(waiting|nacked|acked) != 0, f&waiting != 0 && f&acked != 0, f&nacked != 0 && f&waiting == 0:
				w.t.Fatalf("%v: packet %d has flags %b", w.now, n, f)
			case f&flying != 0:
				flies++
			case f&nacked != 0:
				refusals++
			}
		}
		if flies != s.inFlight || refusals != s.refused {
			w.t.Fatalf("%v: counted %d in passage and %d NACKed; noted %d and %d", w.now, flies, refusals, s.inFlight, s.refused)
		}
		if s.una < s.packets && s.NextSend() == unit.Never && s.NextTimer() == unit.Never && w.now < s.stop {
			w.t.Fatalf("%v: stalled", w.now)
		}
		r := w.r[i]
		refusals = 0
		for n := r.arrived.Expected; n < r.arrived.Expected+int64(64*len(r.trimmed)); n++ {
			if r.trimmed.Has(n, r.arrived.Expected) {
				refusals++
			}
		}
		if refusals != r.refused || r.member.wants < 0 || r.arrived.Expected == r.packets && r.member.wants > 0 {
			w.t.Fatalf("%v: flow %d: %d packets without payload, noted %d; %d PULLs wanted", w.now, i, refusals, r.refused,
				r.member.wants)
		}
	}
}

// done checks that every flow is complete: every byte once.
func (w *pipe) done() {
	w.t.Helper()
	for i := range w.s {
		s, r, size := w.s[i].Counters(), w.r[i].Counters(), unit.Bytes(w.s[i].size)
		if s.Finished == unit.Never || r.Finished == unit.Never || r.ReceivedBytes != size ||
			w.r[i].packetSeq(w.r[i].arrived.Expected) != int64(size) || s.SentBytes != size {
			w.t.Fatalf("%v: flow %d: %d of %d bytes came, %d sent; finished at %v and %v", w.now, i, r.ReceivedBytes, size,
				s.SentBytes, s.Finished, r.Finished)
		}
		if s.SentPackets != w.s[i].packets+s.Retransmitted {
			w.t.Fatalf("flow %d: %d packets and %d again, of %d", i, s.SentPackets, s.Retransmitted, w.s[i].packets)
		}
		if w.s[i].NextSend() != unit.Never || w.s[i].NextTimer() != unit.Never || w.r[i].NextSend() != unit.Never {
			w.t.Fatalf("flow %d is finished and wants something", i)
		}
	}
}

// timeouts returns the timeouts of all flows.
func (w *pipe) timeouts() (n int64) {
	for _, s := range w.s {
		n += s.Timeouts()
	}
	return n
}
