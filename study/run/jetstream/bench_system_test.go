//go:build system

package jetstream

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"weir/study/run"
)

// BenchmarkOverhead measures the cost of the queue. It executes 2,000 short runs with a server and 8 workers, and 8
// at a time without them. The figure is the additional time per run, and both must write the same files.
func BenchmarkOverhead(b *testing.B) {
	const runs, workers = 2000, 8
	s := sweepOf(b, runs)
	var local, far time.Duration
	for b.Loop() {
		dir := b.TempDir()
		begun := time.Now()
		if _, err := run.Execute(b.Context(), s, run.Options{Dir: dir, Executable: executable, Jobs: workers,
			Threads: 1}); err != nil {
			b.Fatal(err)
		}
		local += time.Since(begun)
		p := newTCPParty(b)
		p.guests(func(j *Join) {
			for i := range workers {
				p.worker(Worker{Name: fmt.Sprint(i)}, j)
			}
		})
		begun = time.Now()
		if o, _, err := p.execute(b.Context(), s); err != nil || len(o.Runs) != runs {
			b.Fatal(err, len(o.Runs))
		}
		far += time.Since(begun)
		p.end()
		if !maps.Equal(contents(b, dir), contents(b, p.dir)) {
			b.Fatal("the files differ")
		}
	}
	b.ReportMetric((far-local).Seconds()*1e3/runs/float64(b.N), "ms/run-more")
	b.ReportMetric(local.Seconds()*1e3/runs/float64(b.N), "ms/run-local")
}
