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

// axis wraps a figure's axis with the methods that choose its range and ticks.
type axis struct{ *figure.Axis }

// tick is a labelled position on an axis. A minor tick has an empty label.
type tick struct {
	value float64
	label string
}

// scale maps values low … high to drawing positions from … to.
type scale struct {
	low, high float64
	log       bool
	from, to  vg.Length
}

// position returns the drawing position of value v, which may be outside of the range. low and high must differ; a
// logarithmic scale needs v > 0.
func (s *scale) position(v float64) vg.Length {
	low, high := s.low, s.high
	if s.log {
		v, low, high = math.Log(v), math.Log(low), math.Log(high)
	}
	return s.from + vg.Length((v-low)/(high-low))*(s.to-s.from)
}

// contains reports whether v is within the range, with a tolerance for rounding; false for NaN.
func (s *scale) contains(v float64) bool {
	if s.log {
		return v >= s.low*(1-1e-9) && v <= s.high*(1+1e-9)
	}
	slack := 1e-9 * math.Abs(s.high-s.low)
	return v >= s.low-slack && v <= s.high+slack
}

// span collects the range of the values that an axis has to show.
type span struct {
	low, high   float64
	lowestValue float64 // of the values without their intervals
	minPositive float64 // the smallest end or value above 0
}

// newSpan returns an empty span; low > high until a value is included.
func newSpan() span {
	return span{math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(1)}
}

// include extends the span by value v with the interval low … high. None of them may be NaN.
func (s *span) include(low, v, high float64) {
	s.low, s.high, s.lowestValue = min(s.low, low), max(s.high, high), min(s.lowestValue, v)
	for _, x := range []float64{low, v} {
		if x > 0 {
			s.minPositive = min(s.minPositive, x)
		}
	}
}

// chooseRange returns the axis's range: the given bounds, otherwise the values' range extended by the margin, a share
// of the range. Values that are never negative do not extend it below 0, even if their intervals do. It includes 0 if
// the axis asks for that or, with a margin above 0.03, unless all values are far from 0. Min and Max of the axis have
// priority. An empty span gives 0 … 1.
func (a axis) chooseRange(s span, margin float64) (low, high float64) {
	low, high = s.low, s.high
	if low > high {
		low, high = 0, 1
	}
	switch {
	case a.Words != nil:
		low, high = -0.6, float64(len(a.Words))-0.4
	case a.Log:
		low, high = chooseLogRange(s, margin)
	default:
		positive := s.lowestValue >= 0
		if positive {
			low = max(low, 0)
		}
		if a.IncludeZero || margin > 0.03 && positive && low < 0.6*high {
			low = min(low, 0)
		}
		if a.IncludeZero || margin > 0.03 && high <= 0 && high > 0.6*low {
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
		if high != 0 && (a.UpperBound == 0 || high < a.UpperBound) {
			if high += wide * margin; a.UpperBound != 0 && s.high <= a.UpperBound {
				high = min(high, a.UpperBound)
			}
		}
	}
	return a.applyGivenRange(low, high)
}

// chooseLogRange returns the range of a logarithmic axis. It ignores values up to 0; without positive values it is 1
// … 10.
func chooseLogRange(s span, margin float64) (low, high float64) {
	low, high = s.low, s.high
	if !(low > 0) {
		low = s.minPositive
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

// applyGivenRange replaces the chosen range by the axis's Min and Max where they are set. It keeps low below high.
func (a axis) applyGivenRange(low, high float64) (float64, float64) {
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

// formatTicks formats tick values with as many decimals as distinguish them. shares marks an axis that ends at 1. On a
// logarithmic axis of shares it uses no SI prefixes: a thousandth is 0.001.
func formatTicks(values []float64, log, shares bool) (labels []string) {
	decimals := 0
	for _, v := range values {
		text := strconv.FormatFloat(v, 'g', 6, 64)
		if _, after, ok := strings.Cut(text, "."); ok && !strings.Contains(text, "e") {
			decimals = max(decimals, len(after))
		}
	}
	from := 10000.0 // the smallest value with a prefix
	if log && slices.ContainsFunc(values, func(v float64) bool { return v >= from }) {
		from = 1000
	}
	for _, v := range values {
		v += 0 // turns −0 into 0
		a := math.Abs(v)
		switch {
		case log && shares:
			labels = append(labels, strings.Replace(strconv.FormatFloat(v, 'g', 4, 64), "e-0", "e-", 1))
		case log && (a >= from || a > 0 && a < 0.01):
			labels = append(labels, strings.ReplaceAll(measure.FormatSI(v), " ", ""))
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

// labelRule decides whether labels along an axis overlap.
type labelRule struct {
	gap       vg.Length // minimum distance between two labels
	labelSize func(label string) vg.Length
}

// labelsFit reports whether no two neighbouring labels overlap on a scale. The ticks must be in order.
func (r *labelRule) labelsFit(s *scale, ticks []tick) bool {
	for i := 1; i < len(ticks); i++ {
		apart := s.position(ticks[i].value) - s.position(ticks[i-1].value)
		if max(apart, -apart) < (r.labelSize(ticks[i].label)+r.labelSize(ticks[i-1].label))/2+r.gap {
			return false
		}
	}
	return true
}

// dropOverlaps clears the labels that overlap the previous label and returns ticks. The first label always stays. It
// changes ticks.
func (r *labelRule) dropOverlaps(s *scale, ticks []tick) []tick {
	last := -1
	for i := range ticks {
		if last >= 0 {
			apart := s.position(ticks[i].value) - s.position(ticks[last].value)
			if max(apart, -apart) < (r.labelSize(ticks[i].label)+r.labelSize(ticks[last].label))/2+r.gap {
				ticks[i].label = ""
				continue
			}
		}
		last = i
	}
	return ticks
}

// labelTicks returns ticks at the values with formatted labels. With log, the axis is logarithmic.
func (a axis) labelTicks(values []float64, log bool) (out []tick) {
	for i, label := range formatTicks(values, log, a.UpperBound == 1) {
		out = append(out, tick{values[i], label})
	}
	return out
}

// chooseTicks returns the ticks of the axis: the words, the given ticks, the sweep's values if they fit, or as many
// round numbers as fit by r. Ticks outside of the scale are left out, except words.
func (a axis) chooseTicks(s *scale, r labelRule) []tick {
	within := func(values []float64) (out []float64) {
		for _, v := range values {
			if s.contains(v) && !(s.log && v <= 0) {
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
		return r.dropOverlaps(s, a.labelTicks(within(a.Ticks), s.log))
	}
	if at := within(a.SweepValues); a.Count == 0 && len(at) >= 2 && len(at) <= 12 {
		if all := a.labelTicks(at, s.log); r.labelsFit(s, all) {
			return all
		} else if s.log && len(at) >= 4 {
			return r.dropOverlaps(s, all)
		}
	}
	if s.log {
		t := a.chooseLogTicks(s, r)
		if even := a.labelTicks(roundValues(s.low, s.high, 5), true); len(t) < 4 && s.high < 10*s.low && len(even) > len(t) &&
			r.labelsFit(s, even) {
			return even
		}
		if len(t) > 1 {
			return t
		}
	}
	count := 7
	if a.Count > 0 {
		count = a.Count
	}
	for n := count; n > 1; n-- {
		if t := a.labelTicks(roundValues(s.low, s.high, n), s.log); r.labelsFit(s, t) && (len(t) > 1 || n == 2) {
			return t
		}
	}
	return r.dropOverlaps(s, a.labelTicks(roundValues(s.low, s.high, 2), s.log))
}

// roundValues returns the multiples of a round step (1, 2 or 5 times a power of ten) between low and high, with at most
// maxSteps steps (1 or more). If high is not above low, it returns low alone.
func roundValues(low, high float64, maxSteps int) (out []float64) {
	wide := high - low
	if !(wide > 0) || math.IsInf(wide, 0) {
		return []float64{low}
	}
	step := math.Pow(10, math.Floor(math.Log10(wide/float64(maxSteps))))
	for _, m := range []float64{1, 2, 5, 10} {
		if wide/(step*m) <= float64(maxSteps) {
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

// chooseLogTicks returns powers of ten and, where they fit, multiples between them such as 2 and 5. The scale needs 0 <
// low < high. It returns nil if fewer than two ticks fit.
func (a axis) chooseLogTicks(s *scale, r labelRule) []tick {
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
					if e%every == 0 && s.contains(v) {
						values = append(values, v)
					}
				}
			}
			t := a.labelTicks(values, true)
			few := a.Count == 0 || len(t) <= a.Count
			if few && len(t) > 1 && r.labelsFit(s, t) {
				return t
			}
			if len(steps) > 1 {
				break
			}
		}
	}
	return nil
}
