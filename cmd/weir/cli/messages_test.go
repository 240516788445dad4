package cli

import (
	"testing"

	"weir/study/plan"
	"weir/study/spec"
	"weir/worlds/sim"
)

// BenchmarkMessages is what a message of a job costs: those of a ring, each of one packet, on rails of 128 GPUs.
func BenchmarkMessages(b *testing.B) {
	for name, x := range map[string]string{
		"hpcc": "switch: [ecmp, {telemetry: {}}]\ntraffic: [{name: t, transport: rdma, cc: {hpcc: {t: 12us}}, " +
			"job: {all_reduce: {size: 512KB, iterations: 2}}}]",
		"uet": "switch: [ecmp, trimming]\nswitches: {\"*\": {queues: 2}}\ntraffic: [{name: t, transport: uet, " +
			"job: {all_reduce: {size: 512KB, iterations: 2}}}]",
	} {
		b.Run(name, func(b *testing.B) {
			text := "duration: 1s\nmtu: 4096 B payload\nmeasure: [job]\n" + x +
				"\ntopology: {rails: {servers: 16, gpus: 8, spines: 8, rate: 400Gbps, delay: 500ns}}\n"
			s, err := plan.Load(Registry(), &spec.Source{Name: "x", File: "x.yaml", Data: []byte(text)}, spec.Options{})
			if err != nil {
				b.Fatal(err)
			}
			messages, hops := 0.0, 0.0
			for b.Loop() {
				c, err := plan.Config(s.Points()[0], 1)
				if err != nil {
					b.Fatal(err)
				}
				out, err := sim.Run(c)
				if err != nil {
					b.Fatal(err)
				}
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
