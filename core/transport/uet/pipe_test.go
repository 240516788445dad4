package uet

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
)

// newFlow returns a flow of an incast to host 1 with a round trip of 5 µs. Flows of one receiver share its host.
func newFlow(id int, size unit.Bytes, host *cc.Host) transport.Flow {
	f := flowtest.NewIncastFlow(id, size)
	f.Path, f.Host = cc.Path{NICRate: lineRate, ReceiverRate: lineRate, BaseRTT: 5 * us}, host
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
	mark   bool
}

// pipe is some senders, each with a NIC of its own, and their receivers at one host with
// one NIC, all at one distance; hooks lose, delay, trim, mark and double packets.
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
		c := Defaults()
		if change != nil {
			change(i, &c)
		}
		sf, rf := newFlow(i, size, nil), newFlow(i, size, host) // each end is made by itself
		s, _, err := New(sf, c)
		if err != nil {
			t.Fatal(err)
		}
		_, r, err := New(rf, c)
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
		c.Hash != p.Hash || c.Src != p.Src || c.Dst != p.Dst || c.SrcPort != p.SrcPort || c.DstPort != p.DstPort ||
		c.Proto != p.Proto || c.TOS != p.TOS {
		w.t.Fatalf("sent %+v, parsed %+v", p, c)
	}
	return c
}

func describe(p *packet.Packet) string {
	flags := ""
	for _, x := range []struct {
		flag uint8
		text string
	}{{asks, " asks"}, {again, " again"}, {probing, " probe"}, {echoes, " marked"}} {
		if p.TCP.Flags&x.flag != 0 {
			flags += x.text
		}
	}
	var a answer
	switch {
	case p.Kind == packet.Data && p.Payload == 0 && p.TCP.Flags&packet.Trimmable != 0:
		return fmt.Sprintf("header %d%s", p.Seq, flags)
	case p.Kind == packet.Data && p.Payload == 0:
		return fmt.Sprintf("request %d, target %d%s", p.Seq, p.Ack, flags)
	case p.Kind == packet.Data:
		return fmt.Sprintf("data %d +%d%s", p.Seq, p.Payload, flags)
	case p.Kind == packet.Ack && a.readFrom(p):
		return fmt.Sprintf("ack %d for %d, %d + %b, %d B, %d ahead%s", p.Ack, p.Seq, a.base, a.bitmap, a.got, a.ahead, flags)
	case p.Kind == packet.Nack:
		return fmt.Sprintf("nack %d%s", p.Seq, flags)
	}
	return fmt.Sprintf("pull %d", p.Seq)
}

func (w *pipe) put(p *packet.Packet, hook func(*packet.Packet) fate, at unit.Time, arrow string) {
	f := fate{copies: 1}
	if hook != nil {
		f = hook(p)
	}
	if p.Kind == packet.Data && f.trim && p.TCP.Flags&packet.Trimmable != 0 {
		p.Size -= p.Payload
		p.Payload = 0
	}
	if p.Kind == packet.Data && f.mark && p.Payload > 0 {
		p.TOS |= packet.CE
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
	if w.steps++; w.steps > 400_000 {
		if w.log != nil {
			lines := strings.Split(w.log.String(), "\n")
			last := len(lines) - 1
			for last > 0 && (strings.Contains(lines[last], "probe") || lines[last] == "") {
				last--
			}
			w.t.Log(strings.Join(lines[max(0, last-40):last+1], "\n"))
			for _, s := range w.s {
				if !s.done {
					w.t.Logf("left %d, next %d, una %d, %d waiting, in flight %d, credit %d, timer %v, %+v", s.left, s.next,
						s.una, s.waits, s.inFlight, s.credit, s.timerAt, s.sleek)
				}
			}
		}
		w.t.Fatalf("%v: no end", w.now)
	}
	return true
}

// stir reads, as a host does, the changes of endpoint i for others: it must name the flow that may send next.
func (w *pipe) stir(i int, before *member) {
	named := false
	for f, ok := w.r[i].Rescheduled(); ok; f, ok = w.r[i].Rescheduled() {
		named = named || w.r[f].pacer.nextMember() == &w.r[f].member
	}
	if w.r[i].pacer == nil {
		return
	}
	if h := w.r[i].pacer.nextMember(); h != nil && h != before && h != &w.r[i].member && !named {
		w.t.Fatalf("%v: flow %d may send PULLs, and the host is not told", w.now, h.flow)
	}
}

func (w *pipe) turn(i int) *member {
	if w.r[i].pacer == nil {
		return nil
	}
	return w.r[i].pacer.nextMember()
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
		before := w.turn(i)
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
			before := w.turn(i)
			r.Emit(w.now, p)
			w.stir(i, before)
			if p.Kind == packet.Notice {
				w.pulls, w.of = append(w.pulls, w.now), append(w.of, i)
			}
			w.nic = w.now + unit.TransmitTime(unit.Bytes(p.Size), lineRate)
			w.put(p, w.onBack, w.now+delay, "<")
			return
		}
	}
	for i, s := range w.s {
		if s.NextTimer() <= w.now {
			before := s.Timeouts()
			s.Advance(w.now)
			if s.NextTimer() <= w.now && s.NextSend() == unit.Never && s.Timeouts() == before {
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
		if s.done {
			continue
		}
		waits, bytes := 0, int64(0)
		for n := s.una; n < s.next; n++ {
			if x := s.recordOf(n); x.state == waiting {
				waits++
				bytes += int64(x.size)
			}
		}
		if waits != s.waits || bytes != s.repaired {
			w.t.Fatalf("%v: %d packets of %d bytes are to be sent again, noted %d and %d", w.now, waits, bytes, s.waits,
				s.repaired)
		}
		if s.NextSend() == unit.Never && s.NextTimer() == unit.Never && len(w.air) == 0 && w.now < s.stop &&
			w.r[i].NextSend() == unit.Never {
			w.t.Fatalf("%v: stalled", w.now)
		}
		r := w.r[i]
		ahead := int64(0)
		for n := r.arrived.Expected + 1; n < s.next; n++ {
			if r.arrived.Has(n) {
				ahead++
			}
		}
		if ahead != r.arrived.Ahead || r.arrived.Has(r.arrived.Expected) {
			w.t.Fatalf("%v: flow %d: %d packets ahead, noted %d", w.now, i, ahead, r.arrived.Ahead)
		}
	}
}

// done checks that every flow is complete: every byte once.
func (w *pipe) done() {
	w.t.Helper()
	for i := range w.s {
		s, r, size := w.s[i].Counters(), w.r[i].Counters(), unit.Bytes(w.s[i].size)
		if s.Finished == unit.Never || r.Finished == unit.Never || r.ReceivedBytes != size || s.SentBytes != size {
			w.t.Fatalf("%v: flow %d: %d of %d bytes came, %d sent; finished at %v and %v", w.now, i, r.ReceivedBytes, size,
				s.SentBytes, s.Finished, r.Finished)
		}
		if w.s[i].NextSend() != unit.Never || w.s[i].NextTimer() != unit.Never || w.r[i].NextSend() != unit.Never {
			w.t.Fatalf("flow %d is finished and wants something", i)
		}
	}
}
