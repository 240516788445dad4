//go:build slow

package e2e

import (
	"fmt"
	"syscall"
	"testing"

	"weir/internal/testkit/realtime"
	"weir/worlds/agent"
)

// TestKilledAtAnyMomentOnLab kills each of a lab's processes, after different numbers of frames, and checks that
// the whole lab disappears: each process, record, namespace with its interfaces, cgroup and BPF object. A killed
// janitor is replaced, and the lab continues. The new janitor cleans up when the lab is killed, too.
func TestKilledAtAnyMomentOnLab(t *testing.T) {
	needRoot(t)
	const plane, hosts, janitor = "lab-dataplane", "lab-hosts", "lab-janitor"
	why := map[string]string{plane: "lab: data plane: signal: killed", hosts: "lab: hosts: signal: killed"}
	moments := []int{0, 1, 2, 5, 20, 100, 500, 2000} // frames that the receiver has got
	tried := 0
	for _, x := range []struct {
		name, text string
		agents     bool
		victims    []string // "": weir itself
	}{
		{"hosts of the kernel", longRun, false, []string{"", "", plane, plane, janitor}},
		{"own hosts", fmt.Sprintf(pairOfHosts, "30s", "[forward, {telemetry: {format: int-md}}]",
			"  - {name: x, from: a, to: b, transport: rdma, cc: hpcc, start: 0s}\n"), false, []string{"", plane, hosts}},
		{"own hosts beside the kernel's", fmt.Sprintf(pairOfHosts, "30s", "[forward, {ecn: {}}]", besideOwn), false,
			[]string{"", "", plane, hosts, hosts, janitor}},
		{"agents", fmt.Sprintf(ofAgents, "30s"), true, []string{"", "", "", plane, plane, janitor}},
	} {
		file, out := writeSpec(t, x.text), t.TempDir()
		for _, victim := range x.victims {
			frames := moments[tried*3%len(moments)]
			tried++
			t.Run(fmt.Sprintf("%s/%s after %d frames", x.name, victim, frames), func(t *testing.T) {
				if err := agent.ProbeMachine().Check(); err != nil && x.agents {
					t.Skip(err)
				}
				realtime.Test(t, func(try *realtime.Try) {
					k := startKillable(try, "run", file, "--on", "lab", "--out", out, "--fresh", "--attempts", "1")
					begun := victim
					if victim == "" {
						begun = janitor // the lab has begun to be made
					}
					k.AwaitCondition("its begin", func() bool { return k.process(begun) != 0 })
					k.AwaitCondition("frames", func() bool { return received(k.PID(), "b") >= frames })
					if victim != janitor {
						k.kill(try, victim, why[victim])
						return
					}
					k.replaced(janitor)
					k.kill(try, "", "")
				})
			})
		}
	}
}

// replaced kills a process, and waits until the lab has replaced it.
func (k *killable) replaced(victim string) {
	was := k.process(victim)
	k.recordResources()
	delete(k.processes, was)
	syscall.Kill(was, syscall.SIGKILL)
	k.AwaitCondition("another "+victim, func() bool { pid := k.process(victim); return pid != 0 && pid != was })
}
