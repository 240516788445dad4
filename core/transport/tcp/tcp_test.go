package tcp

import (
	"fmt"
	"strings"
	"testing"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/unit"
	"weir/internal/testkit"
)

// describe is one line about a segment.
func describe(p *packet.Packet) string {
	var b strings.Builder
	for i, name := range []string{"FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"} {
		if p.TCP.Flags&(1<<i) != 0 {
			b.WriteString(name + " ")
		}
	}
	fmt.Fprintf(&b, "seq %d ack %d", uint32(p.Seq), uint32(p.Ack))
	if p.Payload > 0 {
		fmt.Fprintf(&b, " data %d", p.Payload)
	}
	fmt.Fprintf(&b, " win %d", p.TCP.Window)
	if p.TCP.MSS > 0 {
		fmt.Fprintf(&b, " mss %d", p.TCP.MSS)
	}
	if p.TCP.Present&packet.HasScale != 0 {
		fmt.Fprintf(&b, " wscale %d", p.TCP.Scale)
	}
	if p.TCP.Present&packet.HasSACKPermitted != 0 {
		b.WriteString(" sackOK")
	}
	if p.TCP.Present&packet.HasTimestamps != 0 {
		fmt.Fprintf(&b, " ts %d:%d", p.TCP.TSVal, p.TCP.TSEcho)
	}
	for _, s := range p.TCP.SACK[:p.TCP.Blocks] {
		fmt.Fprintf(&b, " sack %d-%d", s.Left, s.Right)
	}
	if e := p.TOS & 3; e != 0 {
		b.WriteString([]string{"", " ECT(1)", " ECT(0)", " CE"}[e])
	}
	return b.String()
}

// record writes down every segment as it is sent.
func record(w *pipe) *strings.Builder {
	var log strings.Builder
	onData, onAck := w.onData, w.onAck
	w.onData = func(p *packet.Packet) (keep bool, later unit.Time) {
		if keep = true; onData != nil {
			keep, later = onData(p)
		}
		lost := ""
		if !keep {
			lost = " (lost)"
		}
		fmt.Fprintf(&log, "%9.3f ms  > %s%s\n", w.now.Seconds()*1e3, describe(p), lost)
		return
	}
	w.onAck = func(p *packet.Packet) (keep bool, later unit.Time) {
		if keep = true; onAck != nil {
			keep, later = onAck(p)
		}
		lost := ""
		if !keep {
			lost = " (lost)"
		}
		fmt.Fprintf(&log, "%9.3f ms  < %s%s\n", w.now.Seconds()*1e3, describe(p), lost)
		return
	}
	return &log
}

// lose loses the n-th, … packets of the sender, counted from 0 with the SYN.
func lose(numbers ...int) func(p *packet.Packet) (bool, unit.Time) {
	i := -1
	return func(*packet.Packet) (bool, unit.Time) {
		i++
		for _, n := range numbers {
			if n == i {
				return false, 0
			}
		}
		return true, 0
	}
}

// TestTCP_MatchesTraces compares connections segment by segment, as text: RFC 9293 §3.5 (handshake and its losses) and
// §3.6 (FIN), RFC 6928 (ten packets), RFC 2018 (SACK), RFC 8985 (RACK, TLP), RFC 6298 (timeout).
func TestTCP_MatchesTraces(t *testing.T) {
	for _, c := range []struct {
		name string
		size unit.Bytes
		set  func(w *pipe)
		conf func(c *Config)
	}{
		{"plain", 20000, func(*pipe) {}, nil},
		{"syn-lost", 1000, func(w *pipe) { w.onData = lose(0) }, nil},
		{"syn-ack-lost", 1000, func(w *pipe) {
			n := 0
			w.onAck = func(*packet.Packet) (bool, unit.Time) { n++; return n > 1, 0 }
		}, nil},
		{"handshake-ack-lost", 1000, func(w *pipe) { w.onData = lose(1) }, nil},
		{"one-loss", 30000, func(w *pipe) { w.onData = lose(4) }, nil},
		{"tail-loss", 20000, func(w *pipe) { w.onData = lose(15) }, nil},
		{"retransmission-lost", 60000, func(w *pipe) { w.onData = lose(4, 14) }, nil},
		{"ecn", 30000, func(w *pipe) { w.mark, w.rate = 3, 10*unit.Mbps }, func(c *Config) { c.ECN = true }},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newPipe(t, "reno", c.size, c.conf)
			c.set(w)
			log := record(w)
			w.runUntil(20 * unit.Second)
			if w.s.counters.Finished == unit.Never || w.r.counters.ReceivedBytes != c.size || w.s.phase != closed {
				t.Errorf("%s: %d of %d bytes came, phase %d", c.name, w.r.counters.ReceivedBytes, c.size, w.s.phase)
			}
			testkit.Golden(t, c.name+".txt", log.String())
		})
	}
}

// TestTCP_FillsLink checks that every controller fills the link with one bandwidth-delay product of buffer, 50 Mb/s, 20
// ms: CUBIC to at least 98 %. TestFullLonger runs for a minute.
func TestTCP_FillsLink(t *testing.T) { fillsTheLink(t, 12) }

// fillsTheLink measures each controller's goodput from second 5 to second end.
func fillsTheLink(t *testing.T, end unit.Time) {
	t.Helper()
	share := 50.0 * 1448 / 1514
	for name, least := range map[string]float64{"cubic": 0.98, "reno": 0.97, "dctcp": 0.98, "bbr": 0.95} {
		t.Run(name, func(t *testing.T) {
			w := newPipe(t, name, 0, nil)
			w.delay, w.limit = 10*ms, 83
			if name == "dctcp" {
				w.mark = 20
			}
			w.runUntil(5 * unit.Second)
			b := w.r.counters.ReceivedBytes
			w.runUntil(end * unit.Second)
			if got := w.goodput(b, 5*unit.Second); got < least*share || got > share*1.0001 {
				t.Errorf("%s: %.2f of %.2f Mb/s", name, got, share)
			}
			if w.s.rto.timeouts > 0 {
				t.Errorf("%s: %d timeouts", name, w.s.rto.timeouts)
			}
			if name == "dctcp" && w.s.counters.Retransmitted > 0 {
				t.Errorf("dctcp: %d packets sent again", w.s.counters.Retransmitted)
			}
		})
	}
}

// TestInitialWindow checks RFC 6928: ten packets in the first round trip, or the configured number.
func TestInitialWindow(t *testing.T) {
	for _, n := range []int{1, 10, 32} {
		t.Run(fmt.Sprint(n, " packets"), func(t *testing.T) {
			w := newPipe(t, "reno", 0, func(c *Config) { c.InitialWindow = n })
			sent := 0
			w.onData = func(p *packet.Packet) (bool, unit.Time) {
				if p.Payload > 0 {
					sent++
				}
				return true, 0
			}
			w.runUntil(19 * ms)
			if sent != n {
				t.Errorf("%d packets in the first round trip, want %d", sent, n)
			}
		})
	}
}

// TestTOSAndFraming checks RFC 2474 and RFC 3168 §5: both ends send with the flow's DSCP, and TCP sets ECN's bits. The
// framing decides the size of a segment on links.
func TestTOSAndFraming(t *testing.T) {
	w := newPipe(t, "reno", 30_000, nil)
	wire, _ := packet.FramingByName("wire")
	f := w.s.flow
	f.TOS, f.Framing = 0xb8|packet.CE, wire // expedited forwarding
	var err error
	if w.s, w.r, err = New(f, Defaults()); err != nil {
		t.Fatal(err)
	}
	sizes := map[int32]bool{}
	look := func(p *packet.Packet) (bool, unit.Time) {
		if p.TOS != 0xb8 {
			t.Fatalf("a segment with TOS %#x", p.TOS)
		}
		sizes[p.Size] = true
		return true, 0
	}
	w.onData, w.onAck = look, look
	w.runUntil(5 * unit.Second)
	if !sizes[1514+24] || !sizes[66+24] || w.r.counters.ReceivedBytes != 30_000 {
		t.Errorf("frames of %v bytes", sizes)
	}
}

// TestPAWS_RejectsOldTimestamps checks RFC 7323 §5: a segment with an old stamp is refused at either end. The echoed
// stamp comes from the segment that advanced the window (RFC 7323 §4.3).
func TestPAWS_RejectsOldTimestamps(t *testing.T) {
	w := newPipe(t, "reno", 0, nil)
	w.runUntil(2 * unit.Second)
	p := &packet.Packet{Proto: packet.ProtoTCP, Seq: w.r.next, Payload: 1448}
	p.TCP.Flags, p.TCP.Present, p.TCP.TSVal = packet.ACK, packet.HasTimestamps, 5
	before := w.r.next
	if !w.r.Receive(w.now, p) || w.r.next != before || p.Ack != before {
		t.Errorf("data with a stamp from the past: next %d → %d, answered with %d", before, w.r.next, p.Ack)
	}
	q := &packet.Packet{Proto: packet.ProtoTCP, Seq: w.s.peer.next, Ack: w.s.una + 1448}
	q.TCP.Flags, q.TCP.Present, q.TCP.TSVal = packet.ACK, packet.HasTimestamps, 5
	una := w.s.una
	w.s.Receive(w.now, q)
	if w.s.una != una {
		t.Error("an ACK with a stamp from the past is taken")
	}
}

// TestSendBuffer checks send buffers: the last write returns when all data is in the buffer, before the last byte is
// acknowledged. A small limit slows the flow.
func TestSendBuffer(t *testing.T) {
	w := newPipe(t, "reno", 20_000, nil)
	w.runUntil(unit.Second)
	if w.s.counters.Written >= w.s.counters.Finished || w.s.counters.Written > 15*ms {
		t.Errorf("20 kB: written at %v, acknowledged at %v", w.s.counters.Written, w.s.counters.Finished)
	}
	w = newPipe(t, "reno", 2_000_000, nil)
	w.runUntil(2 * unit.Second)
	if w.s.counters.Written <= 50*ms || w.s.counters.Written >= w.s.counters.Finished-5*ms {
		t.Errorf("2 MB: written at %v, acknowledged at %v", w.s.counters.Written, w.s.counters.Finished)
	}
	w = newPipe(t, "reno", 0, func(c *Config) { c.SendBuffer = 10 * 1448 })
	w.rate = unit.Gbps
	w.runUntil(3 * unit.Second)
	testkit.CheckNear(t, "ten segments in 10 ms [Mb/s]", w.goodput(0, 0), 10*1448*8/0.010/1e6,
		testkit.Tolerance{Relative: 0.05})
}

// TestApplication_KeepsRateStopAndSize checks that the application keeps a rate and a stop time, and that a size is
// exact.
func TestApplication_KeepsRateStopAndSize(t *testing.T) {
	w := newPipe(t, "cubic", 0, func(c *Config) { c.Rate = 8 * unit.Mbps })
	w.runUntil(10 * unit.Second)
	testkit.CheckNear(t, "8 Mb/s", w.goodput(0, 0), 8, testkit.Tolerance{Relative: 0.005})
	w = newPipe(t, "cubic", 1_000_003, func(c *Config) { c.Rate = 8 * unit.Mbps })
	w.runUntil(10 * unit.Second)
	if got := w.r.counters.ReceivedBytes; got != 1_000_003 {
		t.Errorf("%d bytes", got)
	}
	testkit.CheckNear(t, "1 MB at 8 Mb/s [s]", w.s.counters.Finished.Seconds(), 1, testkit.Tolerance{Relative: 0.03})
	w = newPipe(t, "cubic", 0, nil)
	w.s.app.stop = 2 * unit.Second
	w.runUntil(10 * unit.Second)
	if w.s.phase != closed || w.r.next <= w.r.finSeq {
		t.Errorf("stopped at 2 s: phase %d, FIN received %v", w.s.phase, w.r.next > w.r.finSeq)
	}
	testkit.CheckNear(t, "2 s at 50 Mb/s [MB]", float64(w.r.counters.ReceivedBytes)/1e6, 2*47.8/8,
		testkit.Tolerance{Relative: 0.05})
}

// TestWindowValidation follows RFC 7661 §4.2, RFC 2861: a flow that the application limits does not grow its window,
// and loses it when it was idle.
func TestWindowValidation(t *testing.T) {
	for _, name := range []string{"reno", "cubic", "dctcp"} {
		t.Run(name, func(t *testing.T) {
			w := newPipe(t, name, 0, func(c *Config) { c.Rate = 5 * unit.Mbps })
			w.runUntil(20 * unit.Second)
			if c := w.s.cwnd(); c > 20 {
				t.Errorf("%s at 5 Mb/s: window %d", name, c)
			}
			w = newPipe(t, name, 0, nil)
			w.runUntil(3 * unit.Second)
			before := w.s.cwnd()
			w.s.app.rate, w.s.app.start = 1, 0 // it writes nothing more
			w.runUntil(6 * unit.Second)
			w.s.app.rate = 0
			w.s.planNext(w.now)
			most := 0
			w.after = func() {
				if w.now < 6*unit.Second+8*ms {
					most = max(most, w.s.inFlight())
				}
			}
			w.runUntil(7 * unit.Second)
			if most > 10 || before < 50 {
				t.Errorf("%s: after 3 s of idleness %d packets at once; the window was %d", name, most, before)
			}
		})
	}
}

// TestZeroWindow checks RFC 9293 §3.8.6.1: a closed window is probed with backoff, and the flow uses the window that
// opens.
func TestZeroWindow(t *testing.T) {
	w := newPipe(t, "reno", 0, nil)
	w.runUntil(500 * ms)
	w.onAck = func(p *packet.Packet) (bool, unit.Time) { p.TCP.Window = 0; return true, 0 }
	probes := 0
	w.runUntil(2 * unit.Second)
	w.emitted = func(p *packet.Packet) { probes++ }
	b := w.r.counters.ReceivedBytes
	w.runUntil(20 * unit.Second)
	if w.r.counters.ReceivedBytes != b || probes < 3 || probes > 12 {
		t.Errorf("window 0: %d bytes, %d probes in 18 s", w.r.counters.ReceivedBytes-b, probes)
	}
	w.onAck = nil
	w.runUntil(60 * unit.Second)
	if w.goodput(b, 20*unit.Second) < 20 {
		t.Errorf("it opens again: %.1f Mb/s", w.goodput(b, 20*unit.Second))
	}
}

// TestSender_AcceptsResetOnlyInSequence checks that a reset in sequence ends the connection, and another does not (RFC
// 5961 §3.2).
func TestSender_AcceptsResetOnlyInSequence(t *testing.T) {
	w := newPipe(t, "reno", 0, nil)
	w.runUntil(500 * ms)
	rst := func(seq int64) {
		p := &packet.Packet{Proto: packet.ProtoTCP, Seq: seq, Ack: w.s.una}
		p.TCP.Flags = packet.RST | packet.ACK
		w.s.Receive(w.now, p)
	}
	rst(w.s.peer.next + 100)
	if w.s.phase != established {
		t.Error("a reset that is not the next byte ends the connection")
	}
	if rst(w.s.peer.next); w.s.phase != closed {
		t.Error("a reset is ignored")
	}
}

// TestRandomPaths checks that all data arrives over any path, and every count agrees with a recount after every step
// (pipe.step).
func TestRandomPaths(t *testing.T) {
	for seed := range uint64(400) {
		random := unit.NewRandom(seed, "path")
		name := []string{"reno", "cubic", "dctcp", "bbr"}[seed%4]
		w := newPipe(t, name, unit.Bytes(1+random.IntN(600_000)), func(c *Config) {
			c.ECN, c.Bursts = random.IntN(2) == 0, random.IntN(2) == 0
			c.InitialSeq, c.InitialPeerSeq = random.Uint32(), random.Uint32()
			c.ReceiveBuffer = unit.Bytes(8192 << random.IntN(10))
		})
		loss, late, twice := random.Float64()*0.2, random.Float64()*0.2, random.Float64()*0.1
		w.rate, w.limit, w.mark = unit.Rate(1+random.IntN(100))*unit.Mbps, 5+random.IntN(100), random.IntN(20)
		path := func(forward bool) func(p *packet.Packet) (bool, unit.Time) {
			return func(p *packet.Packet) (bool, unit.Time) {
				later := unit.Time(0)
				if random.Float64() < late {
					later = unit.Time(random.Int64N(int64(30 * ms)))
				}
				if random.Float64() < twice {
					c := *p
					if forward {
						insert(&w.forward, flight{w.now + 2*w.delay, 0, &c, 0})
					} else {
						w.inject(&c, 2*w.delay)
					}
				}
				return random.Float64() >= loss, later
			}
		}
		w.onData, w.onAck = path(true), path(false)
		watch := &spy{Controller: w.s.control.Controller}
		watch.seen = func(a *cc.Ack) {
			// Karn: no sample is of a retransmission that answers the first transmission; time
			// stamps are exact to a tick.
			if a.RTT.Sample > 0 && a.RTT.Sample < 10*ms-tick || a.Losses.New < 0 || a.Flight.After < 0 || a.Packets < 0 {
				t.Errorf("seed %d at %v: %+v", seed, w.now, *a)
			}
		}
		w.s.control.Controller = watch
		w.runUntil(6000 * unit.Second)
		if w.s.flow.Size != w.r.counters.ReceivedBytes || w.s.counters.Finished == unit.Never {
			t.Errorf("seed %d, %s, loss %.2f: %d of %d bytes came, finished %v, %d timeouts", seed, name, loss,
				w.r.counters.ReceivedBytes, w.s.flow.Size, w.s.counters.Finished != unit.Never, w.s.rto.timeouts)
		}
	}
}

// FuzzTCP_AnySegmentsKeepCounts sends any segments to both ends in the middle of a transfer. The code never panics, and
// the counts stay right.
func FuzzTCP_AnySegmentsKeepCounts(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20})
	f.Add([]byte(strings.Repeat("\x10\x00\x80\x01\xff\x7f\x20\x40", 20)))
	f.Fuzz(anySegments)
}

// anySegments reads segments out of data and sends them to both ends.
func anySegments(t *testing.T, data []byte) {
	for _, name := range []string{"cubic", "bbr"} {
		w := newPipe(t, name, 300_000, func(c *Config) { c.ECN = true })
		w.runUntil(40 * ms)
		b := data
		next := func() int64 {
			if len(b) == 0 {
				return 0
			}
			v := int64(int8(b[0]))
			b = b[1:]
			return v
		}
		for i := 0; len(b) > 0 && i < 50; i++ {
			p := &packet.Packet{Proto: packet.ProtoTCP, Seq: w.s.peer.next + next()*next(), Ack: w.s.una + next()*next()*16}
			p.TCP.Flags, p.TCP.Window, p.TCP.Present = uint8(next()), uint16(next()<<4), uint8(next())
			p.TCP.TSVal, p.TCP.TSEcho = uint32(int64(w.s.peer.tsRecent)+next()), uint32(int64(w.s.peer.tsRecent)+next())
			p.TCP.Blocks = uint8(next()) % 5
			for k := range p.TCP.Blocks {
				left := uint32(w.s.una + next()*256)
				p.TCP.SACK[k] = packet.SACKBlock{Left: left, Right: left + uint32(next())*256}
			}
			if next()&1 == 0 {
				w.s.Receive(w.now, p)
				w.s.check(t, w.now)
			} else {
				p.Seq = w.r.next + next()*next()
				p.Payload = int32(uint8(next())) * 6
				w.r.Receive(w.now, p)
			}
			w.runUntil(w.now + unit.Time(uint8(next()))*unit.Time(ms)/64)
		}
		w.runUntil(w.now + 2*unit.Second)
	}
}

// TestNoAllocationPerPacket checks that a packet allocates no memory.
func TestNoAllocationPerPacket(t *testing.T) {
	w := newPipe(t, "cubic", 0, nil)
	w.unchecked = true
	w.runUntil(2 * unit.Second)
	ack := &packet.Packet{}
	if n := testing.AllocsPerRun(200, func() {
		w.s.planNext(w.now)
		for w.s.NextSend() <= w.now {
			p := ack
			*p = packet.Packet{Src: 1, Dst: 2, Sent: w.now}
			w.s.Emit(w.now, p)
			if w.r.Receive(w.now, p) {
				w.s.Receive(w.now, p)
				break
			}
		}
		w.now += ms
	}); n != 0 {
		t.Errorf("%g allocations", n)
	}
}
