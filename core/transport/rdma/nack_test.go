package rdma

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"weir/core/cc"
	"weir/core/cc/cubic"
	"weir/core/cc/dctcp"
	"weir/core/cc/none"
	"weir/core/cc/reno"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/transport"
	"weir/core/unit"
	"weir/internal/testutil"
)

// nackOf is what a switch makes of data packet p that it has trimmed, or of which it says
// something else (BS'19 §4.3: endpoints swapped, a flag, no payload).
func nackOf(p *packet.Packet, cause packet.Cause, more ...packet.Span) *packet.Packet {
	n := packet.Notification{Cause: cause, Supply: 10 * unit.Gbps, Demand: 20 * unit.Gbps, Spans: uint8(len(more))}
	if cause == packet.CauseTrimmed || cause == packet.CauseReclaimed {
		n.Lost = p.Payload
	}
	copy(n.More[:], more)
	q := *p
	q.ClearExtensions()
	q.TurnRound()
	q.Kind, q.Payload, q.Data = packet.Nack, 0, nil
	q.SetNotification(&n)
	q.Size = packet.Framings[0].Frame(50+q.ExtensionBytes(), 0, false)
	return &q
}

// rack is an incast: hosts behind one switch with a link each, all of which send to one
// more, at 100 Gb/s and 1 µs a link. The switch holds room packets; what finds no room
// is trimmed, and the NACK is back after a link's delay.
type rack struct {
	senders   []*Sender
	receivers []*Receiver
	queue     []flight
	room      int
	events    []rackEvent // by time
	free      []unit.Time
	now       unit.Time
	link      unit.Time // when the bottleneck is free
	trims     int64
	lossy     bool                             // it drops and says nothing
	onData    func(host int, p *packet.Packet) // that arrives at the switch
	onNack    func(host int, p *packet.Packet) // that leaves it
}
type rackEvent struct {
	at   unit.Time
	host int
	kind uint8 // 0: data at the switch, 1: data at the receiver, 2: back at the sender, 3: the bottleneck is free
	p    *packet.Packet
}

func (r *rack) push(e rackEvent) {
	i, j := 0, len(r.events)
	for i < j {
		if m := (i + j) / 2; r.events[m].at > e.at {
			j = m
		} else {
			i = m + 1
		}
	}
	r.events = append(r.events, rackEvent{})
	copy(r.events[i+1:], r.events[i:])
	r.events[i] = e
}

func newRack(t testing.TB, n, room int, size unit.Bytes, scheme *cc.Scheme,
	change func(*Config)) *rack {
	r := &rack{room: room, free: make([]unit.Time, n)}
	for i := range n {
		c := Defaults()
		c.Recovery = SelectiveRepeat
		if change != nil {
			change(&c)
		}
		f := transport.Flow{ID: packet.FlowID(i), Src: packet.Addr(i + 2), Dst: 1, SrcPort: uint16(10 + i), DstPort: 20,
			Version: 4, Size: size, Payload: payload, Framing: packet.Framings[0],
			Stop: unit.Never, Path: cc.Path{NICRate: lineRate, LineRate: lineRate * 1000 / 1050, BaseRTT: 4*us +
				3*84*unit.Nanosecond}, CC: scheme, Random: unit.NewRandom(uint64(i), "flow")}
		s, rc, err := New(f, c)
		if err != nil {
			t.Fatal(err)
		}
		r.senders, r.receivers = append(r.senders, s), append(r.receivers, rc)
	}
	return r
}

// run runs until all flows are done.
func (r *rack) run(t testing.TB, until unit.Time) {
	for {
		at, host, what := unit.Never, -1, 0
		for i, s := range r.senders {
			if x := s.NextTimer(); x < at {
				at, host, what = x, i, 1
			}
			if x := s.NextSend(); x != unit.Never && max(x, r.free[i], r.now) < at {
				at, host, what = max(x, r.free[i], r.now), i, 2
			}
		}
		if len(r.events) > 0 && r.events[0].at <= at {
			e := r.events[0]
			r.events = r.events[1:]
			r.now = max(r.now, e.at)
			switch e.kind {
			case 0:
				if r.onData != nil {
					r.onData(e.host, e.p)
				}
				if len(r.queue) >= r.room {
					if r.trims++; !r.lossy {
						p := nackOf(e.p, packet.CauseTrimmed)
						if r.push(rackEvent{r.now + us, e.host, 2, p}); r.onNack != nil {
							r.onNack(e.host, p)
						}
					}
				} else {
					r.queue = append(r.queue, flight{unit.Time(e.host), e.p})
					r.start()
				}
			case 1:
				if r.receivers[e.host].Receive(r.now, e.p) {
					r.push(rackEvent{r.now + 2*us, e.host, 2, e.p})
				}
			case 2:
				r.senders[e.host].Receive(r.now, e.p)
			case 3:
				r.start()
			}
			continue
		}
		if host < 0 || at > until {
			return
		}
		r.now = max(r.now, at)
		if what == 1 {
			r.senders[host].Advance(r.now)
			continue
		}
		p := &packet.Packet{Src: packet.Addr(host + 2), Dst: 1, Sent: r.now}
		r.senders[host].Emit(r.now, p)
		r.free[host] = r.now + unit.TransmitTime(unit.Bytes(p.Size), lineRate)
		r.push(rackEvent{r.free[host] + us, host, 0, p})
	}
}

// start lets the bottleneck send the next packet.
func (r *rack) start() {
	if len(r.queue) == 0 || r.link > r.now {
		return
	}
	x := r.queue[0]
	r.queue = r.queue[1:]
	r.link = r.now + unit.TransmitTime(unit.Bytes(x.p.Size), lineRate)
	r.push(rackEvent{r.link + us, int(x.at), 1, x.p})
	r.push(rackEvent{r.link, 0, 3, nil})
}

// The incast that NCF wants to help (BS'19 §4.3): 256 senders start with a window of a
// BDP each, and yet nobody waits for a timeout: the last flow ends at most a tenth later
// than the link can carry all of them. Without NACKs there are timeouts. A receiver that
// takes packets in order only costs half as much again.
func TestNackIncast(t *testing.T) {
	const n, size = 256, 20_000
	ideal := unit.TransmitTime(n*size*1050/1000, lineRate)
	for _, x := range []struct {
		scheme   cc.Scheme
		recovery string
		room     int
		lossy    bool
		most     float64 // of the ideal time
	}{
		{reno.Scheme(), SelectiveRepeat, 20, false, 1.1},
		{reno.Scheme(), SelectiveRepeat, 200, false, 1.1},
		{cubic.Scheme(), SelectiveRepeat, 20, false, 1.1},
		{dctcp.Scheme(), SelectiveRepeat, 20, false, 1.1},
		{reno.Scheme(), NoRecovery, 20, false, 1.1},
		{reno.Scheme(), GoBackN, 20, false, 1.7},
		{reno.Scheme(), GoBackN, 200, false, 1.7},
		{reno.Scheme(), SelectiveRepeat, 20, true, 0},
		{reno.Scheme(), GoBackN, 20, true, 0},
	} {
		r := newRack(t, n, x.room, size, &x.scheme, func(c *Config) { c.Recovery = x.recovery })
		r.lossy = x.lossy
		r.run(t, 100*unit.Millisecond)
		last, timeouts, again, taken, refused := r.sum()
		t.Logf("%s, %s, room for %d, silent %t: last FCT %.0f us of %.0f, %d timeouts, %d packets sent again, %d NACKs "+
			"taken, %d refused", x.scheme.Name, x.recovery, x.room, x.lossy,
			last.Seconds()*1e6, ideal.Seconds()*1e6, timeouts, again, taken, refused)
		if x.lossy {
			if timeouts < n/2 || last < 3*ideal {
				t.Errorf("%s, %s: %d timeouts without NACKs", x.scheme.Name, x.recovery, timeouts)
			}
			continue
		}
		if timeouts > 0 || float64(last) > x.most*float64(ideal) || taken+refused != r.trims {
			t.Errorf("%s, %s, room for %d: last FCT %v of %v, %d timeouts, %d and %d NACKs of %d", x.scheme.Name, x.recovery,
				x.room, last, ideal, timeouts, taken, refused, r.trims)
		}
		if x.recovery != GoBackN && (again != r.trims || refused > 0) {
			t.Errorf("%s, %s, room for %d: %d packets were trimmed, %d sent again, %d NACKs refused", x.scheme.Name, x.recovery,
				x.room, r.trims, again, refused)
		}
	}
}

// sum is when the last flow ended, and what all senders have counted.
func (r *rack) sum() (last unit.Time, timeouts, again, taken, refused int64) {
	for _, s := range r.senders {
		c := s.Counters()
		last = max(last, c.Finished)
		timeouts += s.Timeouts()
		again += c.Retransmitted
		taken += c.NacksTaken
		refused += c.NacksRefused
	}
	return
}

// With a window of one packet nothing is left to be reduced. A sender waits instead (ours): at least
// four in five NACKs are spared, for two thirds more time; it never waits for a timeout.
func TestNackHoldIncast(t *testing.T) {
	const n, size = 256, 20_000
	ideal := unit.TransmitTime(n*size*1050/1000, lineRate)
	one := cc.Define(cc.Scheme{}, func(f cc.Flow, _ scheme.None) (*none.None, error) {
		return none.New(f, none.Config{Packets: 1}), nil
	})
	r := newRack(t, n, 20, size, &one, nil)
	r.run(t, 100*unit.Millisecond)
	last, timeouts, again, _, _ := r.sum()
	t.Logf("last FCT %v of %v, %d packets sent again of %d", last, ideal, again, n*size/payload)
	if timeouts > 0 || again > n*size/payload || last > 2*ideal { // it is 21555, and 447 us, without
		t.Errorf("last FCT %v of %v, %d packets sent again, %d timeouts", last, ideal, again, timeouts)
	}
}

// trims makes a hook for data packets: those with these numbers of transmission, counted
// over all from 0, are trimmed, and their NACK is back after 1 µs.
func (w *pipe) trims(cause packet.Cause, numbers ...int) func(*packet.Packet) (int, unit.Time) {
	lose := drop(numbers...)
	return func(p *packet.Packet) (int, unit.Time) {
		copies, later := lose(p)
		if copies == 0 {
			w.nack(nackOf(p, cause))
		}
		return copies, later
	}
}

// nack lets a NACK arrive 1 µs from now.
func (w *pipe) nack(p *packet.Packet) { insert(&w.back, flight{w.now + us, p}) }

// Exactly what the network names is sent again, at once, whatever the receiver does with
// what comes out of order. Packet by packet, as text.
func TestNackTraces(t *testing.T) {
	for _, x := range []struct {
		name     string
		recovery string
		trim     []int
	}{
		{"nack-selective-repeat", SelectiveRepeat, []int{2, 4}},
		{"nack-go-back-n", GoBackN, []int{2, 4}},
		{"nack-none", NoRecovery, []int{2, 4}},
		{"nack-again", SelectiveRepeat, []int{2, 6, 8}}, // the packet sent again is trimmed as well
		{"nack-tail", SelectiveRepeat, []int{11}},
	} {
		w := newPipe(t, 12_000, func(c *Config) { c.Recovery = x.recovery }, &fixed{window: 6000, keep: true}, 0)
		w.onData = w.trims(packet.CauseTrimmed, x.trim...)
		w.log = &strings.Builder{}
		inner := w.s
		w.run(unit.Second)
		w.done(12_000)
		if inner.Timeouts() > 0 || x.recovery != GoBackN && int(inner.Counters().Retransmitted) != len(x.trim) {
			t.Errorf("%s: %d timeouts, %d packets sent again", x.name, inner.Timeouts(), inner.Counters().Retransmitted)
		}
		for _, l := range w.c.log {
			w.log.WriteString(l + "\n")
		}
		testutil.Golden(t, x.name+".txt", w.log.String())
	}
}

// out5 is a flow of 50 packets with a window of five, of which five were sent, and the first
// was acknowledged.
func out5(t testing.TB, recovery, nacks string) (*pipe, []*packet.Packet) {
	w := newPipe(t, 50_000, func(c *Config) { c.Recovery, c.Nacks = recovery, nacks }, &fixed{window: 5000, keep: true}, 0)
	var sent []*packet.Packet
	for range 5 {
		p := &packet.Packet{Src: 1, Dst: 2}
		w.s.Emit(0, p)
		sent = append(sent, p)
	}
	w.s.Receive(us, answer(packet.Ack, 1000, 0))
	return w, sent
}

// snapshot is all of a sender that a notice could change, but what it counts.
func snapshot(w *pipe) string {
	s := *w.s
	ring := append([]sent(nil), s.ring...)
	s.counters, s.report, s.ring, s.control, s.asker = transport.Counters{}, cc.Ack{}, nil, nil, transport.Asker{}
	return fmt.Sprintf("%+v %+v %+v %v", s, ring, w.c.told, w.c.log)
}

// A NACK is taken in if it is of this flow, readable, and about a whole packet that is out, in
// its last transmission, once. Any other changes nothing, and is counted.
func TestNackChecks(t *testing.T) {
	for _, recovery := range []string{GoBackN, SelectiveRepeat, NoRecovery} {
		w, out := out5(t, recovery, transport.NacksResend)
		if recovery == SelectiveRepeat {
			w.s.Receive(us, answer(packet.Nack, 1000, 3000))
		}
		change := func(n int, f func(p *packet.Packet)) *packet.Packet {
			p := nackOf(out[n], packet.CauseTrimmed)
			f(p)
			return p
		}
		notify := func(x packet.Notification) func(p *packet.Packet) {
			return func(p *packet.Packet) { p.SetNotification(&x) }
		}
		taken, refused := int64(0), int64(0)
		for _, x := range []struct {
			what string
			p    *packet.Packet
			want bool
		}{
			{"acknowledged", nackOf(out[0], packet.CauseTrimmed), false},
			{"never sent", change(4, func(p *packet.Packet) { p.Seq = 6000 }), false},
			{"inside a packet", change(4, func(p *packet.Packet) { p.Seq += 1 }), false},
			{"before the flow", change(4, func(p *packet.Packet) { p.Seq = -1000 }), false},
			{"another source port", change(4, func(p *packet.Packet) { p.SrcPort++ }), false},
			{"another destination port", change(4, func(p *packet.Packet) { p.DstPort++ }), false},
			{"another protocol", change(4, func(p *packet.Packet) { p.Proto = packet.ProtoUDP }), false},
			{"another transmission", change(4, func(p *packet.Packet) { p.Ack = 1 }), false},
			{"the same, mod 256", change(4, func(p *packet.Packet) { p.Ack = 256 }), false},
			{"a part of the packet", change(4, notify(packet.Notification{Lost: 999})), false},
			{"nothing", change(4, notify(packet.Notification{})), false},
			{"an elephant that lost something", change(4, notify(packet.Notification{Cause: packet.CauseElephant, Lost: 1000})),
				false},
			{"damaged", change(4, func(p *packet.Packet) { p.SetExtension(packet.ExtNotification, []byte{1, 2, 3}) }), false},
			{"SACKed", nackOf(out[3], packet.CauseTrimmed), recovery != SelectiveRepeat},
			{"good", change(4, func(p *packet.Packet) { p.Meta.Flags = packet.Trimmed | packet.Internal }), true},
			{"again", nackOf(out[4], packet.CauseTrimmed), false},
			{"again, reclaimed", nackOf(out[4], packet.CauseReclaimed), false},
			{"reclaimed", nackOf(out[2], packet.CauseReclaimed), true},
			{"an elephant", nackOf(out[1], packet.CauseElephant), true},
			{"an elephant, again", nackOf(out[1], packet.CauseElephant), false},
		} {
			before := snapshot(w)
			if w.s.Receive(2*us, x.p); x.want {
				taken++
			} else if refused++; snapshot(w) != before {
				t.Errorf("%s, %s: it changes the sender:\n%s\n%s", recovery, x.what, before, snapshot(w))
			}
			if c := w.s.Counters(); c.NacksTaken != taken || c.NacksRefused != refused {
				t.Fatalf("%s, %s: %d taken, %d refused, want %d and %d", recovery, x.what, c.NacksTaken, c.NacksRefused,
					taken, refused)
			}
			w.check()
		}
		for _, n := range w.c.told {
			if n.Kind != cc.NackNotice || n.Lost != 1000 && n.Seq != 1000 || n.Supply != 10*unit.Gbps ||
				n.Demand != 20*unit.Gbps {
				t.Errorf("%s: the controller is told %+v", recovery, n)
			}
		}
	}
}

// What NACKs do, by cause, parameter and recovery: what is sent next, what the controller hears
// of the losses, and what notices it gets. A sender that ignores them counts nothing.
func TestNackReactions(t *testing.T) {
	var b strings.Builder
	for _, nacks := range []string{transport.NacksIgnored, transport.NacksResend, transport.NacksLoss,
		transport.NacksSupply} {
		for _, recovery := range []string{GoBackN, SelectiveRepeat, NoRecovery} {
			for _, cause := range []packet.Cause{packet.CauseTrimmed, packet.CauseReclaimed, packet.CauseElephant} {
				w, out := out5(t, recovery, nacks)
				w.s.Receive(2*us, nackOf(out[2], cause, map[bool][]packet.Span{true: {{Offset: 2000, Lost: 1000},
					{Offset: 1000, Lost: 999}, {Offset: -2000, Lost: 1000}}}[cause != packet.CauseElephant]...))
				fmt.Fprintf(&b, "%-7s %-16s %-10s sends", nacks, recovery, cause)
				for w.s.NextSend() <= 2*us {
					p := &packet.Packet{}
					w.s.Emit(2*us, p)
					fmt.Fprintf(&b, " %d.%d", p.Seq/1000, p.Ack)
				}
				c, g := w.s.Counters(), w.s.Gauge()
				fmt.Fprintf(&b, "; %v, taken %d, refused %d, lost %d; window %d, rate %v; %v", w.s.State(), c.NacksTaken,
					c.NacksRefused, w.s.lostTotal, int64(g.Window), g.Rate, w.c.log)
				for _, n := range w.c.told {
					fmt.Fprintf(&b, "; notice of %d, %d lost, %v of %v", n.Seq, n.Lost, n.Supply, n.Demand)
				}
				b.WriteString("\n")
				w.check()
			}
		}
	}
	testutil.Golden(t, "nack-reactions.txt", b.String())
}

// A switch's CNP, with a notification or without, goes the way of those of receivers, whatever
// nacks says: it is of a packet that is out, and the first of its transmission. It sends nothing
// again. One that says that something is lost, or is damaged, changes nothing.
func TestSwitchCNP(t *testing.T) {
	for _, nacks := range []string{transport.NacksIgnored, transport.NacksLoss} {
		w, out := out5(t, SelectiveRepeat, nacks)
		notice := func(p *packet.Packet) *packet.Packet { p.Kind = packet.Notice; return p }
		damaged := notice(nackOf(out[4], packet.CauseMarked))
		damaged.SetExtension(packet.ExtNotification, []byte{9})
		for i, x := range []struct {
			p    *packet.Packet
			want int
		}{
			{nackOf(out[0], packet.CauseMarked), 0}, {notice(nackOf(out[0], packet.CauseMarked)), 0}, // acknowledged
			{nackOf(out[1], packet.CauseMarked), 1}, {notice(nackOf(out[1], packet.CauseMarked)), 1},
			{answer(packet.Notice, 0, 1000), 1},
			{notice(nackOf(out[2], packet.CauseMarked)), 2}, {answer(packet.Notice, 0, 2000), 2},
			{answer(packet.Notice, 0, 3000), 3}, {nackOf(out[3], packet.CauseMarked), 3},
			{notice(nackOf(out[4], packet.CauseTrimmed)), 3}, {damaged, 3},
		} {
			before := snapshot(w)
			w.s.Receive(2*us, x.p)
			if len(w.c.told) != x.want || w.s.Notices() != int64(x.want) || w.c.losses > 0 || w.s.InFlight() != 4 {
				t.Errorf("%s, %d: %d CNPs have come through, want %d", nacks, i, len(w.c.told), x.want)
			}
			if x.want == 3 && i > 7 && snapshot(w) != before {
				t.Errorf("%s, %d: it changes the sender", nacks, i)
			}
		}
		for _, n := range w.c.told {
			if n.Kind != cc.CNPNotice {
				t.Errorf("%s: the controller is told %+v", nacks, n)
			}
		}
		if c := w.s.Counters(); c.NacksTaken+c.NacksRefused != 0 {
			t.Errorf("%s: %d NACKs, %d refused", nacks, c.NacksTaken, c.NacksRefused)
		}
	}
}

// Retransmissions carry their number, mod 256, first transmissions 0; it survives the wire.
// A NACK of the one before is late, and refused.
func TestTransmissionNumbers(t *testing.T) {
	w, out := out5(t, SelectiveRepeat, transport.NacksResend)
	book := packet.NewBook()
	src, dst := book.Add(netip.MustParseAddr("10.0.0.1"), netip.Addr{}), book.Add(netip.MustParseAddr("10.0.0.2"),
		netip.Addr{})
	w.c.window = 20_000
	old := out[2]
	now := 2 * us
	for i := 1; i <= 300; i++ {
		now += us
		w.s.Receive(now, nackOf(old, packet.CauseTrimmed))
		p := &packet.Packet{Src: src, Dst: dst}
		w.s.Emit(now, p)
		if p.Seq != 2000 || p.Ack != int64(i%256) {
			t.Fatalf("retransmission %d: %s, number %d", i, describe(p), p.Ack)
		}
		frame, err := p.Emit(book, nil)
		if err != nil {
			t.Fatal(err)
		}
		var q packet.Packet
		if err := q.Parse(book, frame); err != nil || q.Ack != p.Ack {
			t.Fatalf("number %d on the wire: %d, %v", p.Ack, q.Ack, err)
		}
		before := snapshot(w)
		if w.s.Receive(now, nackOf(old, packet.CauseTrimmed)); snapshot(w) != before {
			t.Fatalf("retransmission %d: a NACK of the one before changes the sender", i)
		}
		old = p
	}
	if c := w.s.Counters(); c.Retransmitted != 300 || c.NacksTaken != 300 || c.NacksRefused != 300 {
		t.Errorf("%+v", c)
	}
}

// However many NACKs come, and of retransmissions too, the controller reduces once a round
// trip: at 0, 4, 8, … µs here. With nacks: resend it never does. What else reduces counts: a
// timeout, or a loss that SACKs show.
func TestNackOncePerRoundTrip(t *testing.T) {
	for _, recovery := range []string{GoBackN, SelectiveRepeat, NoRecovery} {
		for nacks, want := range map[string]int{transport.NacksResend: 0, transport.NacksLoss: 25} {
			w := newPipe(t, 50_000, func(c *Config) { c.Recovery, c.Nacks = recovery, nacks }, &fixed{window: 5000, keep: true},
				0)
			p := &packet.Packet{}
			for now := unit.Time(0); now < 100*us; now += us / 4 {
				w.s.Emit(now, p)
				w.s.Receive(now, nackOf(p, packet.CauseTrimmed))
				w.check()
			}
			if c := w.s.Counters(); w.c.losses != want || c.NacksTaken != 400 || c.Retransmitted != 399 || len(w.c.told) != 400 {
				t.Errorf("%s, %s: %d reductions, want %d; %d NACKs, %d packets sent again", recovery, nacks, w.c.losses, want,
					c.NacksTaken, c.Retransmitted)
			}
		}
	}
	w, out := out5(t, SelectiveRepeat, transport.NacksLoss)
	w.s.Receive(2*us, answer(packet.Nack, 1000, 3000)) // the second and third are lost
	w.s.Receive(2*us+us/2, nackOf(out[4], packet.CauseTrimmed))
	if len(w.c.log) != 1 {
		t.Errorf("reductions: %v", w.c.log)
	}
	w, out = out5(t, SelectiveRepeat, transport.NacksLoss)
	w.s.Advance(w.s.NextTimer())
	w.s.Receive(w.now+500*us, nackOf(out[3], packet.CauseTrimmed)) // it was sent before the timeout
	w.s.at(4).at = w.now + 499*us
	w.s.Receive(w.now+500*us, nackOf(out[4], packet.CauseTrimmed))
	if w.s.Timeouts() != 1 || len(w.c.log) != 2 || w.s.State() != cc.Recovery {
		t.Errorf("%d timeouts, %v, %v", w.s.Timeouts(), w.c.log, w.s.State())
	}
}

// In a reduction for a mark a NACK is a loss in it; a flow of elephants that is reduced for
// anything is not reduced for being one.
func TestNackStates(t *testing.T) {
	w, out := out5(t, SelectiveRepeat, transport.NacksLoss)
	w.c.onLoss = func(l cc.Loss) {
		if l.Kind != cc.Recovered {
			w.c.window--
		}
	}
	for i, x := range []struct {
		at    unit.Time
		n     int
		cause packet.Cause
		sent  bool // just before, not at 0 as the others
		want  string
	}{
		{2 * us, 1, packet.CauseElephant, false, "[2us ecn-echo]"},
		{2*us + 1, 2, packet.CauseElephant, false, "[2us ecn-echo]"},
		{2*us + 2, 2, packet.CauseTrimmed, true, "[2us ecn-echo]"}, // less than a round trip later
		{20 * us, 3, packet.CauseElephant, true, "[2us ecn-echo]"},
		{20 * us, 3, packet.CauseTrimmed, true, "[2us ecn-echo 20us loss-in-reduction]"},
		{40 * us, 1, packet.CauseTrimmed, false, "[2us ecn-echo 20us loss-in-reduction]"}, // sent before the last reduction
		{40 * us, 4, packet.CauseElephant, true, "[2us ecn-echo 20us loss-in-reduction]"},
		{40 * us, 4, packet.CauseTrimmed, true, "[2us ecn-echo 20us loss-in-reduction 40us fast-recovery]"},
	} {
		if x.sent {
			w.s.at(int64(x.n)).at = x.at
		}
		if w.s.Receive(x.at, nackOf(out[x.n], x.cause)); fmt.Sprint(w.c.log) != x.want ||
			w.s.Counters().NacksTaken != int64(i+1) {
			t.Errorf("%d: %v, %d NACKs, want %s", i, w.c.log, w.s.Counters().NacksTaken, x.want)
		}
	}
}

// A controller that an elephant's NACK does not move, as DCTCP without marks, is told of what is
// lost within the round trip.
func TestNackElephantInVain(t *testing.T) {
	for moves, want := range map[bool]string{true: "[2us ecn-echo]", false: "[2us ecn-echo 2.5us loss-in-reduction]"} {
		w, out := out5(t, SelectiveRepeat, transport.NacksLoss)
		w.c.onLoss = func(cc.Loss) {
			if moves {
				w.c.window--
			}
		}
		w.s.Receive(2*us, nackOf(out[1], packet.CauseElephant))
		w.s.at(2).at = 2 * us
		if w.s.Receive(2*us+us/2, nackOf(out[2], packet.CauseTrimmed)); fmt.Sprint(w.c.log) != want {
			t.Errorf("the controller moves %t: %v, want %s", moves, w.c.log, want)
		}
	}
}

// With go-back-N the network's NACK comes before the receiver's, and what that asks for is
// on its way then: it is sent again once. If the retransmission gets lost without a word, the
// receiver's next NACK repairs it.
func TestNackGoBackN(t *testing.T) {
	for again, want := range map[bool]int64{false: 4, true: 8} {
		w := newPipe(t, 12_000, func(c *Config) { c.NackInterval = 20 * us }, &fixed{window: 6000, keep: true}, 0)
		n := 0
		w.onData = func(p *packet.Packet) (int, unit.Time) {
			if p.Seq != 2000 {
				return 1, 0
			}
			if n++; n == 1 {
				w.nack(nackOf(p, packet.CauseTrimmed))
			}
			return map[bool]int{false: 1, true: 0}[n == 1 || n == 2 && again], 0
		}
		w.run(unit.Second)
		w.done(12_000)
		if c := w.s.Counters(); c.Retransmitted < 4 || !again && c.Retransmitted != want || w.r.Nacks() == 0 || !again &&
			w.s.Timeouts() > 0 {
			t.Errorf("lost again %t: %d packets sent again, %d NACKs of the receiver, %d timeouts", again, c.Retransmitted,
				w.r.Nacks(), w.s.Timeouts())
		}
	}
}

// A sender with a window of one packet, which is trimmed again and again, waits for about 4, 8,
// 16, … µs, with a round trip of 4 µs, at most a retransmission timeout; an
// acknowledgement ends that. With a window of two it never waits.
func TestNackHold(t *testing.T) {
	for _, recovery := range []string{GoBackN, SelectiveRepeat, NoRecovery} {
		w := newPipe(t, 50_000, func(c *Config) { c.Recovery = recovery }, &fixed{window: 1999}, 0)
		now, p := unit.Time(0), &packet.Packet{}
		for i := range 12 {
			w.s.Emit(now, p)
			w.s.Receive(now, nackOf(p, packet.CauseTrimmed))
			wait := min(4*us<<i, 320*us)
			if at := w.s.NextSend() - now; at < wait/2 || at > 3*wait/2 {
				t.Errorf("%s, NACK %d: it waits for %v, want about %v", recovery, i, at, wait)
			}
			now = w.s.NextSend()
		}
		w.s.Emit(now, p)
		w.s.Receive(now+4*us, answer(packet.Ack, 1000, 0))
		if w.s.NextSend() > now+4*us {
			t.Errorf("%s: an acknowledgement has come, and it waits until %v", recovery, w.s.NextSend())
		}
	}
	w := newPipe(t, 50_000, repeat, &fixed{window: 2000}, 0)
	p := &packet.Packet{}
	w.s.Emit(0, p)
	if w.s.Receive(us, nackOf(p, packet.CauseTrimmed)); w.s.NextSend() > us {
		t.Errorf("with a window of two packets it waits until %v", w.s.NextSend())
	}
}

// heeding counts what a controller is told of losses.
type heeding struct {
	cc.Controller
	losses *int
}

func (h heeding) OnLoss(now unit.Time, l cc.Loss) {
	if l.Kind == cc.FastRecovery || l.Kind == cc.ECNEcho {
		*h.losses++
	}
	h.Controller.OnLoss(now, l)
}

// Attackers (BS'19 §5). Off the path and without the ports: nothing counts. With them, but not
// the sequence number: of random ones none hits, for packets / 2⁴⁰ would, and who knows
// where packets begin hits each that is out once. On the path: replays, at once, after the
// retransmission and late, do not count; a NACK for a packet that is delivered does, which cannot be
// told, and its harm is one reduction a round trip and one packet sent twice for each
// forged; with another number than the transmission's it does nothing.
func TestNackAttacks(t *testing.T) {
	var losses int
	x := reno.Scheme()
	build := x.Build
	x.Build = func(f cc.Flow, config scheme.Config) (cc.Controller, error) {
		c, err := build(f, config)
		return heeding{c, &losses}, err
	}
	run := func(n, room int, size unit.Bytes, attack func(r *rack), change func(*Config)) (*rack, string) {
		losses = 0
		r := newRack(t, n, room, size, &x, change)
		if attack != nil {
			attack(r)
		}
		r.run(t, 100*unit.Millisecond)
		var b strings.Builder
		for i, s := range r.senders {
			if s.Counters().Finished == unit.Never {
				t.Errorf("flow %d is not finished", i)
			}
			fmt.Fprintln(&b, s.Counters().Finished, s.Counters().Retransmitted, s.Timeouts())
		}
		return r, b.String()
	}
	random := unit.NewRandom(1, "attacker")
	const size = 500_000
	_, quiet := run(1, 1000, size, nil, nil)
	alone := quiet
	attacks := 0
	forge := func(r *rack, change func(p *packet.Packet)) func(int, *packet.Packet) {
		return func(host int, p *packet.Packet) {
			q := nackOf(p, packet.CauseTrimmed)
			change(q)
			attacks++
			r.push(rackEvent{r.now + us, host, 2, q})
		}
	}
	for name, change := range map[string]func(p *packet.Packet){
		"without the tuple":       func(p *packet.Packet) { p.SrcPort, p.DstPort = p.SrcPort+uint16(attacks), p.DstPort+1 },
		"random sequence numbers": func(p *packet.Packet) { p.Seq = random.Int64N(1 << 40) },
		"another number":          func(p *packet.Packet) { p.Ack = 1 + int64(attacks%255) },
	} {
		attacks = 0
		r, got := run(1, 1000, size, func(r *rack) { r.onData = forge(r, change) }, nil)
		if c := r.senders[0].Counters(); got != quiet || attacks < 500 || c.NacksTaken != 0 ||
			c.NacksRefused != int64(attacks) {
			t.Errorf("%s: %d attacks, %d taken, %d refused; %s, in quiet %s", name, attacks, c.NacksTaken, c.NacksRefused,
				got, quiet)
		}
	}

	// a sweep over all places where packets can begin, at once: it hits what is out
	swept, out := int64(0), 0
	r, got := run(1, 1000, size, func(r *rack) {
		r.onData = func(host int, p *packet.Packet) {
			if p.Seq != 250_000 || p.Ack != 0 {
				return
			}
			out = r.senders[0].InFlight()
			for seq := int64(0); seq < 100_000_000; seq += payload {
				q := *p
				q.Seq = seq
				r.senders[0].Receive(r.now, nackOf(&q, packet.CauseTrimmed))
				swept++
			}
		}
	}, nil)
	c := r.senders[0].Counters()
	t.Logf("a sweep of %d sequence numbers: %d of the %d packets in flight, %d reductions; FCT %s, in quiet %s", swept,
		c.NacksTaken, out, losses, strings.Fields(got)[0], strings.Fields(quiet)[0])
	if c.NacksTaken != int64(out) || c.Retransmitted != int64(out) || losses != 1 {
		t.Errorf("%d packets were in flight, %d NACKs taken, %d packets sent again, %d reductions", out, c.NacksTaken,
			c.Retransmitted, losses)
	}

	// replays of true NACKs
	_, quiet = run(8, 20, 100_000, nil, nil)
	replays := int64(0)
	r, got = run(8, 20, 100_000, func(r *rack) {
		r.onNack = func(host int, p *packet.Packet) {
			for _, later := range []unit.Time{0, 1, us, 3 * us, 10 * us, 30 * us} {
				q := *p
				replays++
				r.push(rackEvent{r.now + us + later, host, 2, &q})
			}
		}
	}, nil)
	_, _, _, taken, refused := r.sum()
	if got != quiet || taken != r.trims || refused < replays*9/10 || replays < 1000 {
		t.Errorf("replays: %d NACKs, %d taken, %d of %d replays refused;\n%s\nwithout:\n%s", r.trims, taken, refused, replays,
			got, quiet)
	}

	// NACKs for what is delivered
	for _, recovery := range []string{GoBackN, SelectiveRepeat} {
		attacks = 0
		r, _ = run(1, 1000, size, func(r *rack) {
			r.onData = forge(r, func(*packet.Packet) {})
		}, func(c *Config) { c.Recovery = recovery })
		c, fct := r.senders[0].Counters(), r.senders[0].Counters().Finished
		t.Logf("%s, a NACK for each packet that is delivered: %d of %d taken, %d reductions in %v (%.1f round trips), %d "+
			"packets sent again; in quiet it is %s", recovery, c.NacksTaken, attacks, losses, fct,
			float64(fct)/float64(4*us), c.Retransmitted, strings.Fields(alone)[0])
		if c.NacksTaken == 0 || float64(losses) > float64(fct)/float64(4*us)+1 || recovery == SelectiveRepeat &&
			c.Retransmitted > c.NacksTaken {
			t.Errorf("%s: %d taken, %d reductions in %v, %d packets sent again", recovery, c.NacksTaken, losses, fct,
				c.Retransmitted)
		}
	}

	// with a key NACKs of switches, which have none, are refused, and timeouts repair
	r, _ = run(8, 20, 100_000, nil, func(c *Config) { c.Telemetry.Integrity = transport.IntegrityKeyed })
	if _, timeouts, _, taken, refused := r.sum(); taken != 0 || refused != r.trims || timeouts == 0 {
		t.Errorf("with a key: %d NACKs, %d taken, %d refused, %d timeouts", r.trims, taken, refused, timeouts)
	}
}

// NACKs, and what is sent for them, allocate nothing.
func TestNackNoAllocation(t *testing.T) {
	for _, recovery := range []string{GoBackN, SelectiveRepeat, NoRecovery} {
		w, out := out5(t, recovery, transport.NacksLoss)
		w.c.keep = false
		nack, elephant, p := nackOf(out[2], packet.CauseTrimmed, packet.Span{Offset: 1000, Lost: 1000}),
			nackOf(out[2], packet.CauseElephant), &packet.Packet{}
		now := 2 * us
		if n := testing.AllocsPerRun(1000, func() {
			now += us
			w.s.Receive(now, elephant)
			w.s.Receive(now, nack)
			w.s.Receive(now, nack)
			for w.s.NextSend() <= now {
				w.s.Emit(now, p)
			}
			nack.Ack, elephant.Ack = (nack.Ack+1)&255, (nack.Ack+1)&255
		}); n > 0 {
			t.Errorf("%s: %v allocations", recovery, n)
		}
		if c := w.s.Counters(); c.NacksTaken < 2000 || c.NacksRefused < 1000 {
			t.Errorf("%s: %d NACKs taken, %d refused", recovery, c.NacksTaken, c.NacksRefused)
		}
	}
}

// Scripts of events, two bytes each: what is sent, arrives, is trimmed, gets lost, and NACKs
// that come late, twice or made up of anything. The books are right, and unless the network
// has lost something without a word, where nothing but NACKs repairs it, the flow ends over a path
// without faults: a NACK never makes it lose anything.
func FuzzNack(f *testing.F) {
	f.Add(uint8(0), uint16(9000), []byte{0, 9, 2, 0, 2, 0, 3, 0, 3, 0, 0, 9, 1, 0})
	f.Add(uint8(1), uint16(20_500), []byte{0, 20, 2, 3, 2, 3, 3, 0, 3, 1, 0, 5, 6, 0, 0, 3, 2, 0, 5, 0, 1, 0, 4, 0})
	f.Add(uint8(2), uint16(65_535), []byte{0, 30, 2, 0, 1, 2, 1, 5, 3, 9, 8, 3, 9, 200, 0, 9, 10, 77, 10, 3, 0, 9})
	f.Add(uint8(4+1), uint16(30_000), []byte{0, 30, 2, 0, 2, 0, 2, 0, 6, 0, 0, 9, 1, 0, 3, 0, 9, 44, 9, 2, 9, 16})
	f.Add(uint8(8+2), uint16(30_000), []byte{0, 30, 11, 1, 3, 0, 6, 0, 0, 9, 7, 0, 3, 0, 9, 44, 10, 0, 0, 9})
	f.Fuzz(func(t *testing.T, mode uint8, size uint16, script []byte) {
		if size == 0 || len(script) > 1000 {
			return
		}
		c := &fixed{window: 20_000}
		w := newPipe(t, unit.Bytes(size), func(c *Config) {
			c.Recovery = []string{GoBackN, SelectiveRepeat, NoRecovery}[int(mode&3)%3]
			c.Nacks = []string{transport.NacksLoss, transport.NacksResend, transport.NacksSupply}[int(mode>>2&3)%3]
			c.Resends = []string{ResendFirst, ResendAll}[mode>>4&1]
		}, c, cc.CNPMode)
		silent := false
		take := func(q *[]flight, n int) *packet.Packet {
			if len(*q) == 0 {
				return nil
			}
			n %= len(*q)
			p := (*q)[n].p
			*q = append((*q)[:n], (*q)[n+1:]...)
			return p
		}
		for i := 0; i+1 < len(script); i += 2 {
			n := int(script[i+1])
			w.now += unit.Time(1+n) * 10
			switch script[i] % 12 {
			case 0: // sends
				for range n {
					if w.s.NextSend() > w.now {
						break
					}
					p := &packet.Packet{Src: 1, Dst: 2, Sent: w.now}
					w.s.Emit(w.now, p)
					w.data = append(w.data, flight{w.now, p})
					w.check()
				}
			case 1: // one arrives
				if p := take(&w.data, n); p != nil && w.r.Receive(w.now, p) {
					w.back = append(w.back, flight{w.now, p})
				}
			case 2: // one is trimmed, or had room, and its NACK is on its way
				if p := take(&w.data, n); p != nil {
					w.back = append(w.back, flight{w.now, nackOf(p, packet.Cause(n>>6&1))})
				}
			case 3:
				if p := take(&w.back, n); p != nil {
					w.s.Receive(w.now, p)
				}
			case 4:
				if take(&w.back, n) != nil {
					silent = true
				}
			case 5:
				for w.r.NextSend() <= w.now {
					p := &packet.Packet{Src: 2, Dst: 1}
					w.r.Emit(w.now, p)
					w.back = append(w.back, flight{w.now, p})
				}
			case 6:
				if at := w.s.NextTimer(); at != unit.Never {
					w.now = max(w.now, at)
					w.s.Advance(w.now)
				}
			case 7:
				if take(&w.data, n) != nil {
					silent = true
				}
			case 8: // what comes back comes twice
				if len(w.back) > 0 {
					p := *w.back[n%len(w.back)].p
					w.back = append(w.back, flight{w.now, &p})
				}
			case 9: // a NACK, made up: of a packet of the flow, or of anything
				p := &packet.Packet{Seq: int64(n>>2) * payload / 2, Ack: int64(n & 3), SrcPort: 10, DstPort: 20,
					Proto: packet.ProtoRDMA, Payload: payload}
				q := nackOf(p, packet.Cause(n%int(packet.Causes)), packet.Span{Offset: int32(n-128) * 500, Lost: payload},
					packet.Span{Offset: int32(n) << 23, Lost: int32(n)})
				if n&1 == 1 {
					q.SetExtension(packet.ExtNotification, script[i:min(len(script), i+n)])
				}
				w.s.Receive(w.now, q)
			case 10:
				c.window, c.rate = unit.Bytes(1+n*100), unit.Rate(n%5)*20*unit.Gbps
			default: // a NACK of what is not gone
				if len(w.data) > 0 {
					w.back = append(w.back, flight{w.now, nackOf(w.data[n%len(w.data)].p, packet.Cause(n>>5)%packet.Causes)})
				}
			}
			w.check()
			if s := w.s.Counters(); s.NacksTaken+s.NacksRefused > s.ReceivedPackets {
				t.Fatalf("%d NACKs taken and %d refused of %d packets", s.NacksTaken, s.NacksRefused, s.ReceivedPackets)
			}
		}
		c.window = 20_000
		if silent && w.s.config.Recovery == NoRecovery {
			return
		}
		sortFlights(w)
		w.run(unit.Never - 1)
		w.done(unit.Bytes(size))
	})
}
