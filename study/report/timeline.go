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
	maxRows      = 32 // maximum number of ranks in a timeline by default
	maxTimelines = 12 // maximum number of panels
)

// newTimeline returns a plot of the states of ranks: a panel for each point and job from the point's first run; nil
// if no run has kept them.
func (all *worlds) newTimeline(p plots.Plot) (*figure.Figure, error) {
	w := all.selectPoints(p.Matches)
	points := w.own
	if len(points) == 0 {
		points = w.sim
	}
	x := &plotBuilder{Plot: p, shown: map[string]bool{}}
	var notes []string
	note := func(text string) {
		if text != "" && !slices.Contains(notes, text) {
			notes = append(notes, text)
		}
	}
	name, left, last := newLabels(p, points), 0, 0.0
	var lines []*measure.Timeline
	for i := range points {
		s := &points[i]
		if len(s.Runs) == 0 {
			continue
		}
		r := s.Runs[0]
		for _, t := range r.Timelines {
			switch {
			case !showsGroup(&p, t.Traffic) || len(t.Does) == 0:
				continue
			case len(lines) == maxTimelines:
				left++
				continue
			}
			title := strings.TrimSpace(name(s).name)
			if len(p.Groups) != 1 {
				title = strings.TrimSpace(title + " " + t.Traffic)
			}
			x.Figure.Panels = append(x.Figure.Panels, figure.Panel{Title: x.displayName(title)})
			lines = append(lines, t)
			last = max(last, slices.Max(t.EndS))
			note(singleRunNote(r.Seed, s.N))
		}
	}
	if len(lines) == 0 {
		return nil, nil
	}
	x.xScale = scaleFor("s", last)
	x.Figure.X = newAxis(axisLabel("time", x.xScale.Unit), p.XLabel, p.XRange, p.XTicks, x.xScale, false)
	x.Figure.Y = figure.NewAutoAxis("rank")
	if p.YLabel != "" {
		x.Figure.Y.Label = p.YLabel
	}
	for _, does := range job.ActivityNames() {
		x.Figure.States = append(x.Figure.States, x.displayName(does))
	}
	for i, t := range lines {
		ranks, text := x.chooseRanks(t)
		note(text)
		x.Figure.Panels[i].Rows = x.rankRows(t, ranks)
		if t.LeftOut > 0 {
			note(fmt.Sprintf("%s is cut off at %s %s, where the limit of its timeline was reached", t.Traffic,
				formatShort(t.CutS*x.xScale.Factor), x.xScale.Unit))
		}
	}
	if left > 0 {
		note(fmt.Sprintf("the first %d of %d jobs and points", maxTimelines, left+maxTimelines))
	}
	x.own.note = strings.Join(notes, "; ")
	x.Figure.Legend = figure.LegendPosition(p.Style.Legend)
	x.addHeading()
	return &x.Figure, nil
}

// formatShort formats a number for a note.
func formatShort(v float64) string { return fmt.Sprintf("%.4g", v) }

// chooseRanks returns the shown ranks of a job from the top, and a note about omitted ranks; "" if all are shown.
func (x *plotBuilder) chooseRanks(t *measure.Timeline) (ranks []int32, note string) {
	slowest, _ := t.RanksByWait()
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
	n := x.RankCount
	if n == 0 && len(slowest) <= maxRows {
		slices.Sort(slowest)
		return slowest, ""
	}
	if n == 0 {
		n = maxRows
	}
	if n >= len(slowest) {
		return slowest, "ordered by waiting time: the ranks at the top delay the others"
	}
	return slowest[:n], fmt.Sprintf("of the %d ranks of %s, the %d that wait least and delay the others", len(slowest),
		t.Traffic, n)
}

// rankRows returns the rows of some ranks, in their order, with times in the axis's unit. Adjoining spans of the same
// state are merged. Each rank must have spans in t.
func (x *plotBuilder) rankRows(t *measure.Timeline, ranks []int32) *figure.Rows {
	out := &figure.Rows{}
	at := map[int32]int{} // index of a rank's first span
	for i, r := range t.Rank {
		if _, there := at[r]; !there {
			at[r] = i
		}
	}
	for row, r := range ranks {
		out.Names = append(out.Names, fmt.Sprintf("%d %s", r, x.displayName(t.Hosts[r])))
		for i := at[r]; i < len(t.Rank) && t.Rank[i] == r; i++ {
			s := figure.Span{Row: row, State: int(t.Does[i]), From: t.BeginS[i] * x.xScale.Factor,
				To: t.EndS[i] * x.xScale.Factor}
			if n := len(out.Spans) - 1; n >= 0 && out.Spans[n].Row == row && out.Spans[n].State == s.State &&
				out.Spans[n].To == s.From { // of another iteration or operation
				out.Spans[n].To = s.To
				continue
			}
			out.Spans = append(out.Spans, s)
		}
	}
	return out
}
