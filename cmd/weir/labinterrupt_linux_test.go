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

// A signal may come at any time while a lab is made and begins, and come twice: timeout(1) sends its child one, and its
// process group another. Whatever it is, nothing is left.
func TestSignalsInSetUpOnLab(t *testing.T) {
	needRoot(t)
	binary, file, out := build(t), writeSpec(t, longRun), t.TempDir()
	none := time.Duration(-1)
	for _, x := range []struct {
		name   string
		second time.Duration // after the first
	}{{"one", none}, {"two together", 0}, {"two", 5 * time.Millisecond}, {"two apart", 150 * time.Millisecond}} {
		for _, after := range []time.Duration{0, 20, 50, 100, 200, 400} {
			after *= time.Millisecond
			t.Run(fmt.Sprint(x.name, after), func(t *testing.T) {
				c := begin(t, binary, "run", file, "--on", "lab", "--out", out, "--attempts", "1")
				c.await(t, "its first namespace", func() bool { return len(namespacesOf(t, c.Process.Pid)) > 0 })
				time.Sleep(after)
				c.Process.Signal(syscall.SIGTERM)
				if x.second != none {
					time.Sleep(x.second)
					c.Process.Signal(syscall.SIGTERM)
				}
				if took := c.end(t); took > 10*time.Second {
					t.Errorf("it took %v", took)
				}
				if left := existing(namespacesOf(t, c.Process.Pid)); len(left) > 0 {
					t.Errorf("left behind: %v", left)
				}
			})
		}
	}
}

// The second signal ends a lab at once, without anything left.
func TestInterruptTwiceOnLab(t *testing.T) {
	needRoot(t)
	c := begin(t, build(t), "run", writeSpec(t, longRun), "--on", "lab", "--out", t.TempDir(), "--attempts", "1")
	c.await(t, "its janitor and data plane", func() bool { return len(childrenOf(c.Process.Pid)) == 2 })
	made := namespacesOf(t, c.Process.Pid)
	c.Process.Signal(syscall.SIGINT)
	time.Sleep(150 * time.Millisecond) // two at one time are one
	c.Process.Signal(syscall.SIGINT)
	if took := c.end(t); took > 3*time.Second {
		t.Errorf("it took %v", took)
	}
	if left := existing(made); len(made) != 3 || len(left) > 0 {
		t.Errorf("of %v there still are %v", made, left)
	}
	if left := namespaces(t); left != "" {
		t.Errorf("left behind: %s", left)
	}
}
