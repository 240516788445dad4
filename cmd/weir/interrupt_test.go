package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Interrupted or terminated, weir keeps what is finished, writes the report of it,
// says on stderr what is missing, and exits with 130; the same command then does
// only the rest.
func TestInterrupt(t *testing.T) {
	binary := build(t)
	for _, sig := range []os.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(fmt.Sprint(sig), func(t *testing.T) {
			dir := t.TempDir()
			// one job: the first point's run is short, the second's would take minutes
			file := filepath.Join(dir, "long.yaml")
			spec := `title: long
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
			if err := os.WriteFile(file, []byte(spec), 0o644); err != nil {
				t.Fatal(err)
			}
			var stdout, stderr bytes.Buffer
			cmd := exec.Command(binary, "run", file, "--jobs", "1", "--out", filepath.Join(dir, "out"))
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			deadline := time.Now().Add(20 * time.Second)
			for {
				if runs, _ := filepath.Glob(filepath.Join(dir, "out", "long-*", "runs", "*.json")); len(runs) == 1 {
					break
				}
				if time.Now().After(deadline) {
					cmd.Process.Kill()
					t.Fatalf("the short run does not finish: %s", &stderr)
				}
				time.Sleep(10 * time.Millisecond)
			}
			cmd.Process.Signal(sig)
			watch := time.AfterFunc(20*time.Second, func() { cmd.Process.Kill() })
			err := cmd.Wait()
			watch.Stop()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 130 {
				t.Errorf("%v: %v, want exit code 130; %s", sig, err, &stderr)
			}
			if want := "interrupted: 1 of 2 runs are finished and kept; the same command goes on " +
				"with the rest\n"; stderr.String() != want {
				t.Errorf("%v: stderr %q, want %q", sig, &stderr, want)
			}
			if !strings.Contains(stdout.String(), "1 runs are missing") {
				t.Errorf("%v: stdout does not say what is missing:\n%s", sig, &stdout)
			}
			if pages, _ := filepath.Glob(filepath.Join(dir, "out", "long-*", "report.html")); len(pages) != 1 {
				t.Errorf("%v: reports %v", sig, pages)
			}
		})
	}
}
