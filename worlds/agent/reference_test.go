package agent

import (
	"math"
	"math/rand/v2"
	"testing"

	"weir/core/cc"
	"weir/core/telemetry"
	"weir/core/unit"
	"weir/papers/hpcc"
)

// step is an event at a receiver: a packet's records, and its time.
type step struct {
	now     uint64 // ns
	records rawRecords
}

// rates are the rates of the ports of a walk, with their encoding in records.
var rates = []struct {
	bits unit.Rate
	word uint32
}{{10 * unit.Mbps, 10000 | 3<<16}, {200 * unit.Mbps, 20000 | 4<<16}, {unit.Gbps, 10000 | 5<<16},
	{25 * unit.Gbps, 25000 | 6<<16}, {100 * unit.Gbps, 10000 | 7<<16}, {1600 * unit.Gbps, 16000 | 8<<16}}

// walk makes random packets of a flow over hops whose loads wander. With wild, there are also ports whose clocks
// stall, whose counters restart or that have no values, and paths that change.
func walk(random *rand.Rand, n int, t uint64, wild bool, take func(step)) {
	var s step
	s.records.N = uint32(1 + random.IntN(maxHops))
	s.now = 1e9
	var port [maxHops]int
	var busy [maxHops]float64
	for i := range port {
		port[i] = random.IntN(len(rates))
		busy[i] = random.Float64()
		s.records.Hop[i] = rawHop{Node: uint32(i + 1), Port: uint32(random.IntN(9)), Rate: rates[port[i]].word,
			Time: int64(random.IntN(1 << 40)), Bytes: random.Uint64N(1 << counterBits)}
	}
	for range n {
		dt := 1 + random.Uint64N(t/20+2)
		if random.IntN(300) == 0 {
			dt += random.Uint64N(5 * t)
		}
		s.now += dt
		for i := range port {
			h := &s.records.Hop[i]
			busy[i] = min(max(busy[i]+(random.Float64()-0.5)/10, 0), 1.2)
			h.Time += int64(dt)
			rate := float64(rates[port[i]].bits)
			h.Bytes = (h.Bytes + uint64(busy[i]*float64(dt)*rate/8e9)) % (1 << counterBits)
			h.Queue = uint32(min(max(busy[i]-0.8, 0)*float64(t)*rate/8e9*random.Float64(), 1<<30))
			if !wild {
				continue
			}
			switch random.IntN(400) {
			case 0:
				h.Time -= int64(dt)
			case 1:
				h.Bytes = random.Uint64N(1 << counterBits)
			case 2:
				h.Queue = noQueue
			case 3:
				h.Node++
			case 4:
				h.Rate = 0xfffff
			case 5:
				h.Rate = rates[port[i]].word
			case 6:
				s.records.Missed ^= 1
			}
		}
		take(s)
	}
}

// roundTrips are the T of walks, in ns.
var roundTrips = []uint64{8_000, 50_000, 1_000_000, 10_000_000, 300_000_000}

// TestLaw_MatchesReceiverOfPaper compares the programs' integers with papers/hpcc's receiver in floating point. Windows
// differ by less than 1 in 10,000 and a byte over walks of 40,000 packets, with counters that wrap and times that pause
// (draft-miao §6.2).
func TestLaw_MatchesReceiverOfPaper(t *testing.T) {
	worst, told := 0.0, 0
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 24))
		rtt := roundTrips[int(seed)%len(roundTrips)]
		c := DefaultConfig()
		c.Flows, c.Eta = 1+random.IntN(30), 0.5+random.Float64()/2
		p := c.buildParameters()
		h := hpcc.Defaults()
		h.N, h.Eta, h.MaxStage, h.Preset = c.Flows, float64(p.Eta)/loadUnit, c.MaxStage, hpcc.Agent
		flow := cc.Flow{MSS: 1500, InitialWindow: initialSegments, Path: cc.Path{BaseRTT: unit.Time(rtt) * unit.Nanosecond}}
		want, err := hpcc.NewReceiver(flow, h, nil)
		if err != nil {
			t.Fatal(err)
		}
		var l rawLaw
		var wraps [maxHops]telemetry.Hop // continuous
		walk(random, 40_000, rtt, false, func(s step) {
			hops := make([]telemetry.Hop, s.records.N)
			for i := range hops {
				x, w := &s.records.Hop[i], &wraps[i]
				w.TxBytes += (x.Bytes - w.TxBytes) & (1<<counterBits - 1)
				*w = telemetry.Hop{Time: unit.Time(x.Time) * unit.Nanosecond, TxBytes: w.TxBytes, Queue: unit.Bytes(x.Queue),
					Rate: unit.Rate(x.Rate&0xffff) * unit.Rate(math.Pow10(int(x.Rate>>16))), Switch: x.Node, Port: uint16(x.Port)}
				hops[i] = *w
			}
			f, _ := want.OnData(unit.Time(s.now)*unit.Nanosecond, &cc.Data{Telemetry: cc.Telemetry{Hops: hops}})
			before := l.LastUpdate
			l.newINT(&p, &s.records, s.now, rtt)
			if (f.Window > 0) != (l.Told > 0) {
				t.Fatalf("seed %d: papers/hpcc tells %v at %d, the integers %v", seed, f.Window, s.now, l.Told)
			}
			if l.LastUpdate == before || l.Told == 0 {
				return
			}
			told++
			off := math.Abs(float64(l.Told) - min(float64(f.Window), maxWindow>>8))
			worst = max(worst, (off-1)/float64(f.Window))
		})
	}
	t.Logf("%d windows told, the worst differs by %.2g", told, worst)
	if worst > 1e-4 || told < 10_000 {
		t.Errorf("%d windows differ by up to %v", told, worst)
	}
}
