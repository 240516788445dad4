package ncf

import (
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/unit"
)

// TestBuffersBelowMemory checks a buffer that is full while memory has room: reservations and balance apply to the
// buffer, in a pool and with more memory per port, in bytes and in packets. Other ports' elephants do not pay for it.
func TestBuffersBelowMemory(t *testing.T) {
	for _, x := range []struct {
		name  string
		limit tm.Limit
		given []string
	}{
		{"pool", tm.Limit{Bytes: 60_000}, []string{"memory", "150kB", "pool", "switch"}},
		{"pool of buffers", tm.Limit{Bytes: 60_000}, []string{"memory", "0 B", "pool", "switch"}},
		{"memory", tm.Limit{Bytes: 60_000}, []string{"memory", "150kB"}},
		{"buffer in packets", tm.Limit{Packets: 40}, []string{"memory", "150kB"}},
		{"memory in packets", tm.Limit{Bytes: 60_000}, []string{"memory", "100 packets"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			r := newRig(t, setup{ports: 4, queues: 3, limit: x.limit, given: append(x.given, "least", "15kB", "top", "0")})
			now := r.fatten(ms, 1, 4, 8, 30)
			now = r.fatten(now, 1, 2, 9, 30)
			for i := range 20 {
				r.come(now, 0, r.data(1, 4, 8, int64(30+i)*1000, 1000))
			}
			for i := range 100 {
				r.come(now, 0, r.data(1, 2, 9, int64(30+i)*1000, 1000))
			}
			own, other := r.g.ports[1].ownMemory(), r.g.ports[3].ownMemory()
			elephants, others := own.Used(Elephants), other.Used(Elephants)
			if most := own.limit; elephants > most || elephants < most-own.cost(1066) {
				t.Errorf("elephants alone use %d of %d", elephants, most)
			}
			for i := range 30 {
				r.come(now, 2, r.data(3, 2, uint16(100+i), 0, 1000))
			}
			if mice := own.Used(Mice); mice < own.balancedShares[Mice]-own.cost(1066) ||
				own.Used(Elephants) < own.balancedShares[Control] {
				t.Errorf("mice have %d of a balance of %d, elephants %d", mice, own.balancedShares[Mice], own.Used(Elephants))
			}
			if other.Used(Elephants) != others {
				t.Errorf("elephants of another port had %d, have %d", others, other.Used(Elephants))
			}
			// Elephants keep their reservation for any number of mice.
			for i := range 200 {
				r.come(now, 2, r.data(3, 2, uint16(200+i), 0, 1000))
			}
			if least := own.spikeShares[Elephants] - own.cost(1066); own.Used(Elephants) < least {
				t.Errorf("elephants have %d left, %d are reserved", own.Used(Elephants), own.spikeShares[Elephants])
			}
			drops := r.sw.DropCounts()
			if n := drops[dataplane.PortByteLimit] + drops[dataplane.PortPacketLimit]; n > 0 {
				t.Errorf("%d packets found the buffer full without NCF", n)
			}
			r.drain()
		})
	}
}

// TestEarlyOfPort checks that in a pool early concerns the port's elephants: elephants of another port cause no notice.
func TestEarlyOfPort(t *testing.T) {
	for _, x := range []struct {
		name string
		to   packet.Addr
		told uint64
	}{{"an empty port", 4, 0}, {"their port", 2, 1}} {
		t.Run(x.name, func(t *testing.T) {
			r := newRig(t, setup{ports: 4, queues: 3, limit: tm.Limit{Bytes: 100_000},
				given: []string{"memory", "200kB", "pool", "switch", "least", "15kB", "early", "20%", "top", "0"}})
			now := r.fatten(ms, 1, 2, 9, 30)
			now = r.fatten(now, 1, x.to, 8, 30)
			for i := range 60 {
				r.come(now, 0, r.data(1, 2, 9, int64(30+i)*1000, 1000))
			}
			before := r.g.NackCounts().Nacks[packet.CauseElephant]
			if r.come(now, 0, r.data(1, x.to, 8, 30_000, 1000)); before == 0 {
				t.Error("nobody is told at the port whose elephants wait")
			}
			if told := r.g.NackCounts().Nacks[packet.CauseElephant] - before; told != x.told {
				t.Errorf("%d told, want %d", told, x.told)
			}
		})
	}
}

// TestNoticesSpend checks that notices without a loss use a flow's NACKs, too. For any senders and any number of
// notices, all are at most twice the departed packets, and a first flight.
func TestNoticesSpend(t *testing.T) {
	for _, given := range [][]string{{"every", "1us", "tell", "all"}, {"every", "1us", "early", "5%", "top", "0"}} {
		r, data, nacks, _, _ := hostile(t, setup{ports: 2, queues: 3, rate: unit.Gbps,
			given: append([]string{"memory", "20kB", "duration", "50us"}, given...)}, 4, 30_000, 10)
		most := 2*data + 4*int64(r.g.ports[1].maxOutstanding)
		if counts := r.g.NackCounts(); nacks > most || counts.Nacks[packet.CauseElephant] < 100 {
			t.Errorf("%v: %d packets left, %d NACKs, at most %d may be; %v", given, data, nacks, most, counts.Nacks)
		}
	}
}

// TestBudgetsInPackets checks that ports with a rate in packets have the budgets of the full frames that they send in
// n·d.
func TestBudgetsInPackets(t *testing.T) {
	probe := &watchFlood{}
	r := newRig(t, setup{ports: 2, queues: 3, packets: 10_000, scheduler: func() tm.Scheduler { return tm.NewStrict() },
		after: []dataplane.Program{probe}, given: []string{"memory", "10MB", "duration", "10ms", "windows", "4",
			"mice_budget", "50%", "least", "1MB"}})
	probe.g = r.g
	r.sent = func(unit.Time, packet.PortID, *packet.Packet) {}
	for i := range 250 { // 400 packets in n·d; half of them are 200 full frames
		r.come(ms, 0, r.data(1, 2, uint16(100+i), 0, defaultFrame-66))
		if want := float64((i+1)*defaultFrame) > 0.5*400*defaultFrame; probe.flooded != want {
			t.Fatalf("after %d full frames: flooded is %v", i+1, probe.flooded)
		}
	}
	// The port sends 400 in n·d, and the memory holds the rest.
	if want := uint32(400 + 10_000_000/defaultFrame); probe.allowed != want {
		t.Errorf("%d NACKs are allowed, want %d", probe.allowed, want)
	}
}

// watchFlood asks NCF for its budgets at each packet.
type watchFlood struct {
	g       *Program
	flooded bool
	allowed uint32
}

func (*watchFlood) Name() string { return "watch" }

func (w *watchFlood) Book(env *dataplane.Env, p *packet.Packet) {
	x := w.g.portAt(p.Meta.Out)
	w.flooded, w.allowed = w.g.flooded(env, x), w.g.maxOutstanding(env, x)
}
