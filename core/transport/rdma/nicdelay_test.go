package rdma

import (
	"fmt"
	"testing"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/telemetry"
	"weir/core/transport"
	"weir/core/unit"
)

// TestNICDelays checks that a NIC's answers are sent at their causes' arrival plus the time of their kind, and report
// the state at the arrival. An ACK has the records of its own packet, and acknowledges no later packet.
func TestNICDelays(t *testing.T) {
	for _, d := range []transport.NICDelays{{Ack: 5 * us, Nack: 3 * us, CNP: 4 * us},
		{Ack: us, Nack: 30 * us, CNP: 9 * us},
		{Nack: us}, {CNP: us}, {Ack: us}, {}} {
		t.Run(fmt.Sprint(d), func(t *testing.T) {
			c := &fixed{window: 100_000, want: telemetry.HopRecords, keep: true}
			w := newPipe(t, 10_000, func(c *Config) { c.NIC, c.RTO, c.RTOMin = d, fixedRTO, 300*us }, c, cc.CNPMode)
			var came [10]unit.Time
			data, nacks, cnps := 0, 0, 0
			w.onData = func(p *packet.Packet) (int, unit.Time) {
				data++
				came[p.Seq] = w.free + delay
				hpcc.PushRecord(p, &telemetry.Hop{Switch: 7, Rate: lineRate, Queue: unit.Bytes(80 * p.Seq)})
				if p.Seq == 1 {
					p.TOS |= packet.CE
				}
				if data == 5 {
					return 0, 0
				}
				return 1, 0
			}
			w.onBack = func(p *packet.Packet) (int, unit.Time) {
				took := map[packet.Kind]unit.Time{packet.Ack: d.Ack, packet.Nack: d.Nack, packet.Notice: d.CNP}[p.Kind]
				about := p.Seq
				switch p.Kind {
				case packet.Nack:
					about, nacks = 5, nacks+1
				case packet.Notice:
					cnps++
				case packet.Ack:
					var r telemetry.Records
					if hpcc.ReadAnswer(p, &r); r.Len() != 1 || int64(r.At(0).Queue) != 80*p.Seq || p.Ack != p.Seq+1 {
						t.Errorf("%s, with %+v", describe(p), r.Hops())
					}
				}
				if w.now != came[about]+took {
					t.Errorf("%s at %v, and packet %d came at %v", describe(p), w.now, about, came[about])
				}
				return 1, 0
			}
			w.runUntil(unit.Second)
			w.done(10_000)
			if nacks != 1 || cnps != 1 || c.notices != 1 {
				t.Errorf("%d NACKs, %d CNPs, of which %d came to the controller", nacks, cnps, c.notices)
			}
			// a NACK that is faster acknowledges all, and a resent packet gives no sample
			if rtt := c.acks[0].RTT.Sample; rtt != 84_000+2*delay+d.Ack && d.Nack >= d.Ack {
				t.Errorf("the controller hears of a round trip of %v", rtt)
			}
			if last.Path.BaseRTT != 4*us+d.Ack {
				t.Errorf("it is told of a base RTT of %v", last.Path.BaseRTT)
			}
		})
	}
}

// TestNICDelaysProbes checks that a probe's answer is made like an ACK, with the records of the probe.
func TestNICDelaysProbes(t *testing.T) {
	w := newPipe(t, 200_000, func(c *Config) { c.NIC.Ack, c.Telemetry.When = 2*us, transport.AskProbe },
		&fixed{window: 20_000, want: telemetry.HopRecords}, 0)
	var came []unit.Time
	back := 0
	w.onData = func(p *packet.Packet) (int, unit.Time) {
		if p.Kind == packet.Probe {
			came = append(came, w.free+delay)
			hpcc.PushRecord(p, &telemetry.Hop{Switch: 7, Rate: lineRate, Queue: unit.Bytes(80 * len(came))})
		}
		return 1, 0
	}
	w.onBack = func(p *packet.Packet) (int, unit.Time) {
		if p.Kind == packet.Probe {
			back++
			var r telemetry.Records
			if hpcc.ReadAnswer(p, &r); r.Len() != 1 || int(r.At(0).Queue) != 80*back || w.now != came[back-1]+2*us {
				t.Errorf("%d-th at %v, with %+v", back, w.now, r.Hops())
			}
		}
		return 1, 0
	}
	w.runUntil(unit.Second)
	w.done(200_000)
	if back < 3 {
		t.Errorf("%d answers", back)
	}
}

// TestLateCNPs checks that a CNP slower than its packet's ACK reaches the controller once. Without a delay for CNPs, a
// CNP about an acknowledged packet has no effect.
func TestLateCNPs(t *testing.T) {
	for _, slow := range []unit.Time{0, 10 * us} {
		w := newPipe(t, 50_000, func(c *Config) { c.NIC.CNP = slow }, &fixed{window: 10_000}, cc.CNPMode)
		for range 5 {
			w.s.Emit(0, &packet.Packet{})
		}
		w.s.Receive(us, answer(packet.Ack, 3000, 2000))
		want := 0
		for _, x := range []struct {
			seq  int64
			more int
		}{
			{1000, 1}, {1000, 0}, {0, 0}, // acknowledged, again, before the last
			{2000, 1}, {5000, 0}, {49_000, 0}, {51_000, 0}, {-1000, 0}, // never sent, no packet of the flow
		} {
			if slow > 0 {
				want += x.more
			}
			w.s.Receive(2*us, answer(packet.Notice, 0, x.seq))
			if w.c.notices != want {
				t.Errorf("delay %v, for %d: %d have come through, want %d", slow, x.seq, w.c.notices, want)
			}
		}
		want++
		for range 2 { // of what is out
			w.s.Receive(2*us, answer(packet.Notice, 0, 4000))
		}
		if w.c.notices != want {
			t.Errorf("delay %v: %d have come through, want %d", slow, w.c.notices, want)
		}
	}
}

// TestNICDelaysAndTimeouts checks answers that take 50 round trips, with timeouts before and after them. Every byte is
// delivered once.
func TestNICDelaysAndTimeouts(t *testing.T) {
	for _, recovery := range []string{GoBackN, SelectiveRepeat} {
		for _, rto := range []unit.Time{20 * us, 150 * us, 300 * us} {
			for _, lost := range [][]int{nil, {3}, {0, 1, 2}, {19}} {
				t.Run(fmt.Sprint(recovery, rto, lost), func(t *testing.T) {
					w := newPipe(t, 20_000, func(c *Config) {
						c.Recovery, c.RTO, c.RTOMin = recovery, fixedRTO, rto
						c.NIC = transport.NICDelays{Ack: 200 * us, Nack: 100 * us, CNP: 250 * us}
					}, &fixed{window: 100_000}, cc.CNPMode)
					w.onData = drop(lost...)
					w.runUntil(unit.Second)
					w.done(20_000)
					if early := w.s.Timeouts() > 0; early != (rto < 200*us) && lost == nil {
						t.Errorf("%d timeouts", w.s.Timeouts())
					}
					if w.r.NextSend() != unit.Never {
						t.Error("the NIC still makes something")
					}
				})
			}
		}
	}
}
