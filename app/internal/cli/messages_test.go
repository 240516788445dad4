//go:build !race

// Left out of race: long simulations that start no goroutines of their own.

package cli

import (
	"reflect"
	"strings"
	"testing"

	"weir/core/outcome"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/worlds/sim"
)

// BenchmarkMessages measures the cost of a message of a job: rings with messages of one packet, on rails of 128
// GPUs.
func BenchmarkMessages(b *testing.B) {
	const ring = "job: {all_reduce: {size: 512KB, iterations: 2}}}]"
	for name, x := range map[string]string{
		"hpcc": "switch: [ecmp, {telemetry: {}}]\ntraffic: [{name: t, transport: rdma, cc: {hpcc: {t: 12us}}, " + ring,
		"uet":  "switch: [ecmp, trimming]\nswitches: {\"*\": {queues: 2}}\ntraffic: [{name: t, transport: uet, " + ring,
	} {
		b.Run(name, func(b *testing.B) {
			text := "duration: 1s\nmtu: 4096 B payload\nmeasure: [job]\n" + x +
				"\ntopology: {rails: {servers: 16, gpus: 8, spines: 8, rate: 400Gbps, delay: 500ns}}\n"
			s := plantest.LoadSource(b, Registry(), plantest.NewSource("x.yaml", text), experiment.Options{})
			messages, hops := 0.0, 0.0
			for b.Loop() {
				c, err := plan.Config(s.Points()[0], 1)
				if err != nil {
					b.Fatal(err)
				}
				out := plantest.Simulate(b, c)
				for _, r := range out.Jobs[0].Ranks {
					messages += float64(r.Messages)
				}
				hops += float64(out.PacketHops)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/messages, "ns/message")
			b.ReportMetric(hops/messages, "hops/message")
		})
	}
}

// forgetful makes the ends of messages without reuse of the ends of finished messages.
type forgetful struct{ sim.MessageEndpointFactory }

// TestOldEnds checks that messages have the same results, to the event, whether or not their ends reuse those of
// finished messages. This includes messages whose packets were trimmed, lost and retransmitted.
func TestOldEnds(t *testing.T) {
	const trims = "switch: [ecmp, trimming]\nswitches: {\"*\": {queues: 2}}\n"
	const lossy = "switch: [ecmp, {shared_buffer: {size: 300KB}}, {ecn: {kmin: 20KB, kmax: 80KB}}, {telemetry: {}}]\n"
	for name, x := range map[string]string{
		"hpcc":             lossy + "%transport: rdma, cc: {hpcc: {t: 12us}}",
		"hpcc per hop":     lossy + "%transport: rdma, cc: {hpcc: {t: 12us, mode: per_hop}}",
		"hpcc counted":     lossy + "%transport: rdma, cc: {hpcc: {t: 12us, census: on}}",
		"hpcc at receiver": lossy + "%transport: rdma, cc: {rx_hpcc: {t: 12us}}",
		"selective repeat": lossy + "%transport: {rdma: {recovery: selective_repeat}}, cc: {hpcc: {t: 12us}}",
		"paths":            lossy + "%transport: {rdma: {paths: 4, recovery: selective_repeat}}, cc: {hpcc: {t: 12us}}",
		"dcqcn":            lossy + "%transport: rdma, cc: dcqcn",
		"uet":              trims + "%transport: uet",
		"uet one":          trims + "%transport: {uet: {balance: one}}",
		"uet rccc":         trims + "%transport: {uet: {control: rccc}}",
		"uet both":         trims + "%transport: {uet: {control: both, balance: reps}}",
		"ndp":              "switch: [spray, ndp]\nswitches: {\"*\": {queues: 2}}\n%transport: ndp",
	} {
		t.Run(name, func(t *testing.T) {
			before, of, _ := strings.Cut(x, "%")
			text := "duration: 20ms\nmtu: 4096 B payload\nmeasure: [job]\n" + before + "traffic: [{name: t, " + of +
				", job: {all_to_all: {size: 1600KB, iterations: 2}}}]\n" +
				"topology: {rails: {servers: 4, gpus: 4, spines: 2, rate: 100Gbps, delay: 500ns}}\n"
			s := plantest.LoadSource(t, Registry(), plantest.NewSource("x.yaml", text), experiment.Options{})
			var out [2]*outcome.Result
			for i := range out {
				c, err := plan.Config(s.Points()[0], 1)
				if err != nil {
					t.Fatal(err)
				}
				if i == 1 {
					c.MessageEndpointFactory = forgetful{c.MessageEndpointFactory}
				}
				if out[i], err = sim.Run(c); err != nil {
					t.Fatal(err)
				}
			}
			messages := 0.0
			for _, r := range out[0].Jobs[0].Ranks {
				messages += float64(r.Messages)
			}
			if out[0].End != outcome.AllDone || messages != 2*16*15 {
				t.Errorf("it ends with %v after %v messages", out[0].End, messages)
			}
			if !reflect.DeepEqual(out[0], out[1]) {
				t.Errorf("with old ends %d events, without %d", out[0].Events, out[1].Events)
			}
		})
	}
}
