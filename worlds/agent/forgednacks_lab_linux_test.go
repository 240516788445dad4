//go:build lab

package agent_test

import (
	"net/netip"
	"testing"
	"time"

	"weir/core/packet"
	"weir/core/unit"
	"weir/internal/testkit/await"
	"weir/worlds/agent"
)

// book has the addresses of a rig: host i has Addr i+1.
func (r *rig) book() *packet.Book {
	b := packet.NewBook()
	for i := range r.hosts {
		b.Add(netip.Addr{}, host(i))
	}
	return b
}

// nack returns the NACK of a switch about a frame to the receiver, changed by change.
func nack(t testing.TB, book *packet.Book, frame []byte, change func(p *packet.Packet, n *packet.Notification)) []byte {
	t.Helper()
	var p packet.Packet
	if err := p.Parse(book, frame); err != nil {
		t.Fatal(err)
	}
	to := int(p.Src) - 1
	n := packet.Notification{Cause: packet.CauseTrimmed, Lost: p.Payload, Supply: 8 * unit.Mbps}
	p.SwapEnds()
	change(&p, &n)
	if !p.SetNotice(&n) {
		t.Fatal("no room")
	}
	p.Kind, p.Payload = packet.Nack, 0
	b, err := p.Emit(book, nil)
	if err != nil {
		t.Fatal(err)
	}
	there, here := mac(to), mac(0)
	copy(b, append(there[:], here[:]...))
	return b
}

func asItIs(*packet.Packet, *packet.Notification) {}

// stuck is a connection from a1 with segments in flight that do not arrive, so that no other event moves its state.
type stuck struct {
	*rig
	agent *agent.Agent
	flow  *flow
	book  *packet.Book
	data  [][]byte // frames that are out, each sent once
}

func newStuck(t testing.TB, nacks string) *stuck {
	t.Helper()
	r := lay(t, path{Rate: 50e6, Back: 1e9, Delay: 2 * time.Millisecond, Buffer: 300}, 1)
	s := &stuck{rig: r, agent: r.agent("a1", followNCF(nacks)), book: r.book()}
	s.flow = r.open("a1")
	go s.flow.drain()
	s.flow.write(t, 1<<20)
	r.silent(s.flow, "a1")
	seen := capture(r.node)
	r.node.cut.Store(true)
	const segments = 20
	again := s.flow.info(t).TotalRetrans
	if _, err := s.flow.from.Write(make([]byte, segments*1428)); err != nil {
		t.Fatal(err)
	}
	await.AwaitCondition(t, "segments", func() bool {
		seen.mu.Lock()
		defer seen.mu.Unlock()
		s.data = nil
		for _, b := range seen.frames {
			if g, ok := segmentOf(b); ok && len(g.data) == 1428 {
				s.data = append(s.data, b)
			}
		}
		return len(s.data) >= segments
	})
	// Probes of the tail, and the first timeout, are for the last and the first of them.
	s.data = s.data[4:14]
	await.AwaitCondition(t, "a probe", func() bool { return s.flow.info(t).TotalRetrans > again })
	return s
}

// state returns the agent's counters of the connection.
func (s *stuck) state() (n agent.Nacks) {
	for _, c := range connections(s.t, s.agent) {
		if c.Nacks != nil {
			n = *c.Nacks
		}
	}
	n.Age = 0
	return n
}

// TestForgedNacks checks that an attacker who does not see a connection's packets must guess. A NACK counts only if
// it names a transmission in flight, by its first byte, length and timestamp, with this end's acknowledgement and
// echo (BS'19 §5, RFC 5961). Each invalid form of the simulator's tests is refused and passed to the kernel, which
// ignores it: all data arrives in the end.
func TestForgedNacks(t *testing.T) {
	s := newStuck(t, agent.NacksSupply)
	type change = func(*packet.Packet, *packet.Notification)
	segment := 1428
	for i, x := range []struct {
		name            string
		change          change
		then            func([]byte)
		refused, strays uint32
	}{
		{"another port here", func(p *packet.Packet, _ *packet.Notification) { p.DstPort-- }, nil, 0, 1},
		{"another port there", func(p *packet.Packet, _ *packet.Notification) { p.SrcPort++ }, nil, 0, 1},
		{"a byte further", func(p *packet.Packet, _ *packet.Notification) { p.Seq++ }, nil, 1, 0},
		{"a byte before", func(p *packet.Packet, _ *packet.Notification) { p.Seq-- }, nil, 1, 0},
		{"what was acknowledged", func(p *packet.Packet, _ *packet.Notification) { p.Seq -= int64(30 * segment) }, nil, 1, 0},
		{"what was never sent", func(p *packet.Packet, _ *packet.Notification) { p.Seq += int64(30 * segment) }, nil, 1, 0},
		{"a guess", func(p *packet.Packet, _ *packet.Notification) { p.Seq += 1 << 30 }, nil, 1, 0},
		{"a stamp of later", func(p *packet.Packet, _ *packet.Notification) { p.TCP.TSVal++ }, nil, 1, 0},
		{"a stamp of before", func(p *packet.Packet, _ *packet.Notification) { p.TCP.TSVal-- }, nil, 1, 0},
		{"an acknowledgement that was not made", func(p *packet.Packet, _ *packet.Notification) { p.Ack++ }, nil, 1, 0},
		{"an acknowledgement of long ago", func(p *packet.Packet, _ *packet.Notification) { p.Ack -= 1 << 30 }, nil, 1, 0},
		{"an echo that was not made", func(p *packet.Packet, _ *packet.Notification) { p.TCP.TSEcho += 1000 }, nil, 1, 0},
		{"another length", func(_ *packet.Packet, n *packet.Notification) { n.Lost-- }, nil, 1, 0},
		{"nothing is gone", func(_ *packet.Packet, n *packet.Notification) { n.Lost = 0 }, nil, 1, 0},
		{"an elephant's loss", func(_ *packet.Packet, n *packet.Notification) { n.Cause = packet.CauseElephant }, nil, 1, 0},
		{"an elephant's losses", func(_ *packet.Packet, n *packet.Notification) {
			n.Cause, n.Lost, n.Spans, n.More[0] = packet.CauseElephant, 0, 1, packet.Span{Offset: 1428, Lost: 1428}
		}, nil, 1, 0},
		{"another version", asItIs, func(b []byte) { b[notice(b)+4] ^= 0x60 }, 0, 0},
		{"another cause", asItIs, func(b []byte) { b[notice(b)+4] |= 7 << 2 }, 0, 0},
		{"an unknown flag", asItIs, func(b []byte) { b[notice(b)+4] |= 2 }, 0, 0},
		{"another experiment", asItIs, func(b []byte) { b[notice(b)+2]++ }, 0, 0},
		{"cut short", asItIs, func(b []byte) { b[notice(b)+1] = 10; b[notice(b)+10] = 1 }, 0, 0},
		{"a reset", asItIs, func(b []byte) { b[54+13] |= 4 }, 0, 0},
		{"a SYN", asItIs, func(b []byte) { b[54+13] |= 2 }, 0, 0},
		{"no time stamp", asItIs, func(b []byte) { b[optionAt(b, 8)] = 254 }, 0, 0},
	} {
		before, strays := s.state(), s.strays()
		b := nack(t, s.book, s.data[i%len(s.data)], x.change)
		if x.then != nil {
			x.then(b)
		}
		sum(b)
		s.pass(1, b)
		if x.refused+x.strays > 0 {
			await.AwaitCondition(t, x.name, func() bool { return s.state().Refused+s.strays() > before.Refused+strays })
		}
		after := s.state()
		if after.Refused-before.Refused != x.refused || s.strays()-strays != x.strays || after.Taken > 0 || after.Bound > 0 {
			t.Errorf("%s: %+v\nbecomes %+v, %d strays", x.name, before, after, s.strays()-strays)
		}
	}
	s.replay(t)
	s.node.cut.Store(false)
	await.AwaitCondition(t, "all data", func() bool { return s.flow.came.Load() == 1<<20+20*1428 })
}

// replay checks that a true NACK counts once. Repeated at once, before others of transmissions as early, or after
// its segment has arrived, it has no effect.
func (s *stuck) replay(t testing.TB) {
	t.Helper()
	first, later := nack(t, s.book, s.data[3], asItIs), nack(t, s.book, s.data[7], asItIs)
	for i, x := range []struct {
		frame           []byte
		taken, repeated uint32
	}{{first, 1, 0}, {first, 1, 1}, {later, 2, 1}, {first, 2, 2}, {later, 2, 3}} {
		before := s.state()
		s.node.inject(1, x.frame)
		await.AwaitCondition(t, "its count",
			func() bool { n := s.state(); return n.Taken+n.Repeated > before.Taken+before.Repeated })
		if n := s.state(); n.Taken != x.taken || n.Repeated != x.repeated || n.Supply != 8*unit.Mbps {
			t.Errorf("NACK %d: %+v\nbecomes %+v", i, before, n)
		}
	}
	s.node.cut.Store(false)
	await.AwaitCondition(t, "its arrival", func() bool { return s.flow.came.Load() == 1<<20+20*1428 })
	s.silent(s.flow, "a1")
	before := s.state()
	s.node.inject(1, later)
	await.AwaitCondition(t, "a refusal", func() bool { return s.state().Refused == before.Refused+1 })
	if n := s.state(); n.Taken != before.Taken || n.Bound > 0 {
		t.Errorf("of what has arrived: %+v", n)
	}
}

func (s *stuck) strays() uint32 {
	n, err := s.agent.CountStrays()
	if err != nil {
		s.t.Fatal(err)
	}
	return uint32(n)
}

// notice returns the offset of a NACK's option. Other options may have bytes of the same value.
func notice(b []byte) int { return optionAt(b, 253) }

// optionAt returns the offset of a TCP option in a frame without a trace. The option must exist.
func optionAt(b []byte, kind byte) int {
	at := 74
	for b[at] != kind {
		if b[at] != 1 {
			at += int(b[at+1]) - 1
		}
		at++
	}
	return at
}

// everyOne makes the path NACK every segment with data, though all arrive.
func (r *rig) everyOne(supply unit.Rate) {
	book := r.book()
	attack := func(b []byte) {
		if g, ok := segmentOf(b); ok && len(g.data) > 0 && b[14+39] == 1 {
			b = nack(r.t, book, b, func(_ *packet.Packet, n *packet.Notification) { n.Supply = supply })
			r.node.injected[1] = append(r.node.injected[1], b)
		}
	}
	r.node.watch.Store(&attack)
}

// inFlight returns the number of a connection's segments in flight.
func (f *flow) inFlight(t testing.TB) int {
	i := f.info(t)
	return int(i.InFlight())
}

// rate returns the payload rate of a connection over a time, in bit/s.
func (f *flow) rate(during time.Duration) float64 {
	came, from := f.came.Load(), time.Now()
	time.Sleep(during)
	return float64(f.came.Load()-came) * 8 / time.Since(from).Seconds()
}

// TestFloodOfNacks checks an attacker who sees a connection's packets and NACKs every one, though all arrive. That
// holds the connection at two segments, and not below, for as long as it lasts, under any congestion control. Two round
// trips later it sends as before, except BBR, which has measured a slow path and takes longer.
func TestFloodOfNacks(t *testing.T) {
	for _, x := range []struct{ nacks, control string }{{agent.NacksLoss, "cubic"}, {agent.NacksSupply, "cubic"},
		{agent.NacksLoss, "reno"}, {agent.NacksSupply, "bbr"}} {
		t.Run(x.nacks+", "+x.control, func(t *testing.T) {
			r := lay(t, path{Rate: 50e6, Back: 1e9, Delay: 5 * time.Millisecond, Buffer: 100}, 1)
			a := r.agent("a1", followNCF(x.nacks))
			f := r.open("a1")
			f.control(t, x.control)
			f.send()
			await.AwaitCondition(t, "a window", func() bool { return f.came.Load() > 4<<20 })
			r.everyOne(unit.Kbps)
			await.AwaitCondition(t, "two segments", func() bool {
				c := connections(t, a)
				return len(c) == 1 && c[0].Nacks != nil && c[0].Nacks.Bound > 0 && c[0].Nacks.Bound <= 2*1428 &&
					f.inFlight(t) <= 2 && c[0].Controller == x.control
			})
			await.AwaitCondition(t, "a second with a quarter at the least of two segments a round trip", func() bool {
				rate, c := f.rate(time.Second)/8, connections(t, a)[0]
				t.Logf("%.0f segments/s, a round trip of %v, a window of %d; %+v", rate/1428, c.RTT, c.Window, *c.Nacks)
				return rate > 2*1428/c.RTT.Seconds()/4
			})
			nothing := func([]byte) {}
			r.node.watch.Store(&nothing)
			end := time.Now()
			await.AwaitCondition(t, "the end of the bound", func() bool {
				return connections(t, a)[0].Nacks.Bound == 0 && f.inFlight(t) > 4
			})
			t.Logf("%v after the attack it has %d segments in flight", time.Since(end), f.inFlight(t))
			if x.control == "bbr" {
				return
			}
			await.AwaitCondition(t, "a second with half the link", func() bool {
				rate := f.rate(time.Second)
				t.Logf("in a second after it, it has %.1f of 47 Mb/s", rate/1e6)
				return rate > 25e6
			})
		})
	}
}
