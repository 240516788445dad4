package report

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits of a number's digits: in total, without an interval, of an interval, and after the point.
const (
	maxDigits      = 6
	usualDigits    = 4
	intervalDigits = 2
	maxDecimals    = 7
)

// undefinedText stands for an undefined value.
const undefinedText = "–"

// mark ranks a value among the values that it is compared with.
type mark uint8

const (
	unmarked mark = iota
	bestMark      // better than all others by more than the intervals
	tiedMark      // within the intervals of the best, and better than some
)

// cell is an entry of a table: a number with its interval, or a text.
type cell struct {
	text       string // content of a cell that is not a number
	mean, half string
	mark       mark
	outside    bool   // the lab's value does not agree with the simulator's
	partial    string // name of the counted things if they are fewer than they should be; "" otherwise
}

// textCell returns a cell with a text.
func textCell(text string) cell { return cell{text: text} }

// partialSign follows partial values.
const partialSign = "†"

// sign returns the sign after the number, of a partial value or of its mark; "" without one.
func (c *cell) sign() string {
	if c.partial != "" {
		return partialSign
	}
	return c.mark.sign()
}

// String returns the cell without its sign.
func (c *cell) String() string {
	switch {
	case c.text != "":
		return c.text
	case c.half == "":
		return c.mean
	}
	return c.mean + " ± " + c.half
}

// decimalExponent returns the power of ten of a number's first digit: 2 for 345, −2 for 0.012. v must not be 0.
func decimalExponent(v float64) int { return int(math.Floor(math.Log10(math.Abs(v)))) }

// numberCell formats a mean with half of its 95 % interval. The interval has two digits and decides the decimals of the
// mean, which has at most six digits. A number without an interval has four digits, a whole number all. A nonzero value
// is never shown as 0: a mean below the last digit is shown with one digit, a smaller interval with "<". half is NaN
// without an interval. An undefined mean gives a dash.
func numberCell(mean, half float64) cell {
	if math.IsNaN(mean) || math.IsInf(mean, 0) {
		return textCell(undefinedText)
	}
	known := !math.IsNaN(half) && !math.IsInf(half, 0)
	decimals := 0
	switch {
	case known && half > 0:
		decimals = intervalDigits - 1 - decimalExponent(half)
		if mean != 0 && math.Abs(mean) >= half {
			decimals = min(decimals, max(maxDigits-1-decimalExponent(mean), 0))
		}
	case mean != 0 && !isWhole(mean):
		decimals = usualDigits - 1 - decimalExponent(mean)
	}
	decimals = max(decimals, 0)
	if decimals > maxDecimals && math.Abs(mean) < 1 {
		c := cell{mean: strconv.FormatFloat(mean, 'g', usualDigits, 64)}
		if known {
			if half > 0 && mean != 0 {
				c.mean = strconv.FormatFloat(mean, 'g', min(max(decimals+decimalExponent(mean)+1, 1), maxDigits), 64)
			}
			c.half = strconv.FormatFloat(half, 'g', intervalDigits, 64)
		}
		return c
	}
	c := cell{mean: formatFixed(mean, decimals)}
	if !known {
		return c
	}
	last := math.Pow(10, -float64(decimals))
	if c.half = formatFixed(half, decimals); half > 0 && half < last/2 {
		c.half = "<" + strconv.FormatFloat(last, 'f', decimals, 64)
	} else if half == 0 {
		c.half = "0"
	}
	return c
}

// isWhole reports whether a number is an integer, apart from rounding errors.
func isWhole(v float64) bool {
	return math.Abs(v) < 1e6 && math.Abs(v-math.Round(v)) <= 1e-9*math.Abs(v)
}

// formatFixed formats a number with the given decimals. A nonzero number that would be rounded to 0 gets one
// significant digit; 0 has no decimals.
func formatFixed(v float64, decimals int) string {
	if v == 0 {
		return "0"
	}
	if math.Abs(v) < math.Pow(10, -float64(decimals))/2 {
		return strconv.FormatFloat(v, 'g', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

// FormatCell formats a mean with its interval like the tables do: the interval has two digits, and the mean ends at the
// same digit. An undefined value is a dash, and a NaN half gives no interval.
func FormatCell(mean, half float64) string {
	c := numberCell(mean, half)
	return c.String()
}

// formatPlain formats a number without an interval for sentences.
func formatPlain(v float64) string {
	c := numberCell(v, math.NaN())
	return c.String()
}

// splitAtPoint splits a number before its decimal point. behind begins with the point, or is "". A number with an
// exponent is not split.
func splitAtPoint(text string) (before, behind string) {
	if strings.ContainsRune(text, 'e') {
		return text, ""
	}
	if at := strings.IndexByte(text, '.'); at >= 0 {
		return text[:at], text[at:]
	}
	return text, ""
}

// alignment holds the widths of a column's numbers before and after the decimal point.
type alignment struct{ before, behind, halfBefore, halfBehind int }

// newAlignment returns the widths that fit all cells.
func newAlignment(cells []cell) (a alignment) {
	for i := range cells {
		if c := &cells[i]; c.text == "" {
			before, behind := splitAtPoint(c.mean)
			a.before, a.behind = max(a.before, utf8.RuneCountInString(before)), max(a.behind, len(behind))
			if c.half != "" {
				before, behind = splitAtPoint(c.half)
				a.halfBefore, a.halfBehind = max(a.halfBefore, len(before)), max(a.halfBehind, len(behind))
			}
		}
	}
	return a
}

// alignCell returns the cell with padded numbers; a text is not padded. The widths must include this cell.
func (a *alignment) alignCell(c *cell) string {
	if c.text != "" {
		return c.text
	}
	text := a.alignMean(c)
	if a.halfBefore == 0 {
		return text
	}
	if c.half == "" {
		return text + strings.Repeat(" ", len(" + ")+a.halfBefore+a.halfBehind)
	}
	before, behind := splitAtPoint(c.half)
	return text + " ± " + padText(before, a.halfBefore, false) + padText(behind, a.halfBehind, true)
}

// alignMean returns only the padded mean.
func (a *alignment) alignMean(c *cell) string {
	before, behind := splitAtPoint(c.mean)
	return padText(before, a.before, false) + padText(behind, a.behind, true)
}
