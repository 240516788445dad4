package main

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A lab that is still being made cannot end by itself: it is cut, and its namespaces are removed all the same.
func TestCutOnLab(t *testing.T) {
	needRoot(t)
	const hosts = 100
	var names, links []string
	for i := range hosts {
		names = append(names, fmt.Sprintf("h%d", i))
		links = append(links, fmt.Sprintf("{ends: [h%d, s], rate: 1Mbps, delay: 1ms}", i))
	}
	file := writeSpec(t, fmt.Sprintf(`duration: 20s
topology:
  hosts: [%s]
  switches: [s]
  links: [%s]
switch: [forward]
traffic: [{name: x, from: h0, to: h1, transport: udp, rate: 100kbps, start: 0s}]
measure: [goodput]
`, strings.Join(names, ", "), strings.Join(links, ", ")))
	for _, sig := range signals {
		t.Run(sig.String(), func(t *testing.T) {
			c := begin(t, build(t), "run", file, "--on", "lab", "--force", "--out", t.TempDir(), "--attempts", "1")
			c.await(t, "some namespaces", func() bool { return len(namespacesOf(t, c.Process.Pid)) > 5 })
			c.Process.Signal(sig)
			if took := c.end(t); took > 10*time.Second { // five, on a machine that has nothing else to do
				t.Errorf("it took %v", took)
			}
			if !strings.HasPrefix(c.stderr.String(), "interrupted: ") {
				t.Errorf("it says %q", &c.stderr)
			}
			if left := namespaces(t); left != "" {
				t.Errorf("left behind: %s", left)
			}
		})
	}
}

// The second signal ends a lab at once; the next one removes what that leaves.
func TestInterruptTwiceOnLab(t *testing.T) {
	needRoot(t)
	binary, file, out := build(t), writeSpec(t, longRun), t.TempDir()
	start := func() (*child, []string) {
		c := begin(t, binary, "run", file, "--on", "lab", "--out", out, "--attempts", "1")
		c.await(t, "its data plane", func() bool { return len(childrenOf(c.Process.Pid)) == 1 })
		return c, namespacesOf(t, c.Process.Pid)
	}
	c, made := start()
	c.Process.Signal(syscall.SIGINT)
	time.Sleep(5 * time.Millisecond) // two at one time are one
	c.Process.Signal(syscall.SIGINT)
	if took := c.end(t); took > 3*time.Second {
		t.Errorf("it took %v", took)
	}
	c, again := start()
	c.Process.Signal(syscall.SIGHUP)
	c.end(t)
	if left := existing(append(made, again...)); len(made) != 3 || len(left) > 0 {
		t.Errorf("of %v and %v there still are %v", made, again, left)
	}
	if left := namespaces(t); left != "" {
		t.Errorf("left behind: %s", left)
	}
}
