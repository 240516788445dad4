//go:build slow

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Whichever of a lab's processes is killed, at whatever moment, nothing of it is left two seconds after its end: no
// process, no namespace, and with these no interface. The lab ends by itself unless it was its janitor, which another
// one replaces.
func TestKilledAtAnyMomentOnLab(t *testing.T) {
	needRoot(t)
	binary, dir := build(t), t.TempDir()
	file := filepath.Join(dir, "own.yaml")
	const programs, traffic = "[forward, {telemetry: {format: int-md}}]",
		"  - {name: x, from: a, to: b, transport: rdma, cc: hpcc, start: 0s}\n"
	if err := os.WriteFile(file, fmt.Appendf(nil, pairOfHosts, "2s", programs, traffic), 0o666); err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(24, 1))
	for k := range 20 {
		after := time.Duration(random.IntN(3000)) * time.Millisecond
		t.Run(fmt.Sprint(k, " after ", after), func(t *testing.T) {
			c := exec.Command(binary, "run", file, "--on", "lab", "--out", dir, "--fresh", "--attempts", "1")
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(after)
			made, family := namespacesOf(t, c.Process.Pid), childrenOf(c.Process.Pid)
			victims := []int{c.Process.Pid}
			for pid := range family {
				victims = append(victims, pid)
			}
			victim := victims[random.IntN(len(victims))]
			t.Logf("killed %q of %d processes and %d namespaces", family[victim], len(victims), len(made))
			syscall.Kill(victim, syscall.SIGKILL)
			time.Sleep(100 * time.Millisecond)
			for pid, words := range childrenOf(c.Process.Pid) {
				family[pid] = words
			}
			c.Wait()
			for pid, words := range family {
				if !ended(pid) {
					t.Errorf("%q outlives its lab", words)
				}
			}
			made = append(made, namespacesOf(t, c.Process.Pid)...)
			left := existing(made)
			for end := time.Now().Add(2 * time.Second); len(left) > 0 && time.Now().Before(end); left = existing(made) {
				time.Sleep(50 * time.Millisecond)
			}
			if len(left) > 0 {
				t.Errorf("of %v there still are %v", made, left)
			}
		})
	}
}
