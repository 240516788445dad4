package run

import (
	"fmt"
	"strings"
	"testing"

	"weir/study/experiment"
	"weir/study/plan"
)

// TestSizesOnBothNetworks checks sizes on both networks. An all-gather of 1 MiB of each of four ranks, whose traces
// are ASTRA-sim's example, sends 12,582,912 B as there. A gather at a NIC of 100 Gb/s takes at least the
// transmission time of its bytes.
func TestSizesOnBothNetworks(t *testing.T) {
	for _, network := range []string{"packets", "{loggops: {L: 1us, o: 0s, g: 0s, G: 80ps, S: 1GB}}"} {
		t.Run(network, func(t *testing.T) {
			traffic := "traffic: [{name: x, job: %s, transport: rdma, cc: none}]\nnetwork: " + network + "\n"
			m := measures(t, executeJob(t, fmt.Sprintf(jobSpec, 4, fmt.Sprintf(traffic, "{chakra: {file: allgather}}"))))
			exactly(t, "sent", m["job_sent"], 12582912)
			m = measures(t, executeJob(t, fmt.Sprintf(jobSpec, 16, fmt.Sprintf(traffic, "{gather: {size: 16MB}}"))))
			exactly(t, "sent", m["job_sent"], 15e6)
			if got := m["job"]; got < 15e6*80e-12 || got > 1.15*15e6*80e-12 {
				t.Errorf("15 MB take %v s", got)
			}
		})
	}
}

// TestSizesReceived checks that hosts receive the number of bytes that "What a size means" in docs/sizes.md gives,
// for flows of a matrix and for collectives.
func TestSizesReceived(t *testing.T) {
	const text = "duration: 1s\ntopology: {star: {hosts: 4, rate: 10Gbps, delay: 1us}}\nswitch: [forward]\n" +
		"traffic: [{name: x, %s, transport: rdma, cc: none}]\nmeasure: [fct]\n"
	for traffic, want := range map[string]int64{
		"file: sizes.cm, format: htsim, time_unit: 1us":                          10007 + 1000000,
		"job: {all_reduce_flows: {algorithm: ring, size: 10007 B}}, hosts: '*'":  2 * 3 * 10007,
		"job: {all_reduce_flows: {algorithm: tree, size: 10007 B}}, hosts: '*'":  2 * 3 * 10007,
		"job: {all_reduce_flows: {algorithm: ring, size: 1MB}}, hosts: [h0, h1]": 2 * 1000000,
		"collective: ring, hosts: [h0, h1, h2], size: 1MB, start: 1us":           2 * 2 * 1000000,
	} {
		received := int64(0)
		for _, n := range executeJob(t, fmt.Sprintf(text, traffic)).Runs[0].Flows.ReceivedBytes {
			received += n
		}
		if received != want {
			t.Errorf("%s: hosts receive %d B, want %d", traffic, received, want)
		}
	}
}

// TestMessageSizes checks that a send and a receive of different sizes are refused before the run, with the place
// of the receive. If the match depends on time, the mismatch ends the run.
func TestMessageSizes(t *testing.T) {
	const traffic = "traffic: [{name: x, transport: udp, rate: 1Gbps, job: {goal: {file: %s.goal}}}]\nnetwork: %s\n"
	for _, network := range []string{"packets", "{loggops: {}}", "{loggops: {receive: free}}"} {
		for name, want := range map[string]string{
			"sizes": "sizes.goal:6:1: rank 1: r (line 6) awaits 999 B from rank 0 with tag 3, and s (line 3) there sends 10 " +
				"B; give both the same size",
			"sizes_order": "r2 of rank 1 awaits 10 B and takes the message of sizes_order.goal:4: s2 of rank 0, which has 20 " +
				"B; give both the same size, or another tag",
		} {
			t.Run(name+" "+network, func(t *testing.T) {
				_, err := plan.Load(room(), file("t.yaml", fmt.Sprintf(jobSpec, 2, fmt.Sprintf(traffic, name, network))),
					experiment.Options{})
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v, want %s", err, want)
				}
			})
		}
		t.Run("sizes_any "+network, func(t *testing.T) {
			o := executeJob(t, fmt.Sprintf(jobSpec, 2, fmt.Sprintf(traffic, "sizes_any", network)))
			const want = "sim: job 0: sizes_any.goal:3: a of rank 0 awaits 10 B and takes the message of sizes_any.goal:6: s " +
				"of rank 1, which has 999 B; give both the same size, or another tag"
			if len(o.Runs) > 0 || len(o.Failed) != 1 || o.Failed[0].Err.Error() != want {
				t.Errorf("%d runs, %v; want the error %s", len(o.Runs), o.Failed, want)
			}
		})
	}
}
