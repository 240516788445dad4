package measure

import (
	"fmt"
	"math"
	"strconv"

	"weir/core/unit"
)

// FormatQuantity returns a number with three or four digits, an SI prefix and its unit: 12.5 Mb/s. unit is a measure's:
// bps and bytes become b/s and B; "" adds no unit.
func FormatQuantity(v float64, unit string) string {
	text := FormatSI(v)
	switch unit {
	case "":
		return text
	case "bps":
		unit = "b/s"
	case "bytes":
		unit = "B"
	}
	if last := text[len(text)-1]; last >= '0' && last <= '9' || len(unit) > 3 { // no prefix, or a word
		return text + " " + unit
	}
	return text + unit
}

// FormatSI returns a number with three or four digits and an SI prefix after a space: 1.5 M. 0, NaN and infinities have
// no prefix.
func FormatSI(v float64) string {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Sprint(v)
	}
	a := math.Abs(v)
	for _, p := range []struct {
		worth  float64
		prefix string
	}{{1e12, " T"}, {1e9, " G"}, {1e6, " M"}, {1e3, " k"}, {1, ""}, {1e-3, " m"}, {1e-6, " µ"}, {1e-9, " n"}} {
		if a >= p.worth*0.9995 {
			if p.worth == 1e-3 && a >= 0.01 {
				break
			}
			return strconv.FormatFloat(v/p.worth, 'g', 4, 64) + p.prefix
		}
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// ParseQuantity parses a quantity, or a plain number, in base units: seconds, bit/s, bytes, packets/s, packets, a
// share. A share is a fraction of 1: 85% is 0.85. It returns false for other words, infinities and NaN.
func ParseQuantity(text string) (float64, bool) {
	if v, err := strconv.ParseFloat(text, 64); err == nil {
		return v, !math.IsInf(v, 0) && !math.IsNaN(v)
	}
	if v, err := unit.ParseTime(text); err == nil {
		return v.Seconds(), true
	}
	if v, err := unit.ParseRate(text); err == nil {
		return float64(v), true
	}
	if v, err := unit.ParseBytes(text); err == nil {
		return float64(v), true
	}
	if v, err := unit.ParsePacketRate(text); err == nil {
		return float64(v), true
	}
	if v, err := unit.ParseLength(text); err == nil {
		return float64(v.Packets), true
	}
	if v, err := unit.ParseShare(text); err == nil {
		return v, true
	}
	return 0, false
}
