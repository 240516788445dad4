// Package jobtest runs jobs on ideal networks in tests.
package jobtest

import (
	"testing"

	"weir/core/jobs/job"
	"weir/core/jobs/loggops"
)

// RunJob runs a job on the ideal network m, calls the functions of watch, and returns the outcome. It ends the test if
// the network refuses the job or operations are left over.
func RunJob(t testing.TB, m loggops.Model, p job.Program, watch job.Watch) job.Outcome {
	t.Helper()
	out, _, err := m.Run(p, watch)
	if err != nil || out.Left > 0 {
		t.Fatal(err, job.DescribeDeadlock(p, &out))
	}
	return out
}
