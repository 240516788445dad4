package experiment

import (
	"strconv"

	"weir/internal/document"
)

// mostRows bounds the ranks of a timeline.
const mostRows = 1000

// timelinePlot reads an entry of the list that shows what ranks do.
func (s *Spec) timelinePlot(d *decoder, x document.Map, p *Plot, sets *[plotKinds]shownGroups) {
	p.Kind, p.X = OverRanks, timeAxis
	if v := x.Get("x"); v != nil {
		d.Word(v, "axis of a timeline", []string{timeAxis})
	}
	for _, key := range []string{"y", "z", "lines", "panels", "log", "error", "order", "y_range", "z_range", "y_ticks",
		"z_label"} {
		if v := x.Get(key); v != nil {
			d.Fail(v.Place, "x, traffic, where, ranks, x_range, title, width, …", "a timeline, which has a row for each "+
				"rank and a panel for each point and job, has no %q", key)
		}
	}
	if len(sets[OverRanks]) == 0 {
		d.Fail(x.Place, "measure: [timeline]", "no measure of the experiment keeps what ranks of jobs do")
		return
	}
	s.timelineRanks(d, x, p)
	s.plotWhere(d, x, p, sets)
	s.readLook(d, x, p)
	s.plots = append(s.plots, *p)
}

// timelineRanks reads which ranks are shown.
func (s *Spec) timelineRanks(d *decoder, x document.Map, p *Plot) {
	v := x.Get("ranks")
	switch {
	case v == nil:
	case v.Kind == document.Scalar:
		p.Slowest = d.Integer(v, 1, mostRows)
	default:
		p.Ranks = []int{}
		most := 0
		for _, q := range s.points {
			for i := range q.entries {
				if j := q.entries[i].job; j != nil {
					most = max(most, j.Program.Ranks())
				}
			}
		}
		for _, y := range items(v) {
			r, err := strconv.Atoi(d.Text(y))
			if err != nil || r < 0 || r >= most {
				d.Fail(y.Place, "0 to "+strconv.Itoa(most-1), "no job has a rank %q", y.Text)
				continue
			}
			p.Ranks = append(p.Ranks, r)
		}
		if len(p.Ranks) > mostRows || len(p.Ranks) == 0 {
			d.Fail(v.Place, "1 to "+strconv.Itoa(mostRows)+" ranks", "%d ranks are listed", len(p.Ranks))
		}
	}
}
