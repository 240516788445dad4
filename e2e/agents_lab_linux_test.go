//go:build lab

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"weir/internal/testkit/realtime"
	"weir/worlds/agent"
)

// needAgents skips the test on machines where hosts of Linux cannot run agents.
func needAgents(t *testing.T) {
	t.Helper()
	needRoot(t)
	if err := agent.ProbeMachine().Check(); err != nil {
		t.Skip(err)
	}
}

// TestAgentsOnLab checks that the kernel's own TCP follows HPCC++ in the lab, from the file that the simulator
// runs. The agents get the records of the switch, an independent decoder reads each of its frames, and the measures
// of senders are the kernel's. TCP over IPv4 and datagrams pass the same switch unchanged.
func TestAgentsOnLab(t *testing.T) {
	needAgents(t)
	file := filepath.Join(t.TempDir(), "agents.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, ofAgents, "2500ms"), 0o666); err != nil {
		t.Fatal(err)
	}
	realtime.Test(t, func(try *realtime.Try) {
		dir := try.TempDir()
		doc := runOnLab(try, dir, file, "--capture", "s")
		if len(doc.Runs) != 1 || len(doc.Simulator.Runs) != 1 {
			try.Fatalf("%d runs, %d in the simulator", len(doc.Runs), len(doc.Simulator.Runs))
		}
		r, sim := &doc.Runs[0], &doc.Simulator.Runs[0]
		a := r.Attempts[0]
		if a.Agents == nil || a.Agents.Hosts != 3 || a.Agents.Connections != 2 || a.Agents.Traced < 200 ||
			a.Agents.Measured < 100 || a.Agents.Notified < 50 {
			try.Fatalf("agents: %+v", a.Agents)
		}
		if len(a.Replays) != 1 || a.Replays[0].Difference != "" || a.Replays[0].In < 500 {
			try.Errorf("replays: %+v", a.Replays)
		}
		decoded(try, dir, "ioam")
		for _, measure := range []string{"goodput_bps", "cwnd_bytes", "rate_bps", "rtt_s"} {
			got, want := r.values(try, measure)["x"], sim.values(try, measure)["x"]
			if got < 0.8*want || measure != "goodput_bps" && got > want/0.8 || want == 0 {
				try.Errorf("%s is %v, in the simulator %v", measure, got, want)
			}
		}
		got, want := r.values(try, "goodput_bps")["z"], sim.values(try, "goodput_bps")["z"]
		if got < 0.9*want {
			try.Errorf("datagrams have %v, in the simulator %v", got, want)
		}
	})
}
