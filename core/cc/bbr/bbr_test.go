package bbr

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"weir/core/cc"
	"weir/core/cc/cctest"
	"weir/core/unit"
)

const ms = unit.Millisecond

// newFlow returns a flow with a random stream for this package. The first phase of ProbeBW depends on it.
func newFlow() cc.Flow { return cctest.NewFlow(1, cctest.SetRandom(1, "bbr")) }

// path is a path of a number of packets a second and a round-trip time, exactly full.
type path struct {
	b         *BBR
	now       unit.Time
	delivered int64
	rate      float64
	rtt       unit.Time
}

// runUntil delivers and acknowledges a packet at a time, at the path's rate, until the given time.
func (p *path) runUntil(until unit.Time) {
	pipe := int(p.rate * p.rtt.Seconds())
	for p.now < until {
		p.now += unit.Time(float64(unit.Second) / p.rate)
		p.delivered++
		p.b.OnAck(p.now, &cc.Ack{Packets: 1, Advanced: true, Delivered: p.delivered, RTT: cc.RTT{Sample: p.rtt,
			Smoothed: p.rtt, Min: p.rtt},
			Flight:   cc.Flight{After: pipe - 1, Before: pipe, NextSend: p.now},
			Delivery: cc.Delivery{Packets: pipe, Interval: p.rtt, PriorDelivered: p.delivered - int64(pipe)}})
	}
}

// TestBBR_FollowsDraftFormulas checks draft-cardwell-iccrg-bbr-00 §4.1 and §4.2: the pacing rate is gain · bandwidth,
// less 1 %, and the window is gain · BDP with room for bursts. Startup has a gain of 2/ln 2 = 2.89.
func TestBBR_FollowsDraftFormulas(t *testing.T) {
	b := New(newFlow())
	if g := b.PacingGain(); g < 2.885 || g > 2.89 {
		t.Errorf("startup's gain is %g, 2/ln 2 is 2.885", g)
	}
	if r := float64(b.Decision().Rate); r < 0.98*10*8e6*2.88 || r > 10*8e6*2.89 {
		t.Errorf("before any RTT: %g bit/s, want 10 packets in 1 ms times the gain", r)
	}
	p := &path{b: b, rate: 5000, rtt: 20 * ms} // 100 packets
	p.runUntil(3 * unit.Second)
	if b.Mode() != ProbeBandwidth || b.Bandwidth() < 4990 || b.Bandwidth() > 5010 {
		t.Errorf("mode %v, bandwidth %g packets/s", b.Mode(), b.Bandwidth())
	}
	d := b.Decision()
	if want := 5000 * 8000 * 0.99 * b.PacingGain(); float64(d.Rate) < 0.999*want || float64(d.Rate) > 1.001*want {
		t.Errorf("rate %v, want %g", d.Rate, want)
	}
	if w := int(d.Window / 1000); w < 200 || w > 240 {
		t.Errorf("window %d, want twice the BDP of 100 and room for bursts", w)
	}
}

// TestFullPipe checks draft-cardwell-iccrg-bbr-00 §4.3.2: three rounds with less than a quarter more bandwidth end
// startup.
func TestFullPipe(t *testing.T) {
	b := New(newFlow())
	a := &cc.Ack{Packets: 1, Advanced: true, RTT: cc.RTT{Sample: 20 * ms, Smoothed: 20 * ms}}
	rounds := func(bandwidths ...int) {
		for _, n := range bandwidths {
			a.Delivery = cc.Delivery{Packets: n, Interval: 20 * ms, PriorDelivered: a.Delivered}
			a.Delivered += 10
			b.OnAck(unit.Time(a.Delivered)*ms, a)
		}
	}
	if rounds(10, 20, 40, 45, 49); b.Mode() != Startup {
		t.Errorf("two rounds without growth: %v", b.Mode())
	}
	if rounds(51, 52, 53); b.Mode() != Startup { // 51 is a quarter more than 40
		t.Errorf("growth begins the count anew: %v", b.Mode())
	}
	if rounds(54); b.Mode() == Startup {
		t.Errorf("three rounds without growth: %v", b.Mode())
	}
}

// TestMaxFilter checks that the filter approximates the maximum of the last rounds: it is never below the last window's
// maximum, and never above the maximum of the last two.
func TestMaxFilter(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var m maxFilter
	var values []float64
	for round := range uint32(3000) {
		v := r.Float64() * 100
		values = append(values, v)
		m.addSample(10, round, v)
		most := 0.0
		for i := max(0, len(values)-21); i < len(values); i++ {
			most = max(most, values[i])
		}
		if m.current() > most || m.current() < v {
			t.Fatalf("round %d: %g; the largest of 20 rounds is %g, the last %g", round, m.current(), most, v)
		}
	}
}

func ExampleBBR_Mode() {
	b := New(newFlow())
	fmt.Println(b.Mode(), b.Decision().Window)
	// Output: startup 10kB
}
