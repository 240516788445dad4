package draw

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"

	"weir/study/figure"
	"weir/study/measure"
)

// axis is one of a figure while its ticks are chosen.
type axis struct{ *figure.Axis }

// tick is one of an axis; a small one has no label.
type tick struct {
	value float64
	label string
}

// scale takes values to places.
type scale struct {
	low, high float64
	log       bool
	from, to  vg.Length
}

func (s *scale) at(v float64) vg.Length {
	low, high := s.low, s.high
	if s.log {
		v, low, high = math.Log(v), math.Log(low), math.Log(high)
	}
	return s.from + vg.Length((v-low)/(high-low))*(s.to-s.from)
}

// inside reports whether a value is within the axis.
func (s *scale) inside(v float64) bool {
	if s.log {
		return v >= s.low*(1-1e-9) && v <= s.high*(1+1e-9)
	}
	slack := 1e-9 * math.Abs(s.high-s.low)
	return v >= s.low-slack && v <= s.high+slack
}

// span is the range of values that an axis has to show.
type span struct {
	low, high float64
	lowest    float64 // of the values, without their intervals
	least     float64 // the smallest above 0
}

func newSpan() span {
	return span{math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(1)}
}

func (s *span) add(low, v, high float64) {
	s.low, s.high, s.lowest = min(s.low, low), max(s.high, high), min(s.lowest, v)
	for _, x := range []float64{low, v} {
		if x > 0 {
			s.least = min(s.least, x)
		}
	}
}

// bounds is the axis's range: what is given, and else what the values need. What is never below 0 does not show
// less, whatever its intervals say; what is far above 0 does not begin there, unless it has to.
func (a axis) bounds(s span, margin float64) (low, high float64) {
	low, high = s.low, s.high
	if low > high {
		low, high = 0, 1
	}
	switch {
	case a.Words != nil:
		low, high = -0.6, float64(len(a.Words))-0.4
	case a.Log:
		low, high = logBounds(s, margin)
	default:
		positive := s.lowest >= 0
		if positive {
			low = max(low, 0)
		}
		if a.Zero || margin > 0.03 && positive && low < 0.6*high {
			low = min(low, 0)
		}
		if a.Zero || margin > 0.03 && high <= 0 && high > 0.6*low {
			high = max(high, 0)
		}
		if low == high {
			w := max(math.Abs(low)/2, 1)
			if low, high = low-w, high+w; positive {
				low = max(low, 0)
			}
		}
		wide := high - low
		if low != 0 && margin > 0 {
			if low -= wide * margin; positive {
				low = max(low, 0)
			}
		}
		if high != 0 && (a.Top == 0 || high < a.Top) {
			if high += wide * margin; a.Top != 0 && s.high <= a.Top {
				high = min(high, a.Top)
			}
		}
	}
	return a.given(low, high)
}

// logBounds is the range of a logarithmic axis.
func logBounds(s span, margin float64) (low, high float64) {
	low, high = s.low, s.high
	if !(low > 0) {
		low = s.least
	}
	if math.IsInf(low, 0) || !(high > 0) {
		return 1, 10
	}
	factor := math.Pow(high/low, margin)
	if margin > 0 {
		factor = max(factor, 1.1)
	}
	if low == high {
		factor = 2
	}
	return low / factor, high * factor
}

// given puts the range that is asked for in place of the values' own.
func (a axis) given(low, high float64) (float64, float64) {
	if !math.IsNaN(a.Min) {
		if low = a.Min; high <= low {
			high = low + max(math.Abs(low), 1)
		}
	}
	if !math.IsNaN(a.Max) {
		if high = a.Max; low >= high {
			low = high - max(math.Abs(high), 1)
			if a.Log {
				low = high / 10
			}
		}
	}
	return low, high
}

// format writes values with as many decimals as tell them apart. Shares have no prefixes: a thousandth is 0.001.
func format(values []float64, log, shares bool) (labels []string) {
	decimals := 0
	for _, v := range values {
		text := strconv.FormatFloat(v, 'g', 6, 64)
		if _, after, ok := strings.Cut(text, "."); ok && !strings.Contains(text, "e") {
			decimals = max(decimals, len(after))
		}
	}
	from := 10000.0 // of prefixes
	if log && slices.ContainsFunc(values, func(v float64) bool { return v >= from }) {
		from = 1000
	}
	for _, v := range values {
		v += 0 // not −0
		a := math.Abs(v)
		switch {
		case log && shares:
			labels = append(labels, strings.Replace(strconv.FormatFloat(v, 'g', 4, 64), "e-0", "e-", 1))
		case log && (a >= from || a > 0 && a < 0.01):
			labels = append(labels, strings.ReplaceAll(measure.SI(v), " ", ""))
		case log:
			labels = append(labels, strconv.FormatFloat(v, 'g', 4, 64))
		case a >= 1e6 || a > 0 && a < 1e-5 || decimals > 5:
			labels = append(labels, strconv.FormatFloat(v, 'g', 4, 64))
		default:
			labels = append(labels, strconv.FormatFloat(v, 'f', decimals, 64))
		}
	}
	return labels
}

// rule measures labels: along the axis, how much room one takes.
type rule struct {
	room vg.Length // between two labels, at least
	of   func(label string) vg.Length
}

// fit reports whether no label runs into the next one.
func (r *rule) fit(s *scale, ticks []tick) bool {
	for i := 1; i < len(ticks); i++ {
		apart := s.at(ticks[i].value) - s.at(ticks[i-1].value)
		if max(apart, -apart) < (r.of(ticks[i].label)+r.of(ticks[i-1].label))/2+r.room {
			return false
		}
	}
	return true
}

// thin takes the labels away that would run into one before; the first and, of regular ticks, the last stay.
func (r *rule) thin(s *scale, ticks []tick) []tick {
	last := -1
	for i := range ticks {
		if last >= 0 {
			apart := s.at(ticks[i].value) - s.at(ticks[last].value)
			if max(apart, -apart) < (r.of(ticks[i].label)+r.of(ticks[last].label))/2+r.room {
				ticks[i].label = ""
				continue
			}
		}
		last = i
	}
	return ticks
}

func (a axis) labelled(values []float64, log bool) (out []tick) {
	for i, label := range format(values, log, a.Top == 1) {
		out = append(out, tick{values[i], label})
	}
	return out
}

// ticks are those of an axis: the ones that are asked for; the sweep's values; or round numbers, as many as fit.
func (a axis) ticks(s *scale, r rule) []tick {
	within := func(values []float64) (out []float64) {
		for _, v := range values {
			if s.inside(v) && !(s.log && v <= 0) {
				out = append(out, v)
			}
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	if a.Words != nil {
		var out []tick
		for i, w := range a.Words {
			out = append(out, tick{float64(i), w})
		}
		return out
	}
	if a.Ticks != nil {
		return r.thin(s, a.labelled(within(a.Ticks), s.log))
	}
	if at := within(a.At); a.Count == 0 && len(at) >= 2 && len(at) <= 12 {
		if all := a.labelled(at, s.log); r.fit(s, all) {
			return all
		} else if s.log && len(at) >= 4 {
			return r.thin(s, all)
		}
	}
	if s.log {
		t := a.logTicks(s, r)
		if even := a.labelled(round(s.low, s.high, 5), true); len(t) < 4 && s.high < 10*s.low && len(even) > len(t) &&
			r.fit(s, even) {
			return even
		}
		if len(t) > 1 {
			return t
		}
	}
	most := 7
	if a.Count > 0 {
		most = a.Count
	}
	for n := most; n > 1; n-- {
		if t := a.labelled(round(s.low, s.high, n), s.log); r.fit(s, t) && (len(t) > 1 || n == 2) {
			return t
		}
	}
	return r.thin(s, a.labelled(round(s.low, s.high, 2), s.log))
}

// round are round numbers between two, up to so many steps.
func round(low, high float64, most int) (out []float64) {
	wide := high - low
	if !(wide > 0) || math.IsInf(wide, 0) {
		return []float64{low}
	}
	step := math.Pow(10, math.Floor(math.Log10(wide/float64(most))))
	for _, m := range []float64{1, 2, 5, 10} {
		if wide/(step*m) <= float64(most) {
			step *= m
			break
		}
	}
	for k := math.Ceil(low/step - 1e-9); k*step <= high+step*1e-9; k++ {
		v, _ := strconv.ParseFloat(strconv.FormatFloat(k*step, 'g', 12, 64), 64)
		out = append(out, v)
	}
	return out
}

// logTicks are powers of ten and, as far as there is room, 2 and 5 or more between them.
func (a axis) logTicks(s *scale, r rule) []tick {
	decades := math.Log10(s.high / s.low)
	for _, steps := range [][]float64{{1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 2, 3, 5, 7}, {1, 2, 5}, {1, 3}, {1}} {
		if len(steps) == 9 && decades > 0.7 || len(steps) == 5 && decades > 1.3 || len(steps) > 1 && decades >= 4 {
			continue
		}
		for every := 1; every <= max(1, int(decades)); every++ {
			var values []float64
			for e := int(math.Floor(math.Log10(s.low))); e <= int(math.Ceil(math.Log10(s.high))); e++ {
				for _, m := range steps {
					v, _ := strconv.ParseFloat(strconv.FormatFloat(m*math.Pow(10, float64(e)), 'g', 3, 64), 64)
					if e%every == 0 && s.inside(v) {
						values = append(values, v)
					}
				}
			}
			t := a.labelled(values, true)
			few := a.Count == 0 || len(t) <= a.Count
			if few && len(t) > 1 && r.fit(s, t) {
				return t
			}
			if len(steps) > 1 {
				break
			}
		}
	}
	return nil
}
