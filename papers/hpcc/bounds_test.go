package hpcc

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"weir/core/cc"
	"weir/core/cc/cctest"
	"weir/core/scheme"
	"weir/core/telemetry"
	"weir/core/unit"
)

// story plays random acknowledgements, with anything in their records, and checks what
// always holds: the window is from a packet to W_init, the rate up to the NIC's.
func story(c cc.Controller, f cc.Flow, base unit.Time, data []byte) error {
	most := max(unit.Bytes(int64(f.NICRate/1e6)*int64(base)/8e6), unit.Bytes(f.MSS))
	var now unit.Time
	var una, next int64 = 0, 10000
	hops := make([]telemetry.Hop, 10)
	for i := range hops {
		hops[i] = hop(uint32(i), 0, 0, 0)
	}
	for len(data) >= 4 {
		kind, n, x, y := data[0], int(data[1]), uint64(data[2]), uint64(data[3])
		data = data[4:]
		now += unit.Time(x) * 50 * ns
		if kind%4 > 0 {
			una = min(una+int64(n)*10, next)
		}
		next = max(next, una+int64(c.Decision().Window))
		for i := range hops {
			h := &hops[i]
			h.Time = now + unit.Time(i)*ms
			h.TxBytes += x * y * uint64(i+1) / 4
			h.Queue = unit.Bytes(y) * unit.Bytes(n*i*i)
		}
		switch h := &hops[n%5]; kind % 16 {
		case 0:
			h.Time -= unit.Time(y) * us
		case 1:
			h.TxBytes = y * 1000
		case 2:
			h.Rate = unit.Rate(n) * gbps
		case 3:
			h.Queue = -h.Queue
		case 4:
			c.OnLoss(now, cc.Loss{Kind: cc.LossKind(n % 7)})
		case 5:
			h.Sojourn, h.Flags = unit.Time(y)*us, uint8(n)
		case 6:
			h.TxBytes, h.Queue, h.Time = math.MaxUint64>>(y%64), math.MaxInt64>>(x%64), math.MaxInt64>>(y%64)
		}
		a := &cc.Ack{FirstUnacked: una, Next: next, Bytes: unit.Bytes(n), Telemetry: cc.Telemetry{Hops: hops[:n%len(hops)],
			Path: uint16(kind >> 7),
			Load: float64(y) / 100},
			Feedback: cc.Feedback{Window: unit.Bytes(x*y) * 100, Flows: int32(n % 3)}, RTT: cc.RTT{Min: base}}
		if kind%16 == 7 {
			a.Telemetry.Load, a.Feedback.Window = math.Inf(1), math.MaxInt64
		}
		if kind%16 == 8 {
			a.Telemetry.Load, a.Seq = math.NaN(), next+1
		}
		c.OnAck(now, a)
		d := c.Decision()
		if d.Window < unit.Bytes(f.MSS) || d.Window > most || d.Rate < 1 || d.Rate > f.NICRate || d.NextTimer != unit.Never {
			return fmt.Errorf("at %v: %+v; the window is at most %v", now, d, most)
		}
	}
	return nil
}

// controllers makes one of each.
func controllers(t testing.TB, f cc.Flow, change func(c *Config)) map[string]cc.Controller {
	t.Helper()
	out := map[string]cc.Controller{}
	var c Config
	for m := range modes {
		out[modes[m]] = newSender(t, f, func(c *Config) {
			c.Mode, c.Sojourn = Mode(m), m%2 == 1
			if change != nil {
				change(c)
			}
		})
	}
	if c = Defaults(); change != nil {
		change(&c)
	}
	var err error
	add := func(name string, c cc.Controller, e error) {
		if e != nil {
			err = e
		}
		out[name] = c
	}
	p, e := NewPower(f, PowerConfig{Gamma: 0.9, Beta: 150 * unit.Mbps, Eta: 0.95, MinCurrent: 0.5})
	add("powertcp", p, e)
	pint, e := NewPINT(f, PINTConfig{c, 0.5})
	add("hpcc_pint", pint, e)
	add("rx_hpcc", NewFollower(f, c), nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestWindowBounds checks A8 (1): the draft never clips W.
func TestWindowBounds(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 9))
	for range 200 {
		data := make([]byte, 2000)
		for i := range data {
			data[i] = byte(random.IntN(256))
		}
		f := newFlow()
		f.NICRate, f.BaseRTT = unit.Rate(1+random.Int64N(400))*100*unit.Mbps, unit.Time(1+random.Int64N(200))*us
		for name, c := range controllers(t, f, func(c *Config) {
			c.MaxStage, c.WAI, c.N = random.IntN(6), unit.Bytes(random.IntN(5000)), random.IntN(3)
		}) {
			if err := story(c, f, f.BaseRTT, data); err != nil {
				t.Fatalf("%s, %v, %v: %v", name, f.NICRate, f.BaseRTT, err)
			}
		}
	}
}

func FuzzSender_KeepsBoundsOverAnyStory(f *testing.F) {
	f.Add([]byte{9, 9, 9, 9, 6, 1, 60, 3, 9, 9, 9, 9, 7, 7, 7, 7})
	f.Fuzz(func(t *testing.T, data []byte) {
		fl := newFlow()
		for name, c := range controllers(t, fl, nil) {
			if err := story(c, fl, fl.BaseRTT, data); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// TestSender_HoldsModelInvariants checks the invariants of every controller (cc/cctest), with telemetry and without.
func TestSender_HoldsModelInvariants(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 60 {
		var s []byte
		for len(s) < 4000 {
			a, b := byte(random.IntN(16)), byte(random.IntN(256))
			for range 1 + random.IntN(12) {
				s = append(s, a, b, byte(random.IntN(3)), 31, byte(3+random.IntN(6)), byte(random.IntN(192)))
			}
		}
		f := cctest.NewFlow(7)
		if i%3 > 0 {
			f.NICRate = gbps
		}
		all := controllers(t, f, nil)
		all["rx_hpcc of agents"] = newAgentFollower(f, Config{Preset: Agent, Eta: 0.95})
		for name, c := range all {
			if i%2 > 0 {
				c = &withHops{Controller: c, random: rand.New(rand.NewPCG(1, uint64(i)))}
			}
			if err := (&cctest.Model{Controller: c, OwnRecovery: true}).PlayStory(s); err != nil {
				t.Errorf("%s, story %d: %v", name, i, err)
			}
		}
	}
}

func TestOnAck_DoesNotAllocate(t *testing.T) {
	for name, c := range controllers(t, newFlow(), nil) {
		hops := []telemetry.Hop{hop(1, 0, 0, 0), hop(2, 0, 0, 0)}
		a := cc.Ack{Telemetry: cc.Telemetry{Hops: hops, Load: 1}, Feedback: cc.Feedback{Window: 5000}}
		now := unit.Time(0)
		if n := testing.AllocsPerRun(100, func() {
			now += 10 * us
			a.FirstUnacked += 1000
			hops[0].Time, hops[1].Time = now, now
			c.OnAck(now, &a)
		}); n != 0 {
			t.Errorf("%s: OnAck allocates %v times", name, n)
		}
	}
}

// benchmark gives five hops at each ACK.
func benchmark(b *testing.B, c cc.Controller) {
	var hops [5]telemetry.Hop
	for i := range hops {
		hops[i] = hop(uint32(i), 0, 0, unit.Bytes(i*1000))
	}
	a := cc.Ack{Telemetry: cc.Telemetry{Hops: hops[:], Path: 4}}
	now := unit.Time(0)
	b.ReportAllocs()
	for range b.N {
		now += 80 * ns
		for i := range hops {
			hops[i].Time += 80 * ns
			hops[i].TxBytes += 900
		}
		a.FirstUnacked += 1000
		a.Next = a.FirstUnacked + 100000
		c.OnAck(now, &a)
		_ = c.Decision()
	}
}

// BenchmarkOnAck measures OnAck, which takes at most 150 ns, without allocation.
func BenchmarkOnAck(b *testing.B) {
	for m := range modes {
		b.Run(modes[m], func(b *testing.B) { benchmark(b, newSender(b, newFlow(), func(c *Config) { c.Mode = Mode(m) })) })
	}
	b.Run("powertcp", func(b *testing.B) {
		p, err := NewPower(newFlow(), scheme.Defaults[PowerConfig]())
		if err != nil {
			b.Fatal(err)
		}
		benchmark(b, p)
	})
}
