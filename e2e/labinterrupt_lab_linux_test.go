//go:build lab

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/internal/testkit/await"
)

// TestCutOnLab checks that a lab that is interrupted during its set-up, when it cannot end by itself, is cut, and
// that its namespaces are removed.
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
			p := start(t, planKillpoints(t, ""), "run", file, "--on", "lab", "--force", "--out", t.TempDir(), "--attempts",
				"1")
			p.AwaitCondition("some namespaces", func() bool { return len(namespacesOf(p.PID())) > 5 })
			p.LimitWork(20 * time.Second).Signal(sig)
			endInterrupted(t, p)
			if !strings.HasPrefix(p.Stderr(), "interrupted: ") {
				t.Errorf("it prints %q", p.Stderr())
			}
			if left := namespaces(t); left != "" {
				t.Errorf("left behind: %s", left)
			}
		})
	}
}

// childrenOf returns the number of child processes of a process.
func childrenOf(parent int) (count int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		b, _ := os.ReadFile(name)
		_, rest, _ := strings.Cut(string(b), ") ")
		if f := strings.Fields(rest); len(f) > 1 && f[1] == strconv.Itoa(parent) {
			count++
		}
	}
	return count
}

// TestSignalsInSetUpOnLab sends signals at different times while a lab is made and begins, and also twice:
// timeout(1) signals its child, and then its process group. In each case no namespace is left.
func TestSignalsInSetUpOnLab(t *testing.T) {
	needRoot(t)
	file, out := writeSpec(t, longRun), t.TempDir()
	for _, when := range []struct {
		name    string
		reached func(pid int) bool
	}{
		{"a namespace", func(pid int) bool { return len(namespacesOf(pid)) > 0 }},
		{"two namespaces", func(pid int) bool { return len(namespacesOf(pid)) > 1 }},
		{"all namespaces", func(pid int) bool { return len(namespacesOf(pid)) > 2 }},
		{"a data plane", func(pid int) bool { return childrenOf(pid) > 1 }},
		{"a frame", func(pid int) bool { return received(pid, "b") > 0 }},
		{"many frames", func(pid int) bool { return received(pid, "b") > 100 }},
	} {
		for _, x := range []struct {
			name    string
			start   func(t *testing.T, k killpoints, args ...string) *await.Process
			signals []os.Signal
		}{
			{"one", start, []os.Signal{syscall.SIGTERM}},
			{"two alike", start, []os.Signal{syscall.SIGTERM, syscall.SIGTERM}},
			{"two that are one", start, []os.Signal{syscall.SIGTERM, syscall.SIGINT}},
			{"two", startPatient, []os.Signal{syscall.SIGTERM, syscall.SIGINT}}, // never taken for one
		} {
			t.Run(when.name+", "+x.name, func(t *testing.T) {
				p := x.start(t, planKillpoints(t, ""), "run", file, "--on", "lab", "--out", out, "--attempts", "1")
				p.AwaitCondition(when.name, func() bool { return when.reached(p.PID()) })
				p.LimitWork(10 * time.Second)
				for _, s := range x.signals {
					p.Signal(s)
				}
				endInterrupted(t, p)
				if left := existing(namespacesOf(p.PID())); len(left) > 0 {
					t.Errorf("left behind: %v", left)
				}
			})
		}
	}
}

// TestInterruptTwiceOnLab checks that the second signal ends a lab at once, and that no namespace is left.
func TestInterruptTwiceOnLab(t *testing.T) {
	needRoot(t)
	p := startPatient(t, planKillpoints(t, ""), "run", writeSpec(t, longRun), "--on", "lab", "--out", t.TempDir(),
		"--attempts", "1")
	p.AwaitCondition("frames", func() bool { return received(p.PID(), "b") > 100 })
	made := namespacesOf(p.PID())
	p.LimitWork(3 * time.Second).Signal(syscall.SIGINT)
	p.Signal(syscall.SIGTERM)
	endInterrupted(t, p)
	if left := existing(made); len(made) != 3 || len(left) > 0 {
		t.Errorf("of %v there still are %v", made, left)
	}
	if left := namespaces(t); left != "" {
		t.Errorf("left behind: %s", left)
	}
}

// TestInterruptOnLab checks that an interrupted lab keeps the finished runs, reports them, and leaves no namespace.
func TestInterruptOnLab(t *testing.T) {
	needRoot(t)
	file := writeSpec(t, strings.Replace(longRun, "duration: 30s\n", "duration: $length\nwarmup: 0s\nrepeat: 1\n", 1)+
		"sweep: {length: [200ms, 600s]}\n")
	for _, s := range signals {
		t.Run(s.String(), func(t *testing.T) {
			out := t.TempDir()
			p := start(t, planKillpoints(t, ""), "run", file, "--on", "lab", "--out", out, "--attempts", "1")
			finished := func() int {
				runs, _ := filepath.Glob(filepath.Join(out, "*-lab", "runs", "*.json"))
				return len(runs)
			}
			p.AwaitCondition("frames of the second run", func() bool { return finished() == 1 && received(p.PID(), "b") > 1000 })
			made := namespacesOf(p.PID())
			p.LimitWork(10 * time.Second).Signal(s)
			endInterrupted(t, p)
			if !strings.Contains(p.Stderr(), "interrupted: 1 of 2 runs are finished and kept") || finished() != 1 {
				t.Errorf("%d runs are kept: %q", finished(), p.Stderr())
			}
			if left := namespaces(t); left != "" {
				t.Errorf("left behind: %s", left)
			}
			if left := existing(made); len(made) != 3 || len(left) > 0 {
				t.Errorf("of %v there still are %v", made, left)
			}
		})
	}
}
