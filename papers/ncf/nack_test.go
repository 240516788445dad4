package ncf

import (
	"fmt"
	"math"
	"testing"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/telemetry"
	"weir/core/unit"
)

// framing is a profile by its name.
func framing(t testing.TB, name string) packet.Framing {
	f, ok := packet.FramingByName(name)
	if !ok {
		t.Fatal(name)
	}
	return f
}

// tight is a switch with three slow ports and memory for a few packets.
func tight(given ...string) setup {
	return setup{ports: 3, queues: 3, given: append([]string{"memory", "20kB", "top", "0", "least", "100kB"}, given...)}
}

// overflow sends n packets of a flow at once.
func (r *rig) overflow(now unit.Time, src, dst packet.Addr, port uint16, n int, change ...func(p *packet.Packet)) {
	for i := range n {
		r.come(now, packet.PortID(src-1), r.data(src, dst, port, int64(i)*1000, 1000, change...))
	}
}

func proto(x uint8) func(p *packet.Packet) {
	return func(p *packet.Packet) {
		if p.Proto = x; x != packet.ProtoTCP {
			p.TCP = packet.Segment{}
			p.Ack = p.Seq/1000 + 3 // a number of the transmission
		}
	}
}

func ip(version uint8) func(p *packet.Packet) {
	return func(p *packet.Packet) { p.Version = version }
}

// TestProgram_NackReturnsTrimmedPacket checks BS'19 §4.3: a NACK is the trimmed packet with its endpoints switched and
// a flag, sent to the sender through the highest-priority queue. It holds in either family, for TCP and RDMA, as fields
// and as bytes, in every framing; its size is its headers'.
func TestProgram_NackReturnsTrimmedPacket(t *testing.T) {
	for _, version := range []uint8{4, 6} {
		for _, transport := range []uint8{packet.ProtoTCP, packet.ProtoRDMA} {
			for _, name := range []string{"l2", "wire", "hpcc", "htsim"} {
				for _, wire := range []bool{false, true} {
					what := fmt.Sprintf("IPv%d, protocol %d, framing %s, bytes %v", version, transport, name, wire)
					s := tight()
					s.framing, s.wire = framing(t, name), wire
					r := newRig(t, s)
					asks := func(p *packet.Packet) { p.SetExtension(telemetry.Extension, make([]byte, 42)) }
					r.overflow(ms, 1, 2, 9, 30, proto(transport), ip(version), asks)
					r.drain()
					nacks, notices := r.nacks()
					if len(nacks) == 0 || len(nacks)+len(r.out)-len(nacks) != 30 {
						t.Fatalf("%s: %d NACKs, %d packets left", what, len(nacks), len(r.out))
					}
					if r.sw.DropCounts()[dataplane.Notified] != uint64(len(nacks)) ||
						r.g.NackCounts().Nacks[packet.CauseTrimmed] != uint64(len(nacks)) || r.pool.LiveCount() != 0 {
						t.Errorf("%s: %d were dropped with a NACK, %d NACKs", what, r.sw.DropCounts()[dataplane.Notified], len(nacks))
					}
					seen := map[int64]bool{}
					for i, p := range nacks {
						n := notices[i]
						// the notice: an option of 11 bytes and a byte behind it, and an extension of 16
						real := 14 + 20*int32(version/6) + 20 + map[uint8]int32{packet.ProtoTCP: 20 + 12 + 12,
							packet.ProtoRDMA: 8 + 12 + 4 + 4 + 16}[transport]
						size := map[string]int32{"l2": real, "wire": real + 24, "hpcc": 88, "htsim": 64}[name]
						if p.Kind != packet.Nack || p.Src != 2 || p.Dst != 1 || p.SrcPort != 80 || p.DstPort != 9 || p.Payload != 0 ||
							p.Size != size ||
							p.HopLimit != 63 || p.TOS&packet.ECN != 0 || p.Meta.Flags&packet.Trimmed != 0 || p.Version != version ||
							p.Proto != transport {
							t.Fatalf("%s: %+v, size %d, want %d", what, p, p.Size, size)
						}
						if transport == packet.ProtoTCP && p.TCP.TSEcho != 77 || transport == packet.ProtoRDMA && p.Ack != p.Seq/1000+3 {
							t.Fatalf("%s: it does not say which transmission is gone: %+v", what, p)
						}
						if _, asks := p.Extension(telemetry.Extension); asks || n.Lost != 1000 || n.Cause != packet.CauseTrimmed ||
							n.Signed || n.Spans != 0 || n.Demand == 0 || n.Supply == 0 {
							t.Fatalf("%s: %+v", what, n)
						}
						seen[about(p)] = true
					}
					for _, p := range r.out { // whatever did not reach the receiver is named, and nothing else (§4.3)
						if p.Dst == 2 && p.Data == nil && seen[p.Seq] {
							t.Fatalf("%s: packet %d is named, and delivered", what, p.Seq)
						}
					}
					if len(seen) != len(nacks) {
						t.Fatalf("%s: a packet is named twice", what)
					}
				}
			}
		}
	}
}

// TestAsymmetricReturn checks that a NACK is routed like any packet: with asymmetric paths it does not return through
// the port by which the data arrived.
func TestAsymmetricReturn(t *testing.T) {
	r := newRig(t, func() setup { s := tight(); s.via = map[packet.Addr]packet.PortID{1: 2}; return s }())
	at := map[packet.PortID]int{}
	r.sent = func(_ unit.Time, port packet.PortID, p *packet.Packet) {
		if p.IsNotification() {
			at[port]++
		}
	}
	r.overflow(ms, 1, 2, 9, 30)
	r.drain()
	if at[2] == 0 || len(at) != 1 {
		t.Errorf("NACKs by port: %v", at)
	}
}

// TestNotAnswered checks that packets without a flow's payload are simply dropped. A NACK without room is dropped (NCF
// §4.3: "NACKs can be dropped") and never answered by another.
func TestNotAnswered(t *testing.T) {
	notice := func(p *packet.Packet) {
		p.Kind, p.Payload = packet.Nack, 0
		p.SetNotification(&packet.Notification{Lost: 1000})
	}
	for name, change := range map[string]func(p *packet.Packet){
		"NACKs":            notice,
		"acknowledgements": func(p *packet.Packet) { p.Kind, p.Payload = packet.Ack, 0 },
		"a receiver's NACKs": func(p *packet.Packet) {
			proto(packet.ProtoRDMA)(p)
			p.Kind, p.Payload = packet.Nack, 0
		},
		"probes":          func(p *packet.Packet) { p.Kind, p.Payload, p.Proto = packet.Probe, 0, packet.ProtoRDMA },
		"UDP":             proto(packet.ProtoUDP),
		"nobody's":        func(p *packet.Packet) { p.Src = 0 },
		"trimmed packets": func(p *packet.Packet) { p.Meta.Flags, p.Payload = packet.Trimmed, 0 },
	} {
		t.Run(name, func(t *testing.T) {
			s := tight("acks", "mice")
			r := newRig(t, s)
			for i := range 1000 {
				r.come(ms, 0, r.data(1, 2, 9, int64(i)*1000, 1000, change))
			}
			r.drain()
			drops := r.sw.DropCounts()
			counts := r.g.NackCounts()
			if drops[dataplane.BufferFull] == 0 || drops[dataplane.Notified] != 0 || counts.Nacks != [packet.Causes]uint64{} ||
				r.pool.LiveCount() != 0 {
				t.Errorf("%s: drops %v, told %+v", name, drops, counts)
			}
			if (counts.Lost > 0) != (name == "NACKs") || (counts.Dropped > 0) != (name == "UDP" || name == "nobody's") {
				t.Errorf("%s: %+v", name, counts)
			}
		})
	}
}

// TestProgram_NacksUDPOnRequest checks UDP, which has no sequence number in its header: by default no sender is
// notified. For senders of udp_controlled a NACK quotes the first 8 bytes, which have the datagram's number (Weir's
// rule, as RFC 792 quotes 64 bits), as fields and as bytes.
func TestProgram_NacksUDPOnRequest(t *testing.T) {
	var seqs [2][]int64
	for i, wire := range []bool{false, true} {
		s := tight("udp", "true")
		s.wire = wire
		r := newRig(t, s)
		r.overflow(ms, 1, 2, 9, 30, proto(packet.ProtoUDP))
		r.come(2*ms, 0, r.data(1, 2, 9, 1, 7, proto(packet.ProtoUDP)))
		r.drain()
		nacks, notices := r.nacks()
		for k, p := range nacks {
			if p.Payload != 8 || p.Size != 14+20+8+16+8 || notices[k].Lost != 1000 || p.Kind != packet.Data {
				t.Fatalf("%+v %+v", p, notices[k])
			}
			seqs[i] = append(seqs[i], p.Seq)
		}
	}
	r := newRig(t, tight("udp", "true")) // a NACK to a sender of UDP is not answered by one either
	for i := range 1000 {
		r.come(ms, 0, r.data(1, 2, 9, int64(i), 8, proto(packet.ProtoUDP), func(p *packet.Packet) {
			p.SetNotification(&packet.Notification{Lost: 1000})
		}))
	}
	if r.g.NackCounts().Lost == 0 || r.g.NackCounts().Nacks != [packet.Causes]uint64{} {
		t.Errorf("NACKs are answered: %+v", r.g.NackCounts())
	}
	if len(seqs[0]) == 0 || fmt.Sprint(seqs[0]) != fmt.Sprint(seqs[1]) || seqs[0][0] == 0 {
		t.Errorf("numbers of datagrams: %v and %v", seqs[0], seqs[1])
	}
}

// TestNackElephantsOnly checks the option between NACKs only for elephants (NCF §4.1, NCF §5) and for every trimmed
// packet (NCF §4.3).
func TestNackElephantsOnly(t *testing.T) {
	for _, c := range []struct {
		nack                string
		queues              int
		elephant, mice, any bool
	}{{NackAll, 3, true, true, true}, {NackElephants, 3, true, false, true}, {NackElephants, 2, true, false, true},
		{NackElephants, 1, true, false, true}, {NackNone, 3, false, false, false}} {
		t.Run(fmt.Sprintf("%s, %d queues", c.nack, c.queues), func(t *testing.T) {
			s := tight("nack", c.nack, "least", "15kB", "spike", "0%")
			s.queues = c.queues
			r := newRig(t, s)
			now := r.fatten(ms, 1, 2, 9, 30)
			for i := range 30 {
				r.come(now, 0, r.data(1, 2, 9, int64(30+i)*1000, 1000))
				r.come(now, 2, r.data(3, 2, uint16(100+i), 0, 1000))
			}
			r.drain()
			elephant, mice := false, false
			nacks, _ := r.nacks()
			for _, p := range nacks {
				elephant, mice = elephant || p.Dst == 1, mice || p.Dst == 3
			}
			if elephant != c.elephant || mice != c.mice || (len(nacks) > 0) != c.any {
				t.Errorf("%s, %d queues: elephants are told %v, mice %v", c.nack, c.queues, elephant, mice)
			}
		})
	}
}

// limiter drops everything for a reason.
type limiter struct{ why dataplane.Reason }

func (limiter) Name() string { return "limiter" }
func (l limiter) Admit(_ *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if p.Meta.Out == 1 {
		return dataplane.Drop(l.why)
	}
	return dataplane.Accept
}

// TestProgram_NacksOnlyLackOfMemory checks "congestion …, marked by the lack of available memory" (NCF §4.3): only a
// packet that finds memory lacking causes a NACK.
func TestProgram_NacksOnlyLackOfMemory(t *testing.T) {
	for why := dataplane.Malformed; why < dataplane.Reasons; why++ {
		s := tight()
		s.after = []dataplane.Program{limiter{why}}
		r := newRig(t, s)
		r.overflow(ms, 1, 2, 9, 1)
		r.drain()
		nacks, _ := r.nacks()
		memory := map[dataplane.Reason]bool{dataplane.QueuePacketLimit: true, dataplane.QueueByteLimit: true,
			dataplane.PortPacketLimit: true, dataplane.PortByteLimit: true,
			dataplane.BufferFull: true, dataplane.EgressThreshold: true, dataplane.Evicted: true, dataplane.Notified: true}[why]
		if (len(nacks) == 1) != memory {
			t.Errorf("%v: %d NACKs", why, len(nacks))
		}
	}
}

// TestSupplyAndDemand checks that demand is the flow's traffic through the switch in the last n·d. Supply is the port's
// capacity for one elephant: the target without mice and control, at least the elephants' guarantee (Weir's rule).
func TestSupplyAndDemand(t *testing.T) {
	for _, count := range []string{"bytes", "packets"} {
		t.Run(count, func(t *testing.T) {
			supplyAndDemand(t, count)
		})
	}
}

func supplyAndDemand(t *testing.T, count string) {
	s := tight("duration", "1ms", "least", "15kB", "target", "90%", "count", count)
	s.ports = 4
	r := newRig(t, s)
	// two elephants of 1066 bytes every 20 µs, mice of a quarter of that together
	now := unit.Time(0)
	for i := range 300 {
		r.come(now, 0, r.data(1, 2, 9, int64(i)*1000, 1000))
		r.come(now, 2, r.data(3, 2, 10, int64(i)*1000, 1000))
		if i%4 == 0 {
			r.come(now, 3, r.data(4, 2, uint16(1000+i), 0, 1000))
		}
		now += 20 * us
	}
	r.until(now + 19*us)
	for i := range 30 {
		r.come(now+19*us, 0, r.data(1, 2, 9, int64(300+i)*1000, 1000))
	}
	r.drain()
	_, notices := r.nacks()
	if len(notices) == 0 {
		t.Fatal("no NACK")
	}
	frame := 1066 * 8 / 20e-6 // bit/s of one frame each 20 µs
	if d := float64(notices[0].Demand); d < frame*1.0 || d > frame*1.2 {
		t.Errorf("demand %v, want about %.0f", notices[0].Demand, frame)
	}
	// A mouse more or less in the present of 193 us is 22 Mb/s of an elephant's half.
	if got, want := float64(notices[0].Supply), (0.9e9-frame/4)/2; math.Abs(got-want) > 22e6 {
		t.Errorf("supply %v, want %.0f", notices[0].Supply, want)
	}
}

// TestMaxMin checks that with max_min the part that an elephant does not use is the others'. Of 900 Mb/s one sends
// 106.6, and the other is offered the rest; with equal shares it is half.
func TestMaxMin(t *testing.T) {
	frame := 1066 * 8 / 80e-6
	for supply, want := range map[string]float64{"equal": 0.45e9, "max_min": 0.9e9 - frame} {
		t.Run(supply, func(t *testing.T) {
			r := newRig(t, tight("duration", "1ms", "least", "15kB", "target", "90%", "supply", supply))
			now := unit.Time(0)
			for i := range 600 {
				r.come(now, 0, r.data(1, 2, 9, int64(i)*1000, 1000))
				if i%8 == 0 {
					r.come(now, 2, r.data(3, 2, 10, int64(i)*1000, 1000))
				}
				now += 10 * us
			}
			r.until(now)
			r.overflow(now, 1, 2, 9, 30)
			r.drain()
			_, notices := r.nacks()
			if len(notices) == 0 {
				t.Fatal("no NACK")
			}
			if got := float64(notices[0].Supply); got < want*0.97 || got > want*1.03 {
				t.Errorf("%s: supply %v, want %.0f", supply, notices[0].Supply, want)
			}
		})
	}
}

// TestSupplyOfMice checks that a mouse is offered an equal share of the target among all flows, since an incast may
// have no elephant.
func TestSupplyOfMice(t *testing.T) {
	r := newRig(t, tight())
	for i := range 8 { // each has come before the first one finds no room
		r.come(unit.Time(i)*20*us, 0, r.data(1, 2, uint16(100+i), 0, 1000))
	}
	for i := range 8 {
		r.overflow(ms, 1, 2, uint16(100+i), 5)
	}
	r.drain()
	_, notices := r.nacks()
	if len(notices) == 0 {
		t.Fatal("no NACK")
	}
	// The sketch counts two flows that meet in its first row as one.
	if got, want := float64(notices[0].Supply), 0.95e9/8; got < want*0.95 || got > want*1.15 {
		t.Errorf("supply %v, want %.0f", notices[0].Supply, want)
	}
}

// TestFairShare_IsMaxMin checks max-min: a flow that needs less than an equal share gets that, and the others share the
// rest equally.
func TestFairShare_IsMaxMin(t *testing.T) {
	for _, c := range []struct {
		left    float64
		demands []float64
		want    float64
	}{{90, []float64{50, 50, 50}, 30}, {90, []float64{10, 50, 60}, 40}, {90, []float64{60, 10, 5}, 75},
		{90, []float64{1, 2, 3}, 87}, {90, nil, 90}, {90, []float64{30, 30, 30}, 30}} {
		if got := fairShare(c.left, append([]float64(nil), c.demands...)); got != c.want {
			t.Errorf("%v of %v: %v, want %v", c.demands, c.left, got, c.want)
		}
	}
}

// TestProgram_CoalescedNacksNameSamePackets checks "Although we do not combine multiple NACKs to the same source, the
// overhead … is likely to be limited" (NCF §4.3). Combined NACKs name the same packets in fewer frames and bytes.
func TestProgram_CoalescedNacksNameSamePackets(t *testing.T) {
	named := func(given ...string) (frames int, bytes int64, names map[string]int, lost uint64) {
		s := tight(given...)
		r := newRig(t, s)
		for i := range 60 {
			r.come(ms+unit.Time(i)*us, 0, r.data(1, 2, 9, int64(i)*1000, 1000))
			r.come(ms+unit.Time(i)*us, 2, r.data(3, 2, 10, int64(i)*1000, 1000, proto(packet.ProtoRDMA), ip(6)))
		}
		r.drain()
		nacks, notices := r.nacks()
		names = map[string]int{}
		for i, p := range nacks {
			bytes += int64(p.Size)
			n := notices[i]
			if v6 := p.Dst == 3; (p.Version == 6) != v6 || (p.Proto == packet.ProtoRDMA) != v6 || p.Payload != 0 ||
				p.TOS&packet.ECN != 0 {
				t.Errorf("%+v", p)
			}
			names[fmt.Sprint(p.Dst, about(p))]++
			for _, x := range n.More[:n.Spans] {
				if x.Lost != 1000 {
					t.Errorf("%+v", n)
				}
				names[fmt.Sprint(p.Dst, about(p)+int64(x.Offset))]++
			}
		}
		drops := r.sw.DropCounts()
		if r.pool.LiveCount() != 0 || r.g.NackCounts().Named != drops[dataplane.Notified]+drops[dataplane.Evicted] {
			t.Errorf("%d packets are left, %d are named, %v", r.pool.LiveCount(), r.g.NackCounts().Named, drops)
		}
		return len(nacks), bytes, names, drops[dataplane.Notified] + drops[dataplane.Evicted]
	}
	options, _, optionNames, _ := named("coalesce", "10us")
	one, oneBytes, oneNames, oneLost := named()
	some, someBytes, someNames, someLost := named("coalesce", "10us", "form", "extension")
	if len(oneNames) != int(oneLost) || len(someNames) != int(someLost) || oneLost != someLost || one != int(oneLost) {
		t.Errorf("%d and %d packets are gone, %d and %d are named", oneLost, someLost, len(oneNames), len(someNames))
	}
	for n, times := range someNames {
		if times != 1 || oneNames[n] != 1 {
			t.Errorf("packet %s is named %d times", n, times)
		}
	}
	if options >= one || options <= some || len(optionNames) != len(oneNames) { // an option names three packets of TCP
		t.Errorf("%d NACKs in options name %d packets", options, len(optionNames))
	}
	if some*3 > one || someBytes*2 > oneBytes {
		t.Errorf("%d frames, %d bytes, combined %d, %d", one, oneBytes, some, someBytes)
	}
	t.Logf("%d packets gone: %d NACKs of %d bytes, combined %d of %d bytes; data was %d bytes", oneLost, one, oneBytes,
		some, someBytes, 2*60*1066)
}

// TestCoalesceCauses checks that refused and reclaimed packets are not combined: a notice has one cause.
func TestCoalesceCauses(t *testing.T) {
	r := newRig(t, tight("coalesce", "1ms", "least", "15kB"))
	now := r.fatten(ms, 1, 2, 9, 30)
	for i := range 20 {
		r.come(now, 0, r.data(1, 2, 9, int64(30+i)*1000, 1000))
	}
	for i := range 3 {
		r.come(now, 2, r.data(3, 2, uint16(100+i), 0, 1000))
	}
	r.drain()
	_, notices := r.nacks()
	named := map[packet.Cause]uint64{}
	for _, n := range notices {
		named[n.Cause] += 1 + uint64(n.Spans)
	}
	drops := r.sw.DropCounts()
	if named[packet.CauseTrimmed] != drops[dataplane.Notified] ||
		named[packet.CauseReclaimed] != drops[dataplane.Evicted] || drops[dataplane.Evicted] == 0 ||
		drops[dataplane.Notified] == 0 {
		t.Errorf("named: %v; dropped: %v", named, drops)
	}
}

// TestCoalesceLeaves checks that a combined NACK is sent in time, when it is full, and when another flow needs its
// place.
func TestCoalesceLeaves(t *testing.T) {
	r := newRig(t, tight("coalesce", "100us", "form", "extension"))
	var at []unit.Time
	var spans []uint8
	r.sent = func(now unit.Time, _ packet.PortID, p *packet.Packet) {
		var n packet.Notification
		if p.Notification(&n) {
			at, spans = append(at, now), append(spans, n.Spans)
		}
	}
	r.overflow(ms, 1, 2, 9, 40) // 20 are gone at once, and more
	r.drain()
	if len(at) < 3 || spans[0] != packet.MaxSpans || at[0] > ms+2*us || at[len(at)-1] < ms+100*us ||
		at[len(at)-1] > ms+102*us {
		t.Errorf("NACKs at %v with %v further packets", at, spans)
	}
}

// TestProgram_NackOverheadIsLimited checks NCF §4.3: "the overhead in sending multiple NACKs is likely to be limited",
// and they "can be dropped if the network is overly congested". Eight unresponsive flows offer a port of 1 Gb/s several
// times its rate. Other traffic fills the return path, which leaves NACKs 5 %, and the number of flows varies. The
// table has the cost of NACKs and their losses, in both forms; each lost packet has been named.
func TestProgram_NackOverheadIsLimited(t *testing.T) {
	for _, c := range []struct {
		form     string
		gap      unit.Time // between packets of 1066 bytes
		coalesce string
		bytes    float64 // most bytes of NACKs, as a share of those of the data that came
		lost     float64 // largest share of NACKs that are lost
	}{
		{"tcp_option", 4 * us, "0s", 0.05, 0.5}, {"tcp_option", 4 * us, "50us", 0.05, 0},
		{"tcp_option", us, "0s", 0.02, 0.9}, {"tcp_option", us, "50us", 0.02, 0.7}, // measured: 0.30, 0, 0.86, 0.63
		{"extension", 4 * us, "0s", 0.05, 0.5}, {"extension", 4 * us, "50us", 0.05, 0},
		{"extension", us, "0s", 0.02, 0.9}, {"extension", us, "50us", 0.02, 0.5},
	} {
		t.Run(fmt.Sprintf("%s, gap %v, coalesce %s", c.form, c.gap, c.coalesce), func(t *testing.T) {
			r := newRig(t, setup{ports: 3, queues: 3, given: []string{"memory", "100kB", "least", "15kB", "duration", "1ms",
				"form", c.form, "top", "0", "coalesce", c.coalesce, "nack_budget", "0"}})
			came, nacks := int64(0), int64(0)
			r.sent = func(_ unit.Time, _ packet.PortID, p *packet.Packet) {
				if p.IsNotification() {
					nacks += int64(p.Size)
				}
			}
			back := unit.Time(0)
			for i := range 20_000 {
				now := unit.Time(i) * c.gap
				r.come(now, 0, r.data(1, 2, uint16(10+i%8), int64(i)*1000, 1000))
				came += 1066
				for ; back <= now; back += 8 * us {
					r.come(now, 2, r.data(3, 1, many(i), 0, 1000))
				}
			}
			r.drain()
			counts := r.g.NackCounts()
			made := counts.Nacks[packet.CauseTrimmed] + counts.Nacks[packet.CauseReclaimed]
			share, lost := float64(nacks)/float64(came), float64(counts.Lost)/float64(made)
			t.Logf("load %.2f, coalesce %-5s %5d of 20000 packets gone, %5d NACKs, %.1f %% of the data's bytes, %.1f "+
				"%% of them lost",
				1066*8e-9/(float64(c.gap)/1e12), c.coalesce+":", counts.Named, made, 100*share, 100*lost)
			if share > c.bytes || lost > c.lost || counts.Dropped != 0 {
				t.Errorf("load by %v, coalesce %s: %.4f of the bytes, %.4f lost; %+v", c.gap, c.coalesce, share, lost, counts)
			}
		})
	}
}

// TestCoalesceStamps checks that packets with different time stamps are not combined: TCP distinguishes transmissions
// by the stamp, and a NACK has one.
func TestCoalesceStamps(t *testing.T) {
	r := newRig(t, tight("coalesce", "1ms"))
	for i := range 40 {
		p := r.data(1, 2, 9, int64(i)*1000, 1000)
		p.TCP.TSVal = uint32(i / 2)
		r.come(ms, 0, p)
	}
	r.drain()
	packets, notices := r.nacks()
	for i, n := range notices {
		for _, s := range n.More[:n.Spans] {
			seq, stamp := packets[i].NoticeSubject()
			if other := (seq + int64(s.Offset)) / 2000; uint32(other) != stamp {
				t.Errorf("the NACK with stamp %d names the packet at %d", stamp, seq+int64(s.Offset))
			}
		}
	}
	if len(notices) < 5 {
		t.Errorf("only %d NACKs", len(notices))
	}
}
