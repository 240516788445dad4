package measure

import (
	"fmt"
	"slices"

	"weir/core/jobs/job"
	"weir/core/outcome"
	"weir/core/unit"
	"weir/internal/document"
)

// timelineKind returns the kind of measures that keep what ranks of jobs do at each time.
func timelineKind() Definition {
	host := document.Value("host, group or pattern")
	return Definition{Name: "timeline",
		Doc: "activity of each rank of a job over time, for plots of kind timeline and separate tables: it computes, " +
			"communicates, does both, or waits, by iteration and collective operation; the number of recorded intervals, " +
			"and the number of operations that did not fit (timeline_left)",
		Keys: []Key{limitKey(), {Name: "hosts", Form: document.AnyOf("host, group, pattern, or list of them", host,
			document.ListOf(host, "")), Doc: "jobs with the ranks to record", Without: "all"},
			timeKey("from", "begin of the recording", "the job's start"), timeKey("until",
				"end of the recording", "the end of the run"),
			{Name: "most", Form: document.Value("number"), Doc: "maximum number of intervals to record per job; plots " +
				"state that later intervals are left out", Default: "50000", Source: "Weir"}},
		Also: map[string]Better{"timeline_left": Lower}, New: func() Measure { return &timeline{} },
		Ideal: true}
}

// maxStretches is the largest value of the key `most`.
const maxStretches = 10000000

// timeline keeps what ranks of jobs do at each time.
type timeline struct {
	Plain
	hosts       []int // nil: all
	from, until unit.Time
	maxParts    int               // limit of the parts that are kept for a job
	hostsPlace  document.Position // place of the key `hosts`
}

// TimelineRequest defines which timelines of a job's ranks a run keeps.
type TimelineRequest struct {
	Job         int   // index in outcome.Load.Jobs
	Ranks       []int // nil: all
	From, Until unit.Time
	MaxParts    int // limit of the number of parts
}

// attachTimeline makes the job in load keep its timeline. It replaces an earlier request for this job.
func (l *TimelineRequest) attachTimeline(load *outcome.Load) {
	t := job.NewTimeline(load.Jobs[l.Job].Program, l.Ranks)
	t.From, t.Until, t.MaxParts = l.From, l.Until, l.MaxParts
	load.Jobs[l.Job].Timeline = t
}

// ReadOptions reads `hosts`, `from`, `until` and `most`.
func (m *timeline) ReadOptions(o *Options) {
	if t := o.Node.Get("hosts"); t != nil && o.Point.ResolveHosts != nil {
		m.hostsPlace = t.Position
		m.hosts = append([]int{}, o.Point.ResolveHosts(t)...)
	}
	if t := o.Node.Get("from"); t != nil {
		m.from = o.runTime(t)
	}
	if t := o.Node.Get("until"); t != nil {
		if m.until = o.runTime(t); o.OK() && m.until <= m.from {
			o.Fail(t.Position, "a time after "+m.from.String(), "no time is recorded until %s", t.Text)
		}
	}
	m.maxParts = o.ReadInteger(o.Node.GetDefault("most"), 1, maxStretches)
}

// runTime reads a time in the run. The warm-up is included, since jobs are measured as a whole. It reports an error for
// other times and returns them.
func (o *Options) runTime(t *document.Node) unit.Time {
	at, ok := document.ReadValid(o.Reader, t, unit.ParseTime)
	if ok && (at < 0 || at > o.Point.End()) {
		o.Fail(t.Position, "from 0s up to "+o.Point.End().String(), "%q is outside the run", t.Text)
	}
	return at
}

// Check reports an error if no traffic is a job, or no job has a rank at one of the hosts.
func (m *timeline) Check(p *Point) (why, allowed string) {
	if why, allowed = (*jobs)(nil).Check(p); why != "" || m.hosts == nil {
		return why, allowed
	}
	for i := range p.Traffic {
		if slices.ContainsFunc(p.Traffic[i].Ranks, func(h int) bool { return slices.Contains(m.hosts, h) }) {
			return "", ""
		}
	}
	return "no job has a rank on one of these hosts", "hosts of a job"
}

// ListNeeds requests timelines of each job's ranks at the hosts.
func (m *timeline) ListNeeds(p *Point, load *outcome.Load) (n Needs) {
	for i := range load.Jobs {
		l := TimelineRequest{Job: i, From: m.from, Until: m.until, MaxParts: m.maxParts}
		if m.hosts != nil {
			l.Ranks = []int{}
			for r, h := range load.Jobs[i].Hosts {
				if slices.Contains(m.hosts, p.Host(h)) {
					l.Ranks = append(l.Ranks, r)
				}
			}
		}
		n.Timelines = append(n.Timelines, l)
	}
	return n
}

// WhyNotInLab returns that the lab runs no jobs.
func (*timeline) WhyNotInLab(*Point) string { return "hosts of the lab do not run jobs" }

// AddValues adds the timelines, and the numbers of parts kept and left out for each job.
func (m *timeline) AddValues(e *Evaluation) {
	kept, left := Measured{Name: "timeline", Groups: []GroupValue{}}, Measured{Name: "timeline_left",
		Groups: []GroupValue{}}
	for i := range e.Load.Jobs {
		j := &e.Load.Jobs[i]
		o := e.Result.Job(j.Group)
		if o == nil {
			continue
		}
		name := e.Point.Traffic[j.Group].Name
		x := &Timeline{Traffic: name, Does: []int8{}}
		for _, h := range j.Hosts {
			x.Hosts = append(x.Hosts, e.Point.Network.Nodes[e.Point.Host(h)].Name)
		}
		if j.Timeline != nil {
			x.addRows(j.Timeline, o, e.Point.Traffic[j.Group].Start)
		}
		e.Values.Timelines = append(e.Values.Timelines, x)
		kept.Groups = append(kept.Groups, GroupValue{Group: name, Value: float64(len(x.Does))})
		left.Groups = append(left.Groups, GroupValue{Group: name, Value: float64(x.LeftOut)})
	}
	e.Add(kept)
	e.Add(left)
}

// Timeline has what the ranks of a job did, column by column, in the order of ranks and of time.
type Timeline struct {
	Traffic   string    `json:"traffic"`
	Hosts     []string  `json:"hosts"` // by rank
	Rank      []int32   `json:"rank"`
	Iteration []int32   `json:"iteration"` // from 0; −1: the job has no iterations
	Operation []int32   `json:"operation"` // collective operation, from 0; −1: outside one
	Does      []int8    `json:"does"`      // index in job.ActivityNames
	BeginS    []float64 `json:"begin_s"`
	EndS      []float64 `json:"end_s"`
	// LeftOut counts the operations of ranks that were not kept. All of them began at CutS or later.
	LeftOut int64   `json:"left_out"`
	CutS    float64 `json:"cut_s"`
}

// addRows adds the rows that t has kept of a run that began at start, and what it left out.
func (x *Timeline) addRows(t *job.Timeline, o *job.Outcome, start unit.Time) {
	for _, s := range t.Rows(o, start) {
		x.Rank, x.Iteration, x.Operation = append(x.Rank, s.Rank), append(x.Iteration, s.Iteration),
			append(x.Operation, s.Operation)
		x.Does, x.BeginS, x.EndS = append(x.Does, int8(s.Does)), append(x.BeginS, s.From.Seconds()),
			append(x.EndS, s.To.Seconds())
	}
	if cut, left := t.Cut(); left > 0 {
		x.LeftOut, x.CutS = left, cut.Seconds()
	}
}

// Check returns an error if the columns have different lengths, or a rank or an activity is out of range.
func (x *Timeline) Check() error {
	n := len(x.Does)
	for _, l := range []int{len(x.Rank), len(x.Iteration), len(x.Operation), len(x.BeginS), len(x.EndS)} {
		if l != n {
			return fmt.Errorf("the timeline of %s has columns of %d and of %d rows", x.Traffic, n, l)
		}
	}
	for i := range n {
		if r := x.Rank[i]; r < 0 || int(r) >= len(x.Hosts) || x.Does[i] < 0 || int(x.Does[i]) >= len(job.ActivityNames()) {
			return fmt.Errorf("row %d of the timeline of %s is of no rank, or of nothing that ranks do", i, x.Traffic)
		}
	}
	return nil
}

// RanksByWait returns the ranks in the timeline and the time that each waited, in seconds, ascending by that time. So
// the ranks that others wait for are first.
func (x *Timeline) RanksByWait() (ranks []int32, waited []float64) {
	index := map[int32]int{}
	for i, r := range x.Rank {
		k, there := index[r]
		if !there {
			k = len(ranks)
			index[r] = k
			ranks, waited = append(ranks, r), append(waited, 0)
		}
		if job.Activity(x.Does[i]) == job.Waits {
			waited[k] += x.EndS[i] - x.BeginS[i]
		}
	}
	order := make([]int, len(ranks))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case waited[a] < waited[b]:
			return -1
		case waited[a] > waited[b]:
			return 1
		}
		return 0
	})
	ordered, times := make([]int32, len(ranks)), make([]float64, len(ranks))
	for i, k := range order {
		ordered[i], times[i] = ranks[k], waited[k]
	}
	return ordered, times
}
