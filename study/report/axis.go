package report

import (
	"math"
	"strconv"
	"strings"
	"weir/study/measure"

	"gonum.org/v1/plot"
)

// ticks marks an axis with four to eight round numbers.
func ticks(low, high float64) []plot.Tick {
	span := high - low
	if !(span > 0) || math.IsInf(span, 0) {
		return []plot.Tick{{Value: low, Label: strconv.FormatFloat(low, 'g', 4, 64)}}
	}
	exponent := math.Floor(math.Log10(span / 7))
	step := math.Pow(10, exponent)
	for _, m := range []float64{1, 2, 5, 10} {
		if span/(step*m) <= 7 {
			step *= m
			break
		}
	}
	decimals := int(max(0, -math.Floor(math.Log10(step*1.0001))))
	var out []plot.Tick
	for k := math.Ceil(low/step - 1e-9); k*step <= high+step*1e-9; k++ {
		v := float64(k*step) + 0 // not -0
		label := strconv.FormatFloat(v, 'f', decimals, 64)
		if a := math.Abs(v); a >= 1e6 || decimals > 5 && a > 0 {
			label = strconv.FormatFloat(v, 'g', 4, 64)
		}
		out = append(out, plot.Tick{Value: v, Label: label})
	}
	return out
}

func axis(name, unit string) string {
	if unit == "" {
		return name
	}
	return name + " [" + unit + "]"
}

// largest is the largest magnitude of the values that are defined.
func largest(x []float64) float64 {
	m := 0.0
	for _, v := range x {
		if !math.IsNaN(v) {
			m = max(m, math.Abs(v))
		}
	}
	return m
}

// baseUnit is how people write a unit without a prefix.
func baseUnit(unit string) string {
	if unit == "bps" {
		return "b/s"
	}
	return unit
}

// logTicks marks a logarithmic axis: powers of ten and, if there are few, 2 and 5
// between them.
func logTicks(low, high float64) (out []plot.Tick) {
	decades := math.Log10(high / low)
	steps := []float64{1}
	switch {
	case decades < 1.3:
		steps = []float64{1, 2, 3, 5, 7}
	case decades < 4:
		steps = []float64{1, 2, 5}
	}
	every := max(1, int(math.Ceil(decades/8)))
	for e := int(math.Floor(math.Log10(low))); e <= int(math.Ceil(math.Log10(high))); e++ {
		for _, m := range steps {
			if v := m * math.Pow(10, float64(e)); v >= low*0.999 && v <= high*1.001 {
				label := ""
				if e%every == 0 {
					label = strings.ReplaceAll(measure.SI(v), " ", "")
				}
				out = append(out, plot.Tick{Value: v, Label: label})
			}
		}
	}
	return out
}
