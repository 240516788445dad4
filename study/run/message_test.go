package run

import (
	"fmt"
	"testing"
)

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
