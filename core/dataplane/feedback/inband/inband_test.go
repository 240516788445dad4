package inband

import (
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/telemetry"
	"weir/core/unit"
)

const (
	ns = unit.Nanosecond
	us = unit.Microsecond
)

// router sends all packets to port 0, in the class of their TOS byte.
type router struct{}

func (router) Name() string { return "router" }
func (router) Ingress(_ *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	p.Meta.Out, p.Meta.Class = 0, p.TOS>>5
	return dataplane.Accept
}

// rig is a switch with one port of 100 Gb/s.
type rig struct {
	t    *testing.T
	sw   *dataplane.Switch
	pool packet.Pool
	f    telemetry.Format
	site dataplane.Site
	idle unit.Time
	mtu  unit.Bytes
}

func newRig(t *testing.T, format string, s tm.Scheduler, queues int, change func(r *rig)) *rig {
	t.Helper()
	r := &rig{t: t}
	var err error
	if r.f, err = telemetry.NewFormat(format, 1, 1.05, nil); err != nil {
		t.Fatal(err)
	}
	port := tm.NewPort(tm.NewBuffer(queues, tm.Limit{}, tm.Limit{}), s, unit.LinkRate{Bits: 100 * unit.Gbps})
	r.site = dataplane.Site{Switch: "s", ID: 9, Ports: 1, At: []*tm.Port{port}}
	if change != nil {
		change(r)
	}
	p, err := New(&r.site, r.f, r.idle, r.mtu)
	if err != nil {
		t.Fatal(err)
	}
	r.sw, err = dataplane.New(dataplane.Config{Name: "s", ID: 9, Ports: r.site.At, Programs: []dataplane.Program{router{},
		p}, Pool: &r.pool, Random: unit.NewRandom(1, "s")})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// receive delivers a packet of size bytes to the switch. want is its request.
func (r *rig) receive(now unit.Time, size int32, tos uint8, want telemetry.Request, congested bool) {
	p := r.pool.Get()
	p.Size, p.TOS, p.HopLimit = size, tos, 9
	r.f.AddRequest(p, want, congested)
	r.sw.Receive(now, 0, p)
}

func (r *rig) dequeue(now unit.Time) (p *packet.Packet, h telemetry.Records, what telemetry.Reading, load float64) {
	r.t.Helper()
	if p, _ = r.sw.Dequeue(now, 0); p == nil {
		r.t.Fatalf("nothing leaves at %v", now)
	}
	what, load = r.f.ReadRequest(p, &h)
	return p, h, what, load
}

// TestProgram_RecordsInstantOfDequeue checks that a record is of one moment, after the dequeue: the clock, the queue
// without this packet, the bytes sent before it, the rate, and its time in the switch.
func TestProgram_RecordsInstantOfDequeue(t *testing.T) {
	for _, format := range []string{"hpcc", "int-md"} {
		t.Run(format, func(t *testing.T) {
			r := newRig(t, format, tm.NewFIFO(), 1, func(r *rig) { r.f.Sojourn = format == "int-md" })
			for i := range 3 {
				r.receive(unit.Time(i)*us, 1280, 0, telemetry.HopRecords, false)
			}
			for i := range 3 {
				now := 10*us + unit.Time(i)*us
				_, h, what, _ := r.dequeue(now)
				if what != telemetry.Recorded || h.Len() != 1 || h.PathID() != 9 {
					t.Fatalf("%s: %d, %+v", format, what, h.Hops())
				}
				want := telemetry.Hop{Time: now, TxBytes: uint64(i) * 1280, Queue: unit.Bytes(2-i) * 1280, Rate: 100 * unit.Gbps,
					Sojourn: 10 * us, Switch: 9}
				if format == "hpcc" {
					want.Sojourn, want.Switch, want.Flags = 0, 0, telemetry.NoSwitch|telemetry.NoSojourn
				} else { // the record of the packets before has made them grow
					want.TxBytes += uint64(i) * 32
				}
				if *h.At(0) != want {
					t.Errorf("%s: packet %d has %+v, want %+v", format, i, *h.At(0), want)
				}
			}
		})
	}
}

// TestFiveHops checks that of six switches on the path five add a record. The sixth is counted.
func TestFiveHops(t *testing.T) {
	for _, format := range []string{"hpcc", "ifa"} {
		r := newRig(t, format, tm.NewFIFO(), 1, func(r *rig) { r.f.Hops = 5 })
		r.receive(0, 1000, 0, telemetry.HopRecords, false)
		for i := 1; ; i++ {
			p, h, _, _ := r.dequeue(unit.Time(i) * us)
			if h.Len() != min(i, 5) || h.MissedHops() != max(i-5, 0) || h.At(h.Len()-1).Time != unit.Time(min(i, 5))*us {
				t.Errorf("%s: after %d switches %d hops, %d missed", format, i, h.Len(), h.MissedHops())
			}
			if i == 6 {
				break
			}
			r.sw.Receive(unit.Time(i)*us, 0, p)
		}
	}
}

// TestCongestionOnly checks draft-miao §6: a packet that requests telemetry upon congestion gets a record only from a
// queue or a load above the limit. The header is added then.
func TestCongestionOnly(t *testing.T) {
	r := newRig(t, "hpcc", tm.NewFIFO(), 1, func(r *rig) { r.f.LoadInterval, r.f.Load, r.f.Queue = 10*us, 0.8, 3000 })
	for range 4 {
		r.receive(0, 1000, 0, telemetry.HopRecords, true)
	}
	for i, want := range []telemetry.Reading{telemetry.Recorded, telemetry.Uncongested, telemetry.Uncongested,
		telemetry.Uncongested} {
		p, _, what, _ := r.dequeue(unit.Time(i) * us) // 1000 B in a microsecond are 8 Gb/s
		if what != want {
			t.Errorf("packet %d, %d B behind it: %d, want %d", i, 3000-1000*i, what, want)
		}
		if size := int32(1000 + 40*boolean(want == telemetry.Recorded)); p.Size != size {
			t.Errorf("packet %d has %d bytes, want %d", i, p.Size, size)
		}
	}
	seen := false
	for i := range 1000 { // back to back, no queue
		now := 100*us + unit.Time(i)*80*ns
		r.receive(now, 1000, 0, telemetry.HopRecords, true)
		_, h, what, _ := r.dequeue(now)
		if what == telemetry.Recorded && h.At(0).Queue == 0 {
			seen = true
		} else if i > 300 {
			t.Fatalf("packet %d of a full link has no record", i)
		}
	}
	if !seen {
		t.Error("a load never counts")
	}
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestProgram_RecordsQueuePerClass checks draft-miao §9.4, two classes at 1:3: each has its queue, its bytes, its share
// of the rate. When one has sent no packet for idle, the other has all.
func TestProgram_RecordsQueuePerClass(t *testing.T) {
	r := newRig(t, "int-md", tm.NewDWRR([]int32{1, 3}, 1514), 2, func(r *rig) { r.idle = 10 * us })
	for i := range 6 {
		r.receive(unit.Time(i), 1000, uint8(i%2)<<5, telemetry.HopRecords, false)
	}
	sent := [2]uint64{}
	waits := [2]unit.Bytes{3000, 3000}
	for i := range 6 {
		p, h, _, _ := r.dequeue(unit.Time(i+1) * us)
		q := p.TOS >> 5
		waits[q] -= 1000
		if x := h.At(0); x.TxBytes != sent[q] || x.Queue != waits[q] || x.Rate != []unit.Rate{25 * unit.Gbps,
			75 * unit.Gbps}[q] {
			t.Errorf("class %d: %+v, want %d sent and %d waiting", q, x, sent[q], waits[q])
		}
		sent[q] += uint64(p.Size)
	}
	r.receive(100*us, 1000, 0, telemetry.HopRecords, false)
	if _, h, _, _ := r.dequeue(100 * us); h.At(0).Rate != 100*unit.Gbps || h.At(0).TxBytes != sent[0] {
		t.Errorf("alone: %+v", h.At(0))
	}
	// HPCC's header has no code for 75 Gb/s, and none for rates that change
	port := tm.NewPort(tm.NewBuffer(2, tm.Limit{}, tm.Limit{}), tm.NewDWRR([]int32{1, 3}, 1514),
		unit.LinkRate{Bits: 100 * unit.Gbps})
	f, _ := telemetry.NewFormat("hpcc", 1, 1.05, nil)
	if _, err := New(&dataplane.Site{Ports: 1, At: []*tm.Port{port}}, f, 0, 0); err == nil {
		t.Error("75 Gb/s in HPCC's header")
	}
	equal := tm.NewPort(tm.NewBuffer(2, tm.Limit{}, tm.Limit{}), tm.NewDRR(2, 1514), unit.LinkRate{Bits: 100 * unit.Gbps})
	if _, err := New(&dataplane.Site{Ports: 1, At: []*tm.Port{equal}}, f, 0, 0); err != nil {
		t.Error(err)
	}
	odd := tm.NewPort(tm.NewBuffer(1, tm.Limit{}, tm.Limit{}), tm.NewFIFO(), unit.LinkRate{Bits: 7 * unit.Gbps})
	if _, err := New(&dataplane.Site{Ports: 1, At: []*tm.Port{odd}}, f, 0, 0); err == nil {
		t.Error("7 Gb/s in HPCC's header")
	}
}

// TestClassesUnderPriority checks queues in strict priority: a later class is shown its share of the remaining bytes,
// queue and rate. A class in strict priority is shown the full rate, and the bytes and queues of the classes before it.
func TestClassesUnderPriority(t *testing.T) {
	const rate = 100 * unit.Gbps
	for _, idle := range []unit.Time{0, 10 * us} {
		t.Run(idle.String(), func(t *testing.T) {
			r := newRig(t, "int-md", tm.NewPriorityDWRR(2, []int32{9, 1, 1, 3}, 1514), 4, func(r *rig) { r.idle = idle })
			var sent [4]uint64
			receive := func(now unit.Time, classes ...uint8) {
				for _, q := range classes {
					r.receive(now, 1000, q<<5, telemetry.HopRecords, false)
				}
			}
			check := func(now unit.Time, class uint8, rate unit.Rate, bytes uint64, queue unit.Bytes) {
				t.Helper()
				p, h, _, _ := r.dequeue(now)
				if x := h.At(0); p.TOS>>5 != class || x.Rate != rate || x.TxBytes != bytes || x.Queue != queue {
					t.Errorf("class %d, want %d: %+v, want %v, %d sent and %d waiting", p.TOS>>5, class, x, rate, bytes, queue)
				}
				sent[class] += uint64(p.Size)
			}
			receive(0, 2, 3, 3, 1, 1, 0)
			check(1*us, 0, rate, 0, 0)
			check(2*us, 1, rate, sent[0], 1000)
			check(3*us, 1, rate, sent[0]+sent[1], 0)
			strict := sent[0] + sent[1]
			check(4*us, 2, rate/4, strict/4, 0)
			check(5*us, 3, rate*3/4, strict*3/4, 1000)
			// packets in strict priority arrive while the others wait
			receive(5*us, 3, 1)
			check(6*us, 1, rate, strict, 0)
			strict = sent[0] + sent[1]
			check(7*us, 3, rate*3/4, sent[3]+strict*3/4, 1000)
			receive(7*us, 0, 0, 0)
			check(8*us, 0, rate, sent[0], 2000)
			check(9*us, 0, rate, sent[0], 1000)
			check(10*us, 0, rate, sent[0], 0)
			strict = sent[0] + sent[1]
			check(11*us, 3, rate*3/4, sent[3]+strict*3/4, 0)
			receive(100*us, 3)
			if idle > 0 { // the other class has been silent
				check(100*us, 3, rate, sent[3]+strict*3/4, 0)
				return
			}
			check(100*us, 3, rate*3/4, sent[3]+strict*3/4, 0)
		})
	}
	// HPCC's header has codes for the rates that classes have, the whole rate among them.
	port := tm.NewPort(tm.NewBuffer(3, tm.Limit{}, tm.Limit{}), tm.NewPriorityDWRR(1, []int32{7, 1, 1}, 1514),
		unit.LinkRate{Bits: rate})
	f, err := telemetry.NewFormat("hpcc", 1, 1.05, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(&dataplane.Site{Ports: 1, At: []*tm.Port{port}}, f, 0, 0); err != nil {
		t.Error(err)
	}
}

// TestProgram_WritesMaxPathLoad checks PINT: packets carry the maximum of the ports' loads, as telemetry.PortLoad
// calculates them.
func TestProgram_WritesMaxPathLoad(t *testing.T) {
	r := newRig(t, "hpcc", tm.NewFIFO(), 1, func(r *rig) { r.f.LoadInterval = 10 * us })
	last := 0.0
	for i := range 1000 {
		now := unit.Time(i) * 80 * ns
		r.receive(now, 1000, 0, telemetry.PathLoad, false)
		p, _, what, load := r.dequeue(now)
		if what != telemetry.Loaded {
			t.Fatalf("packet %d: %d", i, what)
		}
		if last = load; i == 999 {
			for range 3 { // the same switch again, with the port idle: the largest stays
				r.sw.Receive(now+100*us, 0, p)
				if p, _, _, load = r.dequeue(now + 100*us); load < last {
					t.Errorf("%v after %v", load, last)
				}
			}
		}
	}
	if last < 0.93 || last > 1.07 {
		t.Errorf("a full link has load %v", last)
	}
}

// TestRelativeLoad checks format relative (draft-miao §9.1): the port's load, as for PINT, in its own code. A port of
// any rate has one, and a port shared by classes has none.
func TestRelativeLoad(t *testing.T) {
	r := newRig(t, "relative", tm.NewFIFO(), 1, func(r *rig) {
		r.f.LoadInterval = 10 * us
		r.site.At = []*tm.Port{tm.NewPort(tm.NewBuffer(1, tm.Limit{}, tm.Limit{}), tm.NewFIFO(),
			unit.LinkRate{Bits: 7 * unit.Gbps})}
	})
	var want telemetry.PortLoad
	for i := range 1000 {
		now := unit.Time(i) * us // 875 B in a microsecond are 7 Gb/s
		r.receive(now, 700, 0, telemetry.HopRecords, false)
		load := want.Dequeue(now, 700, 0, 7*unit.Gbps, 10*us)
		p, h, what, got := r.dequeue(now)
		if what != telemetry.Loaded || got != telemetry.DecodeRelative(telemetry.EncodeRelative(load)) || h.Len() != 0 ||
			p.Size != 700 {
			t.Fatalf("packet %d: %d, load %v of %v, %d B", i, what, got, load, p.Size)
		}
		if i == 999 && (got < 0.78 || got > 0.82) {
			t.Errorf("a link in use to 80 %% has load %v", got)
		}
	}
	f, _ := telemetry.NewFormat("relative", 1, 1.05, nil)
	shared := tm.NewPort(tm.NewBuffer(2, tm.Limit{}, tm.Limit{}), tm.NewDRR(2, 1514), unit.LinkRate{Bits: 100 * unit.Gbps})
	if _, err := New(&dataplane.Site{Ports: 1, At: []*tm.Port{shared}}, f, 0, 0); err == nil {
		t.Error("classes with format relative")
	}
}

// TestNotAsked checks that packets without a request, or with one that the switch cannot serve, are not changed.
func TestNotAsked(t *testing.T) {
	r := newRig(t, "hpcc", tm.NewFIFO(), 1, nil)
	r.receive(0, 1000, 0, telemetry.NoRequest, false)
	if p, _, what, _ := r.dequeue(0); p.HasExtensions() || what != telemetry.NoAnswer || p.Size != 1000 {
		t.Error("a packet that does not ask has telemetry")
	}
	r.receive(0, 1000, 0, telemetry.PathLoad, false)
	if p, _, _, _ := r.dequeue(0); p.Size != 1000 {
		t.Error("it grows")
	}
	p := r.pool.Get()
	p.Size, p.HopLimit = 60, 9
	r.f.AddRequest(p, telemetry.HopRecords, false)
	r.f.MakeAnswer(p)
	r.sw.Receive(0, 0, p)
	var h telemetry.Records
	if p, _ = r.sw.Dequeue(0, 0); true {
		if what, _ := r.f.ReadAnswer(p, &h); what != telemetry.Recorded || h.Len() != 0 {
			t.Errorf("an answer on its way back has %d hops", h.Len())
		}
	}
	port := tm.NewPort(tm.NewBuffer(1, tm.Limit{}, tm.Limit{}), tm.NewFIFO(), unit.LinkRate{Packets: 1000})
	r = newRig(t, "hpcc", tm.NewFIFO(), 1, func(r *rig) { r.site.At = []*tm.Port{port} })
	r.receive(0, 1000, 0, telemetry.HopRecords, false)
	if _, h, _, _ := r.dequeue(0); h.Len() != 0 {
		t.Error("a port whose rate is in packets has a record")
	}
}

// TestProgram_StampsBySwitchClock checks that a switch's clock stamps its records.
func TestProgram_StampsBySwitchClock(t *testing.T) {
	r := newRig(t, "int-md", tm.NewFIFO(), 1, func(r *rig) {
		r.site.Clock = telemetry.Clock{Resolution: 100 * ns,
			Offset: 5 * us, Drift: 1000}
	})
	r.receive(0, 1000, 0, telemetry.HopRecords, false)
	if _, h, _, _ := r.dequeue(100 * us); h.At(0).Time != 105*us+100*ns {
		t.Errorf("%v", h.At(0).Time)
	}
}

// TestProgram_RecordsOnlyWithinMTU checks that no record makes an IP packet longer than the MTU, the program's or the
// link's. INT sets M ("MTU exceeded"), IFA counts the hop down, and a packet that requests telemetry only upon
// congestion is not changed. A record that fits to the byte is added. Existing headers stay: HPCC's and IOAM's room is
// the sender's.
func TestProgram_RecordsOnlyWithinMTU(t *testing.T) {
	for _, x := range []struct {
		format    string
		header    int32 // of the telemetry, and a record
		record    int32
		congested bool
		missed    int
	}{{"int-md", 16, 28, false, 1}, {"ifa-ext", 8, 40, false, 1}, {"ioam", 160, 0, false, -1}, {"hpcc", 48, 0, false, -1},
		{"int-md", 8, 16 + 28, true, 0}, {"ifa", 8, 8 + 32, true, 0}, {"hpcc", 8, 48, true, 0}, {"ioam", 8, 160, true, 0}} {
		for _, less := range []int32{0, 1} {
			for _, link := range []bool{false, true} {
				mtu := 20 + 16 + 500 + x.header + x.record - less // IPv4, and the header of a transport without its own
				r := newRig(t, x.format, tm.NewFIFO(), 1, func(r *rig) {
					r.f.LoadInterval, r.f.Queue = us, 0
					if r.mtu = unit.Bytes(mtu); link {
						r.mtu, r.site.Lines = 0, []dataplane.Line{{MTU: mtu}}
					}
				})
				p := r.pool.Get()
				p.Size, p.Version, p.HopLimit, p.Payload, p.Proto = 550, 4, 9, 500, packet.ProtoOwn
				r.f.AddRequest(p, telemetry.HopRecords, x.congested)
				r.sw.Receive(0, 0, p)
				p, h, _, _ := r.dequeue(us)
				hops, missed := 1, 0
				if less > 0 && x.missed >= 0 {
					hops, missed = 0, x.missed
				}
				if h.Len() != hops || h.MissedHops() != missed || packetLength(p) > mtu && x.missed >= 0 {
					t.Errorf("%+v, MTU %d of a link (%v): %d hops, %d missed, %d B", x, mtu, link, h.Len(), h.MissedHops(),
						packetLength(p))
				}
			}
		}
	}
}

// TestPacketLength_SkipsEthernetTags checks that frames count without tags, and with their headers before IP, as an
// interface's MTU does.
func TestPacketLength_SkipsEthernetTags(t *testing.T) {
	p := &packet.Packet{Version: 4, Proto: packet.ProtoUDP, Payload: 100}
	for _, x := range []struct {
		frame int
		types []uint16
		want  int32
	}{{0, nil, 128}, {14 + 128, []uint16{0x0800}, 128}, {14 + 136, []uint16{0x8864}, 136},
		{22 + 128, []uint16{0x88a8, 1, 0x8100, 2, 0x0800}, 128}, {60, []uint16{0x0800}, 128}} {
		if p.Data = nil; x.frame > 0 {
			p.Data = make([]byte, x.frame)
		}
		for i, kind := range x.types {
			p.Data[12+2*i], p.Data[13+2*i] = byte(kind>>8), byte(kind)
		}
		if got := packetLength(p); got != x.want {
			t.Errorf("%+v: %d", x, got)
		}
	}
}

// TestRateChanges checks that a link's new rate is reported at once, and not reported in HPCC's header if it has no
// code.
func TestRateChanges(t *testing.T) {
	r := newRig(t, "hpcc", tm.NewFIFO(), 1, nil)
	for _, x := range []struct {
		rate unit.Rate
		hops int
	}{{100 * unit.Gbps, 1}, {50 * unit.Gbps, 1}, {7 * unit.Gbps, 0}, {25 * unit.Gbps, 1}} {
		r.site.At[0].SetRate(unit.LinkRate{Bits: x.rate})
		r.receive(0, 1000, 0, telemetry.HopRecords, false)
		if _, h, _, _ := r.dequeue(0); h.Len() != x.hops || x.hops > 0 && h.At(0).Rate != x.rate {
			t.Errorf("%v: %+v", x.rate, h.Hops())
		}
	}
}

func TestScheme_BuildsConfiguredFormat(t *testing.T) {
	s := Scheme()
	c, err := s.Configure("multi", "4", "t", "13us")
	if err != nil {
		t.Fatal(err)
	}
	rates := []unit.Rate{10 * unit.Gbps}
	f, err := dataplane.TraitsOf(c).Telemetry(rates)
	if err != nil || f.HPCC.Multi != 4 || f.HPCC.Rates[5] != 10*unit.Gbps || f.LoadInterval != 13*us || f.Load != 0.8 ||
		f.Queue != 5000 {
		t.Errorf("%+v, %v", f, err)
	}
	p, err := s.Build(&dataplane.Site{Rates: rates, CountsTelemetry: true, Routes: &dataplane.Routes{}}, c)
	if err != nil || p.Name() != "telemetry" || !p.(*Program).format.InFraming {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestEgress_DoesNotAllocate(t *testing.T) {
	r := newRig(t, "hpcc", tm.NewFIFO(), 1, nil)
	now := unit.Time(0)
	if n := testing.AllocsPerRun(1000, func() {
		now += us
		r.receive(now, 1000, 0, telemetry.HopRecords, false)
		p, _ := r.sw.Dequeue(now, 0)
		r.pool.Put(p)
	}); n != 0 {
		t.Errorf("%g allocations a packet", n)
	}
}
