package slurm

import (
	"os"
	"path/filepath"
	"testing"

	"weir/internal/testkit"
)

// TestRenderScript_MatchesGoldenFiles compares the scripts of two sweeps with golden files: one with estimates, and
// one with options that replace them.
func TestRenderScript_MatchesGoldenFiles(t *testing.T) {
	o := quick()
	for _, c := range []struct {
		golden string
		sbatch []string
	}{
		{"sweep.sbatch", nil},
		{"options.sbatch", []string{"partition=short", "time=1-00:00:00", "mem-per-cpu=2G", "no-requeue", "exclusive",
			`comment=it's "so" # \ here`}},
	} {
		o.Sbatch, o.AnyProgram, o.Threads = c.sbatch, c.sbatch != nil, 1+len(c.sbatch)
		f := exported(t, six, o)
		data, err := os.ReadFile(filepath.Join(f.Dir, "sweep.sbatch"))
		if err != nil {
			t.Fatal(err)
		}
		testkit.Golden(t, c.golden, string(data))
	}
}
