package p4te

import (
	"fmt"
	"testing"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/unit"
)

// TestCodePaths checks the choice of the P4TE code: large flows by utilisation while that port is green, else by queue.
// All others go by queue while that is green, else by utilisation. Delay is not used, and a flowlet stays.
func TestCodePaths(t *testing.T) {
	const green, yellow, red = dataplane.Green, dataplane.Yellow, dataplane.Red
	const low, shallow, idle packet.PortID = 4, 5, 6
	for _, s := range []struct {
		tos               uint8
		delay, depth, use dataplane.Colour
		want              packet.PortID
	}{
		{0x08, green, red, green, idle}, {0x08, green, green, yellow, shallow}, {0x08, green, red, red, shallow},
		{0x10, green, green, red, shallow}, {0x10, green, yellow, red, idle}, {0x10, green, red, red, idle},
		{0, green, green, red, shallow}, {0, green, red, green, idle},
	} {
		p := tables(t, low, shallow, idle)
		p.config.CodePaths = true
		p.utilisation[low], p.utilisation[shallow], p.utilisation[idle] = s.delay, s.depth, s.use
		x := &packet.Packet{TOS: s.tos, Hash: 7}
		class := p.config.Class[s.tos>>2]
		if got, ok := p.selectPath(0, x, class); !ok || got != s.want {
			t.Errorf("TOS %#x, colours %v %v %v: port %d, want %d", s.tos, s.delay, s.depth, s.use, got, s.want)
		}
		p.utilisation[shallow], p.utilisation[idle] = red-p.utilisation[shallow], red-p.utilisation[idle]
		if got, _ := p.selectPath(1, x, class); got != s.want {
			t.Errorf("TOS %#x: the flowlet goes on by %d, want %d", s.tos, got, s.want)
		}
	}
}

// TestCodeDecision checks the decision of the P4TE code: lower where both colours are red. Raise where the egress is at
// most yellow and the class not red, so also where it is within its rate.
func TestCodeDecision(t *testing.T) {
	const green, yellow, red = dataplane.Green, dataplane.Yellow, dataplane.Red
	paper, code := &rater{config: RateConfig{Decision: DecidePaper}}, &rater{config: RateConfig{Decision: DecideCode}}
	for _, s := range []struct {
		ingress, egress dataplane.Colour
		paper, code     string
	}{
		{green, green, "nothing", "raise"}, {green, yellow, "nothing", "raise"}, {green, red, "nothing", "nothing"},
		{yellow, green, "raise", "raise"}, {yellow, yellow, "lower", "raise"}, {yellow, red, "lower", "nothing"},
		{red, green, "nothing", "nothing"}, {red, yellow, "nothing", "nothing"}, {red, red, "nothing", "lower"},
	} {
		t.Run(fmt.Sprintf("ingress %v, egress %v", s.ingress, s.egress), func(t *testing.T) {
			for r, want := range map[*rater]string{paper: s.paper, code: s.code} {
				lower, acts := r.decideChange(s.ingress, s.egress, true)
				got := map[[2]bool]string{{true, true}: "lower", {false, true}: "raise"}[[2]bool{lower, acts}]
				if got == "" {
					got = "nothing"
				}
				if got != want {
					t.Errorf("decision %d, ingress %v, egress %v: %s, want %s", r.config.Decision, s.ingress, s.egress, got, want)
				}
			}
		})
	}
}

// TestCodeMeters follows P4TE code: its meters of classes have two rates and three colours.
func TestCodeMeters(t *testing.T) {
	lines := []dataplane.Line{{Rate: unit.LinkRate{Bits: 100 * unit.Mbps}}}
	for _, x := range []struct {
		load  float64
		worst dataplane.Colour
	}{{.75, dataplane.Green}, {.9, dataplane.Yellow}, {1, dataplane.Red}} {
		t.Run(fmt.Sprint("load ", x.load), func(t *testing.T) {
			s := NewSafeRates(lines, [ClassCount]float64{LowDelay: .8, HighThroughput: .2}, .95, 10*unit.Millisecond,
				1514)
			worst := dataplane.Green
			gap := unit.TransmitTime(unit.Bytes(1514), unit.Rate(x.load*float64(100*unit.Mbps)))
			for now := unit.Time(0); now < 2*unit.Second; now += gap {
				worst = max(worst, s.Observe(now, 0, LowDelay, 1514))
			}
			if worst != x.worst {
				t.Errorf("the worst colour is %v, want %v", worst, x.worst)
			}
		})
	}
}
