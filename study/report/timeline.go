package report

import (
	"fmt"
	"slices"
	"strings"

	"weir/core/jobs/job"
	"weir/study/experiment/plots"
	"weir/study/figure"
	"weir/study/measure"
)

const (
	mostRows  = 32 // ranks that a timeline shows by itself
	mostLines = 12 // panels of a figure of timelines
)

// timeline makes a plot of what ranks do: a panel for each point and job, of the first run of the point. It is nil if
// no run has kept any of it.
func (all *worlds) timeline(p plots.Plot) (*figure.Figure, error) {
	w := all.only(p.Means)
	points := w.own
	if len(points) == 0 {
		points = w.sim
	}
	x := &drawn{Plot: p, shown: map[string]bool{}}
	var notes []string
	note := func(text string) {
		if text != "" && !slices.Contains(notes, text) {
			notes = append(notes, text)
		}
	}
	name, left, last := labels(p, points), 0, 0.0
	var lines []*measure.Timeline
	for i := range points {
		s := &points[i]
		if len(s.Runs) == 0 {
			continue
		}
		r := s.Runs[0]
		for _, t := range r.Timelines {
			switch {
			case !wanted(&p, t.Traffic) || len(t.Does) == 0:
				continue
			case len(lines) == mostLines:
				left++
				continue
			}
			title := strings.TrimSpace(name(s).name)
			if len(p.Groups) != 1 {
				title = strings.TrimSpace(title + " " + t.Traffic)
			}
			x.Figure.Panels = append(x.Figure.Panels, figure.Panel{Title: x.call(title)})
			lines = append(lines, t)
			last = max(last, slices.Max(t.EndS))
			note(oneRun(r.Seed, s.N))
		}
	}
	if len(lines) == 0 {
		return nil, nil
	}
	x.xScale = scaleFor("s", last)
	x.Figure.X = axisOf(axis("time", x.xScale.Unit), p.XLabel, p.XRange, p.XTicks, x.xScale, false)
	x.Figure.Y = figure.Auto("rank")
	if p.YLabel != "" {
		x.Figure.Y.Label = p.YLabel
	}
	for _, does := range job.Doings() {
		x.Figure.Does = append(x.Figure.Does, x.call(does))
	}
	for i, t := range lines {
		ranks, text := x.ranks(t)
		note(text)
		x.Figure.Panels[i].Rows = x.rows(t, ranks)
		if t.LeftOut > 0 {
			note(fmt.Sprintf("of %s nothing from %s %s on, where there was no more room", t.Traffic,
				digits(t.CutS*x.xScale.Factor), x.xScale.Unit))
		}
	}
	if left > 0 {
		note(fmt.Sprintf("of %d jobs and points the first %d", left+mostLines, mostLines))
	}
	x.own.note = strings.Join(notes, "; ")
	x.Figure.Legend = figure.LegendPosition(p.Style.Legend)
	x.heading()
	return &x.Figure, nil
}

// digits is a number as a note has it.
func digits(v float64) string { return fmt.Sprintf("%.4g", v) }

// ranks are those of a job that are shown, from above, and what is left out.
func (x *drawn) ranks(t *measure.Timeline) (ranks []int32, note string) {
	slowest, _ := t.Ranks()
	if x.Plot.Ranks != nil {
		for _, r := range x.Plot.Ranks {
			if slices.Contains(slowest, int32(r)) {
				ranks = append(ranks, int32(r))
			}
		}
		if n := len(slowest) - len(ranks); n > 0 {
			note = fmt.Sprintf("%d of the %d ranks of %s", len(ranks), len(slowest), t.Traffic)
		}
		return ranks, note
	}
	n := x.Slowest
	if n == 0 && len(slowest) <= mostRows {
		slices.Sort(slowest)
		return slowest, ""
	}
	if n == 0 {
		n = mostRows
	}
	if n >= len(slowest) {
		return slowest, "first the ranks that wait least, as others wait for them"
	}
	return slowest[:n], fmt.Sprintf("of the %d ranks of %s the %d that wait least, as others wait for them", len(slowest),
		t.Traffic, n)
}

// rows are those of some ranks.
func (x *drawn) rows(t *measure.Timeline, ranks []int32) *figure.Rows {
	out := &figure.Rows{}
	at := map[int32]int{} // where a rank's stretches begin
	for i, r := range t.Rank {
		if _, there := at[r]; !there {
			at[r] = i
		}
	}
	for row, r := range ranks {
		out.Names = append(out.Names, fmt.Sprintf("%d %s", r, x.call(t.Hosts[r])))
		for i := at[r]; i < len(t.Rank) && t.Rank[i] == r; i++ {
			s := figure.Span{Row: row, Does: int(t.Does[i]), From: t.BeginS[i] * x.xScale.Factor,
				To: t.EndS[i] * x.xScale.Factor}
			if n := len(out.Spans) - 1; n >= 0 && out.Spans[n].Row == row && out.Spans[n].Does == s.Does &&
				out.Spans[n].To == s.From { // another iteration, or operation
				out.Spans[n].To = s.To
				continue
			}
			out.Spans = append(out.Spans, s)
		}
	}
	return out
}
