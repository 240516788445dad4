//go:build lab || slow

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/netns"
	"weir/internal/testkit/await"
	"weir/internal/testkit/realtime"
	"weir/study/results"
	"weir/worlds/lab"
)

// needRoot skips a test where labs cannot be made.
func needRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: it makes network namespaces and packet sockets")
	}
}

// labDocument is the part of --json that tests read.
type labDocument struct {
	World     string
	Simulator struct{ Runs []labRun }
	Runs      []labRun
	Agreement []struct {
		Point   map[string]string `json:"point"`
		Measure string            `json:"measure"`
		Group   string            `json:"group"`
		Sim     float64           `json:"simulator"`
		Lab     float64           `json:"lab"`
	}
}

type labRun struct {
	Measures map[string]json.RawMessage
	Attempts []results.Attempt
}

// values returns a measure's values by group. Undefined values are absent.
func (r *labRun) values(t testing.TB, measure string) map[string]float64 {
	t.Helper()
	var all map[string]*float64
	if err := json.Unmarshal(r.Measures[measure], &all); err != nil {
		t.Fatalf("%s: %v: %s", measure, err, r.Measures[measure])
	}
	defined := map[string]float64{}
	for group, value := range all {
		if value != nil {
			defined[group] = *value
		}
	}
	return defined
}

// runOnLab runs an experiment in the simulator and once in the lab, and returns the results. The attempt records
// the lab's disturbances, and the lab's errors as failures.
func runOnLab(try *realtime.Try, out string, args ...string) *labDocument {
	try.Helper()
	cmd := exec.Command(await.RequireProgram(try, "cmd/weir"), onLab(out, args...)...)
	data, err := cmd.Output() // an error is one of the runs' too
	return readLab(try, data, fmt.Sprintf("%v: %s", err, said(err)))
}

// onLab returns the arguments of runOnLab.
func onLab(out string, args ...string) []string {
	return append(append([]string{"run"}, args...), "--on", "lab", "--attempts", "1", "--json", "--out", out)
}

// readLab reads the --json of a command; failure is the text if it has no results.
func readLab(try *realtime.Try, data []byte, failure string) *labDocument {
	try.Helper()
	doc := &labDocument{}
	if err := json.Unmarshal(data, doc); err != nil || len(doc.Runs) == 0 {
		try.Fatalf("no results: %s%s", failure, data)
	}
	for _, r := range doc.Runs {
		if len(r.Attempts) != 1 {
			try.Fatalf("%d attempts, want 1: %s", len(r.Attempts), failure)
		}
		a := &r.Attempts[0]
		try.NoteDisturbed(a.Disturbed...)
		if share := max(a.StallShare, a.HostsWaited); share > 0 {
			try.NoteDisturbed(fmt.Sprintf("stalls that changed up to %.1f %% of the run", 100*share))
		}
		if len(a.Errors) > 0 {
			try.Errorf("the lab reports errors: %q", a.Errors)
		}
	}
	return doc
}

// said returns the stderr of a command.
func said(err error) string {
	if e, ok := err.(*exec.ExitError); ok {
		return string(e.Stderr)
	}
	return ""
}

// namespacesOf returns the names of the network namespaces that the lab of a process has made.
func namespacesOf(pid int) (names []string) {
	records, _ := filepath.Glob("/run/weir/lab-*")
	for _, name := range records {
		text, err := os.ReadFile(name)
		if err != nil || !strings.HasPrefix(string(text), fmt.Sprintf("owner %d\n", pid)) {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if w := strings.Fields(line); len(w) == 3 && w[0] == "made" {
				names = append(names, w[1])
			}
		}
	}
	return names
}

// existing returns the network namespaces that still have their names.
func existing(names []string) (out []string) {
	for _, n := range names {
		if _, err := os.Lstat("/run/netns/" + n); err == nil {
			out = append(out, n)
		}
	}
	return out
}

// received returns the number of frames that a host of a process's lab has received; 0 if the host does not exist.
func received(pid int, host string) (frames int) {
	for _, name := range namespacesOf(pid) {
		if !strings.HasSuffix(name, "-"+host) {
			continue
		}
		netns.Do(name, func() error { // it may be in the making, or removed
			text, err := os.ReadFile("/proc/thread-self/net/dev")
			_, counters, _ := strings.Cut(string(text), lab.NIC+":")
			var bytes int
			fmt.Sscan(counters, &bytes, &frames)
			return err
		})
	}
	return frames
}

// longRun is an experiment of 30 s, which tests end earlier.
const longRun = `duration: 30s
topology:
  hosts: [a, b]
  switches: [s]
  links:
    - {ends: [a, s], rate: 10Mbps, delay: 1ms}
    - {ends: [s, b], rate: 10Mbps, delay: 1ms, buffer: 100 packets}
switch: [forward]
traffic: [{name: x, from: a, to: b, transport: tcp, start: 0s}]
measure: [goodput]
`

// pairOfHosts has two hosts at a link of 20 Mb/s. The format's arguments are the duration, the programs of the
// switch and the traffic.
const pairOfHosts = `duration: %s
warmup: 200ms
topology:
  hosts: [a, b]
  switches: [s]
  links:
    - {ends: [a, s], rate: 40Mbps, delay: 2ms}
    - {ends: [s, b], rate: 20Mbps, delay: 2ms, buffer: 60 packets}
switch: %s
traffic:
%smeasure: [goodput, {queue: {port: s->b, percentiles: [50, 99]}}, drops]
`
