package measure

import (
	"math"
	"slices"

	"weir/core/outcome"
	"weir/core/unit"
)

// Words of the key by for groups of hosts that the experiment names.
const (
	bySender   = "group"
	byReceiver = "to_group"
)

// grouped is a measure that gives a value for each traffic, or for each group of hosts.
type grouped struct {
	Plain
	by string
}

// Decode reads by. Groups need some, whose names are none of a traffic.
func (m *grouped) Decode(o *Options) {
	if m.by = o.Choose("by", "grouping"); !m.ofGroups() || o.Point.Partial {
		return
	}
	t := o.Node.Get("by")
	if len(o.Point.Groups) == 0 {
		o.Fail(t.Position, "groups: {storage: [h0, h1]} in the experiment", "there are no groups of hosts")
	}
	for _, g := range o.Point.Groups {
		if slices.ContainsFunc(o.Point.Traffic, func(t Traffic) bool { return t.Name == g.Name }) {
			o.Fail(t.Position, "another name for one of them",
				"%s is a group and a traffic, whose values could not be told apart",
				g.Name)
		}
	}
}

// Label tells values by group from those by traffic.
func (m *grouped) Label() string {
	if m.ofGroups() {
		return "by group"
	}
	return ""
}

// ofGroups reports whether values are those of groups.
func (m *grouped) ofGroups() bool { return m.by == bySender || m.by == byReceiver }

// ofGroups is a measure whose groups may be hosts: a limit to traffics is one of the flows that count then.
type ofGroups interface{ ofGroups() bool }

// class is what a measure gives a value for.
type class struct {
	name    string
	traffic int   // −1: a group
	hosts   []int // of a group, ascending
	to      bool  // what comes to these hosts, and not what they send
	sized   bool  // flows of it have a size at some point
}

// classes are those of a measure at the point.
func (m *grouped) classes(e *Evaluation) (out []class) {
	sized := false
	for t := range e.Point.Traffic {
		tr := &e.Point.Traffic[t]
		sized = sized || tr.Sized && e.counts(t)
		if !m.ofGroups() {
			out = append(out, class{name: tr.Name, traffic: t, sized: tr.Sized})
		}
	}
	if m.ofGroups() {
		for _, g := range e.Point.Groups {
			hosts := slices.Clone(g.Hosts)
			slices.Sort(hosts)
			out = append(out, class{name: g.Name, traffic: -1, hosts: hosts, to: m.by == byReceiver, sized: sized})
		}
	}
	return out
}

// counts reports whether an entry that is limited to traffics has one of them.
func (e *Evaluation) counts(traffic int) bool {
	return e.only == nil || slices.Contains(e.only, e.Point.Traffic[traffic].Name)
}

// host is the host of a flow that says in which group it is.
func (c *class) host(e *Evaluation, i int) int {
	if c.to {
		return e.Point.Host(e.Load.Flows[i].Dst)
	}
	return e.Point.Host(e.Load.Flows[i].Src)
}

// has reports whether a flow is of it.
func (c *class) has(e *Evaluation, i int) bool {
	g := e.Load.Flows[i].Group
	if c.traffic >= 0 {
		return g == c.traffic
	}
	if !e.counts(g) {
		return false
	}
	_, is := slices.BinarySearch(c.hosts, c.host(e, i))
	return is
}

// ranks visits the ranks of jobs that are of it, with what their messages have counted.
func (c *class) ranks(e *Evaluation, visit func(job, rank, host int, x *outcome.RankCounters)) {
	for j := range e.Load.Jobs {
		of := &e.Load.Jobs[j]
		if c.traffic >= 0 && of.Group != c.traffic || c.traffic < 0 && !e.counts(of.Group) {
			continue
		}
		all := e.Result.RankCounters(of.Group)
		for r := range all {
			h := e.Point.Host(of.Hosts[r])
			if c.traffic < 0 {
				if _, is := slices.BinarySearch(c.hosts, h); !is {
					continue
				}
			}
			visit(j, r, h, &all[r])
		}
	}
}

// messages are what the messages of jobs that are of it have counted together: those that its ranks send or, of what
// comes to hosts, only how much that is.
func (c *class) messages(e *Evaluation) (sum outcome.RankCounters) {
	sum.Received.DelayMin = unit.Never
	c.ranks(e, func(_, _, _ int, x *outcome.RankCounters) {
		if !c.to {
			sum.Add(x)
			return
		}
		sum.Received.ReceivedBytes += x.Got
	})
	return sum
}

// messages are what those of the job of a traffic have counted together; nothing if it has none.
func (e *Evaluation) messages(t int) outcome.RankCounters {
	c := class{traffic: t}
	return c.messages(e)
}

// undone reports whether it has ranks of a job on an ideal network that is not done: what of their messages has arrived
// is not known.
func (c *class) undone(e *Evaluation) (some bool) {
	if e.Load.Ideal == nil {
		return false
	}
	c.ranks(e, func(j, _, _ int, _ *outcome.RankCounters) { some = some || e.Result.Jobs[j].Left > 0 })
	return some
}

// byHost are the goodputs of a group's hosts, in their order.
func (c *class) byHost(e *Evaluation) []float64 {
	bytes := make([]unit.Bytes, len(c.hosts))
	at := func(h int) int {
		i, _ := slices.BinarySearch(c.hosts, h)
		return i
	}
	for i := range e.Load.Flows {
		if c.has(e, i) {
			bytes[at(c.host(e, i))] += e.Result.Flows[i].Receiver.ReceivedBytes
		}
	}
	c.ranks(e, func(_, _, h int, x *outcome.RankCounters) {
		if c.to {
			bytes[at(h)] += x.Got
		} else {
			bytes[at(h)] += x.Received.ReceivedBytes
		}
	})
	out := make([]float64, len(bytes))
	for i, b := range bytes {
		out[i] = float64(b) * 8 / e.measuredSeconds()
	}
	return out
}

// measuredSeconds is how long was measured: on an ideal network, which has no warm-up, the whole run.
func (e *Evaluation) measuredSeconds() float64 {
	if e.Load.Ideal != nil {
		return e.Result.Time.Seconds()
	}
	return e.seconds
}

// ofClasses adds one number for each class; with sized only for those whose flows have a size.
func (e *Evaluation) ofClasses(all []class, name, unitName string, sized bool, f func(k int) float64) {
	m := Measured{Name: name, Unit: unitName, Groups: []Grouped{}}
	for k := range all {
		if all[k].sized || !sized {
			m.Groups = append(m.Groups, Grouped{Group: all[k].name, Value: f(k)})
		}
	}
	e.Add(m)
}

// slowest is the largest of the means of a group's hosts, whose flows have these values.
func (c *class) slowest(e *Evaluation, value func(i int) (v float64, ok bool)) float64 {
	sum, n := make([]float64, len(c.hosts)), make([]float64, len(c.hosts))
	for i := range e.Load.Flows {
		if !c.has(e, i) {
			continue
		}
		if v, ok := value(i); ok {
			k, _ := slices.BinarySearch(c.hosts, c.host(e, i))
			sum[k], n[k] = sum[k]+v, n[k]+1
		}
	}
	most := math.NaN()
	for k := range sum {
		if m := sum[k] / n[k]; n[k] > 0 && !(most >= m) {
			most = m
		}
	}
	return most
}
