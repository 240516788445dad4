//go:build system

package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/internal/testkit/await"
)

// twoLengths has a short run and a run that would take minutes.
const twoLengths = `title: long
repeat: 1
topology:
  hosts: [a, b]
  switches: [s]
  links: [{ends: [a, s], rate: 1Gbps, delay: 1ms}, {ends: [s, b], rate: 1Gbps, delay: 1ms}]
switch: [forward]
duration: 1s
traffic: [{name: x, from: a, to: b, transport: udp, rate: 500Mbps, start: 0s}]
sweep:
  length: {short: {duration: 10ms}, long: {duration: 10000s}}
`

// TestRun_KeepsFinishedRunsWhenInterrupted checks that weir keeps the finished runs after SIGINT, SIGTERM or
// SIGHUP. It writes their report, prints the missing runs on stderr, and exits with 130. The same command then runs
// only the others.
func TestRun_KeepsFinishedRunsWhenInterrupted(t *testing.T) {
	file := writeSpec(t, twoLengths)
	for _, sig := range signals {
		t.Run(fmt.Sprint(sig), func(t *testing.T) {
			out, k := t.TempDir(), planKillpoints(t, "")
			p := startPatient(t, k, "run", file, "--jobs", "1", "--out", out)
			p.AwaitCondition("the short run", k.reached("after rename runs/*.json"))
			p.LimitWork(time.Second).Signal(sig)
			endInterrupted(t, p)
			const want = "interrupted: 1 of 2 runs are finished and kept; the same command continues with the rest\n"
			if p.Stderr() != want {
				t.Errorf("stderr is %q, want %q", p.Stderr(), want)
			}
			if !strings.Contains(p.Stdout(), "1 run is missing") {
				t.Errorf("stdout does not name the missing run:\n%s", p.Stdout())
			}
			if pages, _ := filepath.Glob(filepath.Join(out, "long-*", "report.html")); len(pages) != 1 {
				t.Errorf("reports: %v", pages)
			}
			if left, _ := filepath.Glob(filepath.Join(out, "long-*", "*", ".new-*")); len(left) > 0 {
				t.Errorf("unfinished files: %v", left)
			}
		})
	}
}

// TestInterruptWithinASecond checks that an interrupted simulation takes less than a second of work to end, in any
// phase. It interrupts the loading of a large experiment, samples of an idle network, a window of seconds with
// millions of packets, and the writing of results.
func TestInterruptWithinASecond(t *testing.T) {
	const network = `duration: DURATION
topology:
  hosts: [a, b]
  switches: [s]
  links: [{ends: [a, s], rate: RATE, delay: DELAY}, {ends: [s, b], rate: RATE, delay: DELAY, buffer: 9MB}]
switch: [forward]
`
	const samples = `traffic: [{name: x, from: a, to: b, transport: udp, rate: 10bps, start: 0s}]
measure: [{queue: {port: s->b, every: 1ms}}]
`
	for _, c := range []struct {
		name, duration, rate, delay, rest string

		plan, event string        // of the killpoints, before the signal
		work        time.Duration // after the event
	}{
		{"preparation", "1s", "100Gbps", "1us", `traffic: [{name: x, from: a, to: b, transport: tcp, size: 1kB, load: 5%}]
measure: [fct]
`, "hold after listen ./signals 1", "held after listen ./signals", 0},
		{"samples", "4000s", "10Mbps", "1ms", samples + "repeat: 100\n", "", "after claim runs/*.json",
			200 * time.Millisecond},
		{"results are written", "1000s", "10Mbps", "1ms", samples, "hold before write runs/*.json 1",
			"held before write runs/*.json", 0},
		{"tables are written", "1000s", "10Mbps", "1ms", samples, "hold after rename runs/*.json 1",
			"held after rename runs/*.json", 0},
		{"window", "1000s", "400Gbps", "100s", `traffic: [{name: x, from: a, to: b, transport: udp, rate: 50Gbps, start: 0s}]
measure: [goodput]
`, "", "after claim runs/*.json", time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			file, out := writeSpec(t, strings.NewReplacer("DURATION", c.duration, "RATE", c.rate, "DELAY",
				c.delay).Replace(network)+c.rest), t.TempDir()
			k := planKillpoints(t, c.plan)
			p := start(t, k, "run", file, "--jobs", "1", "--out", out)
			p.AwaitCondition(c.event, k.reached(c.event))
			begun := p.Work()
			p.AwaitCondition("its work", func() bool { return p.Work() >= begun+c.work })
			p.LimitWork(time.Second).Signal(syscall.SIGINT)
			k.release(t)
			endInterrupted(t, p)
			if !strings.Contains(p.Stderr(), "interrupted: ") { // there may be a notice about memory before it
				t.Errorf("it prints %q", p.Stderr())
			}
		})
	}
}

// TestInterruptTwice checks that the second signal ends weir at once, and that the next start removes the files
// that it leaves.
func TestInterruptTwice(t *testing.T) {
	file, out := writeSpec(t, twoLengths), t.TempDir()
	unfinished := func() []string {
		left, _ := filepath.Glob(filepath.Join(out, "long-*", "*", ".new-*"))
		return left
	}
	for _, sig := range signals {
		t.Run(fmt.Sprint(sig), func(t *testing.T) {
			// A single signal cannot end it, because it is held when it discards its trace.
			k := planKillpoints(t, "hold before discard traces/* 1")
			p := startPatient(t, k, "run", file, "--jobs", "2", "--out", out, "--trace", "*", "--fresh")
			p.AwaitCondition("a run with its trace", k.reached("after create traces/*.txt"))
			p.Signal(sig)
			p.AwaitCondition("the end of the run", k.reached("held before discard traces/*"))
			p.LimitWork(time.Second).Signal(sig)
			endInterrupted(t, p)
			if len(unfinished()) == 0 {
				t.Error("no unfinished file is left: the next start is not tested")
			}
		})
	}
	folders, _ := filepath.Glob(filepath.Join(out, "long-*", "runs"))
	if len(folders) != 1 {
		t.Fatalf("folders of runs: %v", folders)
	}
	left := filepath.Join(folders[0], ".new-left") // removed only by a process that listens to signals by then
	if err := os.WriteFile(left, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	p := startPatient(t, planKillpoints(t, ""), "run", file, "--out", out)
	p.AwaitCondition("a single unfinished file, the long run's", func() bool {
		_, err := os.Lstat(left)
		return errors.Is(err, os.ErrNotExist) && len(unfinished()) == 1
	})
	p.LimitWork(time.Second).Signal(syscall.SIGTERM)
	endInterrupted(t, p)
}

// TestRun_ContinuesUnderNohup checks that a run under nohup(1) does not end with its terminal: after SIGHUP it
// finishes a run and begins the next.
func TestRun_ContinuesUnderNohup(t *testing.T) {
	file, out := writeSpec(t, twoLengths), t.TempDir()
	k := planKillpoints(t, "hold before rename runs/*.json 1")
	cmd := exec.Command("sh", "-c", `trap "" HUP; exec "$0" "$@"`, killpointsProgram(t), "run", file, "--jobs", "1",
		"--out", out)
	cmd.Env = k.environ("WEIR_GRACE=long")
	p := await.Start(t, cmd)
	p.AwaitCondition("the short run", k.reached("held before rename runs/*.json"))
	p.Signal(syscall.SIGHUP)
	k.release(t)
	p.AwaitCondition("the long run", func() bool {
		claims := 0
		for _, line := range k.log() {
			if strings.HasPrefix(line, "after claim runs/") {
				claims++
			}
		}
		return claims == 2
	})
	p.LimitWork(time.Second).Signal(syscall.SIGTERM)
	endInterrupted(t, p)
	if !strings.HasPrefix(p.Stderr(), "interrupted: 1 of 2 ") {
		t.Errorf("it prints %q", p.Stderr())
	}
}

// reached reports whether the log has a line that matches a pattern of path.Match, such as "after rename runs/*.json".
func (k killpoints) reached(pattern string) func() bool {
	return func() bool {
		return slices.ContainsFunc(k.log(), func(line string) bool {
			matches, _ := path.Match(pattern, line)
			return matches
		})
	}
}

// release ends a hold.
func (k killpoints) release(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(k.folder, "release"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
}
