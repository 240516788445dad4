package tcp

import (
	"strings"
	"testing"

	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
)

// TestNackRandomPaths runs the model of TestRandomPaths with NACKs. The queue trims instead of dropping, and its NACK
// is on time, late, doubled or lost, as an extension or an option. Some NACKs are about packets that arrive, or about
// no packet. All data arrives, and every count agrees with a recount after every step. No packet is resent more than
// once at the pace of NACKs.
func TestNackRandomPaths(t *testing.T) {
	taken, refused := int64(0), int64(0)
	for seed := range uint64(400) {
		random := unit.NewRandom(seed, "path")
		name := []string{"reno", "cubic", "dctcp", "bbr"}[seed%4]
		w := newPipe(t, name, unit.Bytes(1+random.IntN(600_000)), func(c *Config) {
			c.ECN, c.Bursts = random.IntN(2) == 0, random.IntN(2) == 0
			c.InitialSeq, c.InitialPeerSeq = random.Uint32(), random.Uint32()
			c.ReceiveBuffer = unit.Bytes(8192 << random.IntN(10))
			c.Nacks = []string{transport.NacksLoss, transport.NacksResend, transport.NacksSupply}[random.IntN(3)]
			c.RTOMin = []unit.Time{ms, 200 * ms}[random.IntN(2)]
		})
		loss, trim, late := random.Float64()*0.05, random.Float64()*0.5, random.Float64()*0.2
		silent, forged, twice := random.Float64()*0.3, random.Float64()*0.05, random.Float64()*0.2
		w.rate, w.limit, w.mark = unit.Rate(1+random.IntN(100))*unit.Mbps, 3+random.IntN(100), random.IntN(20)
		nack := func(p *packet.Packet, n packet.Notification) {
			if random.Float64() < silent {
				return
			}
			for range 1 + random.IntN(1+int(twice*10)) {
				later := unit.Time(random.Int64N(int64(10 * ms)))
				if random.Float64() < late {
					later *= 10
				}
				w.inject(makers[seed/4%2](p, n), later)
			}
		}
		var before *packet.Packet
		about := func(p *packet.Packet) packet.Notification {
			n := packet.Notification{Cause: packet.Cause(random.IntN(2)), Lost: p.Payload, Supply: unit.Rate(random.Int64N(1e8))}
			if before != nil && random.IntN(3) == 0 {
				n.More[0] = packet.Span{Offset: int32(before.Seq - p.Seq), Lost: before.Payload}
				n.Spans = uint8(min(before.Payload, 1))
			}
			c := *p
			before = &c
			return n
		}
		w.onDrop = func(p *packet.Packet) {
			if p.Payload > 0 {
				nack(p, about(p))
			}
		}
		w.onData = func(p *packet.Packet) (bool, unit.Time) {
			if p.Payload > 0 {
				switch x := random.Float64(); {
				case x < forged:
					nack(p, about(p))
				case x < 2*forged:
					nack(p, packet.Notification{Cause: packet.CauseElephant + packet.Cause(random.IntN(2))})
				case x < 3*forged:
					c := *p
					c.Seq += int64(random.IntN(100)-50) * 724
					c.TCP.TSVal += uint32(random.IntN(3)) - 1
					nack(&c, packet.Notification{Cause: packet.Cause(random.IntN(int(packet.Causes))),
						Lost: int32(random.IntN(2) * 1448)})
				}
				if random.Float64() < trim*0.3 {
					return false, 0
				}
			}
			if random.Float64() < loss && p.Payload == 0 {
				return false, 0
			}
			return true, 0
		}
		w.onAck = func(*packet.Packet) (bool, unit.Time) { return random.Float64() >= loss, 0 }
		w.runUntil(6000 * unit.Second)
		if w.s.flow.Size != w.r.counters.ReceivedBytes || w.s.counters.Finished == unit.Never {
			t.Errorf("seed %d, %s, %s: %d of %d bytes came, finished %v, %d timeouts", seed, name, w.s.config.Nacks,
				w.r.counters.ReceivedBytes, w.s.flow.Size, w.s.counters.Finished != unit.Never, w.s.rto.timeouts)
		}
		taken, refused = taken+w.s.counters.NacksTaken, refused+w.s.counters.NacksRefused
	}
	if t.Logf("%d NACKs taken, %d refused", taken, refused); taken < 1000 || refused < 1000 {
		t.Error("too few NACKs")
	}
}

// FuzzSender_ForgedNacksKeepCounts sends damaged and forged notices into the middle of a transfer, about packets in
// flight and others. The code never panics, only the packets that they name are marked, counts stay right, and the
// transfer continues.
func FuzzSender_ForgedNacksKeepCounts(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 0, 0x10, 0, 5, 0xa8, 0, 0, 0, 0, 0, 0, 0, 0, 3})
	f.Add([]byte(strings.Repeat("\x00\x05\x00\x00\x11\x10\x01\x05\xa8\x00\x00\x00\x00\x00\x00\x00"+
		"\x01\x00\x00\x05\xa8\x05\xa8\x01", 8)))
	f.Add([]byte(strings.Repeat("\x00\x07\x00\x00\x0c\x10\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80", 12)))
	f.Fuzz(anyNacks)
}

// anyNacks reads NACKs from data: the segment, the distance from it, the stamp, length and bytes of the extension, and
// the time until the next.
func anyNacks(t *testing.T, data []byte) {
	for i := range 6 {
		name, form := []string{"reno", "cubic", "bbr"}[i%3], nackForms[i/3]
		w := newPipe(t, name, 0, func(c *Config) {
			c.ECN, c.Nacks = true, []string{transport.NacksLoss, transport.NacksSupply, transport.NacksResend}[i%3]
		})
		w.rate = 10 * unit.Mbps // packets cost time
		w.runUntil(30 * ms)
		b := data
		next := func() int {
			if len(b) == 0 {
				return 0
			}
			v := int(b[0])
			b = b[1:]
			return v
		}
		for k := 0; len(b) > 0 && k < 60; k++ {
			if w.s.queue.len() == 0 {
				w.runUntil(w.now + ms)
				continue
			}
			at := next()<<8 | next()
			g := w.s.queue.at(w.s.queue.first + uint32(at%w.s.queue.len()))
			p := sentAs(w, g)
			p.Seq += int64(int8(next()))
			p.TCP.TSVal += uint32(int8(next()))
			p = form.of(p)
			if n := next() % 80; n > 0 {
				x := make([]byte, n)
				for j := range x {
					x[j] = byte(next())
				}
				overwrite(p, x)
			}
			lostBefore, c := w.s.lostTotal, w.s.counters
			w.s.Receive(w.now, p)
			w.s.check(t, w.now)
			d := w.s.counters
			if marked := w.s.lostTotal - lostBefore; marked > 1+packet.MaxSpans || marked > 0 && d.NacksTaken == c.NacksTaken ||
				d.NacksTaken+d.NacksRefused != c.NacksTaken+c.NacksRefused+1 {
				t.Fatalf("%d marked; %+v, before %+v", marked, d, c)
			}
			w.runUntil(w.now + unit.Time(next())*ms/64)
		}
		una := w.s.una
		w.unchecked = true
		if w.runUntil(w.now + 700*ms); w.s.una == una || w.s.inFlight() < 0 || w.s.cwnd() < 1 {
			t.Fatalf("%s stands still at %d", name, una)
		}
	}
}

// overwrite puts x where the notice in p is, as it arrives from the wire.
func overwrite(p *packet.Packet, x []byte) {
	if p.TCP.Present&packet.HasNotice == 0 {
		p.SetExtension(packet.ExtNotification, x)
		return
	}
	n := min(len(x), 24)
	for i := range p.TCP.SACK {
		p.TCP.SACK[i] = packet.SACKBlock{}
	}
	for i, v := range x[:n] {
		b := &p.TCP.SACK[i/8]
		if shift := 24 - 8*(i%4); i%8 < 4 {
			b.Left |= uint32(v) << shift
		} else {
			b.Right |= uint32(v) << shift
		}
	}
	p.TCP.SACK[3].Right = uint32(n)
}

// TestNack_DoesNotAllocate checks that a NACK allocates no memory.
func TestNack_DoesNotAllocate(t *testing.T) {
	w := newPipe(t, "cubic", 0, nil)
	w.unchecked = true
	w.runUntil(400 * ms)
	p := trimmed(sentAs(w, w.s.queue.at(w.s.queue.first)))
	n := w.s.queue.first
	if a := testing.AllocsPerRun(50, func() {
		g := w.s.queue.at(n)
		p.Seq, p.TCP.TSVal = g.seq, stampOf(g.sent)
		w.s.Receive(w.now, p)
		n++
	}); a != 0 || w.s.counters.NacksTaken < 50 {
		t.Errorf("%g allocations, %d NACKs taken", a, w.s.counters.NacksTaken)
	}
}
