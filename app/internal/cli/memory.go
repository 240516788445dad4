package cli

import (
	"fmt"
	"runtime"

	"weir/internal/command"
	"weir/internal/text"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/study/report"
)

// machine is a machine's memory in bytes; 0: unknown.
type machine struct{ total, available float64 }

// limitJobs returns the number of concurrent runs that fit into the available memory, up to the requested number. In
// both, 0 means one per core. The notice is "" unless memory limits the runs. If a single run exceeds the machine's
// memory and requested is 0, it returns an error: the kernel would kill this program or others. The number does not
// affect results.
func (m machine) limitJobs(s *experiment.Spec, requested int) (n int, notice string, err error) {
	runs, shared, own := plan.ListRuns(s), plan.SharedMemory(s), 0.0
	for i, r := range runs {
		if i == 0 || r.Index != runs[i-1].Index { // all seeds have the same estimate
			own = max(own, plan.EstimateMemory(r)-shared)
		}
	}
	if n = requested; n < 1 {
		n = runtime.GOMAXPROCS(0)
	}
	said := func(bytes float64) string { return report.FormatBytes(int64(roundUp(bytes))) }
	if m.total > 0 && shared+own > m.total && requested < 1 {
		return 0, "", fmt.Errorf("%w: %s: a run takes up to %s of memory (estimate), and this machine has %s; use fewer "+
			"flows or hosts, or fewer samples (a longer every of a measure). weir check prints the memory of each point. "+
			"--jobs 1 runs it anyway", command.ErrInput,
			s.Name(), said(shared+own), said(m.total))
	}
	jobs := min(n, len(runs))
	if m.available <= 0 || shared+float64(jobs)*own <= m.available {
		return requested, "", nil
	}
	if n = max(int((m.available-shared)/max(own, 1)), 1); n < jobs {
		return n, fmt.Sprintf("%s instead of %d: a run takes up to %s of memory in addition to %s for all "+
			"runs, and %s is available", text.Count(n, "concurrent run"), jobs, said(own), said(shared), said(m.available)), nil
	}
	return 1, fmt.Sprintf("a run takes up to %s of memory, and only %s is available",
		said(shared+own), said(m.available)), nil
}
