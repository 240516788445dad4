package rdma

import (
	"fmt"
	"testing"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
)

// asking returns a pair of ends that send data with requests.
func asking(t testing.TB, size unit.Bytes, recovery string) *pipe {
	return newPipe(t, size, func(c *Config) { c.Recovery = recovery }, &fixed{window: 5000, keep: true, asks: true,
		request: packet.BoltIncrease}, 0)
}

// TestSender_RequestsReturnSwitchAnswers checks that data carries the controller's request and its send time, and
// acknowledgements only return the switches' answers to the controller. Resent packets have the time of the
// retransmission. OnSend receives the remaining bytes.
func TestSender_RequestsReturnSwitchAnswers(t *testing.T) {
	for _, recovery := range []string{GoBackN, SelectiveRepeat} {
		t.Run(recovery, func(t *testing.T) {
			w := asking(t, 3500, recovery)
			var h packet.Bolt
			for i, x := range []struct {
				made packet.Bolt // by switches, of the data
				want cc.Telemetry
			}{
				{packet.Bolt{Flags: packet.BoltIncrease}, cc.Telemetry{Answer: packet.BoltIncrease}},
				{packet.Bolt{Flags: packet.BoltDecrease | packet.BoltNotified, Queue: 9, Link: unit.Gbps},
					cc.Telemetry{Answer: packet.BoltDecrease | packet.BoltNotified}},
				{packet.Bolt{Flags: packet.BoltDecrease, Queue: 10_000, Link: 100 * unit.Gbps},
					cc.Telemetry{Answer: packet.BoltDecrease, Drain: 800}},
			} {
				now := unit.Time(i)*us + 300*unit.Nanosecond
				p := &packet.Packet{Src: 1, Dst: 2}
				w.s.Emit(now, p)
				if !p.Bolt(&h, false) || h != (packet.Bolt{Flags: packet.BoltIncrease, Sent: uint32(1000*i + 300)}) ||
					p.ExtensionBytes() != 16 {
					t.Errorf("packet %d: %+v, %d bytes", i, h, p.Size)
				}
				x.made.Sent = h.Sent
				p.SetBolt(&x.made, false)
				if !w.r.Receive(now+us, p) || !p.Bolt(&h, true) || h.Flags != x.made.Flags || p.Bolt(&h, false) {
					t.Fatalf("packet %d: its acknowledgement says %+v", i, h)
				}
				w.s.Receive(now+2*us, p)
				if n := len(w.c.acks); n != i+1 || w.c.acks[i].Telemetry.Answer != x.want.Answer ||
					w.c.acks[i].Telemetry.Drain != x.want.Drain {
					t.Errorf("packet %d: %d acknowledgements, the controller hears %+v", i, n, w.c.acks[i].Telemetry)
				}
			}
			if got := fmt.Sprint(w.c.left); got != "[3.5kB 2.5kB 1.5kB]" {
				t.Errorf("left is %v", got)
			}
		})
	}
	w := newPipe(t, 5000, nil, &fixed{window: 5000, request: packet.BoltIncrease}, 0)
	p := &packet.Packet{Src: 1, Dst: 2}
	if w.s.Emit(0, p); p.HasExtensions() {
		t.Error("a flow that asks for nothing has a request")
	}
}

// TestQueueNotices checks that a switch's notice counts once, if it has a queue and a link and is about the last
// transmission of a packet in flight.
func TestQueueNotices(t *testing.T) {
	for _, recovery := range []string{GoBackN, SelectiveRepeat} {
		t.Run(recovery, func(t *testing.T) {
			w := asking(t, 50_000, recovery)
			for i := range 5 {
				w.s.Emit(unit.Time(i)*us, &packet.Packet{Src: 1, Dst: 2})
			}
			w.s.Receive(6*us, answer(packet.Ack, 1000, 0))
			word := func(n int64, h packet.Bolt) *packet.Packet {
				p := answer(packet.Notice, 0, 1000*n)
				p.SetBolt(&h, true)
				return p
			}
			told := packet.BoltDecrease | packet.BoltNotified
			good := packet.Bolt{Flags: told, Sent: 2000, Queue: 3000, Link: 100 * unit.Gbps}
			change := func(c func(h *packet.Bolt)) packet.Bolt {
				h := good
				c(&h)
				return h
			}
			elsewhere, data := word(2, good), answer(packet.Notice, 0, 2000)
			elsewhere.DstPort = 11
			data.SetBolt(&good, false)
			for _, x := range []struct {
				what string
				p    *packet.Packet
				ok   bool
			}{
				{"without a header", answer(packet.Notice, 0, 2000), false}, {"data's header", data, false},
				{"another flow's", elsewhere, false}, {"acknowledged", word(0, change(func(h *packet.Bolt) { h.Sent = 0 })), false},
				{"not sent", word(5, good), false},
				{"another time", word(2, change(func(h *packet.Bolt) { h.Sent = 1999 })), false},
				{"no switch's", word(2, change(func(h *packet.Bolt) { h.Flags = packet.BoltDecrease })), false},
				{"no queue", word(2, change(func(h *packet.Bolt) { h.Queue = 0 })), false},
				{"no link", word(2, change(func(h *packet.Bolt) { h.Link = 0 })), false},
				{"one", word(2, good), true}, {"again", word(2, good), false},
				{"of another packet", word(4, change(func(h *packet.Bolt) { h.Sent = 4000 })), true},
			} {
				before, n := snapshot(w), len(w.c.told)
				if w.s.Receive(7*us, x.p); (len(w.c.told) > n) != x.ok || !x.ok && snapshot(w) != before {
					t.Errorf("%s: taken %v", x.what, !x.ok)
				}
			}
			if got := fmt.Sprintf("%+v", w.c.told); got != fmt.Sprintf("%+v", []cc.Notice{
				{Kind: cc.QueueNotice, Seq: 2000, Queue: 3000, Link: 100 * unit.Gbps, Sent: 2 * us},
				{Kind: cc.QueueNotice, Seq: 4000, Queue: 3000, Link: 100 * unit.Gbps, Sent: 4 * us}}) || w.s.Notices() != 2 {
				t.Errorf("the controller is told %s", got)
			}
			if c := w.s.Counters(); c.NacksTaken+c.NacksRefused+c.Retransmitted != 0 || w.s.lostTotal != 0 {
				t.Errorf("it is no loss: %+v", c)
			}
		})
	}
}

// TestRequestsBeyondLoss checks that a loss loses no answers for the controller. The answer of a packet that fills no
// gap arrives with its NACK, and a resent packet carries a new request.
func TestRequestsBeyondLoss(t *testing.T) {
	w := asking(t, 50_000, SelectiveRepeat)
	var out []*packet.Packet
	for i := range 3 {
		p := &packet.Packet{Src: 1, Dst: 2}
		w.s.Emit(unit.Time(i), p)
		out = append(out, p)
	}
	w.r.Receive(us, out[2]) // the first two are lost
	if out[2].Kind != packet.Nack {
		t.Fatalf("%+v", out[2])
	}
	w.s.Receive(2*us, out[2])
	if n := len(w.c.acks); n != 1 || w.c.acks[0].Telemetry.Answer != packet.BoltIncrease || w.c.acks[0].Packets != 1 {
		t.Errorf("the controller hears %+v", w.c.acks)
	}
	p, h := &packet.Packet{Src: 1, Dst: 2}, packet.Bolt{}
	if w.s.Emit(3*us, p); p.Seq != 0 || !p.Bolt(&h, false) || h.Sent != 3000 || h.Flags != packet.BoltIncrease {
		t.Errorf("%s asks %+v", describe(p), h)
	}
	if got := w.c.left[len(w.c.left)-1]; got != 50*unit.KB {
		t.Errorf("left is %v", got)
	}
}

func TestRequestsNoAllocation(t *testing.T) {
	w := asking(t, 0, SelectiveRepeat)
	w.c.keep = false
	var pool packet.Pool
	now := unit.Time(0)
	if n := testing.AllocsPerRun(1000, func() {
		p := pool.Get()
		p.Src, p.Dst = 1, 2
		w.s.Emit(now, p)
		word := pool.Get()
		word.Kind, word.Seq, word.SrcPort, word.DstPort, word.Proto = packet.Notice, p.Seq, 20, 10, packet.ProtoRDMA
		word.SetBolt(&packet.Bolt{Flags: packet.BoltDecrease | packet.BoltNotified, Sent: packet.BoltClock(now), Queue: 9,
			Link: unit.Gbps}, true)
		w.s.Receive(now, word)
		pool.Put(word)
		now += us
		w.r.Receive(now, p)
		w.s.Receive(now, p)
		pool.Put(p)
	}); n != 0 || w.s.Notices() < 1000 {
		t.Errorf("%g allocations, %d words of switches", n, w.s.Notices())
	}
}

// TestTraits_ReportReasonUnanswered checks which configurations carry requests, and the reasons of the others.
func TestTraits_ReportReasonUnanswered(t *testing.T) {
	c := Defaults()
	traits := c.Traits()
	if why := traits.ReasonUnanswered(); why != "" {
		t.Errorf("%q", why)
	}
	c.Telemetry.Integrity = transport.IntegrityKeyed
	if traits = c.Traits(); traits.ReasonUnanswered() == "" {
		t.Error("with integrity: keyed nothing of a switch comes through")
	}
	if traits = transport.TraitsOf(nil); traits.ReasonUnanswered() == "" {
		t.Error("a transport that does not know them")
	}
	site := &cc.FlowContext{Paths: []cc.FlowPath{{Path: cc.Path{NICRate: unit.Gbps, BaseRTT: us}}},
		Controller: &cc.Scheme{Requests: true}}
	c = Defaults()
	if all := c.Check(site); len(all) != 0 {
		t.Errorf("%+v", all)
	}
	if c.AckEvery = 2; len(c.Check(site)) != 1 {
		t.Errorf("an answer for two packets: %+v", c.Check(site))
	}
}
