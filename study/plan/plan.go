package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"weir/core/unit"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/worlds/sim"
)

// Config makes the simulator's configuration of the run, for those who run it
// themselves.
func (r *Run) Config() (*sim.Config, error) { return Config(r.Of, r.Seed) }

// appRate is that of a traffic's application; 0: it has none.
func appRate(tr *experiment.Traffic) unit.Rate {
	return tr.Traits().AppRate
}

// EstimateLab estimates FramesPerSecond of a run, and how long it takes in the lab, in seconds.
func EstimateLab(r *Run) (frames, seconds float64) {
	const around = 1 // namespaces, data plane, lead, end
	p := r.Of
	return FramesPerSecond(p), (p.Warmup() + p.Duration()).Seconds() + around
}

// Run is one run of an experiment: a point of its sweep and a seed.
type Run struct {
	Seed   uint64
	Point  []measure.Coordinate
	Number int // in the order of Spec.RunsOn, from 0
	Spec   *experiment.Spec
	Of     *experiment.Point
	Index  int // of the point
}

// Runs expands the spec for the simulator: the sweep's first key varies slowest, seeds
// fastest. With seeds by need (experiment.Need) they are as many as there can be.
func Runs(s *experiment.Spec) []*Run { return RunsOn(s, experiment.Sim) }

// RunsOn is Runs for Sim or Lab: the two may differ in how many seeds a point has.
func RunsOn(s *experiment.Spec, world string) []*Run {
	var runs []*Run
	for i, p := range s.Points() {
		at := p.At()
		for k := range s.RepeatOn(world) {
			runs = append(runs, &Run{Seed: s.Seed() + uint64(k), Point: at, Number: len(runs), Spec: s, Of: p, Index: i})
		}
	}
	return runs
}

// ByID returns runs by their IDs, for the program with that SHA-256 of its executable.
func ByID(runs []*Run, executable string) map[string]*Run {
	all := make(map[string]*Run, len(runs))
	for _, r := range runs {
		all[r.ID(executable)] = r
	}
	return all
}

// ID is the hash of all that decides the run's outcome: the resolved spec of its
// point, its seed, and the program (the SHA-256 of the executable).
func (r *Run) ID(executable string) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\nseed %d\nexecutable %s\n", r.Of.Canonical(), r.Seed, executable)
	return hex.EncodeToString(h.Sum(nil))[:idLength]
}

const idLength = 16

// IsID reports whether a text can be a run's ID: what is read of a file names files only then.
func IsID(s string) bool {
	return len(s) == idLength && strings.Trim(s, "0123456789abcdef") == ""
}
