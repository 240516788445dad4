package run

import (
	"math"
	"strings"
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

// TestEvents_ChangeGoodputOfLink checks that a link that is down for a quarter of the time loses a quarter of the
// goodput. A link that has half of its rate for half of the time carries that rate then. Events take effect at
// their times, in any order of the file. Disabled events do not happen.
func TestEvents_ChangeGoodputOfLink(t *testing.T) {
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

// TestOutageIsNamed checks that unfinished flows and jobs name the links that are down and have lost their packets.
func TestOutageIsNamed(t *testing.T) {
	o := execute(t, `title: t
duration: 20ms
topology: {star: {hosts: 3, rate: 10Gbps, delay: 1us}}
switch: [forward]
events: [{at: 0s, link: [h0, s], down: true}]
traffic:
  - {name: x, from: h0, to: h1, transport: tcp, size: 1MB, start: 0s}
  - {name: j, hosts: [h1, h0], job: {all_to_all: {size: 1MB}}, transport: rdma, cc: none}
measure: [job]
`, Options{})
	const lost = "; its packets were lost on links that are down: "
	r := o.Runs[0]
	if len(r.Unfinished) != 1 || !strings.HasSuffix(r.Unfinished[0].WaitsFor, lost+"h0->s") ||
		!strings.HasSuffix(r.End.WaitsFor, lost+"h0->s") {
		t.Errorf("%+v, %q", r.Unfinished, r.End.WaitsFor)
	}
	if len(r.End.Jobs) != 1 {
		t.Fatalf("%+v", r.End.Jobs)
	}
	j := r.End.Jobs[0]
	if j.Traffic != "j" || !strings.HasPrefix(j.WaitsFor[0], "8 operations of 2 of 2 ranks ") || len(j.Messages) != 2 {
		t.Fatalf("%+v", j)
	}
	for i, want := range [][2]string{
		{"rank 1 (h0) → rank 0 (h1), 0 of 500000 bytes; it waited for ", lost + "h0->s"},
		{"rank 0 (h1) → rank 1 (h0), 0 of 500000 bytes; it waited for ", lost + "s->h0"},
	} {
		if m := j.Messages[i]; !strings.HasPrefix(m, want[0]) || !strings.HasSuffix(m, want[1]) {
			t.Errorf("%q", m)
		}
	}
}

// TestMessageWrittenOffIsNamed checks that a message that its sender gives up is named, too: udp retransmits no
// packet.
func TestMessageWrittenOffIsNamed(t *testing.T) {
	o := execute(t, `title: t
duration: 20ms
topology: {star: {hosts: 2, rate: 10Gbps, delay: 1us}}
switch: [forward]
events: [{at: 10us, link: [h0, s], down: true}]
traffic: [{name: j, hosts: [h0, h1], job: {broadcast: {size: 1MB}}, transport: udp, rate: 5Gbps}]
measure: [job]
`, Options{})
	end := &o.Runs[0].End
	if len(end.Jobs) != 1 || len(end.Jobs[0].Messages) != 1 || !strings.HasSuffix(end.Jobs[0].Messages[0],
		"it has no timer and no data to send; its packets were lost on links that are down: h0->s") {
		t.Errorf("%+v", end)
	}
}
