package run

import (
	"fmt"
	"testing"
)

// TestOvertakingMessages checks that messages with the same sender, receiver and tag are received in the order of
// sending, even if packets of a short one arrive before those of a long one.
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

// TestIdealNetworkIsNamed checks that results name the form of LogGOPS that ran. They name LogGOPSim only if jobs
// have its times: GOAL files. A job over packets has no such name.
func TestIdealNetworkIsNamed(t *testing.T) {
	const (
		goal   = "{name: g, job: {goal: {file: overtaking.goal}}, hosts: [h0, h1], transport: rdma, cc: none}"
		own    = "{name: o, job: {all_to_all: {size: 1MB}}, hosts: [h2, h3], transport: rdma, cc: none}"
		chakra = "{name: c, job: {chakra: {file: allgather}}, transport: rdma, cc: none}"
	)
	for _, x := range []struct{ network, traffic, want string }{
		{"loggops", goal, "loggops, receive: nic (spcl/LogGOPSim 76451de)"},
		{"loggops", own, "loggops, receive: nic; each NIC sends and receives at once"},
		{"loggops", chakra, "loggops, receive: nic; each NIC sends and receives at once"},
		{"loggops", goal + ", " + own, "loggops, receive: nic (GOAL files: spcl/LogGOPSim 76451de; other jobs: each NIC " +
			"sends and receives at once)"},
		{"{loggops: {receive: free}}", own, "loggops, receive: free (spcl/atlahs 8837294)"},
		{"packets", goal, ""},
	} {
		text := fmt.Sprintf(jobSpec, 4, "traffic: ["+x.traffic+"]\nnetwork: "+x.network+"\n")
		if got := executeJob(t, text).Runs[0].End.Network; got != x.want {
			t.Errorf("%s: %q, not %q", x.traffic, got, x.want)
		}
	}
}
