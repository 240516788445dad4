package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"weir/app"
	"weir/core/outcome"
	"weir/core/telemetry"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/plan"
)

// lowered is an incast of four hosts behind a link that an event slows down to a rate that no link has at first.
const lowered = `duration: 400us
warmup: 1ms
topology: {leaf_spine: {leaves: 2, spines: 1, hosts: 4, rate: 10Gbps, uplink: 10Gbps, delay: 2us, buffer: 100kB}}
events: [%s]
switch: [ecmp, {telemetry: {format: %s, t: 30us}}]
measure: [goodput]
traffic:
  - {name: x, from: [h0, h1, h2, h3], to: h4, transport: rdma, cc: hpcc, start: 0s}
`

// TestEventRates checks that formats with codes of rates have a code for each rate that an event gives to a link,
// so that its queue stays visible. A port without a code writes no record, and HPCC fills its buffer.
func TestEventRates(t *testing.T) {
	for _, format := range telemetry.Profiles {
		t.Run(format.Name, func(t *testing.T) {
			s, loads := tryLoad(t, fmt.Sprintf(lowered, "{at: 100us, link: [leaf0, spine0], rate: 2300Mbps}", format.Name))
			if !loads {
				return
			}
			c, err := plan.ListRuns(s)[0].Config()
			if err != nil {
				t.Fatal(err)
			}
			for l := range c.Wiring.Network.Links {
				if c.Wiring.Network.PortName(l, 0) == "leaf0->spine0" {
					c.Watches = []outcome.Watch{{What: outcome.QueueBytes, Index: 2 * l, Every: 1_000_000}}
				}
			}
			out := plantest.Simulate(t, c)
			if longest := slices.Max(out.Watched[0]); longest > 30_000 {
				t.Errorf("the queue of the slow link has %d B", longest)
			}
		})
	}
	t.Run("more rates than codes", func(t *testing.T) {
		var events []string
		for k := range 8 {
			events = append(events, fmt.Sprintf("{at: %dus, link: [leaf0, spine0], rate: %dMbps}", k, 1000+k))
		}
		text := fmt.Sprintf(lowered, strings.Join(events, ", "), "hpcc")
		_, err := plan.Load(app.Registry(), plantest.NewSource("test.yaml", text), experiment.Options{})
		want := "format hpcc has 8 rate codes, and no more for 1.002Gbps"
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("nine rates, eight codes: %v; want %q", err, want)
		}
	})
}
