package tcp

import (
	"fmt"
	"math"
	"testing"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/unit"
)

// state returns all of a sender that a packet from outside could change, except the count of refused NACKs.
func state(s *Sender) string {
	c := s.counters
	c.NacksRefused = 0
	return fmt.Sprintf("%+v %+v %+v %+v %+v %+v %+v %v %v %v %v %+v", s.scoreboard, s.recovery, s.nacks, s.rtt, s.rto, c,
		s.control.Controller, s.timer.at,
		s.plan.action, s.plan.sendAt, s.control.Decision, s.queue.ring)
}

// TestNackWithoutTuple checks an attacker off the path: with any wrong part of the tuple its NACK changes no state.
func TestNackWithoutTuple(t *testing.T) {
	for _, form := range nackForms {
		t.Run(form.name, func(t *testing.T) { strayNack(t, form.of) })
	}
}

func strayNack(t *testing.T, trimmed func(p *packet.Packet) *packet.Packet) {
	w := newPipe(t, "cubic", 0, nil)
	w.runUntil(60 * ms)
	before := state(w.s)
	for i, change := range []func(p *packet.Packet){
		func(p *packet.Packet) { p.SrcPort++ }, func(p *packet.Packet) { p.DstPort-- },
		func(p *packet.Packet) { p.Src++ }, func(p *packet.Packet) { p.Dst++ },
		func(p *packet.Packet) { p.SwapEnds() }, func(p *packet.Packet) { p.Payload = 1448 },
		func(p *packet.Packet) { p.TCP.Present &^= packet.HasTimestamps },
		func(p *packet.Packet) { p.TCP.Flags |= packet.RST },
		func(p *packet.Packet) { p.TCP.Flags |= packet.SYN },
		damage,
	} {
		for k := range uint32(w.s.queue.len()) {
			p := trimmed(sentAs(w, w.s.queue.at(w.s.queue.first+k)))
			change(p)
			if w.s.Receive(w.now, p) || state(w.s) != before {
				t.Fatalf("a NACK with a wrong header counts: change %d", i)
			}
		}
	}
	if c := w.s.counters; c.NacksTaken != 0 || c.NacksRefused != 10*int64(w.s.queue.len()) {
		t.Errorf("%+v", c)
	}
}

// damage cuts the notice in p short.
func damage(p *packet.Packet) {
	if p.TCP.Present&packet.HasNotice != 0 {
		p.TCP.SACK[3].Right = 5
		return
	}
	p.SetExtension(packet.ExtNotification, []byte{0x10, 0, 5})
}

// aim changes a NACK to be about the packet at seq, and about a transmission with the given stamp.
func aim(p *packet.Packet, seq int64, stamp uint32) {
	if p.TCP.Present&packet.HasNotice != 0 {
		old, _ := p.NoticeSubject()
		p.Ack, p.TCP.TSEcho = p.Ack+seq-old, stamp
		return
	}
	p.Seq, p.TCP.TSVal = seq, stamp
}

// TestNackSweep checks an attacker off the path that has the tuple and sweeps sequence numbers. With the right stamp, a
// guess hits with the number of segments that were sent in that millisecond over 2³²; otherwise it must guess both. The
// sweep covers all numbers within 2 MB around the flight (of 4 GB), with the right stamp and with 1000 others, and a
// million anywhere. An option is as hard to guess as an extension.
func TestNackSweep(t *testing.T) {
	for _, form := range nackForms {
		t.Run(form.name, func(t *testing.T) { sweepNacks(t, form.of) })
	}
}

func sweepNacks(t *testing.T, trimmed func(p *packet.Packet) *packet.Packet) {
	w := newPipe(t, "cubic", 0, nil)
	w.unchecked = true
	w.runUntil(400 * ms)
	stamp := stampOf(w.s.queue.at(w.s.queue.first + uint32(w.s.queue.len()/2)).sent)
	out, all := 0, w.s.queue.len()
	for n := w.s.queue.first; n != w.s.queue.end; n++ {
		if stampOf(w.s.queue.at(n).sent) == stamp {
			out++
		}
	}
	guess := sentAs(w, w.s.queue.at(w.s.queue.first))
	sweep := func(stamp uint32, numbers func(i int) int64, n int) int64 {
		p := trimmed(guess)
		before := w.s.counters.NacksTaken
		for i := range n {
			aim(p, numbers(i), stamp)
			w.s.Receive(w.now, p)
		}
		return w.s.counters.NacksTaken - before
	}
	random := unit.NewRandom(1, "attacker")
	around := func(i int) int64 { return w.s.una - 1<<20 + int64(i) }
	var wrong int64
	wrong += sweep(stamp+500, around, 1<<21) // not yet
	for d := range uint32(1000) {
		wrong += sweep(stamp-2000-d, func(i int) int64 { return w.s.una + int64(i)*1448 }, all)
	}
	anywhere := sweep(random.Uint32(), func(int) int64 { return int64(random.Uint32()) }, 1<<20)
	if wrong+anywhere != 0 {
		t.Errorf("%d guesses with a wrong stamp count", wrong+anywhere)
	}
	hits := sweep(stamp, around, 1<<21)
	t.Logf("%d segments out, %d of them of one stamp: of 2²¹ guesses %d hit with the stamp known, 0 without; of 2³² "+
		"that is one in %.3g, and in %.3g", all, out, hits, float64(uint64(1)<<32)/float64(out), math.Pow(2, 64)/float64(all))
	if hits != int64(out) || w.s.lostOut != out {
		t.Errorf("%d guesses hit, %d segments are lost; %d are of that stamp", hits, w.s.lostOut, out)
	}
	w.s.check(t, w.now)
}

// TestNackReplay checks an attacker on the path that replays a genuine NACK: at once, after the retransmission, and
// after the delivery. No state changes. Only a NACK of the retransmission itself counts; within a tick of the stamps,
// of 1 ms, it is equal to the first.
func TestNackReplay(t *testing.T) {
	for _, form := range nackForms {
		t.Run(form.name, func(t *testing.T) { replayNack(t, form.of) })
	}
}

func replayNack(t *testing.T, trimmed func(p *packet.Packet) *packet.Packet) {
	w := newPipe(t, "cubic", 0, nil)
	w.limit = 0
	w.runUntil(60 * ms)
	w.after = func() {}
	g := w.s.queue.at(w.s.queue.end - 5)
	seq, old := g.seq, trimmed(sentAs(w, g))
	replay := func(when string) {
		t.Helper()
		before, c := state(w.s), *old
		if w.s.Receive(w.now, &c); state(w.s) != before {
			t.Errorf("a replay %s counts", when)
		}
	}
	w.now += 3 * ms
	w.s.Receive(w.now, func() *packet.Packet { c := *old; return &c }())
	if w.s.counters.NacksTaken != 1 || w.s.waiting != 1 {
		t.Fatalf("%+v", w.s.counters)
	}
	replay("at once")
	for w.s.waiting > 0 && w.step(unit.Second) {
	}
	replay("after the retransmission")
	true2 := trimmed(sentAs(w, w.s.queue.at(w.s.queue.find(seq, 1448))))
	for w.s.una <= seq && w.step(unit.Second) {
	}
	replay("after the delivery")
	before := state(w.s)
	if w.s.Receive(w.now, true2); state(w.s) != before {
		t.Error("a NACK of what is delivered counts")
	}
	if c := w.s.counters; c.NacksTaken != 1 || c.NacksRefused != 4 || c.Retransmitted != 1 {
		t.Errorf("%+v", c)
	}
}

// TestNackOfDelivered checks an attacker on the path that NACKs every data packet, although it is delivered. A sender
// cannot distinguish this from the truth. It costs at most a window's reduction a round trip, which leaves two packets
// (RFC 5681 equation 4), as with an ECN echo on every ACK (TestInjectedEchoes). Each packet is sent twice at the pace
// of NACKs, more often only as ACKs of new data allow. The flow never stops, and it recovers when the attack ends.
// TestNackOfDeliveredFull has longer attacks and more shares.
func TestNackOfDelivered(t *testing.T) { nacksOfDelivered(t, 2, 1, 100) }

// nacksOfDelivered attacks for the given number of seconds with each of the shares. One packet in each share of packets
// is NACKed.
func nacksOfDelivered(t *testing.T, seconds unit.Time, shares ...int) {
	t.Helper()
	for i, name := range []string{"reno", "cubic", "reno", "cubic"} {
		form := nackForms[i/2]
		t.Run(name+", "+form.name, func(t *testing.T) {
			for _, share := range shares {
				w := newPipe(t, name, 0, nil)
				w.runUntil(2 * unit.Second)
				b, from, sent, again := w.r.counters.ReceivedBytes, w.now, w.s.counters.SentPackets, w.s.counters.Retransmitted
				reductions, last, n := 0, unit.Time(0), 0
				w.s.control.Controller = &noticeSpy{Controller: w.s.control.Controller, loss: func(l cc.Loss) {
					if l.Kind == cc.FastRecovery && w.s.counters.NacksTaken > 0 && w.s.lostOut > 0 {
						if w.now-last < w.s.SRTT() {
							t.Errorf("%s: reductions at %v and %v, a round trip is %v", name, last, w.now, w.s.SRTT())
						}
						last = w.now
						reductions++
					}
				}}
				w.onData = func(p *packet.Packet) (bool, unit.Time) {
					if p.Payload > 0 {
						if n++; n%share == 0 {
							w.inject(form.of(p), 100*unit.Microsecond)
						}
					}
					return true, 0
				}
				w.runUntil((2 + seconds) * unit.Second)
				got := w.goodput(b, from)
				sent, again = w.s.counters.SentPackets-sent, w.s.counters.Retransmitted-again
				taken := w.s.counters.NacksTaken
				w.onData = nil
				w.runUntil((4 + seconds) * unit.Second)
				b, from = w.r.counters.ReceivedBytes, w.now
				w.runUntil((9 + seconds) * unit.Second)
				back := w.goodput(b, from)
				t.Logf("%-5s one in %4d NACKed: %5.2f Mb/s of 47.8, %d reductions in %d s, %d NACKs taken, %d of %d packets sent "+
					"again, %d timeouts; afterwards %.1f Mb/s", name, share, got, reductions, seconds, taken, again, sent,
					w.s.rto.timeouts, back)
				if floor := 2 * 1448 * 8 / 0.0125 / 1e6; got < floor*0.5 || w.s.rto.timeouts > 0 || back < 44 ||
					again > 4*(sent-again) {
					t.Errorf("%s, one in %d: %.2f Mb/s, %d timeouts, %d of %d sent again, afterwards %.1f Mb/s", name, share, got,
						w.s.rto.timeouts, again, sent, back)
				}
			}
		})
	}
}
