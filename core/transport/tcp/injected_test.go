package tcp

import (
	"encoding/hex"
	"fmt"
	"testing"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/unit"
)

// injection is one experiment of docs/sources.md#injected-acks: what a switch on the
// path does to the ACKs of an unmodified sender.
type injection struct {
	w       *pipe
	warm    unit.Bytes
	from    unit.Time
	lowest  unit.Bytes // smallest window that the sender had
	window  unit.Bytes // and that before the injections
	inState [5]unit.Time
	last    unit.Time
}

// inject runs 1 s without and 4 s with injections.
func inject(t *testing.T, controller string, ecn bool, start func(w *pipe)) *injection {
	w := newPipe(t, controller, 0, func(c *Config) { c.ECN = ecn })
	w.runUntil(unit.Second)
	x := &injection{w: w, warm: w.r.counters.ReceivedBytes, from: w.now, window: w.s.PeerWindow(),
		lowest: w.s.PeerWindow(), last: w.now}
	start(w)
	w.after = func() {
		x.lowest = min(x.lowest, w.s.PeerWindow())
		x.inState[w.s.state] += w.now - x.last
		x.last = w.now
	}
	w.runUntil(5 * unit.Second)
	return x
}

func (x *injection) goodput() float64 { return x.w.goodput(x.warm, x.from) }

// behind sends a changed copy of every n-th ACK in order behind it; ahead sends it past
// all ACKs that are on their way.
func behind(w *pipe, n int, change func(p *packet.Packet)) { copies(w, n, w.delay, change) }
func ahead(w *pipe, n int, change func(p *packet.Packet))  { copies(w, n, 0, change) }

func copies(w *pipe, n int, in unit.Time, change func(p *packet.Packet)) {
	i := 0
	w.onAck = func(p *packet.Packet) (bool, unit.Time) {
		if i++; i%n == 0 {
			c := *p
			change(&c)
			defer w.inject(&c, in+50*unit.Microsecond)
		}
		return true, 0
	}
}

const small = 19456 // bytes: 19 units of the window's scale

func shrink(p *packet.Packet) { p.TCP.Window = small >> minScale }

// TestInjectedWindows checks window updates: tcp_may_update_window accepts iff ack > snd_una, or seq > snd_wl1, or seq
// == snd_wl1 and the window grows or is 0.
func TestInjectedWindows(t *testing.T) {
	x := inject(t, "cubic", false, func(w *pipe) { behind(w, 1, shrink) })
	if x.lowest <= small || x.goodput() < 47 {
		t.Errorf("same sequence, smaller window, behind the ACK: window fell to %d, %.1f Mb/s; Linux ignores it", x.lowest,
			x.goodput())
	}
	x = inject(t, "cubic", false, func(w *pipe) { ahead(w, 50, shrink) })
	if x.lowest != small || x.goodput() < 46 || x.w.s.PeerWindow() <= small {
		t.Errorf("overtaking ACKs on their way: window fell to %d and is %d, %.1f Mb/s; Linux takes it for 5 ms", x.lowest,
			x.w.s.PeerWindow(), x.goodput())
	}
	x = inject(t, "cubic", false, func(w *pipe) { behind(w, 1, func(p *packet.Packet) { shrink(p); p.Seq++ }) })
	if x.lowest != small || x.goodput() < 47 {
		t.Errorf("sequence + 1: window fell to %d, %.1f Mb/s; Linux takes it until the next ACK", x.lowest, x.goodput())
	}
	x = inject(t, "cubic", false, func(w *pipe) { behind(w, 100, func(p *packet.Packet) { p.TCP.Window = 0 }) })
	if x.lowest != 0 || x.goodput() < 47 {
		t.Errorf("window 0: fell to %d, %.1f Mb/s; Linux takes it until the next ACK", x.lowest, x.goodput())
	}
	x = inject(t, "cubic", false, func(w *pipe) { behind(w, 1, func(p *packet.Packet) { shrink(p); p.TCP.Present = 0 }) })
	if x.lowest <= small || x.goodput() < 47 {
		t.Errorf("without time stamps: window fell to %d, %.1f Mb/s; Linux ignores it", x.lowest, x.goodput())
	}
}

// TestInjectedStamps checks PAWS: a stamp from the past is dropped, and one from the future poisons ts_recent.
func TestInjectedStamps(t *testing.T) {
	x := inject(t, "cubic", false, func(w *pipe) {
		behind(w, 1, func(p *packet.Packet) { shrink(p); p.Seq++; p.TCP.TSVal -= 1e6 })
	})
	if x.lowest <= small || x.goodput() < 47 {
		t.Errorf("stamp 1e6 ticks old: window fell to %d, %.1f Mb/s; Linux drops it", x.lowest, x.goodput())
	}
	x = inject(t, "cubic", false, func(w *pipe) {
		behind(w, 200, func(p *packet.Packet) { p.TCP.TSVal += 100_000 })
	})
	if x.w.s.rto.timeouts < 3 || x.goodput() > 10 {
		t.Errorf("stamp 100 s ahead: %d timeouts, %.1f Mb/s; with Linux real ACKs fail PAWS, and RTOs follow",
			x.w.s.rto.timeouts, x.goodput())
	}
}

// TestInjectedDuplicates checks that ACKs without new data change no state: stale ACKs, and duplicates without SACK
// blocks, which a connection with SACK does not count. TestInjectedDuplicatesFull runs for longer.
func TestInjectedDuplicates(t *testing.T) { injectedDuplicates(t, 300*ms) }

// injectedDuplicates sends copies of ACKs on a fast path from 200 ms to the given end.
func injectedDuplicates(t *testing.T, end unit.Time) {
	t.Helper()
	x := inject(t, "cubic", false, func(w *pipe) { behind(w, 1, func(p *packet.Packet) { p.Ack -= 100_000; shrink(p) }) })
	if x.lowest <= small || x.goodput() < 47 {
		t.Errorf("stale: window fell to %d, %.1f Mb/s", x.lowest, x.goodput())
	}
	w := newPipe(t, "cubic", 0, nil)
	w.rate = 10 * unit.Gbps // no losses
	w.runUntil(200 * ms)
	i := 0
	w.onAck = func(p *packet.Packet) (bool, unit.Time) {
		if i++; i%100 == 1 {
			for range 50 {
				c := *p
				w.inject(&c, w.delay+1)
			}
		}
		return true, 0
	}
	w.runUntil(end)
	if w.s.counters.Retransmitted > 0 {
		t.Errorf("50 copies of an ACK: %d packets sent again", w.s.counters.Retransmitted)
	}
}

// TestInjectedMalformed checks the output of P4TE's leaf.p4 as published: 20 bytes of TCP by IP's length, a data offset
// of 8 words. It is malformed: a stack drops it, and so does the parser.
func TestInjectedMalformed(t *testing.T) {
	b, _ := hex.DecodeString("1388271000000001000005a98010001300000000")
	if _, err := packet.ParseTCP(b); err == nil {
		t.Error("a header longer than the segment is taken")
	}
}

// TestInjectedAcknowledgements checks P4TE's ack = data sequence + 1, well-formed, which acknowledges data that has not
// arrived. Without loss the RTT becomes that to the switch's egress, below the path's 10 ms (the live switch
// acknowledged at its ingress, and measured 15 us). A loss kills the connection.
func TestInjectedAcknowledgements(t *testing.T) {
	early := func(w *pipe, loss float64) {
		random := unit.NewRandom(1, "loss")
		last := packet.Packet{}
		var pending []*packet.Packet // copies that have not left yet: of the last ACK, whichever that is then
		w.onAck = func(p *packet.Packet) (bool, unit.Time) {
			last = *p
			for _, c := range pending {
				c.TCP.TSVal = p.TCP.TSVal
			}
			return true, 0
		}
		w.onData = func(p *packet.Packet) (bool, unit.Time) {
			if p.Payload == 0 || last.Ack == 0 {
				return true, 0
			}
			c := last
			if pending = append(pending, &c); len(pending) > 200 {
				pending = pending[100:]
			}
			c.Ack = p.Seq + 1
			c.TCP.Blocks = 0
			shrink(&c)
			if random.Float64() < loss {
				return false, 0
			}
			// as the packet departs from the queue
			w.inject(&c, max(w.free-w.now, 0)+unit.TransmitTime(unit.Bytes(p.Size), w.rate)+15*unit.Microsecond)
			return true, 0
		}
	}
	x := inject(t, "cubic", false, func(w *pipe) { early(w, 0) })
	if least := x.w.s.rtt.min.get(); least > 5*ms || x.goodput() < 45 {
		t.Errorf("ack = seq + 1: smallest RTT %v, %.1f Mb/s; with Linux 15 us, 47 Mb/s", least, x.goodput())
	}
	x = inject(t, "cubic", false, func(w *pipe) { early(w, 0.005) })
	if b := x.w.r.counters.ReceivedBytes; x.goodput() > 12 {
		t.Errorf("ack = seq + 1 and 0.5 %% loss: %.1f Mb/s; with Linux the connection is dead", x.goodput())
	} else if x.w.runUntil(10 * unit.Second); x.w.r.counters.ReceivedBytes != b {
		t.Errorf("it is not dead: %d bytes came", x.w.r.counters.ReceivedBytes-b)
	}
}

// TestRewrittenWindows checks that a rewritten window in every ACK (AC/DC) limits any sender to W / RTT.
func TestRewrittenWindows(t *testing.T) {
	clamp := func(w *pipe, most int) {
		w.onAck = func(p *packet.Packet) (bool, unit.Time) {
			p.TCP.Window = min(p.TCP.Window, uint16(most>>minScale))
			return true, 0
		}
	}
	for _, name := range []string{"cubic", "reno", "bbr"} {
		t.Run(name, func(t *testing.T) {
			x := inject(t, name, false, func(w *pipe) { clamp(w, 30000) })
			x.w.after = nil
			drops := x.w.drops
			b, from := x.w.r.counters.ReceivedBytes, x.w.now
			x.w.runUntil(8 * unit.Second)
			if got := x.w.goodput(b, from); got < 21.5 || got > 23 || x.w.s.PeerWindow() != 29696 || x.w.drops != drops {
				t.Errorf("%s, W = 30000: %.2f Mb/s, window %d, %d losses; with Linux 22.5 Mb/s, 29696, 0", name, got,
					x.w.s.PeerWindow(), x.w.drops-drops)
			}
			x.w.onAck = nil
			x.w.runUntil(x.w.now + 50*ms)
			b, from = x.w.r.counters.ReceivedBytes, x.w.now
			x.w.runUntil(x.w.now + 2*unit.Second)
			if got := x.w.goodput(b, from); got < 44 {
				t.Errorf("%s released: %.2f Mb/s", name, got)
			}
		})
	}
	x := inject(t, "cubic", false, func(w *pipe) { clamp(w, 3000) })
	b, from := x.w.r.counters.ReceivedBytes, x.w.now
	x.w.runUntil(8 * unit.Second)
	if got := x.w.goodput(b, from); got < 1.5 || got > 1.6 {
		t.Errorf("W = 3000: %.2f Mb/s; with Linux 1.57 (1448 and 600 bytes a round trip), no stall", got)
	}
}

// TestInjectedEchoes checks that ECE on passing ACKs, or on copies of the last one, reduces a sender that negotiated
// ECN, once a window.
func TestInjectedEchoes(t *testing.T) {
	echo := func(p *packet.Packet) { p.TCP.Flags |= packet.ECE }
	every := func(w *pipe) { w.onAck = func(p *packet.Packet) (bool, unit.Time) { echo(p); return true, 0 } }
	for _, name := range []string{"cubic", "reno"} {
		t.Run(name, func(t *testing.T) {
			x := inject(t, name, true, every)
			if x.goodput() > 5 || x.w.s.cwnd() > 4 {
				t.Errorf("%s, ECE on every ACK: %.1f Mb/s, cwnd %d; with Linux 2 Mb/s, 2", name, x.goodput(), x.w.s.cwnd())
			}
		})
	}
	one := func(n int, change func(*packet.Packet)) func(w *pipe) {
		return func(w *pipe) { behind(w, n, func(p *packet.Packet) { echo(p); change(p) }) }
	}
	plain := func(*packet.Packet) {}
	// once in 500 packets: an ACK every two
	x := inject(t, "cubic", true, one(250, plain))
	if g := x.goodput(); g < 20 || g > 38 || x.inState[cc.Reduced] == 0 {
		t.Errorf("a copy with ECE in 500 packets: %.1f Mb/s, %v in CWR; with Linux 28", g, x.inState[cc.Reduced])
	}
	y := inject(t, "cubic", true, one(250, func(p *packet.Packet) { p.TCP.Present = 0 }))
	if d := y.goodput() - x.goodput(); d < -3 || d > 3 {
		t.Errorf("without time stamps %.1f Mb/s, with them %.1f", y.goodput(), x.goodput())
	}
	for _, c := range []struct {
		name string
		ecn  bool
	}{{"bbr", true}, {"cubic", false}} {
		t.Run(fmt.Sprintf("%s, ECN %v: ignored", c.name, c.ecn), func(t *testing.T) {
			if x := inject(t, c.name, c.ecn, every); x.goodput() < 44 {
				t.Errorf("%s, ECN %v: %.1f Mb/s; with Linux ECE is ignored", c.name, c.ecn, x.goodput())
			}
		})
	}
}

// TestEchoAtOnce checks that the very ACK with ECE starts the reduction.
func TestEchoAtOnce(t *testing.T) {
	for name, factor := range map[string]float64{"cubic": 0.7, "reno": 0.5} {
		t.Run(name, func(t *testing.T) {
			w := newPipe(t, name, 0, func(c *Config) { c.ECN = true })
			w.rate = unit.Gbps
			w.runUntil(100 * ms)
			before := w.s.cwnd()
			w.onAck = func(p *packet.Packet) (bool, unit.Time) { p.TCP.Flags |= packet.ECE; w.onAck = nil; return true, 0 }
			for w.s.state != cc.Reduced && w.step(unit.Second) {
			}
			if want := int(float64(before) * factor); int(int64(w.s.control.Decision.Window)/w.s.mss) > want+before/4 {
				t.Errorf("%s: window %d → %d, want about %d", name, before, int64(w.s.control.Decision.Window)/w.s.mss, want)
			}
			marks := 0
			w.emitted = func(p *packet.Packet) {
				if p.TCP.Flags&packet.CWR != 0 {
					marks++
				}
			}
			w.runUntil(w.now + 100*ms)
			if w.s.state != cc.Open || marks > 1 {
				t.Errorf("%s: afterwards %v, CWR sent %d times more", name, w.s.state, marks)
			}
		})
	}
}
