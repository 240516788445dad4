package report

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Digits that a number has at most, and without an interval; and those of an interval.
const (
	mostDigits     = 6
	usualDigits    = 4
	intervalDigits = 2
	mostDecimals   = 7
)

// undefinedText is how a value is shown that is not defined.
const undefinedText = "–"

// mark is what a value is among those that it is compared with.
type mark uint8

const (
	unmarked mark = iota
	bestMark      // better than all others, by more than the intervals
	tiedMark      // as good as the best, as far as the intervals tell, and better than some
)

// cell is an entry of a table: a number with its interval, or a text.
type cell struct {
	text       string // of what is no number
	mean, half string
	mark       mark
	outside    bool   // the lab's value does not agree with the simulator's
	partial    string // of how many it is, the name of that, where these are fewer than they were to be; ""
}

func word(text string) cell { return cell{text: text} }

// partialSign stands behind what is partial.
const partialSign = "†"

// sign is what stands behind a number.
func (c *cell) sign() string {
	if c.partial != "" {
		return partialSign
	}
	return c.mark.sign()
}

// String is the cell without its mark.
func (c *cell) String() string {
	switch {
	case c.text != "":
		return c.text
	case c.half == "":
		return c.mean
	}
	return c.mean + " ± " + c.half
}

// order is the power of ten of a number's first digit.
func order(v float64) int { return int(math.Floor(math.Log10(math.Abs(v)))) }

// number is a mean with half of its 95 % interval. The interval decides the digits: it has two, and the mean ends where
// it ends, but has six at most. A number without an interval has four, a whole one all. Nothing is shown as 0 that is
// not: a mean below the last digit has one of its own, and an interval below it is said to be.
func number(mean, half float64) cell {
	if math.IsNaN(mean) || math.IsInf(mean, 0) {
		return word(undefinedText)
	}
	known := !math.IsNaN(half) && !math.IsInf(half, 0)
	decimals := 0
	switch {
	case known && half > 0:
		decimals = intervalDigits - 1 - order(half)
		if mean != 0 && math.Abs(mean) >= half {
			decimals = min(decimals, max(mostDigits-1-order(mean), 0))
		}
	case mean != 0 && !whole(mean):
		decimals = usualDigits - 1 - order(mean)
	}
	decimals = max(decimals, 0)
	if decimals > mostDecimals && math.Abs(mean) < 1 {
		c := cell{mean: strconv.FormatFloat(mean, 'g', usualDigits, 64)}
		if known {
			if half > 0 && mean != 0 {
				c.mean = strconv.FormatFloat(mean, 'g', min(max(decimals+order(mean)+1, 1), mostDigits), 64)
			}
			c.half = strconv.FormatFloat(half, 'g', intervalDigits, 64)
		}
		return c
	}
	c := cell{mean: fixed(mean, decimals)}
	if !known {
		return c
	}
	last := math.Pow(10, -float64(decimals))
	if c.half = fixed(half, decimals); half > 0 && half < last/2 {
		c.half = "<" + strconv.FormatFloat(last, 'f', decimals, 64)
	} else if half == 0 {
		c.half = "0"
	}
	return c
}

// whole reports whether a number is one without a fraction, but for rounding.
func whole(v float64) bool {
	return math.Abs(v) < 1e6 && math.Abs(v-math.Round(v)) <= 1e-9*math.Abs(v)
}

// fixed prints a number with so many decimals; what would be 0 then has a digit of its own.
func fixed(v float64, decimals int) string {
	if v == 0 {
		return "0"
	}
	if math.Abs(v) < math.Pow(10, -float64(decimals))/2 {
		return strconv.FormatFloat(v, 'g', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

// Cell prints a mean with its interval as tables have it: the interval with two digits, and the mean up to there. What
// is not defined is a dash.
func Cell(mean, half float64) string {
	c := number(mean, half)
	return c.String()
}

// plainNumber is a number alone, as sentences have it.
func plainNumber(v float64) string {
	c := number(v, math.NaN())
	return c.String()
}

// parts are a number's digits before the point, and the point with those behind it.
func parts(text string) (before, behind string) {
	if strings.ContainsRune(text, 'e') {
		return text, ""
	}
	if at := strings.IndexByte(text, '.'); at >= 0 {
		return text[:at], text[at:]
	}
	return text, ""
}

// alignment is how wide the parts of a column's numbers are, so that points stand below points.
type alignment struct{ before, behind, halfBefore, halfBehind int }

func alignmentOf(cells []cell) (a alignment) {
	for i := range cells {
		if c := &cells[i]; c.text == "" {
			before, behind := parts(c.mean)
			a.before, a.behind = max(a.before, utf8.RuneCountInString(before)), max(a.behind, len(behind))
			if c.half != "" {
				before, behind = parts(c.half)
				a.halfBefore, a.halfBehind = max(a.halfBefore, len(before)), max(a.halfBehind, len(behind))
			}
		}
	}
	return a
}

// aligned is the cell with its numbers padded; a text stays as it is.
func (a *alignment) aligned(c *cell) string {
	if c.text != "" {
		return c.text
	}
	text := a.alignedMean(c)
	if a.halfBefore == 0 {
		return text
	}
	if c.half == "" {
		return text + strings.Repeat(" ", len(" + ")+a.halfBefore+a.halfBehind)
	}
	before, behind := parts(c.half)
	return text + " ± " + pad(before, a.halfBefore, false) + pad(behind, a.halfBehind, true)
}

// alignedMean is the padded mean alone.
func (a *alignment) alignedMean(c *cell) string {
	before, behind := parts(c.mean)
	return pad(before, a.before, false) + pad(behind, a.behind, true)
}
