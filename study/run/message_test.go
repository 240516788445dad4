package run

import (
	"fmt"
	"strings"
	"testing"

	"weir/study/plan"
	"weir/study/spec"
)

// A send and a receive of different sizes are refused before the run, with the place of the receive; where time decides
// which message a receive takes, they end the run.
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
					spec.Options{})
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

// Messages with the same sender, receiver and tag are received in the order in which they are sent, though packets of a
// short one arrive before those of a long one.
func TestOvertakingMessages(t *testing.T) {
	for _, transport := range []string{"udp, rate: 1Gbps", "tcp, cc: reno", "rdma, cc: none"} {
		m := measures(t, executeJob(t, fmt.Sprintf(jobSpec, 2,
			"traffic: [{name: x, transport: "+transport+", job: {goal: {file: overtaking.goal}}}]\n")))
		exactly(t, transport+": left", m["job_left"], 0)
		if got := m["job"]; got < 1e6*8/100e9 || got > 0.01 { // the long one takes 80 us at least
			t.Errorf("%s: %v s", transport, got)
		}
	}
}

// Results name the form of LogGOPS that ran, and have no name where packets carry a job.
func TestIdealNetworkIsNamed(t *testing.T) {
	const text = "duration: 1s\ntopology: {star: {hosts: 2, rate: 10Gbps, delay: 1us}}\nswitch: [forward]\n" +
		"traffic: [{name: j, job: {all_to_all: {size: 1MB}}, hosts: '*', transport: rdma, cc: none}]\nmeasure: [job]\n"
	for network, want := range map[string]string{
		"loggops":                    "loggops, receive: nic (spcl/LogGOPSim 76451de)",
		"{loggops: {receive: free}}": "loggops, receive: free (spcl/atlahs 8837294)",
		"packets":                    "",
	} {
		if got := executeJob(t, text+"network: "+network+"\n").Runs[0].End.Network; got != want {
			t.Errorf("%s: %q, not %q", network, got, want)
		}
	}
}
