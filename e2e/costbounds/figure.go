package costbounds

import (
	"fmt"
	"math"
	"strings"
)

// Figure is a cost of a workload that has a bound.
type Figure struct {
	Name     string
	Decimals int     // recorded decimals
	Noise    float64 // share of the bound by which repeated figures differ
	MinNoise float64 // the same in the figure's unit, for bounds near 0
	Compiled bool    // it also depends on Go's compiler and library
}

// Figures are all figures. Instructions of one binary differ by some 0.05 %, because Go's scheduler and hashes of maps
// have random seeds. Allocations are counted in this process, and its runtime makes some of its own.
var Figures = []Figure{
	{Name: "instructions/hop", Decimals: 1, Noise: 0.01, Compiled: true},
	{Name: "instructions/run", Noise: 0.03, Compiled: true},
	{Name: "events/hop", Decimals: 4, MinNoise: 0.00006},
	{Name: "allocations/packet", Decimals: 4, Noise: 0.01, MinNoise: 0.004, Compiled: true},
	{Name: "allocations/flow", Decimals: 1, Noise: 0.01, MinNoise: 0.5, Compiled: true},
	{Name: "bytes/host", Noise: 0.01, Compiled: true},
	{Name: "bytes/flow-to-come", Noise: 0.01, MinNoise: 8, Compiled: true},
	{Name: "bytes/flow-under-way", Noise: 0.01, MinNoise: 8, Compiled: true},
	{Name: "bytes/flow-over", Noise: 0.01, MinNoise: 8, Compiled: true},
}

// gain is the share of a bound that may be saved without a new record. Another release of Go may also cost otherGo
// more, and save any amount: its figures depend more on Go than on Weir, but a workload that costs half as much again
// still fails.
const (
	gain    = 0.03
	otherGo = 0.10
)

// findFigure returns the figure with this name, and whether there is one.
func findFigure(name string) (*Figure, bool) {
	for i := range Figures {
		if Figures[i].Name == name {
			return &Figures[i], true
		}
	}
	return nil, false
}

// CheckBound returns an error if a measured figure breaks its bound. The argument recorded is the bound's release of
// Go, present the running one, as in go1.26.8.
func (f *Figure) CheckBound(bound, measured float64, recorded, present string) error {
	most, least := bound+f.noiseOf(bound), bound*(1-gain)-f.MinNoise
	other := f.Compiled && minorRelease(recorded) != minorRelease(present)
	if other {
		most, least = bound*(1+otherGo)+f.MinNoise, math.Inf(-1)
	}
	verdict, aside := "", ""
	switch {
	case measured > most:
		verdict = "more than its bound of"
	case measured < least:
		verdict = "a gain that is not held: its bound is"
	default:
		return nil
	}
	if other {
		aside = fmt.Sprintf(", which %s has set and %s may pass by %.0f %%", recorded, present, 100*otherGo)
	}
	if bound > 10*f.MinNoise { // not as a share of a bound near 0
		aside += fmt.Sprintf(" (%+.1f %%)", 100*(measured-bound)/bound)
	}
	return fmt.Errorf("%s is %s, %s %s%s", f.Name, f.format(measured), verdict, f.format(bound), aside)
}

// HasMoved reports whether a record of the measured figure replaces the bound: it differs by more than noise.
func (f *Figure) HasMoved(bound, measured float64) bool {
	return math.Abs(measured-bound) > f.noiseOf(bound) && f.format(measured) != f.format(bound)
}

// noiseOf returns the largest difference between a bound and a repeated figure that counts as noise.
func (f *Figure) noiseOf(bound float64) float64 { return bound*f.Noise + f.MinNoise }

// format returns x with the recorded decimals.
func (f *Figure) format(x float64) string { return fmt.Sprintf("%.*f", f.Decimals, x) }

// minorRelease returns go1.26 for go1.26.8: within one, the compiler's code is the same except for fixed errors.
func minorRelease(version string) string {
	parts := strings.SplitN(version, ".", 3)
	return strings.Join(parts[:min(len(parts), 2)], ".")
}
