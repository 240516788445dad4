package sim

import (
	"slices"
	"testing"

	"weir/core/fabric/wiring"
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
)

// noted is an endpoint that records the arrival times of packets.
type noted struct {
	transport.Endpoint
	at []unit.Time
}

func (n *noted) Receive(now unit.Time, p *packet.Packet) bool {
	n.at = append(n.at, now)
	return n.Endpoint.Receive(now, p)
}

// TestStalls_DelayArrivalsToTheirEnd checks that arrivals during a stall arrive at its end, and all others on time. A
// stall within another extends it.
func TestStalls_DelayArrivalsToTheirEnd(t *testing.T) {
	arrivals := func(s Stalls, change func(c *Config)) []unit.Time {
		c := chain(change)
		c.Stalls = s
		datagrams(t, c, 0, 90_000, 8*unit.Mbps)
		n := &noted{Endpoint: c.Endpoints[0].Receiver}
		c.Endpoints[0].Receiver = n
		if _, err := Run(c); err != nil {
			t.Fatal(err)
		}
		return n.at
	}
	undisturbed := arrivals(Stalls{}, nil)
	if len(undisturbed) != 90 {
		t.Fatalf("%d datagrams arrive, want 90", len(undisturbed))
	}
	for _, s := range []Stalls{{7 * unit.Millisecond, 3 * unit.Millisecond}, {3 * unit.Millisecond,
		2900 * unit.Microsecond}, {unit.Second, 0}} {
		want := slices.Clone(undisturbed)
		held := 0
		x := newStalling(&Config{Wiring: wiring.Config{Seed: 1}, Stalls: s})
		for ; x.nextStall < 100*unit.Millisecond; x.scheduleNext() {
			for i, at := range want {
				if x.nextStall <= at && at < x.nextStall+s.Length {
					want[i] = x.nextStall + s.Length
					held++
				}
			}
		}
		if s.Length > 0 && held < 10 {
			t.Fatalf("%v: %d datagrams come in during stalls: this tests nothing", s, held)
		}
		want = slices.DeleteFunc(want, func(at unit.Time) bool { return at >= 100*unit.Millisecond })
		for name, change := range map[string]func(c *Config){
			"fast": nil, "wire": func(c *Config) { c.Wire = true }, "short windows": func(c *Config) {
				c.Window = 50 * unit.Microsecond
			},
		} {
			if got := arrivals(s, change); !slices.Equal(got, want) {
				t.Errorf("%v, %s: datagrams arrive at\n%v, want\n%v", s, name, got, want)
			}
		}
	}
}

// TestStallGaps checks that gaps are exponentially distributed: their mean is Every, and a share of 1/e is longer.
func TestStallGaps(t *testing.T) {
	const n = 20_000
	x := newStalling(&Config{Wiring: wiring.Config{Seed: 3}, Stalls: Stalls{Every: unit.Second, Length: 1}})
	last, longer := unit.Time(0), 0
	for range n {
		if x.nextStall-last > unit.Second {
			longer++
		}
		last = x.nextStall
		x.scheduleNext()
	}
	if mean := float64(last) / n / float64(unit.Second); mean < 0.97 || mean > 1.03 {
		t.Errorf("the mean gap is %.3f s, want 1 s", mean)
	}
	if share := float64(longer) / n; share < 0.355 || share > 0.381 {
		t.Errorf("%.3f of the gaps are longer than the mean, want 1/e = 0.368", share)
	}
}
