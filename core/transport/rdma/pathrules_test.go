package rdma

import (
	"testing"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/unit"
)

// emitTo sends packets at a time, and returns each with its path.
func emitTo(s *Sender, at unit.Time, packets int) (paths []int) {
	for range packets {
		p := &packet.Packet{Src: 1, Dst: 2}
		s.Emit(at, p)
		paths = append(paths, s.paths.pathOf(p.SrcPort))
	}
	return paths
}

// answerOf returns an answer that arrives by a path.
func answerOf(s *Sender, path int, kind packet.Kind, ack, about int64) *packet.Packet {
	p := answer(kind, ack, about)
	p.DstPort = s.paths.each[path].port
	return p
}

// TestPathTimerFromFirst checks that a path's timer runs from the first packet in flight on it, not from the last.
// Otherwise a dead path would not time out while packets are sent on it.
func TestPathTimerFromFirst(t *testing.T) {
	w, _ := chosen(t, 0, []unit.Bytes{8000, 8000}, make([]unit.Time, 2), nil)
	first := emitTo(w.s, 5*us, 2)
	emitTo(w.s, 90*us, 4)
	for k, p := range w.s.paths.each {
		if p.timerFrom != 5*us || p.out != 3 {
			t.Errorf("path %d, %d packets out, waits from %v", k, p.out, p.timerFrom)
		}
	}
	for _, k := range first {
		if at := w.s.pathTimer(k); at != 325*us {
			t.Errorf("path %d: the timeout is at %v, 320us after its first packet is 325us", k, at)
		}
	}
}

// TestPathPacedFirst checks that of the paths with room the one that may send first is next, not the next in turn.
func TestPathPacedFirst(t *testing.T) {
	w, each := chosen(t, 0, []unit.Bytes{8000, 8000, 8000}, make([]unit.Time, 3), nil)
	for k, c := range each { // 8, 2 and 4 us a packet
		c.rate = []unit.Rate{unit.Gbps, 4 * unit.Gbps, 2 * unit.Gbps}[k]
	}
	w.s.paths.allChanged = true
	w.s.Advance(0)
	var counts [3]int
	for range 14 { // within 8 us of the first ones each path has sent what its rate allows
		at := max(w.s.NextSend(), 0)
		if at > 7*us {
			break
		}
		counts[emitTo(w.s, at, 1)[0]]++
	}
	if counts != [3]int{1, 4, 2} {
		t.Errorf("%v packets went by the paths, want 1, 4 and 2", counts)
	}
}

// TestPathNewRateWaits checks that with new_rate: next (Config.Keeps) a path's pending send stays where the old rate
// put it, as a single path's does.
func TestPathNewRateWaits(t *testing.T) {
	for _, keeps := range []bool{true, false} {
		w, each := chosen(t, 0, []unit.Bytes{8000, 8000}, make([]unit.Time, 2), func(c *Config) { c.Keeps = keeps })
		for _, c := range each {
			c.rate = unit.Gbps
		}
		w.s.paths.allChanged = true
		w.s.paths.Decision()
		emitTo(w.s, 0, 2)
		for _, c := range each {
			c.rate = 2 * unit.Gbps
		}
		w.s.paths.allChanged = true
		w.s.paths.Decision()
		want := map[bool]unit.Time{true: 8 * us, false: 4 * us}[keeps]
		for k, p := range w.s.paths.each {
			if p.pacer.NextSend() != want {
				t.Errorf("keeps %v: path %d sends again at %v, want %v", keeps, k, p.pacer.NextSend(), want)
			}
		}
	}
}

// TestPathTimersAreSeparate checks that timers are separate: OnTimer is called only for the paths that requested this
// time.
func TestPathTimersAreSeparate(t *testing.T) {
	w, each := chosen(t, 0, []unit.Bytes{4000, 4000}, make([]unit.Time, 2), nil)
	each[0].timer, each[1].timer = 10*us, 50*us
	w.s.paths.allChanged = true
	w.s.paths.Decision()
	w.s.paths.OnTimer(10 * us)
	if each[0].timer != unit.Never || each[1].timer != 50*us {
		t.Errorf("timers at 10us and 50us are at %v and %v after 10us", each[0].timer, each[1].timer)
	}
	if d := w.s.paths.Decision(); d.NextTimer != 50*us {
		t.Errorf("the next timer is at %v", d.NextTimer)
	}
}

// TestPathOrderByAnswers checks that an answer proves the order only on the path by which it returned. A late answer to
// the first transmission of a packet that another path resent does not make packets on that path overtaken.
func TestPathOrderByAnswers(t *testing.T) {
	w, each := chosen(t, 0, []unit.Bytes{8000, 8000}, make([]unit.Time, 2), nil)
	s, by := w.s, []int{}
	for n := range unit.Time(8) {
		by = append(by, emitTo(s, n*us, 1)...)
	}
	a, b := by[0], by[1]
	if a == b || by[2] != a {
		t.Fatalf("packets went by %v", by)
	}
	each[a].window = 1000                                  // so that what is lost goes by the other path
	s.Receive(10*us, answerOf(s, a, packet.Nack, 0, 2000)) // 2 overtook 0 on its path
	if s.lostTotal != 1 {
		t.Fatalf("%d lost", s.lostTotal)
	}
	if k := emitTo(s, 11*us, 1)[0]; k != b || s.packetState(0).sentAt != 11*us {
		t.Fatalf("by path %d: %+v", k, *s.packetState(0))
	}
	s.Receive(40*us, answerOf(s, a, packet.Ack, 1000, 0))
	if s.lostTotal != 1 {
		t.Errorf("%d packets are taken for lost on path %d, by which no answer came", s.lostTotal-1, b)
	}
}

// TestPathProbes checks that a silent path without a limit to its delay keeps its packets for 64 first waits while
// another path answers. While all paths are silent it keeps them for any time.
func TestPathProbes(t *testing.T) {
	w, _ := chosen(t, 0, []unit.Bytes{4000, 4000}, make([]unit.Time, 2), func(c *Config) { c.RTOMin = 0 })
	s := w.s
	emitTo(s, 0, 2)
	p := &s.paths.each[0]
	p.silent = true
	if got, want := s.deadAfter(p), 64*s.timeoutAfter(1, 0); got != want {
		t.Errorf("with another path %v, want %v", got, want)
	}
	s.paths.each[1].silent = true
	if got := s.deadAfter(p); got != unit.Never {
		t.Errorf("with no other path %v", got)
	}
}

// TestTimerOfDelayedAnswers checks that a timeout covers the time for which the receiver may wait for more packets, if
// an acknowledgement is for several.
func TestTimerOfDelayedAnswers(t *testing.T) {
	for every, want := range map[int]unit.Time{1: 0, 16: 30 * us} {
		c := Defaults()
		c.AckEvery, c.AckDelay = every, 30*us
		if got := c.describeTimer(&cc.Path{}).ReplyDelay; got != want {
			t.Errorf("an ACK for %d packets comes %v late, want %v", every, got, want)
		}
	}
}
