package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// child is a process of weir that a test interrupts.
type child struct {
	*exec.Cmd
	stdout, stderr bytes.Buffer
}

// Where the tests are started with nohup, what they start would ignore SIGHUP, too, if they did not handle it.
func init() { signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) }

func begin(t *testing.T, binary string, args ...string) *child {
	t.Helper()
	c := &child{Cmd: exec.Command(binary, args...)}
	c.Stdout, c.Stderr = &c.stdout, &c.stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return c
}

// await waits until something is.
func (c *child) await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(40 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			c.Process.Kill()
			c.Wait()
			t.Fatalf("%s: not within 40 s: %s", what, &c.stderr)
		}
	}
}

// end waits for the exit code that interrupted processes have, and returns how long that took.
func (c *child) end(t *testing.T) time.Duration {
	t.Helper()
	begin := time.Now()
	watch := time.AfterFunc(40*time.Second, func() { c.Process.Kill() })
	defer watch.Stop()
	err := c.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 130 {
		t.Errorf("%v, want exit code 130; %s", err, &c.stderr)
	}
	return time.Since(begin)
}

var signals = []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}

// twoLengths has a short run and one that would take minutes.
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

func writeSpec(t *testing.T, text string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "long.yaml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// Interrupted, terminated or hung up, weir keeps what is finished, writes the report of it,
// says on stderr what is missing, and exits with 130; the same command then does
// only the rest.
func TestInterrupt(t *testing.T) {
	binary, file := build(t), writeSpec(t, twoLengths)
	for _, sig := range signals {
		t.Run(fmt.Sprint(sig), func(t *testing.T) {
			for range 3 { // on a busy machine it may be cut before the report is made
				out := t.TempDir()
				c := begin(t, binary, "run", file, "--jobs", "1", "--out", out)
				c.await(t, "the short run", func() bool {
					runs, _ := filepath.Glob(filepath.Join(out, "long-*", "runs", "*.json"))
					return len(runs) == 1
				})
				c.Process.Signal(sig)
				c.end(t)
				if strings.Contains(c.stderr.String(), "was cut") {
					continue
				}
				if want := "interrupted: 1 of 2 runs are finished and kept; the same command goes on " +
					"with the rest\n"; c.stderr.String() != want {
					t.Errorf("stderr %q, want %q", &c.stderr, want)
				}
				if !strings.Contains(c.stdout.String(), "1 run is missing") {
					t.Errorf("stdout does not say what is missing:\n%s", &c.stdout)
				}
				if pages, _ := filepath.Glob(filepath.Join(out, "long-*", "report.html")); len(pages) != 1 {
					t.Errorf("reports %v", pages)
				}
				if left, _ := filepath.Glob(filepath.Join(out, "long-*", "*", ".new-*")); len(left) > 0 {
					t.Errorf("left: %v", left)
				}
				return
			}
			t.Skip("disturbed: three times it was cut before the report was made")
		})
	}
}

// A simulation ends within a second, whatever it is at: reading a large experiment, between samples of an idle network,
// in a window of seconds with millions of packets, or making files of what the run has left.
func TestInterruptWithinASecond(t *testing.T) {
	binary := build(t)
	const network = `duration: DURATION
topology:
  hosts: [a, b]
  switches: [s]
  links: [{ends: [a, s], rate: RATE, delay: DELAY}, {ends: [s, b], rate: RATE, delay: DELAY, buffer: 9MB}]
switch: [forward]
`
	for _, c := range []struct {
		name, duration, rate, delay, rest string
		after                             time.Duration // it has begun to run
	}{
		{"preparation", "1s", "100Gbps", "1us", `traffic: [{name: x, from: a, to: b, transport: tcp, size: 1kB, load: 5%}]
measure: [fct]
`, -1},
		{"samples", "4000s", "10Mbps", "1ms", `traffic: [{name: x, from: a, to: b, transport: udp, rate: 10bps, start: 0s}]
measure: [{queue: {port: s->b, every: 1ms}}]
`, 0},
		{"samples are written", "4000s", "10Mbps", "1ms",
			`traffic: [{name: x, from: a, to: b, transport: udp, rate: 10bps, start: 0s}]
measure: [{queue: {port: s->b, every: 1ms}}]
`, 3 * time.Second},
		{"window", "1000s", "400Gbps", "100s", `traffic: [{name: x, from: a, to: b, transport: udp, rate: 50Gbps, start: 0s}]
measure: [goodput]
`, time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			file, out := writeSpec(t, strings.NewReplacer("DURATION", c.duration, "RATE", c.rate, "DELAY",
				c.delay).Replace(network)+c.rest), t.TempDir()
			p := begin(t, binary, "run", file, "--jobs", "1", "--out", out) // more than a machine's memory may be asked for
			if c.after >= 0 {
				p.await(t, "the run", func() bool {
					claims, _ := filepath.Glob(filepath.Join(out, "long-*", "runs", "*"))
					return len(claims) == 1
				})
				time.Sleep(c.after)
			} else {
				time.Sleep(500 * time.Millisecond)
			}
			p.Process.Signal(syscall.SIGINT)
			if took := p.end(t); took > 3*time.Second { // a second, on a machine that has nothing else to do
				t.Errorf("it took %v", took)
			}
			if !strings.Contains(p.stderr.String(), "interrupted: ") { // behind a notice of the memory that is short
				t.Errorf("it says %q", &p.stderr)
			}
		})
	}
}

// The second signal ends weir at once, and the next start removes what that leaves.
func TestInterruptTwice(t *testing.T) {
	binary, file, out := build(t), writeSpec(t, twoLengths), t.TempDir()
	unfinished := func() []string {
		left, _ := filepath.Glob(filepath.Join(out, "long-*", "*", ".new-*"))
		return left
	}
	for _, sig := range signals {
		t.Run(fmt.Sprint(sig), func(t *testing.T) {
			c := begin(t, binary, "run", file, "--jobs", "2", "--out", out, "--trace", "*", "--fresh")
			c.await(t, "a run with its trace", func() bool { return len(unfinished()) >= 4 })
			c.Process.Signal(sig)
			time.Sleep(150 * time.Millisecond) // two at one time are one
			c.Process.Signal(sig)
			if took := c.end(t); took > 3*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
	folders, _ := filepath.Glob(filepath.Join(out, "long-*", "runs"))
	if len(folders) != 1 {
		t.Fatalf("folders of runs: %v", folders)
	}
	left := filepath.Join(folders[0], ".new-left") // only a process that listens to signals by now removes it
	if err := os.WriteFile(left, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	c := begin(t, binary, "run", file, "--out", out)
	c.await(t, "nothing but the long run's claim", func() bool {
		_, err := os.Lstat(left)
		return errors.Is(err, os.ErrNotExist) && len(unfinished()) == 1
	})
	c.Process.Signal(syscall.SIGTERM)
	c.end(t)
}

// Under nohup(1) a run does not end with its terminal.
func TestNohup(t *testing.T) {
	binary, file, out := build(t), writeSpec(t, twoLengths), t.TempDir()
	c := begin(t, "sh", "-c", `trap "" HUP; exec "$0" "$@"`, binary, "run", file, "--jobs", "1", "--out", out)
	c.await(t, "the short run", func() bool {
		runs, _ := filepath.Glob(filepath.Join(out, "long-*", "runs", "*.json"))
		return len(runs) == 1
	})
	c.Process.Signal(syscall.SIGHUP)
	time.AfterFunc(2*time.Second, func() { c.Process.Signal(syscall.SIGTERM) })
	if took := c.end(t); took < 1500*time.Millisecond {
		t.Errorf("it has ended after %v", took)
	}
	if !strings.HasPrefix(c.stderr.String(), "interrupted: ") {
		t.Errorf("it says %q", &c.stderr)
	}
}
