package rdma

import (
	"fmt"
	"strings"
	"testing"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/telemetry"
	"weir/core/transport"
	"weir/core/transport/transporttest/flowtest"
	"weir/core/unit"
)

const us = unit.Microsecond

// fixed is a controller with the decisions of the test. It records what it receives.
type fixed struct {
	window  unit.Bytes
	rate    unit.Rate
	timer   unit.Time
	log     []string
	acks    []cc.Ack
	notices int
	losses  int
	onAck   func(now unit.Time, a *cc.Ack)
	keep    bool // acks and log
	want    telemetry.Request
	sent    int
	told    []cc.Notice
	onLoss  func(l cc.Loss)
	left    []unit.Bytes
	asks    bool  // its packets carry requests
	request uint8 // these
}

func (f *fixed) OnSend(_ unit.Time, s cc.Sent) {
	if f.sent++; f.keep {
		f.left = append(f.left, s.Left)
	}
}
func (f *fixed) OnAck(now unit.Time, a *cc.Ack) {
	if f.onAck != nil {
		f.onAck(now, a)
	}
	if f.keep {
		b := *a
		f.acks = append(f.acks, b)
	}
}
func (f *fixed) OnNotice(_ unit.Time, n cc.Notice) {
	if f.notices++; f.keep {
		f.told = append(f.told, n)
	}
}
func (f *fixed) OnLoss(now unit.Time, l cc.Loss) {
	f.losses++
	if f.onLoss != nil {
		f.onLoss(l)
	}
	if f.keep {
		f.log = append(f.log, fmt.Sprintf("%v %v", now, l.Kind))
	}
}
func (f *fixed) OnTimer(unit.Time) { f.timer = unit.Never }
func (f *fixed) Decision() cc.Decision {
	return cc.Decision{Window: f.window, Rate: f.rate, NextTimer: f.timer, Request: f.request}
}

// the path of the tests: 100 Gb/s and 2 µs each way; a frame is 1050 bytes, 84 ns.
const (
	lineRate = 100 * unit.Gbps
	delay    = 2 * us
	payload  = 1000
)

var last cc.Flow // that a controller was made for

func (f *fixed) scheme(mode cc.ECNMode) *cc.Scheme {
	return &cc.Scheme{ECN: mode, Telemetry: f.want, PerPath: true, Requests: f.asks, Build: func(x cc.Flow,
		_ scheme.Config) (cc.Controller,
		error) {
		last = x
		return f, nil
	}}
}

// newFlow returns a flow of the given size with HPCC's telemetry, 50 bytes of headers in each packet, and a constant
// controller.
func newFlow(size unit.Bytes, control *fixed, mode cc.ECNMode) transport.Flow {
	f := flowtest.NewFlow(size)
	f.Telemetry, f.Framing, f.CC = &hpcc, packet.Framing{Data: 50, Other: 50}, control.scheme(mode)
	f.Path = cc.Path{NICRate: lineRate, BaseRTT: 4 * us}
	return f
}

var hpcc, _ = telemetry.NewFormat("hpcc", 1, 1.05, nil)

// pipe is a path between the two ends: the sender's NIC, a delay each way, and hooks to
// lose, delay, mark, double and add packets.
type pipe struct {
	t       testing.TB
	now     unit.Time
	s       *Sender
	r       *Receiver
	c       *fixed
	free    unit.Time // of the sender's NIC
	data    []flight
	back    []flight
	onData  func(p *packet.Packet) (copies int, later unit.Time)
	onBack  func(p *packet.Packet) (copies int, later unit.Time)
	log     *strings.Builder
	steps   int
	forged  bool // some packets were made up
	emitted func(p *packet.Packet)
}

type flight struct {
	at unit.Time
	p  *packet.Packet
}

func newPipe(t testing.TB, size unit.Bytes, change func(c *Config), control *fixed, mode cc.ECNMode) *pipe {
	t.Helper()
	c := Defaults()
	c.RTOMin = 320 * us
	if change != nil {
		change(&c)
	}
	if control.timer == 0 {
		control.timer = unit.Never
	}
	s, r, err := New(newFlow(size, control, mode), c)
	if err != nil {
		t.Fatal(err)
	}
	return &pipe{t: t, s: s, r: r, c: control}
}

// insert keeps the flights sorted by time; flights of one time stay in order.
func insert(q *[]flight, f flight) {
	i := len(*q)
	for i > 0 && (*q)[i-1].at > f.at {
		i--
	}
	*q = append(*q, flight{})
	copy((*q)[i+1:], (*q)[i:])
	(*q)[i] = f
}

func describe(p *packet.Packet) string {
	var b strings.Builder
	var n packet.Notification
	if p.Notification(&n) {
		fmt.Fprintf(&b, "NACK of a switch: %d +%d, transmission %d, %v", p.Seq*payload, n.Lost, p.Ack, n.Cause)
		for _, x := range n.More[:n.Spans] {
			fmt.Fprintf(&b, ", %d +%d", (p.Seq+int64(x.Offset))*payload, x.Lost)
		}
		return b.String()
	}
	switch p.Kind {
	case packet.Data:
		fmt.Fprintf(&b, "data %d +%d", p.Seq*payload, p.Payload)
	case packet.Ack, packet.Nack:
		fmt.Fprintf(&b, "%s %d for %d", map[packet.Kind]string{packet.Ack: "ack", packet.Nack: "nack"}[p.Kind], p.Ack*payload,
			p.Seq*payload)
	case packet.Notice:
		fmt.Fprintf(&b, "cnp for %d", p.Seq*payload)
	}
	fmt.Fprintf(&b, ", %d B", p.Size)
	if p.TCP.Flags&packet.ECE != 0 {
		b.WriteString(" ECE")
	}
	return b.String() + []string{"", " ECT(1)", " ECT(0)", " CE"}[p.TOS&3]
}

// put puts p on its way.
func (w *pipe) put(q *[]flight, p *packet.Packet, hook func(*packet.Packet) (int, unit.Time), at unit.Time,
	arrow string) {
	copies, later := 1, unit.Time(0)
	if hook != nil {
		copies, later = hook(p)
	}
	if w.log != nil {
		fmt.Fprintf(w.log, "%10.3f us %s %s%s\n", w.now.Seconds()*1e6, arrow, describe(p), []string{" (lost)", "",
			" (twice)"}[min(copies, 2)])
	}
	for range copies {
		c := *p
		insert(q, flight{at + later, &c})
	}
}

// step runs the next event. It returns false if there is no event before until.
func (w *pipe) step(until unit.Time) bool {
	next := min(w.s.NextTimer(), w.r.NextTimer())
	if t := w.s.NextSend(); t != unit.Never {
		next = min(next, max(t, w.free))
	}
	if t := w.r.NextSend(); t != unit.Never {
		next = min(next, max(t, w.now))
	}
	if len(w.data) > 0 {
		next = min(next, w.data[0].at)
	}
	if len(w.back) > 0 {
		next = min(next, w.back[0].at)
	}
	if next > until || next == unit.Never {
		return false
	}
	w.now = max(w.now, next)
	switch {
	case len(w.data) > 0 && w.data[0].at <= w.now:
		p := w.data[0].p
		w.data = w.data[1:]
		if w.r.Receive(w.now, p) {
			w.put(&w.back, p, w.onBack, w.now+delay, "<")
		}
	case len(w.back) > 0 && w.back[0].at <= w.now:
		p := w.back[0].p
		w.back = w.back[1:]
		if w.log != nil && p.IsNotification() {
			fmt.Fprintf(w.log, "%10.3f us < %s\n", w.now.Seconds()*1e6, describe(p))
		}
		w.s.Receive(w.now, p)
	case w.r.NextSend() <= w.now:
		p := &packet.Packet{Src: 2, Dst: 1}
		w.r.Emit(w.now, p)
		w.put(&w.back, p, w.onBack, w.now+delay, "<")
	case w.r.NextTimer() <= w.now:
		w.r.Advance(w.now)
	case w.s.NextTimer() <= w.now:
		before := w.s.NextTimer()
		w.s.Advance(w.now)
		if w.s.NextTimer() <= before { // with fewer packets out the timeout may have become one that is over (rto_low)
			w.s.Advance(w.now)
		}
		if w.s.NextTimer() <= before {
			w.t.Fatalf("%v: the timer of %v is still set", w.now, before)
		}
	default:
		w.emit()
	}
	w.check()
	if w.steps++; w.steps > 5_000_000 {
		w.t.Fatalf("%v: no end", w.now)
	}
	return true
}

// emit makes the sender send, within its window.
func (w *pipe) emit() {
	p := &packet.Packet{Src: 1, Dst: 2, Sent: w.now}
	window := int64(w.s.control.Decision.Window)
	var on *path
	if w.s.paths != nil {
		on = &w.s.paths.each[w.s.paths.next]
		window = int64(on.decision.Window)
	}
	w.s.Emit(w.now, p)
	last, n := int64(p.Payload), w.s.inFlight()
	if w.s.begun {
		last = 1
	}
	if on != nil {
		n = on.out
	}
	if p.Kind == packet.Data && n > 1 && w.s.config.Recovery != NoRecovery && (n-1)*payload+last > window {
		w.t.Fatalf("%v: %d packets are in flight, the window has %d bytes", w.now, n, window)
	}
	if w.emitted != nil {
		w.emitted(p)
	}
	w.free = w.now + unit.TransmitTime(unit.Bytes(p.Size), lineRate)
	w.put(&w.data, p, w.onData, w.free+delay, ">")
}

// runUntil runs the events of the pipe until the given time.
func (w *pipe) runUntil(until unit.Time) {
	for w.step(until) {
	}
}

// check counts everything again, and looks for a stall.
func (w *pipe) check() {
	s := w.s
	var nSacked, nGone, nNamed int
	var out [maxPaths]int64
	for n := s.una; n < s.top; n++ {
		f := s.packetState(n).flags
		if f&(sacked|gone) == 0 {
			out[s.packetState(n).path]++
		}
		if f&sacked != 0 {
			nSacked++
		}
		if f&gone != 0 {
			nGone++
			if n < s.hint {
				w.t.Fatalf("%v: packet %d waits below the hint %d", w.now, n, s.hint)
			}
		}
		if f&(gone|nacked) == gone|nacked {
			if nNamed++; n < s.namedHint {
				w.t.Fatalf("%v: packet %d waits below the hint %d of those named", w.now, n, s.namedHint)
			}
		}
		if f&gone != 0 && f&(sacked|resent) != 0 {
			w.t.Fatalf("%v: packet %d has flags %b", w.now, n, f)
		}
	}
	for k := range w.s.orders {
		if s.paths != nil && out[k] != s.paths.each[k].out {
			w.t.Fatalf("%v: counted %d out on path %d, noted %d", w.now, out[k], k, s.paths.each[k].out)
		}
	}
	if nNamed != s.namedOut {
		w.t.Fatalf("%v: counted %d named, noted %d", w.now, nNamed, s.namedOut)
	}
	if nSacked != s.sackedOut || nGone != s.goneOut || s.inFlight() < 0 {
		w.t.Fatalf("%v: counted %d SACKed and %d gone; noted %d and %d, %d in flight", w.now, nSacked, nGone, s.sackedOut,
			s.goneOut, s.inFlight())
	}
	if out := s.packetSeq(s.top) - s.packetSeq(s.una); s.bound < out && s.top-s.una > 1 {
		w.t.Fatalf("%v: %d bytes are out, the bound is %d", w.now, out, s.bound)
	}
	if s.una < s.packets && s.NextSend() == unit.Never && s.NextTimer() == unit.Never && s.timed && w.now < s.stop {
		w.t.Fatalf("%v: stalled", w.now)
	}
	if !w.forged && w.r.firstMissing() > w.s.packetSeq(w.s.top) {
		w.t.Fatalf("%v: %d bytes received, %d sent", w.now, w.r.firstMissing(), w.s.packetSeq(w.s.top))
	}
}

// firstMissing returns the first byte that was not received, from 0. All bytes before it were delivered, in order.
func (r *Receiver) firstMissing() int64 { return r.packetSeq(r.arrived.Expected) }

// done checks that the flow of size bytes is complete: every byte once, in order.
func (w *pipe) done(size unit.Bytes) {
	w.t.Helper()
	s, r := w.s.Counters(), w.r.Counters()
	if s.Finished == unit.Never || r.Finished == unit.Never || r.ReceivedBytes != size ||
		w.r.firstMissing() != int64(size) || s.SentBytes != size {
		w.t.Fatalf("%v: %d of %d bytes came, %d in order, %d sent; finished at %v and %v; state %v", w.now,
			r.ReceivedBytes, size, w.r.firstMissing(), s.SentBytes, s.Finished, r.Finished, w.s.control.State)
	}
	if packets := (int64(size) + payload - 1) / payload; s.SentPackets != packets+s.Retransmitted {
		w.t.Fatalf("%d packets and %d again, of %d", s.SentPackets, s.Retransmitted, packets)
	}
}

// drop loses the n-th, … packets, counted from 0.
func drop(numbers ...int) func(*packet.Packet) (int, unit.Time) {
	i := -1
	return func(*packet.Packet) (int, unit.Time) {
		i++
		for _, n := range numbers {
			if n == i {
				return 0, 0
			}
		}
		return 1, 0
	}
}
