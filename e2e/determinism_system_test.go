//go:build system

package e2e

import (
	"fmt"
	"testing"

	"weir/internal/testkit/await"
)

// TestSameBytes checks that the same executable, experiment and seed give the same bytes in every result file, for
// any --jobs, GOMAXPROCS and GOGC, in each process.
func TestSameBytes(t *testing.T) {
	program := await.RequireProgram(t, "cmd/weir")
	want := runResults(t, program, nil, "--jobs", "1")
	if len(want) < 21 { // spec, runs, four runs with three files of their traces, report, two plots
		t.Fatalf("only %d result files", len(want))
	}
	for _, c := range []struct {
		env  []string
		args []string
	}{
		{nil, []string{"--jobs", "1"}},
		{nil, []string{"--jobs", "2"}},
		{[]string{"GOMAXPROCS=1"}, []string{"--jobs", "2"}},
		{[]string{"GOMAXPROCS=2"}, nil},
		{[]string{"GOGC=1"}, nil},
		{[]string{"GOGC=off", "GOMAXPROCS=1"}, []string{"--jobs", "4"}},
	} {
		t.Run(fmt.Sprint(c.env, c.args), func(t *testing.T) {
			if err := same(want, runResults(t, program, c.env, c.args...)); err != nil {
				t.Errorf("%v %v: %v", c.env, c.args, err)
			}
		})
	}
}
