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

// TestECN_ReducesOncePerWindow checks RFC 3168 §6.1: both ends negotiate ECN, CE is echoed until CWR, and there is one
// reduction per window.
func TestECN_ReducesOncePerWindow(t *testing.T) {
	w := newPipe(t, "reno", 0, func(c *Config) { c.ECN = true })
	w.limit, w.rate, w.nic = 0, unit.Gbps, 100*unit.Mbps
	reductions, echoes, last := 0, 0, w.s.state
	w.after = func() {
		if w.s.state == cc.Reduced && last != cc.Reduced {
			reductions++
		}
		last = w.s.state
	}
	w.runUntil(300 * ms)
	marked := false
	w.onData = func(p *packet.Packet) (bool, unit.Time) {
		if p.Payload > 0 && !marked {
			if p.TOS&3 != packet.ECT0 {
				t.Errorf("data is sent with ECN field %d", p.TOS&3)
			}
			marked, p.TOS = true, p.TOS|packet.CE
		}
		return true, 0
	}
	w.onAck = func(p *packet.Packet) (bool, unit.Time) {
		if p.TCP.Flags&packet.ECE != 0 {
			echoes++
		}
		if p.TOS&3 != 0 {
			t.Error("a pure ACK is ECT (RFC 3168 §6.1.4)")
		}
		return true, 0
	}
	w.runUntil(600 * ms)
	if !w.s.ecn || reductions != 1 || echoes < 5 || w.r.echo || w.s.counters.Retransmitted > 0 {
		t.Errorf("one mark: negotiated %v, %d reductions, %d echoes, still echoing %v", w.s.ecn, reductions, echoes, w.r.echo)
	}
	w = newPipe(t, "reno", 0, nil)
	w.onData = func(p *packet.Packet) (bool, unit.Time) {
		if p.TOS&3 != 0 {
			t.Error("ECT without ECN")
		}
		return true, 0
	}
	w.runUntil(100 * ms)
}

// TestDCTCPReceiver checks RFC 8257 §3.2, figure 1: an ACK reports for each segment whether it was marked, also a
// delayed ACK. On a change the earlier segments are acknowledged first.
func TestDCTCPReceiver(t *testing.T) {
	w := newPipe(t, "dctcp", 0, nil)
	w.runUntil(300 * ms)
	r, now := w.r, w.now+ms
	r.quick, r.threshold, r.clamp = 0, 1<<20, 1<<20
	r.delayed, r.timerAt = false, unit.Never
	seq := r.next
	r.lastAckSent = seq
	var got []string
	arrive := func(ce bool) {
		p := &packet.Packet{Proto: packet.ProtoTCP, Seq: seq, Payload: 1448, TOS: packet.ECT0}
		p.TCP.Flags = packet.ACK
		if ce {
			p.TOS = packet.CE
		}
		seq += 1448
		at := seq
		note := func(p *packet.Packet) {
			got = append(got, fmt.Sprintf("%+d %v", (p.Ack-at)/1448, p.TCP.Flags&packet.ECE != 0))
		}
		if r.Receive(now, p) {
			note(p)
		}
		for r.NextSend() <= now {
			q := &packet.Packet{}
			r.Emit(now, q)
			note(q)
		}
		got = append(got, "|")
	}
	for _, ce := range []bool{false, false, false, true, true, true, true, false, false} {
		arrive(ce)
		r.quick = 0
	}
	// not marked: the second segment is acknowledged, and the third waits. At the mark, the third is acknowledged as
	// unmarked, and then the marked one; and so on.
	want := "| +0 false | | -1 false +0 true | | +0 true | | -1 true +0 false | |"
	if s := strings.Join(got, " "); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
}

// TestDelayedACK checks RFC 9293 §3.8.6.3 and Linux: every second full segment is acknowledged at once, a single one
// after 40 ms. The first ones of a connection (quick ACKs), and segments that are not full, are acknowledged at once.
func TestDelayedACK(t *testing.T) {
	var at unit.Time
	lone := func(c *Config) { c.Rate, c.Bursts = 1448*8*10, false } // a segment every 100 ms
	w := newPipe(t, "reno", 0, lone)
	var delays []unit.Time
	w.runUntil(100 * ms)
	w.onData = func(p *packet.Packet) (bool, unit.Time) { at = w.now; return true, 0 }
	w.onAck = func(p *packet.Packet) (bool, unit.Time) {
		delays = append(delays, w.now-at-w.delay-unit.TransmitTime(1514, w.rate))
		return true, 0
	}
	w.runUntil(10 * unit.Second)
	n := len(delays)
	if n < 50 || delays[1] != 0 || delays[n-1] != 40*ms {
		t.Errorf("lone segments: %d ACKs, after %v at first and %v at last; want 0 and 40 ms", n, delays[1], delays[n-1])
	}
	w = newPipe(t, "reno", 0, nil)
	w.runUntil(2 * unit.Second)
	acks, data := 0, 0
	w.onAck = func(p *packet.Packet) (bool, unit.Time) { acks++; return true, 0 }
	w.emitted = func(p *packet.Packet) { data++ }
	w.runUntil(3 * unit.Second)
	// bursts of five segments are acknowledged 2, 2, 1, as measured on Linux 6.18
	if share := float64(acks) / float64(data); share < 0.5 || share > 0.62 {
		t.Errorf("%.2f ACKs a segment", share)
	}
}

// TestCompressedACK checks Linux's compressed ACKs: above a hole the first three ACKs go at once, later ones together
// for up to 5 % of the RTT or 1 ms.
func TestCompressedACK(t *testing.T) {
	count := func(c func(c *Config)) (acks int) {
		w := newPipe(t, "reno", 0, c)
		w.rate = 500 * unit.Mbps
		w.runUntil(100 * ms)
		n := 0
		w.onData = func(p *packet.Packet) (bool, unit.Time) { n++; return n != 1, 0 }
		w.onAck = func(p *packet.Packet) (bool, unit.Time) {
			if p.TCP.Blocks > 0 {
				acks++
			}
			return true, 0
		}
		w.runUntil(115 * ms)
		return
	}
	on, off := count(nil), count(func(c *Config) { c.CompressedACK = 0 })
	if on < 4 || on > off/2 {
		t.Errorf("%d ACKs with SACK, %d without compression", on, off)
	}
}

// TestSACKBlocks follows the example of RFC 2018 §4: eight segments of 500 bytes from 5000 on, and every second one is
// lost. The latest block is first. RFC 2883 §4.1: a duplicate is reported once.
func TestSACKBlocks(t *testing.T) {
	w := newPipe(t, "reno", 0, func(c *Config) { c.CompressedACK, c.InitialSeq = 0, 4499 })
	r := w.r
	syn := &packet.Packet{Proto: packet.ProtoTCP, Seq: 4499}
	syn.TCP.Flags, syn.TCP.Present = packet.SYN, packet.HasTimestamps
	r.Receive(0, syn)
	var got []string
	segment := func(seq int64) {
		p := &packet.Packet{Proto: packet.ProtoTCP, Seq: seq, Payload: 500, Ack: 1}
		p.TCP.Flags = packet.ACK
		if !r.Receive(ms, p) {
			got = append(got, fmt.Sprintf("%d: none", seq))
			return
		}
		s := fmt.Sprintf("%d: %d", seq, p.Ack)
		for _, b := range p.TCP.SACK[:p.TCP.Blocks] {
			s += fmt.Sprintf(" %d-%d", b.Left, b.Right)
		}
		got = append(got, s)
	}
	segment(4500)
	for _, seq := range []int64{5000, 6000, 7000, 8000, 6500, 6500, 5500, 7500} {
		segment(seq)
	}
	want := []string{"4500: 5000", "5000: 5500", "6000: 5500 6000-6500", "7000: 5500 7000-7500 6000-6500",
		"8000: 5500 8000-8500 7000-7500 6000-6500", "6500: 5500 6000-7500 8000-8500",
		"6500: 5500 6500-7000 6000-7500 8000-8500", "5500: 7500 8000-8500", "7500: 8500"}
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			t.Errorf("got  %s\nwant %s", strings.Join(got, "; "), strings.Join(want, "; "))
			break
		}
	}
}

// TestReceiveBuffer checks receive buffers: a fixed one limits the flow to window / RTT, autotuning (dynamic
// right-sizing) does not. The right edge of the window never moves back.
func TestReceiveBuffer(t *testing.T) {
	w := newPipe(t, "cubic", 0, func(c *Config) { c.Autotuning, c.ReceiveBuffer = false, 2*65536 })
	w.limit = 0
	w.rate = unit.Gbps
	edge := int64(0)
	w.onAck = func(p *packet.Packet) (bool, unit.Time) {
		if p.TCP.Flags&packet.SYN != 0 {
			return true, 0
		}
		e := p.Ack + int64(p.TCP.Window)<<minScale
		if e < edge {
			t.Fatalf("the window's right edge moves from %d back to %d", edge, e)
		}
		edge = e
		return true, 0
	}
	w.runUntil(unit.Second)
	b := w.r.counters.ReceivedBytes
	w.runUntil(3 * unit.Second)
	testkit.CheckNear(t, "64 KiB in 10 ms [Mb/s]", w.goodput(b, unit.Second), 65536*8/0.010/1e6,
		testkit.Tolerance{Relative: 0.05})

	w = newPipe(t, "cubic", 0, func(c *Config) { c.SendBuffer = 64 << 20 })
	w.limit, w.rate, w.delay, w.unchecked = 2000, 300*unit.Mbps, 50*ms, true
	w.runUntil(6 * unit.Second)
	b = w.r.counters.ReceivedBytes
	w.runUntil(8 * unit.Second)
	testkit.CheckNear(t, "autotuned, 300 Mb/s, 100 ms [Mb/s]", w.goodput(b, 6*unit.Second), 300*1448/1514.0,
		testkit.Tolerance{Relative: 0.03})
}

// TestReceiveBufferOfJumboFrames checks that a receive buffer with autotuning fills a path of 100 Mb/s and 8 ms, with
// frames of any size. Initial windows have ten segments up to an MTU of 6,400, and fewer above, so only their memory
// opens the window there. The lab, over IPv6 with one flow of reno: 94.4 Mb/s at MTU 1500, 97.1 at 3000, 98.5 at 6000,
// 98.8 at 7000, 98.9 at 8250 and 99.0 at 9000.
func TestReceiveBufferOfJumboFrames(t *testing.T) {
	for _, controller := range []string{"reno", "cubic"} {
		for _, mtu := range []int32{1500, 3000, 6000, 6400, 6500, 7000, 8000, 8250, 9000, 16000, 32000} {
			for _, version := range []uint8{4, 6} {
				t.Run(fmt.Sprintf("%s, MTU %d, IPv%d", controller, mtu, version), func(t *testing.T) {
					payload := mtu - packet.TCPHeader - timestampBytes - packet.IPHeader(version)
					w := newPipeOf(t, controller, version, payload, 0, nil)
					w.rate, w.delay, w.limit, w.unchecked = 100*unit.Mbps, 4*ms, 1000, true
					w.runUntil(2 * unit.Second)
					b := w.r.counters.ReceivedBytes
					w.runUntil(4 * unit.Second)
					testkit.CheckNear(t, "goodput [Mb/s]", w.goodput(b, 2*unit.Second), 100*float64(payload)/float64(mtu+14),
						testkit.Tolerance{Relative: 0.01})
				})
			}
		}
	}
}

// TestShareOfBuffer checks the window's share of the buffer after the first segment of an MTU, in 256ths. It is
// window_clamp / sk_rcvbuf of Linux 6.18 in the lab (tcpi_rcv_ssthresh and SK_MEMINFO_RCVBUF at the end of a run over
// IPv6). There sk_rmem_alloc was 4,352 bytes a segment up to MTU 3000, 8,448 at 4000, 9,024 from 4200 on, and 13,120
// from 8250 on. At 1500 bytes Linux has 158, of 2,304, and the simulator the half with which both begin.
func TestShareOfBuffer(t *testing.T) {
	for _, row := range []struct {
		mtu   int32
		share int64
	}{{1500, 128}, {2000, 113}, {3000, 172}, {4000, 119}, {4200, 117}, {5000, 139}, {6000, 168}, {7000, 196},
		{8250, 159}, {9000, 174}} {
		for _, tuned := range []bool{true, false} {
			t.Run(fmt.Sprintf("MTU %d, autotuning %v", row.mtu, tuned), func(t *testing.T) {
				payload := row.mtu - 72
				w := newPipeOf(t, "reno", 6, payload, unit.Bytes(payload), func(c *Config) {
					c.Autotuning, c.ReceiveBuffer = tuned, 1<<20
				})
				before := w.r.clamp
				w.runUntil(unit.Second)
				buffer := int64(1 << 20)
				if tuned {
					buffer = initialReceive
				}
				if before != buffer/2 || w.r.clamp != buffer*row.share/256 || w.r.space > w.r.clamp {
					t.Errorf("window of %d bytes of memory: %d, then %d = %d / 256, want %d / 256; space %d", buffer, before,
						w.r.clamp, w.r.clamp*256/buffer, row.share, w.r.space)
				}
			})
		}
	}
}

// TestSmallReceiveBuffer checks that the warning about a receive buffer that is too small names its window: 100 Gb/s
// and 80 us are 1 MB.
func TestSmallReceiveBuffer(t *testing.T) {
	for _, row := range []struct {
		payload int32
		buffer  unit.Bytes
		says    string // "": enough
	}{
		{1448, 1_900_000, "a window of 950kB, half of it, is less than a round trip of a->b, 1MB: 80us at s->b, of 103Gbps"},
		{1448, 2_100_000, ""}, {8948, 1_400_000, "0.68 of it"}, {8948, 1_500_000, ""}, {4128, 2_100_000, "0.46 of it"},
	} {
		c := Defaults()
		c.ReceiveBuffer = row.buffer
		path := cc.FlowPath{Path: cc.Path{LineRate: unit.Tbps, BaseRTT: 80 * unit.Microsecond}, Name: "a->b",
			NarrowLink: cc.Link{Port: "s->b", Rate: 103 * unit.Gbps, Payload: 100 * unit.Gbps}}
		all := c.Check(&cc.FlowContext{MSS: row.payload, Paths: []cc.FlowPath{path}})
		if (len(all) > 0) != (row.says != "") || len(all) > 0 && !strings.Contains(all[0].Text, row.says) {
			t.Errorf("payload %d, %v: %v, want %q", row.payload, row.buffer, all, row.says)
		}
	}
}

// TestWindowScale checks RFC 7323 §2: a window of more than 64 KiB is announced and used. Sequence numbers wrap at 2³².
func TestWindowScale(t *testing.T) {
	w := newPipe(t, "cubic", 30_000_000, func(c *Config) {
		c.InitialSeq, c.InitialPeerSeq, c.Autotuning = 1<<32-5_000_000, 1<<32-1, false
	})
	w.rate, w.nic, w.limit, w.delay, w.unchecked = unit.Gbps, 10*unit.Gbps, 3000, 50*ms, true
	w.runUntil(20 * unit.Second)
	if w.s.counters.Finished == unit.Never || w.r.counters.ReceivedBytes != 30_000_000 || w.s.peer.maxWindow < 1<<24 {
		t.Errorf("%d bytes came, largest window %d", w.r.counters.ReceivedBytes, w.s.peer.maxWindow)
	}
}

// TestScaleOfBuffer checks that the scale is the minimum with which a window's field has room for the buffer's grants,
// from Linux's default on. RFC 7323 §2.3 ends at 14, a window of 1 GiB.
func TestScaleOfBuffer(t *testing.T) {
	for _, row := range []struct {
		buffer unit.Bytes
		scale  uint8
	}{{4096, 10}, {32 << 20, 10}, {32<<20 + 1, 11}, {64 << 20, 11}, {1 << 30, 14}, {1<<31 - 1, 14}} {
		t.Run(row.buffer.String(), func(t *testing.T) {
			if got := (&Config{ReceiveBuffer: row.buffer}).windowScale(); got != row.scale {
				t.Errorf("scale %d, want %d", got, row.scale)
			}
		})
	}
}

// TestLongFatPath checks that the allowed buffers fill a path of 1 Gb/s and 200 ms, 25 MB, and one of 250 Mb/s and 800
// ms. The previous maximum of 32 MiB of receive buffer gave 637 Mb/s.
func TestLongFatPath(t *testing.T) {
	for _, row := range []struct {
		name string
		rtt  unit.Time
		rate unit.Rate
	}{
		{"1Gbps 200ms", 200 * ms, unit.Gbps},
		{"250Mbps 800ms", 800 * ms, 250 * unit.Mbps},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newPipe(t, "reno", 0, func(c *Config) { c.SendBuffer, c.ReceiveBuffer = 128<<20, 128<<20 })
			w.rate, w.nic, w.limit, w.delay, w.unchecked = row.rate, 10*unit.Gbps, 0, row.rtt/2, true
			w.runUntil(14 * row.rtt)
			b := w.r.counters.ReceivedBytes
			w.runUntil(18 * row.rtt)
			testkit.CheckNear(t, "goodput [Mb/s]", w.goodput(b, 14*row.rtt), float64(row.rate)/1e6*1448/1514,
				testkit.Tolerance{Relative: 0.01})
		})
	}
}
