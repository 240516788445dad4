package ncf

import (
	"fmt"
	"testing"

	"weir/core/packet"
	"weir/core/unit"
)

// echoing is a tight switch that echoes.
func echoing(given ...string) setup { return tight(append([]string{"form", "ece"}, given...)...) }

// ack makes an acknowledgement arrive from dst to src.
func (r *rig) ack(now unit.Time, src, dst packet.Addr, port uint16, ack int64, change ...func(p *packet.Packet)) {
	p := r.data(dst, src, 80, 500, 0, func(p *packet.Packet) {
		p.Kind, p.DstPort, p.Ack, p.TOS, p.Flow = packet.Ack, port, ack, 0, packet.FlowID(port)
		p.TCP.TSVal, p.TCP.TSEcho, p.TCP.Window, p.HopLimit = 900, 77, 321, 60
		p.TCP.Blocks, p.TCP.SACK[0] = 1, packet.SACKBlock{Left: 100, Right: 200}
		for _, f := range change {
			f(p)
		}
	})
	r.come(now, packet.PortID(dst-1), p)
}

// echoes are the copies among what has left since the last call.
func (r *rig) echoes() (copies []*packet.Packet) {
	r.t.Helper()
	for _, p := range r.out {
		if p.Data != nil {
			q := *p
			if err := q.Parse(r.book, p.Data); err != nil {
				r.t.Fatal(err)
			}
			q.Data, q.Size = nil, p.Size
			p = &q
		}
		if p.IsNotification() {
			r.t.Fatalf("a NACK has left: %+v", p)
		}
		if p.Payload == 0 && p.TCP.Flags&packet.ECE != 0 {
			copies = append(copies, p)
		}
	}
	r.out = nil
	return copies
}

// TestProgram_EchoCopiesAcknowledgementWithECE checks RFC 3168 §6.1.2 and §6.1.3: a copy of the last acknowledgement
// with ECE notifies the sender. It has the same numbers, window and time stamps, and no SACK, in either family, as
// fields and as bytes. For an acknowledgement with data, the number is the one after the data.
func TestProgram_EchoCopiesAcknowledgementWithECE(t *testing.T) {
	for _, version := range []uint8{4, 6} {
		for _, wire := range []bool{false, true} {
			for _, payload := range []int32{0, 300} {
				t.Run(fmt.Sprint("IPv", version, ", bytes ", wire, ", with ", payload), func(t *testing.T) {
					s := echoing()
					s.wire = wire
					r := newRig(t, s)
					r.come(0, 0, r.data(1, 2, 9, 0, 1000, ip(version)))
					r.ack(us, 1, 2, 9, 600, ip(version))
					r.ack(2*us, 1, 2, 9, 700, ip(version), func(p *packet.Packet) {
						if p.Payload = payload; payload > 0 {
							p.Kind = packet.Data
							p.TCP.Flags |= packet.PSH
						}
					})
					r.until(ms)
					r.out = nil
					r.overflow(ms, 1, 2, 9, 60, ip(version))
					r.drain()
					copies := r.echoes()
					if len(copies) != 1 {
						t.Fatalf("%d copies", len(copies))
					}
					p := copies[0]
					if p.Kind != packet.Ack || p.Src != 2 || p.Dst != 1 || p.SrcPort != 80 || p.DstPort != 9 || p.Version != version ||
						p.Seq != 500+int64(payload) || p.Ack != 700 || p.TCP.Flags != packet.ACK|packet.ECE || p.TCP.Window != 321 ||
						p.TCP.TSVal != 900 || p.TCP.TSEcho != 77 || p.TCP.Blocks != 0 || p.TCP.Present != packet.HasTimestamps ||
						p.TOS&packet.ECN != 0 || p.Size != p.Headers() || !wire && p.Flow != 9 {
						t.Errorf("%+v", p)
					}
					n := r.g.NackCounts()
					if n.Named != 0 || n.NotifiedOtherwise == 0 || n.Nacks[packet.CauseTrimmed]+n.Nacks[packet.CauseReclaimed] != 1 ||
						n.Dropped != n.NotifiedOtherwise {
						t.Errorf("%+v", n)
					}
				})
			}
		}
	}
}

// TestEchoWindow checks RFC 3168 §6.1.2, one notice per window of data: it ends when the flight is acknowledged, or
// after a second. There is no notice for a window in which the sender is notified otherwise, or has just reduced.
func TestEchoWindow(t *testing.T) {
	echoed := func(p *packet.Packet) { p.TCP.Flags |= packet.ECE }
	for _, x := range []struct {
		name   string
		later  unit.Time
		do     func(r *rig, now unit.Time)
		copies int
	}{
		{"nothing", 10 * ms, func(*rig, unit.Time) {}, 0},
		{"a part is acknowledged", 10 * ms, func(r *rig, now unit.Time) { r.ack(now, 1, 2, 9, 5000) }, 0},
		{"all is", 10 * ms, func(r *rig, now unit.Time) { r.ack(now, 1, 2, 9, 60_000) }, 1},
		{"all is, with ECE", 10 * ms, func(r *rig, now unit.Time) { r.ack(now, 1, 2, 9, 60_000, echoed) }, 0},
		{"all is, with a NACK's numbers", 10 * ms, func(r *rig, now unit.Time) {
			r.ack(now, 1, 2, 9, 60_000, func(p *packet.Packet) {
				p.TCP.Blocks = 0
				p.SetNotice(&packet.Notification{Lost: 1000})
				p.Kind, p.Ack = packet.Nack, 60_000
			})
		}, 0},
		{"all is, and CWR comes", 10 * ms, func(r *rig, now unit.Time) {
			r.ack(now, 1, 2, 9, 60_000)
			r.come(now, 0, r.data(1, 2, 9, 60_000, 1000, func(p *packet.Packet) { p.TCP.Flags |= packet.CWR }))
		}, 0},
		{"a second", unit.Second, func(*rig, unit.Time) {}, 1},
		{"a new connection", 10 * ms, func(r *rig, now unit.Time) {
			r.ack(now, 1, 2, 9, 0, func(p *packet.Packet) { p.TCP.Flags |= packet.SYN })
		}, 0},
	} {
		for _, wire := range []bool{false, true} {
			t.Run(fmt.Sprint(x.name, ", bytes ", wire), func(t *testing.T) {
				s := echoing("nack_budget", "0")
				s.wire = wire
				r := newRig(t, s)
				r.come(0, 0, r.data(1, 2, 9, 0, 1000))
				r.ack(us, 1, 2, 9, 0)
				r.overflow(ms, 1, 2, 9, 60)
				r.drain()
				if n := len(r.echoes()); n != 1 {
					t.Fatalf("%d copies at first", n)
				}
				now := ms + x.later
				x.do(r, now)
				r.drain()
				r.out = nil
				for i := range 60 {
					r.come(now+us, 0, r.data(1, 2, 9, 60_000+int64(i)*1000, 1000))
				}
				r.drain()
				if n := len(r.echoes()); n != x.copies {
					t.Errorf("then %d copies, want %d", n, x.copies)
				}
			})
		}
	}
}

// TestEcho_SkipsFlowsWithoutClassicECN checks that flows without classic ECN get no echo: segments without ECT(0), or
// with ECT(1) or AE. So do flows with acknowledgements over another path, or of another port. Other transports keep
// their NACKs.
func TestEcho_SkipsFlowsWithoutClassicECN(t *testing.T) {
	tos := func(x uint8) func(p *packet.Packet) { return func(p *packet.Packet) { p.TOS = x } }
	ae := func(p *packet.Packet) { p.TCP.Present |= packet.HasAE }
	none := func(*packet.Packet) {}
	for _, x := range []struct {
		name      string
		data, ack func(p *packet.Packet)
		port      uint16 // of the acknowledgement
		count     func(n *NackCounts) uint64
	}{
		{"no ECN", tos(packet.NotECT), none, 9, func(n *NackCounts) uint64 { return n.NoECN }},
		{"L4S", tos(packet.ECT1), none, 9, func(n *NackCounts) uint64 { return n.NoECN }},
		{"AccECN's sender", ae, none, 9, func(n *NackCounts) uint64 { return n.NoECN }},
		{"AccECN's receiver", none, ae, 9, func(n *NackCounts) uint64 { return n.NoECN }},
		{"another flow's", none, none, 10, func(n *NackCounts) uint64 { return n.NoAck }},
		{"the end's", none, func(p *packet.Packet) { p.TCP.Flags |= packet.FIN }, 9,
			func(n *NackCounts) uint64 { return n.NoAck }},
		{"a reset", none, func(p *packet.Packet) { p.TCP.Flags = packet.RST }, 9,
			func(n *NackCounts) uint64 { return n.NoAck }},
	} {
		t.Run(x.name, func(t *testing.T) {
			r := newRig(t, echoing("nack_budget", "0"))
			r.come(0, 0, r.data(1, 2, 9, 0, 1000, x.data))
			r.ack(us, 1, 2, x.port, 0, x.ack)
			r.overflow(ms, 1, 2, 9, 60, x.data)
			r.drain()
			n := r.g.NackCounts()
			if got := r.echoes(); len(got) > 0 || n.Dropped == 0 || x.count(&n) != n.Dropped {
				t.Errorf("%d copies, %+v", len(got), n)
			}
		})
	}
	r := newRig(t, echoing())
	r.overflow(ms, 1, 2, 9, 60, proto(packet.ProtoRDMA))
	r.drain()
	if nacks, _ := r.nacks(); len(nacks) == 0 {
		t.Error("RDMA gets no NACKs")
	}
}

// TestEchoElephants checks that elephants are notified before a loss, and by the table of the heaviest, once in a
// window each. Mice are notified only with nack: all.
func TestEchoElephants(t *testing.T) {
	r := newRig(t, setup{ports: 3, queues: 3, given: []string{"form", "ece", "memory", "200kB", "early", "10%", "nack",
		"elephants", "duration", "100us"}})
	for i := range 60 {
		now := unit.Time(i) * us
		r.come(now, 0, r.data(1, 2, 9, int64(i)*1000, 1000))
		if i < 40 {
			r.ack(now, 1, 2, 9, int64(i)*10)
		}
	}
	r.drain()
	n := r.g.NackCounts()
	if got := r.echoes(); len(got) != 1 || n.Nacks[packet.CauseElephant] != 1 || n.Dropped != 0 {
		t.Errorf("%d copies, %+v", len(got), n)
	}
	for _, nack := range []string{"all", "elephants"} {
		r := newRig(t, echoing("nack", nack)) // least: 100 kB, so they are mice
		r.come(0, 0, r.data(1, 2, 9, 0, 1000))
		r.ack(us, 1, 2, 9, 0)
		r.overflow(ms, 1, 2, 9, 60)
		r.drain()
		if got := len(r.echoes()); (got == 1) != (nack == "all") {
			t.Errorf("nack: %s: %d copies for a mouse", nack, got)
		}
	}
}

// TestEchoTable checks that the table's size is fixed. Mice displace each other, the longest silent one first, but no
// elephant that has sent within n·d, for any number of mice: no flood takes an elephant's place.
func TestEchoTable(t *testing.T) {
	e := newEchoes(false)
	const key = 77
	first := echoSet(key)
	i := e.addFlow(0, key, true, ms)
	if i < first || i >= first+echoWays {
		t.Fatalf("entry %d is not in set %d", i, first)
	}
	others := uint64(0)
	next := func() uint64 {
		for others++; echoSet(others) != first || others == key; others++ {
		}
		return others
	}
	var keys []uint64
	for k := range 10 * echoWays {
		keys = append(keys, next())
		if n := e.addFlow(unit.Time(k)*us, keys[k], false, ms); n == i || n < 0 {
			t.Fatalf("mouse %d is in entry %d, the elephant in %d", k, n, i)
		} else {
			e.flows[n].lastData = unit.Time(k) * us
		}
	}
	for k, x := range keys {
		if kept := e.find(x) >= 0; kept != (k >= len(keys)-echoWays+1) {
			t.Errorf("mouse %d of %d is kept: %t", k, len(keys), kept)
		}
	}
	if e.find(key) != i {
		t.Error("the elephant has lost its place")
	}
	e.flows[i].elephant, e.flows[i].lastData = true, 0
	for n := range echoWays {
		e.addFlow(unit.Time(n+2)*ms, next(), false, ms)
		e.flows[e.find(others)].lastData = unit.Time(n+2) * ms
	}
	if e.find(key) >= 0 {
		t.Error("an elephant that is silent keeps its place for ever")
	}
	if len(e.flows) != 1024 {
		t.Errorf("%d entries", len(e.flows))
	}
}

// TestEchoForged checks that a forger of acknowledgements or data with a victim's addresses makes the switch send only
// packets that the forger could send as well, because a copied packet has passed. A forged end of data prevents copies
// for at most a second.
func TestEchoForged(t *testing.T) {
	r := newRig(t, echoing("nack_budget", "0"))
	r.come(0, 0, r.data(1, 2, 9, 0, 1000))
	r.ack(us, 1, 2, 9, 0)
	r.ack(2*us, 1, 2, 9, 1<<30, func(p *packet.Packet) { p.TCP.TSVal = 5 }) // forged
	r.overflow(ms, 1, 2, 9, 60)
	r.drain()
	if got := r.echoes(); len(got) != 1 || got[0].Ack != 1<<30 || got[0].TCP.TSVal != 5 {
		t.Errorf("%d copies", len(got))
	}
	r.come(10*ms, 2, r.data(1, 2, 9, 1<<30, 1000)) // forged, from elsewhere
	r.ack(11*ms, 1, 2, 9, 60_000)
	r.overflow(12*ms, 1, 2, 9, 60)
	r.drain()
	if got := r.echoes(); len(got) != 1 {
		t.Errorf("%d copies in the next window", len(got))
	}
	r.ack(20*ms, 1, 2, 9, 120_000)
	r.overflow(21*ms, 1, 2, 9, 60)
	r.drain()
	if got := r.echoes(); len(got) != 0 {
		t.Errorf("%d copies before the forged end is acknowledged", len(got))
	}
	r.overflow(12*ms+unit.Second, 1, 2, 9, 60)
	r.drain()
	if got := r.echoes(); len(got) != 1 {
		t.Errorf("%d copies a second later", len(got))
	}
}
