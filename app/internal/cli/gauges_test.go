//go:build !race

// Left out of race: long simulations that start no goroutines of their own.

package cli

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"weir/study/experiment"
	"weir/study/plan"
	"weir/study/run"
)

// TestWindowsAndRates checks that the window and rate of every transport that has them can be measured, with every
// controller that it accepts. The files simulate milliseconds, and their traffic gives no start time.
func TestWindowsAndRates(t *testing.T) {
	r := Registry()
	measured := map[string][]string{}
	for i := range r.Transports {
		tr := &r.Transports[i]
		if !tr.Gauged {
			continue
		}
		controllers := []string{""}
		if tr.Controlled {
			controllers = nil
			for _, c := range r.Controllers {
				controllers = append(controllers, c.Name)
			}
		}
		for _, controller := range controllers {
			keys := "transport: " + tr.Name
			if controller != "" {
				keys += ", cc: " + controller
			}
			if tr.Name == "window" {
				keys += ", window: 20 packets"
			}
			t.Run(keys, func(t *testing.T) {
				s, err := plan.Load(r, &experiment.Source{Name: "x", File: "x.yaml", Data: fmt.Appendf(nil, `duration: 2ms
topology: {star: {hosts: 3, rate: 10Gbps, delay: 1us}}
switch: [forward, ecn, {telemetry: {t: 10us}}, bolt]
traffic: [{name: x, from: [h0, h1], to: h2, size: 100MB, %s}]
measure: [{cwnd: {every: 100us}}, {rate: {every: 100us}}]
`, keys)}, experiment.Options{})
				if err != nil {
					return // the transport does not accept it
				}
				o, err := run.Execute(context.Background(), s, run.Options{})
				if err != nil {
					t.Fatal(err)
				}
				cwnd, rate := o.Runs[0].FindMeasure("cwnd").Groups, o.Runs[0].FindMeasure("rate").Groups
				if len(cwnd) != 1 || len(rate) != 1 || !(cwnd[0].Value > 0) || !(rate[0].Value >= 0) ||
					math.IsInf(rate[0].Value, 0) {
					t.Errorf("window %v, rate %v", cwnd, rate)
				}
				if len(o.Runs[0].Series) != 4 {
					t.Errorf("%d series", len(o.Runs[0].Series))
				}
				measured[tr.Name] = append(measured[tr.Name], controller)
			})
		}
	}
	for transport, want := range map[string][]string{"tcp": {"cubic", "reno", "bbr", "dctcp", "swift"}, "ndp": {""},
		"rdma": {"hpcc", "hpcc_pint", "powertcp", "dcqcn", "timely", "swift", "none"}, "window": {""},
		"udp_controlled": {"cubic", "reno"}} {
		for _, c := range want {
			if !slices.Contains(measured[transport], c) {
				t.Errorf("%s with cc %q was not measured", transport, c)
			}
		}
	}
}
