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

// Config returns the simulator's configuration of the run, for programs that run it themselves.
func (r *Run) Config() (*sim.Config, error) { return Config(r.SpecPoint, r.Seed) }

// appRate returns the rate of a traffic's application; 0 without an application rate.
func appRate(tr *experiment.Traffic) unit.Rate {
	return tr.Traits().AppRate
}

// EstimateLab estimates the run's FramesPerSecond, and its duration in the lab in seconds, including its start and end.
func EstimateLab(r *Run) (frames, seconds float64) {
	const around = 1 // namespaces, data plane, start and end
	p := r.SpecPoint
	return FramesPerSecond(p), (p.Warmup() + p.Duration()).Seconds() + around
}

// Run is one run of an experiment: a point of its sweep and a seed.
type Run struct {
	Seed      uint64
	Point     []measure.Coordinate
	Number    int // in the order of ListRunsOn, from 0
	Spec      *experiment.Spec
	SpecPoint *experiment.Point
	Index     int // of the point in the spec
}

// ListRuns returns the spec's runs in the simulator. The sweep's first key varies slowest, seeds fastest. If the number
// of seeds depends on results (experiment.Need), it has the largest number.
func ListRuns(s *experiment.Spec) []*Run { return ListRunsOn(s, experiment.Sim) }

// ListRunsOn returns the spec's runs in Sim or Lab. The two may differ in the number of seeds of a point. Each call
// makes new Runs.
func ListRunsOn(s *experiment.Spec, world string) []*Run {
	var runs []*Run
	for i, p := range s.Points() {
		point := p.Coordinates()
		for k := range s.RepeatOn(world) {
			runs = append(runs, &Run{Seed: s.Seed() + uint64(k), Point: point, Number: len(runs), Spec: s, SpecPoint: p,
				Index: i})
		}
	}
	return runs
}

// IndexByID returns runs by their IDs. IDs depend on the program with the given SHA-256 of its executable.
func IndexByID(runs []*Run, executable string) map[string]*Run {
	all := make(map[string]*Run, len(runs))
	for _, r := range runs {
		all[r.ID(executable)] = r
	}
	return all
}

// ID returns the hash of all that determines the run's outcome: the resolved spec of its point, its seed, and the
// program (the SHA-256 of its executable). It has 16 hexadecimal digits.
func (r *Run) ID(executable string) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\nseed %d\nexecutable %s\n", r.SpecPoint.Canonical(), r.Seed, executable)
	return hex.EncodeToString(h.Sum(nil))[:idLength]
}

const idLength = 16

// IsID reports whether a text has the form of a run's ID. Texts from files must be checked before they name files.
func IsID(s string) bool {
	return len(s) == idLength && strings.Trim(s, "0123456789abcdef") == ""
}
