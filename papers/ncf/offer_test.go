package ncf

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/unit"
)

// TestFlowsUnion checks linear counting of the union (Whang, Vander-Zanden, Taylor 1990; the error as in
// TestSketch_EstimateFlowsWithinTolerance): flows that each send in only one of the windows are counted together.
func TestFlowsUnion(t *testing.T) {
	const w, windows, each = 272, 4, 64
	s := NewSketch(SketchConfig{Windows: windows, Duration: ms, Width: w, Depth: 5, Bits: 32, Seed: 11})
	for j := range 3 * windows { // each in every fourth window
		for i := range each {
			s.Count(unit.Time(j)*ms, uint64(j%windows*each+i+1)*0x9e3779b97f4a7c15, 1500)
		}
		m := float64(each * min(j+1, windows))
		if got := s.EstimateFlows(); math.Abs(got-m) > 4*math.Sqrt(w*(math.Exp(m/w)-m/w-1))+1 {
			t.Errorf("window %d: the estimate is %.1f of %.0f flows", j, got, m)
		}
	}
}

// TestFlowsModel compares with a model that stores the last window of each cell of the first row, for any gaps.
func TestFlowsModel(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	const w, windows = 4096, 5
	s := NewSketch(SketchConfig{Windows: windows, Duration: ms, Width: w, Depth: 2, Bits: 32, Seed: 3})
	last := map[int]int64{}
	now := unit.Time(0)
	for range 20_000 {
		if now += unit.Time(r.Int64N(int64(ms / 40))); r.IntN(500) == 0 {
			now += unit.Time(r.Int64N(int64(8 * ms)))
		}
		key := uint64(r.IntN(60)+1) * 0x9e3779b97f4a7c15
		s.Count(now, key, int32(r.IntN(1500)+1))
		last[s.rows[0].column(key&(1<<32-1), key>>32, w)] = int64(now / ms)
		live := 0
		for _, at := range last {
			if int64(now/ms)-at < windows {
				live++
			}
		}
		if want := w * math.Log(w/float64(w-live)); math.Abs(s.EstimateFlows()-want) > 1e-6 {
			t.Fatalf("%v: the estimate is %v, the model has %v", now, s.EstimateFlows(), want)
		}
	}
}

// TestInput_RatesCoverLastInterval checks that the present is the last T; its part in the last whole T has that T's
// mean rate. Bytes of a flow that becomes an elephant no longer count as mice's.
func TestInput_RatesCoverLastInterval(t *testing.T) {
	i := input{span: ms}
	i.add(ms/2, Mice, 1000)
	i.add(ms+ms/4, Mice, 500)
	if got, want := i.rateOf(ms+ms/4, Mice), (500+750)*8/1e-3; math.Abs(got-want) > 1 {
		t.Errorf("%v bit/s, want %v", got, want)
	}
	i.moveToElephants(ms+ms/4, 700) // the 500 of this T, and 200 of the last
	if i.now != [ClassCount]int64{Elephants: 500} || i.last != [ClassCount]int64{Mice: 800, Elephants: 200} {
		t.Errorf("promoted: %v, %v", i.now, i.last)
	}
	if i.moveToElephants(ms+ms/4, 1<<40); i.now[Mice] != 0 || i.last[Mice] != 0 || i.last[Elephants] != 1000 {
		t.Errorf("promoted beyond all: %v, %v", i.now, i.last)
	}
	if got := i.rateOf(3*ms, Elephants); got != 0 {
		t.Errorf("after two T of silence: %v", got)
	}
	c := FlowEstimate{Windows: 2, Duration: ms, Elapsed: ms / 4}
	c.Flow[0], c.Flow[1] = 1000, 4000
	if c.countLast(ms/8) != 500 || c.countLast(ms/2) != 2000 {
		t.Errorf("%d and %d B in the last eighth and half", c.countLast(ms/8), c.countLast(ms/2))
	}
}

// stream is traffic to port 1 at an even rate of frames of 1066 B.
type stream struct {
	flow     uint16
	rate     float64 // bit/s
	from, to unit.Time
	control  bool
}

// findFirstSupply makes streams arrive, then an elephant's burst that overflows, and returns the supply in its first
// NACK.
func findFirstSupply(t *testing.T, end unit.Time, s setup, streams ...stream) float64 {
	t.Helper()
	r := newRig(t, s)
	due := make([]unit.Time, len(streams))
	for now := unit.Time(0); now < end; now += us {
		for i, x := range streams {
			if now < x.from || now >= x.to || now < due[i] {
				continue
			}
			due[i] = now + unit.Time(1066*8e12/x.rate)
			p := r.data(1, 2, x.flow, int64(now/us)*1000, 1000)
			if x.control { // a packet of the network's feedback of that size
				p.Kind, p.Payload = packet.Probe, 0
			}
			r.come(now, 0, p)
		}
	}
	r.until(end)
	for i := range 40 {
		r.come(end, 0, r.data(1, 2, 9, int64(1_000_000+i*1000), 1000))
	}
	r.drain()
	_, notices := r.nacks()
	if len(notices) == 0 {
		t.Fatal("no NACK")
	}
	return float64(notices[0].Supply)
}

// TestProgram_OfferFollowsRCP checks R = [C − others − β·q/d0]/N, RCP's rate (Dukkipati 2007, §2) with N counted. The
// others are the present mice and control packets, and ended elephants are not in N. R is never above C/N and never
// below the floor.
func TestProgram_OfferFollowsRCP(t *testing.T) {
	const whole, ever = 0.9e9, unit.Never
	one := stream{flow: 9, rate: 200e6, to: ever}
	s := tight("duration", "1ms", "least", "15kB", "target", "90%")
	for _, c := range []struct {
		name    string
		end     unit.Time
		streams []stream
		want    float64
	}{
		{"alone", 10 * ms, []stream{one}, whole},
		{"two", 10 * ms, []stream{one, {flow: 10, rate: 200e6, to: ever}}, whole / 2},
		{"one has ended", 10 * ms, []stream{one, {flow: 10, rate: 200e6, to: 4 * ms}}, whole},
		{"control packets", 10 * ms, []stream{one, {flow: 11, rate: 200e6, to: ever, control: true}}, whole - 200e6},
		{"of the past", 10 * ms, []stream{one, {flow: 11, rate: 200e6, to: 9 * ms, control: true}}, whole},
		{"a flow that has become an elephant", 9450 * us,
			[]stream{one, {flow: 10, rate: 300e6, from: 9 * ms, to: ever}}, whole / 2},
		{"the floor", 10 * ms, []stream{one, {flow: 11, rate: 700e6, to: ever, control: true}}, whole / 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := findFirstSupply(t, c.end, s, c.streams...)
			if got > c.want*1.03+20e6 || got < c.want*0.97-20e6 || got > whole {
				t.Errorf("supply %.0f, want %.0f", got, c.want)
			}
		})
	}
}

// TestOfferBounds checks that for any traffic the offers to a class are together not above C, and not below the floor.
func TestOfferBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for i := range 30 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			streams := []stream{{flow: 9, rate: 100e6, to: unit.Never}}
			for k := range r.IntN(8) {
				streams = append(streams, stream{flow: uint16(20 + k), rate: 1e6 + r.Float64()*400e6,
					from: unit.Time(r.Int64N(int64(4 * ms))), to: unit.Time(r.Int64N(int64(6 * ms))), control: r.IntN(4) == 0})
			}
			got := findFirstSupply(t, 5*ms, tight("duration", "1ms", "least", "15kB", "target", "90%"), streams...)
			if got > 0.9e9 || got < 0.45e9/9 {
				t.Errorf("supply %.0f to one of at most 9", got)
			}
		})
	}
}

// TestOfferFloor checks that the floor of the offer to elephants is the scheduler's, not ncf's.
func TestOfferFloor(t *testing.T) {
	streams := []stream{{flow: 9, rate: 200e6, to: unit.Never}, {flow: 11, rate: 900e6, to: unit.Never, control: true}}
	for _, x := range []struct {
		name      string
		scheduler func() tm.Scheduler
		want      float64 // of the port's 1 Gb/s
	}{
		{"ncf", nil, 0.45e9},
		{"drr", func() tm.Scheduler { return tm.NewDRR(3, 1514) }, 1e9 / 3},
		{"dwrr", func() tm.Scheduler { return tm.NewDWRR([]int32{1, 2, 1}, 1514) }, 0.25e9},
		{"strict", func() tm.Scheduler { return tm.NewStrict() }, 0.1e9}, // what they have of the memory
	} {
		t.Run(x.name, func(t *testing.T) {
			s := tight("duration", "1ms", "least", "15kB", "target", "90%")
			s.scheduler = x.scheduler
			if got := findFirstSupply(t, 10*ms, s, streams...); got > x.want*1.01+1e6 || got < x.want*0.99-1e6 {
				t.Errorf("supply %.0f, want %.0f", got, x.want)
			}
		})
	}
}

// TestOffersAddUp checks that the offers to all elephants together equal the port's capacity for them, for any number,
// and again after some have started or ended.
func TestOffersAddUp(t *testing.T) {
	for _, x := range []struct {
		name           string
		n, late, early int // of n, how many come or go half way
	}{{"1", 1, 0, 0}, {"2", 2, 0, 0}, {"10", 10, 0, 0}, {"50", 50, 0, 0}, {"10 of which 5 are late", 10, 5, 0},
		{"10 of which 5 go", 10, 0, 5}} {
		t.Run(x.name, func(t *testing.T) {
			var streams []stream
			for i := range x.n {
				s := stream{flow: uint16(9 + i), rate: 0.8e9 / float64(x.n), from: unit.Time(i) * 13 * us, to: unit.Never}
				if i > 0 && i <= x.late {
					s.from += 20 * ms
				}
				if i > 0 && i <= x.early {
					s.to = 20 * ms
				}
				streams = append(streams, s)
			}
			s := setup{ports: 3, queues: 3, given: []string{"memory", "20kB", "duration", "2ms", "least", "3kB", "target", "90%",
				"threshold", "0.5%", "top", "100"}}
			got := findFirstSupply(t, 40*ms, s, streams...) * float64(x.n-x.early)
			if got > 0.91e9 || got < 0.85e9 {
				t.Errorf("%.0f are offered, of 0.9 Gb/s", got)
			}
		})
	}
}
