package costbounds

import (
	"fmt"
	"math"
	"strings"
)

// Figure is what is held of a workload.
type Figure struct {
	Name     string
	Decimals int     // that are recorded
	Noise    float64 // share of the bound by which the same program's figures differ
	Least    float64 // the same in the figure's unit, for bounds near 0
	Compiled bool    // it also depends on Go's compiler and library
}

// Figures are all of them. Instructions of one binary differ by some 0.05 %, for Go's scheduler and hashes of maps are
// seeded by chance. Allocations are counted in this process, whose runtime makes some of its own.
var Figures = []Figure{
	{Name: "instructions/hop", Decimals: 1, Noise: 0.01, Compiled: true},
	{Name: "instructions/run", Noise: 0.03, Compiled: true},
	{Name: "events/hop", Decimals: 4, Least: 0.00006},
	{Name: "allocations/packet", Decimals: 4, Noise: 0.01, Least: 0.004, Compiled: true},
	{Name: "allocations/flow", Decimals: 1, Noise: 0.01, Least: 0.5, Compiled: true},
	{Name: "bytes/host", Noise: 0.01, Compiled: true},
	{Name: "bytes/flow-to-come", Noise: 0.01, Least: 8, Compiled: true},
	{Name: "bytes/flow-under-way", Noise: 0.01, Least: 8, Compiled: true},
	{Name: "bytes/flow-over", Noise: 0.01, Least: 8, Compiled: true},
}

// Gain is the share of a bound that may be saved without a word. Another release of Go may also cost otherGo more,
// and save what it likes: its figures say little about ours, but a workload that costs half as much again still fails.
const (
	gain    = 0.03
	otherGo = 0.10
)

func figure(name string) (*Figure, bool) {
	for i := range Figures {
		if Figures[i].Name == name {
			return &Figures[i], true
		}
	}
	return nil, false
}

// Judge says whether what was measured keeps to its bound. The two releases of Go, as in go1.26.8, are the bound's and
// the present one.
func (f *Figure) Judge(bound, measured float64, recorded, present string) error {
	most, least := bound+f.noise(bound), bound*(1-gain)-f.Least
	other := f.Compiled && release(recorded) != release(present)
	if other {
		most, least = bound*(1+otherGo)+f.Least, math.Inf(-1)
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
	if bound > 10*f.Least { // a share of next to nothing says nothing
		aside += fmt.Sprintf(" (%+.1f %%)", 100*(measured-bound)/bound)
	}
	return fmt.Errorf("%s is %s, %s %s%s", f.Name, f.text(measured), verdict, f.text(bound), aside)
}

// Moved says whether a record of what was measured takes the bound's place: beyond noise both ways.
func (f *Figure) Moved(bound, measured float64) bool {
	return math.Abs(measured-bound) > f.noise(bound) && f.text(measured) != f.text(bound)
}

func (f *Figure) noise(bound float64) float64 { return bound*f.Noise + f.Least }

func (f *Figure) text(x float64) string { return fmt.Sprintf("%.*f", f.Decimals, x) }

// release is go1.26 of go1.26.8: within one, the compiler's code is the same but for mended errors.
func release(version string) string {
	parts := strings.SplitN(version, ".", 3)
	return strings.Join(parts[:min(len(parts), 2)], ".")
}
