//go:build slow

package main

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"weir/worlds/agent"
)

// Whichever of a lab's processes is killed, at whatever moment, nothing of it is left two seconds later: no process, no
// record, no namespace and so no interface, no cgroup, no BPF object. A janitor that is killed is replaced, and the lab
// goes on: the other one does its work when the lab is killed, too.
func TestKilledAtAnyMomentOnLab(t *testing.T) {
	needRoot(t)
	binary := build(t)
	const plane, hosts, janitor = "lab-dataplane", "lab-hosts", "lab-janitor"
	why := map[string]string{plane: "lab: data plane: signal: killed", hosts: "lab: hosts: signal: killed"}
	random := rand.New(rand.NewPCG(24, 1))
	for _, x := range []struct {
		name, text string
		agents     bool
		victims    []string // none: weir itself
	}{
		{"hosts of the kernel", longRun, false, []string{"", "", plane, plane, janitor}},
		{"own hosts", fmt.Sprintf(pairOfHosts, "30s", "[forward, {telemetry: {format: int-md}}]",
			"  - {name: x, from: a, to: b, transport: rdma, cc: hpcc, start: 0s}\n"), false, []string{"", plane, hosts}},
		{"own hosts beside the kernel's", fmt.Sprintf(pairOfHosts, "30s", "[forward, {ecn: {}}]", besideOwn), false,
			[]string{"", "", plane, hosts, hosts, janitor}},
		{"agents", fmt.Sprintf(ofAgents, "30s"), true, []string{"", "", "", plane, plane, janitor}},
	} {
		file, out := writeSpec(t, x.text), t.TempDir()
		for i, victim := range x.victims {
			after := time.Duration(random.IntN(3000)) * time.Millisecond
			t.Run(fmt.Sprintf("%s/%d %s after %v", x.name, i, victim, after), func(t *testing.T) {
				if err := agent.Probe().Check(); err != nil && x.agents {
					t.Skip(err)
				}
				k := kills(t, binary, "run", file, "--on", "lab", "--out", out, "--fresh", "--attempts", "1")
				begun := victim
				if i > 0 && victim == "" { // the first one may die while it simulates
					begun = janitor
				}
				k.await(t, "its begin", func() bool { return k.process(begun) != 0 })
				time.Sleep(after)
				if victim != janitor {
					k.kill(t, victim, why[victim])
					return
				}
				k.replaced(t, janitor)
				k.kill(t, "", "")
			})
		}
	}
}

// replaced kills a process that the lab does not need, in whose place another one comes.
func (k *killable) replaced(t *testing.T, victim string) {
	t.Helper()
	was := k.process(victim)
	k.look(t)
	delete(k.processes, was)
	syscall.Kill(was, syscall.SIGKILL)
	k.await(t, "another "+victim, func() bool { pid := k.process(victim); return pid != 0 && pid != was })
}
