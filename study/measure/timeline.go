package measure

import (
	"fmt"
	"slices"

	"weir/core/jobs/job"
	"weir/core/outcome"
	"weir/core/unit"
	"weir/internal/document"
)

// timelineKind is the kind of measures that keep what ranks of jobs do when.
func timelineKind() Definition {
	host := document.Value("host, group or pattern")
	return Definition{Name: "timeline",
		Doc: "what each rank of a job does when, for plots of kind timeline and for tables of " +
			"their own: it computes, communicates, does both, or waits, by iteration and collective operation; how many such " +
			"parts are kept, and how many operations there was no room for (timeline_left)",
		Keys: []Key{limit(), {Name: "hosts", Form: document.AnyOf("host, group, pattern, or list of them", host,
			document.ListOf(host, "")), Doc: "whose ranks are kept", Without: "all"},
			when("from", "when it begins", "the job's start"), when("until", "when it ends", "the end"),
			{Name: "most", Form: document.Value("number"), Doc: "parts of the ranks' time that are kept of a job: what " +
				"comes after is left out, and plots say so", Default: "50000", Source: "ours"}},
		Also: map[string]Better{"timeline_left": Lower}, New: func() Measure { return &timeline{} },
		Ideal: true}
}

// mostStretches bounds what a run keeps of a job.
const mostStretches = 10000000

// timeline keeps what ranks do.
type timeline struct {
	Plain
	hosts       []int // nil: all
	from, until unit.Time
	most        int
	at          document.Position // of hosts
}

// Line is what of a job's ranks a run is to keep.
type Line struct {
	Job         int   // index in outcome.Load.Jobs
	Ranks       []int // nil: all
	From, Until unit.Time
	Most        int
}

// timeline begins to keep it.
func (l *Line) timeline(load *outcome.Load) {
	t := job.NewTimeline(load.Jobs[l.Job].Program, l.Ranks)
	t.From, t.Until, t.Most = l.From, l.Until, l.Most
	load.Jobs[l.Job].Timeline = t
}

// Decode reads whose time is kept, and how much of it.
func (m *timeline) Decode(o *Options) {
	if t := o.Node.Get("hosts"); t != nil && o.Point.HostsOf != nil {
		m.at = t.Position
		m.hosts = append([]int{}, o.Point.HostsOf(t)...)
	}
	if t := o.Node.Get("from"); t != nil {
		m.from = o.runTime(t)
	}
	if t := o.Node.Get("until"); t != nil {
		if m.until = o.runTime(t); o.OK() && m.until <= m.from {
			o.Fail(t.Position, "a time after "+m.from.String(), "until %s nothing is kept", t.Text)
		}
	}
	m.most = o.Integer(o.Node.Default("most"), 1, mostStretches)
}

// runTime reads a time of the run, with its warm-up: jobs are measured as a whole.
func (o *Options) runTime(t *document.Node) unit.Time {
	at, ok := document.ReadOK(o.Reader, t, unit.ParseTime)
	if ok && (at < 0 || at > o.Point.End()) {
		o.Fail(t.Position, "from 0s up to "+o.Point.End().String(), "%q is not within the run", t.Text)
	}
	return at
}

// Check says that there must be a job, with a rank at one of the hosts.
func (m *timeline) Check(p *Point) (why, allowed string) {
	if why, allowed = (*jobs)(nil).Check(p); why != "" || m.hosts == nil {
		return why, allowed
	}
	for i := range p.Traffic {
		if slices.ContainsFunc(p.Traffic[i].Ranks, func(h int) bool { return slices.Contains(m.hosts, h) }) {
			return "", ""
		}
	}
	return "no job has a rank at one of these hosts", "hosts of a job"
}

// Needs are the ranks of each job that are at these hosts.
func (m *timeline) Needs(p *Point, load *outcome.Load) (n Needs) {
	for i := range load.Jobs {
		l := Line{Job: i, From: m.from, Until: m.until, Most: m.most}
		if m.hosts != nil {
			l.Ranks = []int{}
			for r, h := range load.Jobs[i].Hosts {
				if slices.Contains(m.hosts, p.Host(h)) {
					l.Ranks = append(l.Ranks, r)
				}
			}
		}
		n.Lines = append(n.Lines, l)
	}
	return n
}

// Lab says that there are no jobs.
func (*timeline) Lab(*Point) string { return "hosts of the lab carry out no jobs" }

// Evaluate adds what was kept. Of an entry that names traffics, others have none.
func (m *timeline) Evaluate(e *Evaluation) {
	kept, left := Measured{Name: "timeline", Groups: []Grouped{}}, Measured{Name: "timeline_left", Groups: []Grouped{}}
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
			x.fill(j.Timeline, o, e.Point.Traffic[j.Group].Start)
		}
		e.Values.Timelines = append(e.Values.Timelines, x)
		kept.Groups = append(kept.Groups, Grouped{Group: name, Value: float64(len(x.Does))})
		left.Groups = append(left.Groups, Grouped{Group: name, Value: float64(x.LeftOut)})
	}
	e.Add(kept)
	e.Add(left)
}

// Timeline is what ranks of a job did, column by column, in the order of ranks and of time.
type Timeline struct {
	Traffic   string    `json:"traffic"`
	Hosts     []string  `json:"hosts"` // by rank
	Rank      []int32   `json:"rank"`
	Iteration []int32   `json:"iteration"` // from 0; −1: the job has none
	Operation []int32   `json:"operation"` // collective operation, from 0; −1: none
	Does      []int8    `json:"does"`      // index in job.Doings
	BeginS    []float64 `json:"begin_s"`
	EndS      []float64 `json:"end_s"`
	// LeftOut is how many operations of ranks had no room, all of which began at CutS or later.
	LeftOut int64   `json:"left_out"`
	CutS    float64 `json:"cut_s"`
}

// fill has what was kept.
func (x *Timeline) fill(t *job.Timeline, o *job.Outcome, start unit.Time) {
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

// Check reports whether the columns belong together.
func (x *Timeline) Check() error {
	n := len(x.Does)
	for _, l := range []int{len(x.Rank), len(x.Iteration), len(x.Operation), len(x.BeginS), len(x.EndS)} {
		if l != n {
			return fmt.Errorf("the timeline of %s has columns of %d and of %d rows", x.Traffic, n, l)
		}
	}
	for i := range n {
		if r := x.Rank[i]; r < 0 || int(r) >= len(x.Hosts) || x.Does[i] < 0 || int(x.Does[i]) >= len(job.Doings()) {
			return fmt.Errorf("row %d of the timeline of %s is of no rank, or of nothing that ranks do", i, x.Traffic)
		}
	}
	return nil
}

// Ranks are those that it has, each with how long it waited: first those that others wait for, which wait least.
func (x *Timeline) Ranks() (ranks []int32, waited []float64) {
	at := map[int32]int{}
	for i, r := range x.Rank {
		k, there := at[r]
		if !there {
			k = len(ranks)
			at[r] = k
			ranks, waited = append(ranks, r), append(waited, 0)
		}
		if job.Doing(x.Does[i]) == job.Waits {
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
