package run

import (
	"math"
	"testing"

	"weir/study/results"
)

const eventful = `title: t
duration: 4s
topology:
  hosts: [a, b]
  switches: [s]
  links:
    - {ends: [a, s], rate: 100Mbps, delay: 1ms}
    - {ends: [s, b], rate: 20Mbps, delay: 1ms, buffer: 100 packets}
traffic: [{name: x, from: a, to: b, transport: udp, rate: 15Mbps, payload: 1472 B, start: 0s}]
switch: [forward]
measure: [goodput, drops, loss]
`

func goodputOf(o *results.Outcome) float64 { return o.Runs[0].Measures[0].Groups[0].Value / 1e6 }

// A link that is down for a quarter of the time costs a quarter; one that has half the
// rate for half of it carries that; what is disabled does not happen; at the same time
// nothing else comes first.
func TestEvents(t *testing.T) {
	share := 1472.0 / 1514
	for _, c := range []struct {
		events string
		want   float64 // Mb/s
		lost   string  // why packets are lost
	}{
		{"[]", 15, ""},
		{"[{at: 1s, link: [s, b], down: true}, {at: 2s, link: [b, s], down: false}]", 11.25, "link_down"},
		{"[{at: 2s, link: [a, s], down: true}]", 7.5, "link_down"},
		{"[{at: 2s, link: [a, s], down: true, enabled: false}]", 15, ""},
		{"[{at: 0s, link: [s, b], down: true}]", 0, "link_down"},
		{"[{at: 2s, link: [s, b], rate: 10Mbps}]", 15.0/2 + 10*share/2, "port_packets"},
		// the queue of 100 packets empties afterwards
		{"[{at: 3s, link: [s, b], rate: 20Mbps}, {at: 1s, link: [s, b], rate: 10Mbps}]", 15.0/2 + 10*share/2 + 100*1472*8/4e6,
			"port_packets"},
	} {
		t.Run(c.events, func(t *testing.T) {
			o := execute(t, eventful+"events: "+c.events+"\n", Options{})
			if got := goodputOf(o); math.Abs(got-c.want) > 0.03*15 {
				t.Errorf("%.2f Mb/s, want %.2f", got, c.want)
			}
			for _, g := range o.Runs[0].Measures[1].Groups {
				if g.Group != "all" && (g.Value > 0) != (g.Group == c.lost) {
					t.Errorf("%g drops, %s", g.Value, g.Group)
				}
			}
		})
	}
}
