package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"weir/core/fabric/observe"
	"weir/internal/text"
	"weir/study/figure"
	"weir/study/measure"
	"weir/study/results"
)

// machineRow is a row of the machine's table: one attempt of a run.
type machineRow struct {
	run     *results.Run
	attempt int // from 1
	record  *results.Attempt
}

// listAttempts returns the attempts of an outcome's runs: all, or only the last one of each run, which counts.
func listAttempts(o *results.Outcome, all bool) (out []machineRow) {
	for _, r := range o.Runs {
		for i := range r.Attempts {
			if all || i == len(r.Attempts)-1 {
				out = append(out, machineRow{r, i + 1, &r.Attempts[i]})
			}
		}
	}
	return out
}

// attemptColumns returns the columns of the machine's table, with a cell for each of rows; nil without rows. Some
// columns are left out if all their values are 0 or missing.
func attemptColumns(rows []machineRow) (keys, values []column) {
	if len(rows) == 0 {
		return nil, nil
	}
	key := func(head string, left bool, text func(machineRow) string) {
		c := column{head: []string{"", "", head}, leftAligned: left}
		for _, r := range rows {
			c.cells = append(c.cells, textCell(text(r)))
		}
		keys = append(keys, c)
	}
	for k, c := range rows[0].run.Point {
		key(c.Key, true, func(r machineRow) string { return r.run.Point[k].Text })
	}
	key("seed", false, func(r machineRow) string { return strconv.FormatUint(r.run.Seed, 10) })
	key("attempt", false, func(r machineRow) string { return fmt.Sprintf("%d of %d", r.attempt, len(r.run.Attempts)) })
	add := func(head, group, unit string, text func(*results.Attempt) string) {
		if unit != "" {
			unit = "[" + unit + "]"
		}
		c := column{head: []string{head, group, unit}}
		for _, r := range rows {
			c.cells = append(c.cells, textCell(text(r.record)))
		}
		values = append(values, c)
	}
	times := func(head string, groups []string, get func(*results.Attempt) []float64) {
		for k, g := range groups {
			add(head, g, "µs", func(a *results.Attempt) string { return formatBounded(1e6*get(a)[k], 0) })
		}
	}
	share := func(v float64) string { return formatBounded(100*v, 1) }
	times("late", []string{"p50", "p99", "p99.9", "max"}, func(a *results.Attempt) []float64 {
		return []float64{a.LateP50S, a.LateP99S, a.LateP999S, a.LateMaxS}
	})
	times("stall", []string{""}, func(a *results.Attempt) []float64 { return []float64{a.StallS} })
	add("steal", "", "%", func(a *results.Attempt) string { return share(a.Steal) })
	add("CPU", "switch", "%", func(a *results.Attempt) string { return share(a.CPU) })
	add("CPU", "hosts", "%", func(a *results.Attempt) string { return share(a.OwnCPU) })
	if slices.ContainsFunc(rows, func(r machineRow) bool { return r.record.HostsWaitedS > 0 }) {
		add("wait", "hosts", "ms", func(a *results.Attempt) string { return formatBounded(1e3*a.HostsWaitedS, 0) })
	}
	add("lost", "rings", "frames", func(a *results.Attempt) string { return strconv.FormatUint(a.RingLost, 10) })
	add("lost", "kernel", "frames", func(a *results.Attempt) string { return strconv.FormatUint(a.Lost, 10) })
	add("disturbed", "", "", func(a *results.Attempt) string {
		switch {
		case len(a.Errors) > 0:
			return "error"
		case len(a.Disturbed) > 0:
			return "yes"
		}
		return "no"
	})
	if slices.ContainsFunc(rows, func(r machineRow) bool { return r.record.Send != nil }) {
		times("sent late", []string{"p50", "p99", "max"}, func(a *results.Attempt) []float64 {
			if s := a.Send; s != nil {
				return []float64{s.P50S, s.P99S, s.MaxS}
			}
			return []float64{math.NaN(), math.NaN(), math.NaN()}
		})
	}
	return keys, values
}

// formatBounded formats a value with the given decimals. A positive value that would be rounded to 0 is shown as "<"
// the last digit, and NaN as a dash.
func formatBounded(v float64, decimals int) string {
	last := math.Pow(10, -float64(decimals))
	switch {
	case math.IsNaN(v):
		return "–"
	case v > 0 && v < last/2:
		return "<" + strconv.FormatFloat(last, 'f', decimals, 64)
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

// machineFacts describes in sentences how often the machine disturbed runs; nil for an outcome without attempts.
func machineFacts(o *results.Outcome) []string {
	runs, attempts, repeated, disturbed, wrong := 0, 0, 0, 0, 0
	frames, late := uint64(0), 0.0
	for _, r := range o.Runs {
		if len(r.Attempts) == 0 {
			continue
		}
		runs++
		attempts += len(r.Attempts)
		last := &r.Attempts[len(r.Attempts)-1]
		frames += last.Frames
		late = max(late, last.LateP999S)
		if len(r.Attempts) > 1 {
			repeated++
		}
		if len(last.Disturbed) > 0 {
			disturbed++
		}
		if len(last.Errors) > 0 {
			wrong++
		}
	}
	if runs == 0 {
		return nil
	}
	sc := scaleFor("s", late)
	out := []string{
		fmt.Sprintf("%s in %s: %d repeated because the machine disturbed them, %d disturbed in the last attempt, which "+
			"counts",
			text.Count(runs, "run"), text.Count(attempts, "attempt"), repeated, disturbed),
		fmt.Sprintf("%s frames; in the worst run 99.9 %% were sent less than %s %s late",
			strings.TrimSpace(measure.FormatSI(float64(frames))), formatPlain(late*sc.Factor),
			sc.Unit),
	}
	switches, hosts, in, sent, other := 0, 0, uint64(0), uint64(0), ""
	for _, r := range listAttempts(o, false) {
		for i := range r.record.Replays {
			x := &r.record.Replays[i]
			if x.Switch == results.ReplayedHosts {
				hosts++
			} else {
				switches++
			}
			in, sent = in+x.In, sent+x.Out
			if other == "" && x.Difference != "" {
				other = fmt.Sprintf("%s, %s: %s", measure.PointName(r.run.Point), x.Subject(), x.Difference)
			}
		}
	}
	switch {
	case other != "":
		out = append(out, "replayed in the simulator, one differs: "+other)
	case switches+hosts > 0:
		out = append(out, fmt.Sprintf("%s, replayed in the simulator: %d input frames yield the same %d output frames, "+
			"byte for byte, at the same times", capturedText(switches, hosts), in, sent))
	}
	if wrong > 0 {
		out = append(out, text.Count(wrong, "run")+" had errors and no measurement")
	}
	return out
}

// capturedText counts captured switches, and runs with captured hosts of Weir.
func capturedText(switches, hosts int) string {
	var words []string
	if switches > 0 {
		words = append(words, text.Count(switches, "captured switch"))
	}
	if hosts > 0 {
		words = append(words, "hosts of "+text.Count(hosts, "captured run"))
	}
	return strings.Join(words, " and ")
}

// attemptNotes lists the disturbances and errors of all attempts, a line for each.
func attemptNotes(o *results.Outcome) (out []string) {
	for _, r := range listAttempts(o, true) {
		what := fmt.Sprintf("%s seed %d, attempt %d of %d", measure.PointName(r.run.Point), r.run.Seed, r.attempt,
			len(r.run.Attempts))
		if r.attempt == len(r.run.Attempts) {
			what += ", which counts"
		}
		if len(r.record.Errors) > 0 {
			out = append(out, strings.TrimSpace(what)+": error: "+strings.Join(r.record.Errors, "; "))
		}
		if len(r.record.Disturbed) > 0 {
			out = append(out, strings.TrimSpace(what)+": disturbed by "+strings.Join(r.record.Disturbed, "; "))
		}
	}
	return out
}

// maxNotes limits the notes about attempts on the terminal.
const maxNotes = 30

// printMachine prints the section about the machine: a row for the counted attempt of each run, the facts, and notes
// about disturbed attempts. The outcome must have attempts.
func printMachine(s *sheet, o *results.Outcome, facts []string) {
	s.writeLine(textPiece{"the machine", strong})
	rows := listAttempts(o, false)
	g := grid{rows: len(rows), startsGroup: func(r int) bool {
		p, q := rows[r].run.Point, rows[r-1].run.Point
		return len(p) > 1 && p[0].Text != q[0].Text
	}}
	g.keys, g.values = attemptColumns(rows)
	g.printParts(s)
	for _, f := range facts {
		s.writeNote(f, plain)
	}
	notes := attemptNotes(o)
	for _, n := range notes[:min(len(notes), maxNotes)] {
		s.writeNote(n, plain)
	}
	if left := len(notes) - maxNotes; left > 0 {
		s.writeNote(fmt.Sprintf("… and %d more, in runs.json", left), plain)
	}
}

// sumLateness adds the lateness histograms of attempts (results.Attempt), and counts their frames.
func sumLateness(rows []machineRow) (sum []uint64, frames uint64) {
	for _, r := range rows {
		for i, n := range r.record.Lateness {
			if i >= len(sum) {
				sum = append(sum, 0)
			}
			sum[i] += n
			frames += n
		}
	}
	return sum, frames
}

// latenessSVG draws a histogram of the lateness of frames over all runs, in powers of two: of the counted attempts,
// and as an outline of the repeated ones. It returns nil without frames or without a linked-in Drawer.
func latenessSVG(o *results.Outcome) ([]byte, error) {
	counted := listAttempts(o, false)
	var repeated []machineRow
	for _, r := range listAttempts(o, true) {
		if r.attempt < len(r.run.Attempts) {
			repeated = append(repeated, r)
		}
	}
	sum, n := sumLateness(counted)
	other, m := sumLateness(repeated)
	if n == 0 || !figure.Drawing.Linked() {
		return nil, nil
	}
	// Entry i reaches from 2^(i−1) to 2^i ns; the first entries are below the resolution of any clock.
	from, to, highest := len(sum), 0, uint64(0)
	for _, h := range [][]uint64{sum, other} {
		for i, c := range h {
			if c > 0 {
				from, to, highest = min(from, i), max(to, i+1), max(highest, c)
			}
		}
	}
	edge := func(i int) float64 { return math.Ldexp(1, i-1) * 1e-3 } // in µs
	const low = 0.5                                                  // end of the axis: a single frame is visible
	stairs := func(counts []uint64) (x, y []float64) {
		for i := from; i <= to; i++ {
			top := low
			if i < to && i < len(counts) {
				top = max(low, float64(counts[i]))
			}
			x, y = append(x, edge(i)), append(y, top)
		}
		return x, y
	}
	bound := observe.MaxLateness.Seconds() * 1e6
	f := figure.Figure{Title: "lateness of transmissions, " + text.Count(len(counted), "run"),
		X: figure.NewAutoAxis("lateness [µs]"), Y: figure.NewAutoAxis("frames"), Size: figure.ScreenSize(),
		Names: []string{strings.TrimSpace(measure.FormatSI(float64(n))) + " frames of the last attempts, which count"}}
	f.X.Log, f.X.Min, f.X.Max = true, edge(from), max(edge(to), 1.5*bound)
	f.Y.Log, f.Y.Min, f.Y.Max = true, low, float64(highest)*2
	x, y := stairs(sum)
	marks := []figure.Mark{{Form: figure.Area, X: x, Y: y}}
	if m > 0 {
		x, y := stairs(other)
		f.Names = append(f.Names, strings.TrimSpace(measure.FormatSI(float64(m)))+" frames of repeated attempts")
		marks = append(marks, figure.Mark{Series: 1, Form: figure.Steps, X: x, Y: y})
	}
	marks = append(marks, figure.Mark{Series: -1, SparseMarkers: true, Dash: figure.Broken, X: []float64{bound, bound},
		Y: []float64{low, f.Y.Max}})
	f.ExtraEntries = []figure.LegendEntry{{Name: fmt.Sprintf("%g ms: an attempt with more than 1 %% of frames later "+
		"than this is disturbed",
		1e3*observe.MaxLateness.Seconds()), Dash: figure.Broken, Series: -1}}
	f.Panels = []figure.Panel{{Marks: marks}}
	return f.Render("svg")
}
