package sharedbuffer_test

import (
	"fmt"
	"math"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/buffer/sharedbuffer"
	"weir/core/dataplane/dataplanetest"
	"weir/core/dataplane/forward"
	"weir/core/packet"
	"weir/core/unit"
)

const us = unit.Microsecond

// audit checks the counts whenever a packet arrives or departs. It is last in the list.
type audit struct {
	t      testing.TB
	buffer *sharedbuffer.Buffer
	most   unit.Bytes
}

func (a *audit) Name() string { return "audit" }
func (a *audit) Book(env *dataplane.Env, _ *packet.Packet) {
	a.most = max(a.most, env.BufferedBytes())
	a.check(env)
}
func (a *audit) Unbook(env *dataplane.Env, _ *packet.Packet) { a.check(env) }
func (a *audit) check(env *dataplane.Env) {
	if err := a.buffer.Check(env.BufferedBytes()); err != nil {
		a.t.Fatalf("at %v: %v", env.Now(), err)
	}
}

// fillSlowPorts sends each slow port (1 Mb/s) of a switch the given number of packets of 1000 bytes, as fast as
// possible. They arrive from as many fast ports, those for port 0 first. It returns the packets that each slow port
// queued, and the drops by reason.
func fillSlowPorts(t testing.TB, slow, each int, given ...string) (queued []int, drops [dataplane.Reasons]uint64) {
	t.Helper()
	s := dataplanetest.Setup{}
	for range slow {
		s.Ports = append(s.Ports, dataplanetest.Port{Rate: unit.LinkRate{Bits: unit.Mbps}, Queues: 1})
	}
	for range slow {
		s.Ports = append(s.Ports, dataplanetest.Port{Rate: unit.LinkRate{Bits: 100 * unit.Gbps}, Queues: 1})
	}
	site := s.NewSite()
	p, err := dataplanetest.BuildProgram(sharedbuffer.Scheme(), site, given...)
	if err != nil {
		t.Fatal(err)
	}
	a := &audit{t: t, buffer: sharedbuffer.BufferOf(site)}
	s.Programs = []dataplane.Program{forward.New(site), p, a}
	var script []dataplanetest.Arrival
	for k := range each {
		for i := range slow {
			script = append(script, dataplanetest.Arrival{At: 1*us + unit.Time(k), Port: packet.PortID(slow + i),
				Dst: packet.Addr(i + 1), Seq: int64(k), Payload: 1000 - 42})
		}
	}
	out := dataplanetest.RunDirect(s, script)
	queued = make([]int, slow)
	for _, d := range out.Departures {
		queued[d.Port]++
	}
	for i := range queued {
		queued[i]-- // the first one never waited
	}
	if err := a.buffer.Check(0); err != nil {
		t.Errorf("at the end: %v", err)
	}
	return queued, out.Drops
}

// TestDynamicThreshold checks dynamic thresholds (Dynamic thresholds §II.C): with n queues that need more, each settles
// at αB/(1+nα), and B/(1+nα) stays free. HPCC §5.1: with α = 1 one port may use half the buffer.
func TestDynamicThreshold(t *testing.T) {
	for _, alpha := range []float64{0.125, 0.5, 1, 2, 8} {
		for _, n := range []int{1, 2, 3, 7} {
			const size = 2000
			queued, drops := fillSlowPorts(t, n, 2*size, "size", fmt.Sprint(size*1000, " B"), "reserved", "0 B", "alpha",
				fmt.Sprint(alpha))
			want := alpha * size / (1 + float64(n)*alpha)
			for i, q := range queued {
				if math.Abs(float64(q)-want) > 1+want/200 {
					t.Errorf("alpha %g, %d queues: queue %d has %d packets, want %.1f", alpha, n, i, q, want)
				}
			}
			if sum(queued)+n+int(drops[dataplane.EgressThreshold]) != n*2*size {
				t.Errorf("alpha %g, %d queues: %v", alpha, n, drops)
			}
		}
	}
}

func sum(x []int) (n int) {
	for _, v := range x {
		n += v
	}
	return n
}

// TestStaticAndReserves checks that complete sharing (α = 0) fills the buffer to the last packet, and a static
// threshold limits each queue. Reserves are used only by their own ingress queue, for any use of the others.
func TestStaticAndReserves(t *testing.T) {
	queued, drops := fillSlowPorts(t, 2, 200, "size", "100 kB", "reserved", "0 B", "alpha", "0")
	if sum(queued) != 100 || drops[dataplane.BufferFull] != 400-102 {
		t.Errorf("complete sharing: %v queued, %v", queued, drops)
	}
	queued, drops = fillSlowPorts(t, 2, 200, "size", "100 kB", "reserved", "0 B", "alpha", "0", "limit", "30 kB")
	if queued[0] != 30 || queued[1] != 30 || drops[dataplane.EgressThreshold] != 400-62 {
		t.Errorf("static threshold: %v queued, %v", queued, drops)
	}
	// four ports' reserves of 10 packets, two of them in use, and 60 shared packets
	queued, drops = fillSlowPorts(t, 2, 200, "size", "100 kB", "reserved", "10 kB", "alpha", "0")
	if sum(queued) != 80 || min(queued[0], queued[1]) < 10 || drops[dataplane.BufferFull] != 400-82 {
		t.Errorf("reserves: %v queued, %v", queued, drops)
	}
	// with alpha = 1 two queues share 60 packets: a third each, and what is reserved
	// counts in the queue's length but not in what is used
	queued, _ = fillSlowPorts(t, 2, 200, "size", "100 kB", "reserved", "10 kB", "alpha", "1")
	for _, q := range queued {
		if want := (60. + 2*10) / 3; math.Abs(float64(q)-want) > 1 { // q ≤ 60 − 2(q − 10)
			t.Errorf("reserves and threshold: %d, want %.1f", q, want)
		}
	}
}

// TestReserveIsOwn checks that a queue at its threshold receives the packets for which another ingress queue has a
// reserve: 5 of them.
func TestReserveIsOwn(t *testing.T) {
	s := dataplanetest.Setup{}
	for _, rate := range []unit.Rate{unit.Mbps, 100 * unit.Gbps, 100 * unit.Gbps} {
		s.Ports = append(s.Ports, dataplanetest.Port{Rate: unit.LinkRate{Bits: rate}, Queues: 1})
	}
	site := s.NewSite()
	p, err := dataplanetest.BuildProgram(sharedbuffer.Scheme(), site, "size", "55 kB", "reserved", "5 kB")
	if err != nil {
		t.Fatal(err)
	}
	s.Programs = []dataplane.Program{forward.New(site), p, &audit{t: t, buffer: sharedbuffer.BufferOf(site)}}
	var script []dataplanetest.Arrival
	for k := range 100 { // port 1 first, then port 2
		script = append(script, dataplanetest.Arrival{At: 1*us + unit.Time(k), Port: packet.PortID(1 + k/50), Dst: 1,
			Seq: int64(k), Payload: 1000 - 42})
	}
	out := dataplanetest.RunDirect(s, script)
	second := 0
	for _, d := range out.Departures {
		if d.Seq >= 50 {
			second++
		}
	}
	// 40 shared packets: packet q of the first port is admitted if q ≤ 40 − (q − 1 − 5), so 23 are
	// and the one on the wire
	if len(out.Departures) != 1+23+5 || second != 5 || out.Drops[dataplane.EgressThreshold] != 100-29 {
		t.Errorf("%d get through, %d of them of the second port; %v", len(out.Departures), second, out.Drops)
	}
}

func TestScheme_RejectsBadParameters(t *testing.T) {
	s := dataplanetest.Setup{Ports: make([]dataplanetest.Port, 4)}
	if _, err := dataplanetest.BuildProgram(sharedbuffer.Scheme(), s.NewSite(), "size", "16 kB", "reserved",
		"4 kB"); err == nil {
		t.Error("reserves that take the whole buffer are taken")
	}
	site := s.NewSite()
	for i, bad := range []bool{false, true} {
		if _, err := dataplanetest.BuildProgram(sharedbuffer.Scheme(), site); (err != nil) != bad {
			t.Errorf("shared_buffer number %d: %v", i+1, err)
		}
	}
	site = s.NewSite()
	if err := sharedbuffer.BufferOf(site).GuardQueue(0, 0, 1000, sharedbuffer.Trigger{Static: 1}); err != nil {
		t.Error(err)
	}
	if _, err := dataplanetest.BuildProgram(sharedbuffer.Scheme(), site); err == nil {
		t.Error("shared_buffer behind pfc is taken")
	}
	site = s.NewSite()
	dataplanetest.BuildProgram(sharedbuffer.Scheme(), site, "size", "20 kB", "reserved", "0 B")
	b := sharedbuffer.BufferOf(site)
	if b.GuardQueue(0, 0, 15000, sharedbuffer.Trigger{Share: 1}) != nil ||
		b.GuardQueue(1, 0, 5000, sharedbuffer.Trigger{Share: 1}) == nil {
		t.Error("headroom that takes the whole buffer is taken")
	}
}

// FuzzBuffer_KeepsSumsAndLimits checks any order of arrivals and departures. The used bytes are the sum over queues, no
// count is negative, headroom and size hold, and at the end all is free.
func FuzzBuffer_KeepsSumsAndLimits(f *testing.F) {
	f.Add(uint64(1), uint16(20000), uint16(1000), uint16(3000), uint8(30))
	f.Add(uint64(2), uint16(9000), uint16(0), uint16(0), uint8(255))
	f.Fuzz(func(t *testing.T, seed uint64, size, reserved, room uint16, share uint8) {
		random := unit.NewRandom(seed, "buffer")
		site := &dataplane.Site{Ports: 3, Queues: 2}
		b := sharedbuffer.BufferOf(site)
		if b.SetSize(sharedbuffer.Config{Size: unit.Bytes(size), Reserved: unit.Bytes(reserved), Classes: 2}) != nil {
			return
		}
		for in := range packet.PortID(2) {
			if b.GuardQueue(in, 1, unit.Bytes(room), sharedbuffer.Trigger{Share: float64(share) / 64}) != nil {
				return
			}
		}
		var held []*packet.Packet
		var waits unit.Bytes
		for range 2000 {
			if random.IntN(5) < 3 {
				p := &packet.Packet{Size: int32(64 + random.IntN(1500))}
				p.Meta.In, p.Meta.Class = packet.PortID(random.IntN(4)), uint8(random.IntN(4))
				if p.Meta.In == 3 {
					p.Meta.In = packet.NoPort
				}
				before, free := *b.IngressQueue(p.Meta.In, p.Meta.Class), b.FreeBytes()
				if v := b.Admit(nil, p); v == dataplane.Accept {
					b.Book(p)
					held = append(held, p)
					waits += unit.Bytes(p.Size)
				} else if before.IsGuarded() != (v == dataplane.Drop(dataplane.HeadroomFull)) || before.IsGuarded() &&
					unit.Bytes(p.Size)+before.HeadroomBytes() <= unit.Bytes(room) {
					t.Fatalf("%v for a queue with %+v, %d bytes free", v, before, free)
				}
			} else if n := len(held); n > 0 {
				i := random.IntN(n)
				p := held[i]
				held[i], held = held[n-1], held[:n-1]
				b.Unbook(p)
				waits -= unit.Bytes(p.Size)
			}
			if err := b.Check(waits); err != nil {
				t.Fatal(err)
			}
		}
		for _, p := range held {
			b.Unbook(p)
		}
		if err := b.Check(0); err != nil || b.UsedBytes() != 0 {
			t.Fatal(err, b.UsedBytes())
		}
	})
}

func TestNoAllocation(t *testing.T) {
	b := sharedbuffer.BufferOf(&dataplane.Site{Ports: 3, Queues: 2})
	if err := b.SetSize(sharedbuffer.Config{Size: 10000}); err != nil {
		t.Fatal(err)
	}
	p := &packet.Packet{Size: 1000}
	if n := testing.AllocsPerRun(1000, func() {
		b.Admit(nil, p)
		b.Book(p)
		b.Unbook(p)
	}); n != 0 {
		t.Errorf("%g allocations a packet", n)
	}
}

func ExampleScheme() {
	b := sharedbuffer.BufferOf(&dataplane.Site{Ports: 4})
	fmt.Println(b.SetSize(sharedbuffer.Config{Size: 32 * unit.MB, Reserved: 4096, Classes: 1, Alpha: 1}), b.FreeBytes())
	// Output: <nil> 31983.616kB
}
