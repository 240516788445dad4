package e2e

import (
	"slices"
	"strings"
	"testing"

	"weir/app"
	"weir/internal/testkit"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
)

// unusedPath is an experiment with a job in which a sends to b only. The path to c is long, slow and has a large
// buffer.
const unusedPath = `duration: 5ms
topology:
  hosts: [a, b, c]
  switches: [s]
  links:
    - {ends: [a, s], rate: 10Gbps, delay: 1us, buffer: 100kB}
    - {ends: [b, s], rate: 10Gbps, delay: 1us, buffer: 100kB}
    - {ends: [c, s], rate: 1Gbps, delay: 10ms, buffer: 100MB}
switch: [forward]
traffic:
  - {name: x, job: {goal: {file: q.goal}}, hosts: [a, b, c], cc: {swift: {base_target: 100us}},
     transport: {rdma: {recovery: selective_repeat, rto_min: 300us}}}
measure: [job]
`

// TestWarningsOfJobPairs checks that warnings and timers of a job are about pairs of hosts that send to each other.
func TestWarningsOfJobPairs(t *testing.T) {
	for _, x := range []struct{ to, timer, warns string }{
		{"1", "the longest path takes 6.53us without queues", ""},
		{"2", "the longest path takes 20.1ms without queues", "swift-target timeout-below-path swift-max-cwnd"},
	} {
		goal := strings.Replace("num_ranks 3\nrank 0 {\nl1: send 1000b to TO tag 1\n}\nrank 1 {\nl1: calc 100\n}\n"+
			"rank 2 {\nl1: calc 100\n}\n", "TO", x.to, 1)
		goal = strings.Replace(goal, "rank "+x.to+" {\nl1: calc 100", "rank "+x.to+" {\nl1: recv 1000b from 0 tag 1", 1)
		s := plantest.LoadSource(t, app.Registry(), &experiment.Source{Name: "test", File: "test.yaml",
			Data: []byte(unusedPath),
			Open: func(string) ([]byte, error) { return []byte(goal), nil }}, experiment.Options{})
		if timers := s.Timers(); len(timers) != 1 || !strings.Contains(timers[0].Text, x.timer) {
			t.Errorf("to %s: %v, want %s", x.to, timers, x.timer)
		}
		all := strings.Join(testkit.FormatAll(s.Warnings()), "\n")
		for _, kind := range strings.Fields(x.warns) {
			if !strings.Contains(all, kind) {
				t.Errorf("to %s: no %s:\n%s", x.to, kind, all)
			}
		}
		if x.warns == "" && all != "" {
			t.Errorf("to %s: %s", x.to, all)
		}
	}
}

// TestWarningsOfStrides checks that strides give no warning: each host receives from one other, so that no queue
// grows. Random destinations may coincide.
func TestWarningsOfStrides(t *testing.T) {
	for _, x := range []struct {
		to   string
		want bool // a warning of the timeout
	}{{"{stride: 1}", false}, {"random", true}} {
		all, loads := issued(`duration: 3ms
topology: {star: {hosts: 4, rate: 10Gbps, delay: 1us, buffer: 1MB}}
switch: [ecmp]
traffic:
  - {name: x, from: "h*", to: ` + x.to + `, size: 1MB, transport: {rdma: {rto_min: 100us}}, cc: none, start: 0s}
measure: [goodput]
`)
		if warned := slices.ContainsFunc(all, func(w string) bool {
			return strings.HasPrefix(w, "timeout-below-path ")
		}); !loads || warned != x.want {
			t.Errorf("to %s: loads %v, %v", x.to, loads, all)
		}
	}
}
