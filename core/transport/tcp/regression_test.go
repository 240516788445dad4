package tcp

import (
	"math/rand"
	"testing"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/unit"
)

// ackOf is an ACK as the receiver would send it now.
func ackOf(w *pipe, ack int64, blocks ...int64) *packet.Packet {
	p := &packet.Packet{Src: 2, Dst: 1, Proto: packet.ProtoTCP, Seq: w.s.peer.next, Ack: ack}
	p.TCP.Flags, p.TCP.Window, p.TCP.Present = packet.ACK, 60000, packet.HasTimestamps
	p.TCP.TSVal, p.TCP.TSEcho = max(stampOf(w.now), w.s.peer.tsRecent), stampOf(w.now-10*ms)
	for i := 0; i < len(blocks); i += 2 {
		p.TCP.SACK[i/2] = packet.SACKBlock{Left: uint32(blocks[i]), Right: uint32(blocks[i+1])}
		p.TCP.Blocks++
	}
	return p
}

// TestDSACKOfIdleProbe checks a DSACK that arrives with an empty queue, after TLP resent the tail and all data was
// acknowledged.
func TestDSACKOfIdleProbe(t *testing.T) {
	w := newPipe(t, "reno", 0, func(c *Config) { c.Rate = 5800 * 8 }) // a segment in 250 ms
	late := 0
	w.onData = func(p *packet.Packet) (bool, unit.Time) {
		if p.Seq == 1+4*1448 && late == 0 {
			late++
			return true, 230 * ms // late: TLP sends it again, both arrive
		}
		return true, 0
	}
	w.runUntil(4 * unit.Second)
	t.Log("retransmitted", w.s.counters.Retransmitted, "timeouts", w.s.rto.timeouts, "lost", w.s.lostTotal)
	if !w.s.control.Decision.SlowStart {
		t.Errorf("nothing was lost, yet the window was reduced to %d packets", w.s.cwnd())
	}
}

// TestUndoNeedsRetransmissions checks that undo_retrans −1 means no retransmissions, and does not allow an undo.
func TestUndoNeedsRetransmissions(t *testing.T) {
	w := newPipe(t, "cubic", 0, nil)
	w.runUntil(200 * ms)
	w.s.totalResent = 5
	una := w.s.una
	w.s.Receive(w.now, ackOf(w, una, una+1448, una+5*1448)) // recovery; NIC is busy: nothing sent again
	if w.s.state != cc.Recovery || w.s.undo.resent != -1 {
		t.Fatal(w.s.state, w.s.undo.resent)
	}
	w.s.undo.stamp = 1 // keep Eifel out of it
	w.s.Receive(w.now, ackOf(w, una+1448, una+2*1448, una+5*1448))
	w.s.Receive(w.now, ackOf(w, una+1448, una, una+1448, una+2*1448, una+5*1448))
	if w.s.undo.marker < 0 {
		t.Error("undone by a DSACK with no retransmission made")
	}
}

// TestReorderingWindowOnceARound checks that reo_wnd grows once a round, for any number of DSACKs.
func TestReorderingWindowOnceARound(t *testing.T) {
	w := newPipe(t, "cubic", 0, nil)
	w.runUntil(200 * ms)
	w.s.totalResent, w.s.rack.reorderSeen = 20, 1
	for i := int64(0); i < 8; i++ {
		w.s.Receive(w.now, ackOf(w, w.s.una, w.s.una-1448*(i+1), w.s.una-1448*i))
	}
	if w.s.rack.steps > 2 {
		t.Errorf("%d steps after 8 DSACKs in one round", w.s.rack.steps)
	}
}

// TestUndoWithdrawsCWR checks that undo withdraws CWR (tcp_ecn_withdraw_cwr).
func TestUndoWithdrawsCWR(t *testing.T) {
	w := newPipe(t, "cubic", 0, func(c *Config) { c.ECN = true })
	w.runUntil(200 * ms)
	una := w.s.una
	w.s.Receive(w.now, ackOf(w, una, una+1448, una+5*1448))
	w.s.Emit(w.now, &packet.Packet{})
	q := ackOf(w, una+5*1448)
	q.TCP.TSEcho = w.s.undo.stamp - 1
	w.s.Receive(w.now, q)
	if w.s.undo.marker < 0 && w.s.cwrDue {
		t.Error("undone, and CWR is still to be sent")
	}
}

// TestUndoBeforeRetransmission checks an undo before a retransmission is sent: the ACK is of the original.
func TestUndoBeforeRetransmission(t *testing.T) {
	w := newPipe(t, "cubic", 0, nil)
	w.runUntil(200 * ms)
	una, before := w.s.una, w.s.cwnd()
	w.s.Receive(w.now, ackOf(w, una, una+1448, una+5*1448))
	w.s.Receive(w.now, ackOf(w, una+5*1448))
	if w.s.undo.marker >= 0 || w.s.cwnd() < before {
		t.Errorf("not undone though nothing was sent again: %v, cwnd %d, before %d", w.s.state, w.s.cwnd(), before)
	}
}

// TestSACKFromUna checks that a SACK block that begins at snd_una is not valid.
func TestSACKFromUna(t *testing.T) {
	w := newPipe(t, "cubic", 0, nil)
	w.runUntil(200 * ms)
	w.s.Receive(w.now, ackOf(w, w.s.una, w.s.una, w.s.una+1448))
	if w.s.sackedOut != 0 {
		t.Error("the head is SACKed")
	}
}

// TestMadEcho checks that echoes of time stamps that are far off do not make round trips or the RTO negative or long.
func TestMadEcho(t *testing.T) {
	w := newPipe(t, "cubic", 0, nil)
	w.runUntil(200 * ms)
	for n := w.s.queue.first; n != w.s.queue.end; n++ {
		w.s.queue.at(n).flags |= everSent // all of it was sent again (by RTOs, say)
	}
	for range 20 {
		p := ackOf(w, w.s.una+1448)
		p.TCP.TSEcho = stampOf(w.now) - 1<<31 + 10
		w.s.Receive(w.now, p)
	}
	if w.s.rtt.srtt < 0 || w.s.rto.value < 0 || w.s.SRTT() > unit.Second {
		t.Errorf("srtt %v, rto %v", w.s.SRTT(), w.s.rto.value)
	}
}

// TestResetBeforePAWS checks that RST is accepted although PAWS fails.
func TestResetBeforePAWS(t *testing.T) {
	w := newPipe(t, "cubic", 0, nil)
	w.runUntil(200 * ms)
	p := ackOf(w, w.s.una)
	p.TCP.Flags |= packet.RST
	p.TCP.TSVal -= 100000
	w.s.Receive(w.now, p)
	if w.s.phase != closed {
		t.Error("RST with an old stamp is ignored")
	}
}

// TestNotECT checks that not-ECT after ECT is a retransmission, which causes two quick ACKs.
func TestNotECT(t *testing.T) {
	w := newPipe(t, "cubic", 0, func(c *Config) { c.ECN = true })
	w.runUntil(60 * ms)
	w.r.quick, w.r.threshold, w.r.lastData, w.r.lastAckSent = 0, w.r.clamp, w.now, w.r.next // nothing else hurries the ACK
	p := &packet.Packet{Src: 1, Dst: 2, Proto: packet.ProtoTCP, Seq: w.r.next, Ack: w.r.initial + 1, Payload: 1448}
	p.TCP.Flags, p.TCP.Present, p.TCP.TSVal = packet.ACK, packet.HasTimestamps, w.r.tsRecent
	if !w.r.Receive(w.now, p) {
		t.Error("the ACK of a not-ECT segment is delayed")
	}
}

// TestFRTOSmallWindow checks F-RTO with a window that has room for less than a segment.
func TestFRTOSmallWindow(t *testing.T) {
	w := newPipe(t, "reno", 300000, nil)
	w.onAck = func(p *packet.Packet) (bool, unit.Time) {
		p.TCP.Window = min(p.TCP.Window, 12) // 12288 bytes: 8 segments and a part
		return true, 0
	}
	w.runUntil(300 * ms)
	from := w.now
	w.onData = func(p *packet.Packet) (bool, unit.Time) {
		return p.Payload == 0 || w.s.rto.timeouts > 0, 0
	}
	w.runUntil(60 * unit.Second)
	t.Log("timeouts", w.s.rto.timeouts, "after", w.s.counters.Finished-from)
	if w.s.rto.timeouts > 1 {
		t.Errorf("%d timeouts, finished %v later", w.s.rto.timeouts, w.s.counters.Finished-from)
	}
}

// TestLateEmit checks an Emit that runs later than the application's next writes.
func TestLateEmit(t *testing.T) {
	for k := range 200 {
		w := newPipe(t, "cubic", 0, func(c *Config) { c.Rate = unit.Rate(20+k) * unit.Mbps })
		r := rand.New(rand.NewSource(int64(k)))
		w.emitted = func(p *packet.Packet) {
			if p.Payload == 0 && p.Kind == packet.Ack && w.s.queue.len() > 0 {
				if g := w.s.queue.at(w.s.queue.end - 1); g.seq == g.end {
					t.Fatalf("%d: an empty segment was sent at %v", k, w.now)
				}
			}
			w.nicFree += unit.Time(r.Int63n(int64(2 * ms)))
		}
		w.runUntil(unit.Second)
	}
}

// TestSecondProbe checks that with a TLP in flight, the probe timer's RTO counts from the head.
func TestSecondProbe(t *testing.T) {
	w := newPipe(t, "cubic", 0, nil)
	w.runUntil(200 * ms)
	w.s.tlp.end = w.s.una
	w.s.state = cc.Open
	w.s.scheduleProbe(w.now, true)
	now := w.s.timer.at
	w.s.makeProbeDue(now)
	if want := w.s.queue.at(w.s.queue.first).sent + w.s.rto.value; w.s.timer.at > max(want, now+1) {
		t.Errorf("RTO at %v, want %v", w.s.timer.at, want)
	}
}

// TestIdleUndo checks that a late DSACK with an empty queue undoes.
func TestIdleUndo(t *testing.T) {
	w := newPipe(t, "cubic", 144800, nil)
	w.runUntil(30 * ms)
	for w.s.queue.len() > 0 || w.s.next < w.s.app.end {
		if !w.step(5 * unit.Second) {
			break
		}
		if w.s.phase == closed {
			break
		}
	}
	w.s.phase = established
	w.s.undo.marker, w.s.undo.resent, w.s.undo.possible, w.s.totalResent, w.s.state = w.s.una-1448, 1, true, 5, cc.Open
	w.s.Receive(w.now, ackOf(w, w.s.una, w.s.una-1448, w.s.una))
	if w.s.undo.marker >= 0 {
		t.Error("not undone: DSACK after the last data")
	}
}

// TestProbeRTOMin checks the TLP timer with another rto_min.
func TestProbeRTOMin(t *testing.T) {
	w := newPipe(t, "reno", 1448, func(c *Config) { c.RTOMin = 1 * ms })
	w.runUntil(12 * ms)
	w.s.rtt.srtt, w.s.rto.value = 8*10*ms, 60*ms
	w.s.scheduleProbe(w.now, true)
	if got := w.s.timer.at - w.now; got != 21*ms {
		t.Errorf("TLP after %v, want 2·srtt + rto_min = 21 ms", got)
	}
}

// TestTCP_ForgedSegmentsKeepBounds runs random events with aligned forgeries, and a bound on steps.
func TestTCP_ForgedSegmentsKeepBounds(t *testing.T) {
	for seed := range int64(300) {
		r := rand.New(rand.NewSource(seed))
		name := []string{"reno", "cubic", "dctcp", "bbr"}[seed%4]
		w := newPipe(t, name, 0, func(c *Config) { c.ECN = true; c.InitialSeq = r.Uint32(); c.InitialPeerSeq = r.Uint32() })
		if seed%3 == 0 {
			w.s.app.rate = 20 * unit.Mbps
		}
		w.onData = func(*packet.Packet) (bool, unit.Time) { return r.Intn(20) > 0, unit.Time(r.Int63n(int64(ms))) }
		w.runUntil(25 * ms)
		if w.s.phase != established {
			continue
		}
		steps := 0
		for range 200 {
			for end := w.now + unit.Time(r.Int63n(int64(5*ms))); w.step(end); steps++ {
				if steps > 400_000 {
					t.Fatalf("seed %d, %s: spins at %v", seed, name, w.now)
				}
			}
			span := w.s.next - w.s.una + 2
			any := func() int64 {
				switch r.Intn(5) {
				case 0:
					return w.s.una + 1448*int64(r.Intn(20)-4)
				case 1:
					return w.s.next - 1448*int64(r.Intn(5))
				case 2:
					return w.s.una
				case 3:
					return w.s.una + r.Int63n(span)
				}
				return int64(r.Uint32())
			}
			a := w.s.una
			if r.Intn(8) == 0 {
				a = any()
			}
			p := ackOf(w, a)
			p.TCP.Blocks = uint8(r.Intn(5))
			for i := range p.TCP.Blocks {
				p.TCP.SACK[i] = packet.SACKBlock{Left: uint32(any()), Right: uint32(any())}
			}
			p.TCP.Window = uint16([]int{0, 1, 2, 100, 65535}[r.Intn(5)])
			if r.Intn(3) == 0 {
				p.TCP.Flags |= packet.ECE
			}
			if r.Intn(10) == 0 {
				p.TCP.TSEcho = r.Uint32()
			}
			if r.Intn(10) == 0 {
				p.TCP.Present = 0
			}
			w.s.Receive(w.now, p)
			w.s.check(t, w.now)
			if w.s.rtt.srtt < 0 || w.s.rto.value <= 0 || w.s.inFlight() < 0 || w.s.cwnd() < 1 || w.s.waiting < 0 {
				t.Fatalf("seed %d, %s at %v: srtt %v rto %v in flight %d cwnd %d", seed, name, w.now, w.s.rtt.srtt, w.s.rto.value,
					w.s.inFlight(), w.s.cwnd())
			}
			if r.Intn(3) == 0 {
				d := &packet.Packet{Src: 1, Dst: 2, Proto: packet.ProtoTCP, Seq: w.r.next + int64(r.Intn(40)-10)*1448,
					Ack: w.r.initial + 1, Payload: int32(r.Intn(1448)), TOS: uint8(r.Intn(4))}
				d.TCP.Flags = packet.ACK | uint8(r.Intn(256))&^(packet.RST|packet.SYN|packet.FIN)
				edge := w.r.windowEnd
				if w.r.Receive(w.now, d) && w.r.windowEnd < edge {
					t.Fatalf("seed %d: window shrank", seed)
				}
			}
		}
	}
}

// TestProbeDoesNotUndo checks that a TLP's DSACK does not undo a real recovery.
func TestProbeDoesNotUndo(t *testing.T) {
	w := newPipe(t, "reno", 14480, func(c *Config) { c.CompressedACK = 0 })
	n := 0
	w.onData = func(p *packet.Packet) (bool, unit.Time) {
		if p.Payload > 0 {
			n++
		}
		return n != 1 || p.Payload == 0, 0
	}
	w.onAck = func(p *packet.Packet) (bool, unit.Time) {
		if p.TCP.Blocks > 0 && w.now < 1500*ms {
			d := 15 * ms // SACKs late: TLP first
			return true, d
		}
		if p.Ack > 1448 {
			return true, 60 * ms
		}
		return true, 0
	}
	undone := false
	watch := &lossSpy{Controller: w.s.control.Controller,
		seen: func(l cc.Loss) { undone = undone || l.Kind == cc.Spurious }}
	w.s.control.Controller = watch
	w.runUntil(5 * unit.Second)
	t.Log("retransmitted", w.s.counters.Retransmitted, "drops", w.drops)
	if undone {
		t.Error("a real loss was undone")
	}
}

type lossSpy struct {
	cc.Controller
	seen func(cc.Loss)
}

func (s *lossSpy) OnLoss(now unit.Time, l cc.Loss) { s.seen(l); s.Controller.OnLoss(now, l) }

// TestReorderingWindowGrows checks that the reordering window widens once a round, round after round.
func TestReorderingWindowGrows(t *testing.T) {
	w := newPipe(t, "cubic", 0, nil)
	w.runUntil(60 * ms)
	w.s.totalResent, w.s.rack.reorderSeen = 20, 1
	for range 3 {
		w.s.Receive(w.now, ackOf(w, w.s.una, w.s.una-1448, w.s.una))
		w.runUntil(w.now + 40*ms)
	}
	if w.s.rack.steps != 4 {
		t.Errorf("%d steps after three rounds with a DSACK, want 4", w.s.rack.steps)
	}
}

// TestOldACK checks that an old ACK tags the packets of its SACK blocks, and changes neither PRR nor the controller.
func TestOldACK(t *testing.T) {
	w := newPipe(t, "reno", 0, nil)
	w.runUntil(60 * ms)
	una, calls := w.s.una, 0
	w.s.Receive(w.now, ackOf(w, una, una+1448, una+5*1448))
	w.s.control.Controller = &spy{Controller: w.s.control.Controller, seen: func(*cc.Ack) { calls++ }}
	prr := w.s.prr.delivered
	w.s.Receive(w.now, ackOf(w, una-1448, una+6*1448, una+8*1448))
	if calls > 0 || w.s.prr.delivered != prr {
		t.Error(calls, w.s.prr.delivered-prr)
	}
}

// TestBlindSegments checks RFC 5961: data that ends beyond the window is refused. A reset at the next byte ends the
// receiver, another is answered, and an ACK far below SND.UNA is challenged.
func TestBlindSegments(t *testing.T) {
	w := newPipe(t, "reno", 0, func(c *Config) { c.ReceiveBuffer = 8192 })
	w.runUntil(60 * ms)
	data := func(seq int64, flags uint8, payload int32) *packet.Packet {
		p := &packet.Packet{Src: 1, Dst: 2, Proto: packet.ProtoTCP, Seq: seq, Ack: w.r.initial + 1, Payload: payload}
		p.TCP.Flags = packet.ACK | flags
		return p
	}
	w.r.Receive(w.now, data(w.r.windowEnd-1, 0, 65000))
	if w.r.held > w.r.clamp {
		t.Errorf("%d bytes are held, the window is %d", w.r.held, w.r.clamp)
	}
	if !w.r.Receive(w.now+unit.Second, data(w.r.next+100, packet.RST, 0)) || w.r.reset {
		t.Error("a reset within the window is not challenged")
	}
	if w.r.Receive(w.now+unit.Second, data(w.r.next, packet.RST, 0)) || !w.r.reset || w.r.NextTimer() != unit.Never {
		t.Error("a reset at the next byte is not taken")
	}
	if !w.s.Receive(w.now, ackOf(w, w.s.una-w.s.peer.maxWindow-1)) {
		t.Error("an ACK from long ago is not challenged")
	}
}
