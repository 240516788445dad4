package measure

import (
	"math"
	"slices"

	"weir/core/outcome"
	"weir/core/unit"
)

// Words of the key `by` for the groups of hosts that the experiment names.
const (
	bySender   = "group"
	byReceiver = "to_group"
)

// grouped is embedded by measures that give one value for each traffic, or for each group of hosts.
type grouped struct {
	Plain
	by string
}

// ReadOptions reads `by`. By groups it reports an error if the experiment has no group, or if a group has a traffic's
// name.
func (m *grouped) ReadOptions(o *Options) {
	if m.by = o.ReadChoice("by", "grouping"); !m.isByGroup() || o.Point.Partial {
		return
	}
	t := o.Node.Get("by")
	if len(o.Point.Groups) == 0 {
		o.Fail(t.Position, "groups in the experiment, such as groups: {storage: [h0, h1]}",
			"the experiment has no groups of hosts")
	}
	for _, g := range o.Point.Groups {
		if slices.ContainsFunc(o.Point.Traffic, func(t Traffic) bool { return t.Name == g.Name }) {
			o.Fail(t.Position, "another name for the group or the traffic",
				"%s is the name of both a group and a traffic, so their values have the same name",
				g.Name)
		}
	}
}

// Label returns "by group" if values are by groups of hosts, and "" if they are by traffic.
func (m *grouped) Label() string {
	if m.isByGroup() {
		return "by group"
	}
	return ""
}

// isByGroup reports whether the measure gives its values by groups of hosts.
func (m *grouped) isByGroup() bool { return m.by == bySender || m.by == byReceiver }

// hostGrouper is a measure that can give values by groups of hosts. Then the key `traffic` selects the flows that
// count, not the groups that are shown.
type hostGrouper interface{ isByGroup() bool }

// class is one traffic, or one group of hosts, for which a measure gives a value.
type class struct {
	name      string
	traffic   int   // index of the traffic; −1: a group of hosts
	hosts     []int // nodes of the group, ascending
	receiving bool  // what these hosts receive counts; false: what they send
	sized     bool  // its flows have a size at some point
}

// listClasses returns the traffics, or the groups of hosts, for which the measure gives values at the point.
func (m *grouped) listClasses(e *Evaluation) (out []class) {
	sized := false
	for t := range e.Point.Traffic {
		tr := &e.Point.Traffic[t]
		sized = sized || tr.Sized && e.countsTraffic(t)
		if !m.isByGroup() {
			out = append(out, class{name: tr.Name, traffic: t, sized: tr.Sized})
		}
	}
	if m.isByGroup() {
		for _, g := range e.Point.Groups {
			hosts := slices.Clone(g.Hosts)
			slices.Sort(hosts)
			out = append(out, class{name: g.Name, traffic: -1, hosts: hosts, receiving: m.by == byReceiver, sized: sized})
		}
	}
	return out
}

// countsTraffic reports whether the flows of a traffic count for the entry that is being evaluated, by its key
// `traffic`; true without the key.
func (e *Evaluation) countsTraffic(traffic int) bool {
	return e.onlyTraffics == nil || slices.Contains(e.onlyTraffics, e.Point.Traffic[traffic].Name)
}

// flowHost returns the node that decides whether flow i is in the group of hosts c: its receiver's or its sender's. It
// is the host, not the NIC.
func (c *class) flowHost(e *Evaluation, i int) int {
	if c.receiving {
		return e.Point.Host(e.Load.Flows[i].Dst)
	}
	return e.Point.Host(e.Load.Flows[i].Src)
}

// hasFlow reports whether flow i belongs to the class.
func (c *class) hasFlow(e *Evaluation, i int) bool {
	g := e.Load.Flows[i].Group
	if c.traffic >= 0 {
		return g == c.traffic
	}
	if !e.countsTraffic(g) {
		return false
	}
	_, is := slices.BinarySearch(c.hosts, c.flowHost(e, i))
	return is
}

// visitRanks calls visit for each rank of a job that belongs to the class, with the rank's node and the counters of its
// messages. Parameter job of visit is an index in Load.Jobs.
func (c *class) visitRanks(e *Evaluation, visit func(job, rank, host int, x *outcome.RankCounters)) {
	for j := range e.Load.Jobs {
		assigned := &e.Load.Jobs[j]
		if c.traffic >= 0 && assigned.Group != c.traffic || c.traffic < 0 && !e.countsTraffic(assigned.Group) {
			continue
		}
		all := e.Result.RankCounters(assigned.Group)
		for r := range all {
			h := e.Point.Host(assigned.Hosts[r])
			if c.traffic < 0 {
				if _, is := slices.BinarySearch(c.hosts, h); !is {
					continue
				}
			}
			visit(j, r, h, &all[r])
		}
	}
}

// sumMessages returns the sum of the message counters of the class's ranks. If the class is what hosts receive, only
// Received.ReceivedBytes is set.
func (c *class) sumMessages(e *Evaluation) (sum outcome.RankCounters) {
	sum.Received.DelayMin = unit.Never
	c.visitRanks(e, func(_, _, _ int, x *outcome.RankCounters) {
		if !c.receiving {
			sum.Add(x)
			return
		}
		sum.Received.ReceivedBytes += x.Got
	})
	return sum
}

// sumTrafficMessages returns the sum of the message counters of a traffic's job; zeros if the traffic is no job.
func (e *Evaluation) sumTrafficMessages(t int) outcome.RankCounters {
	c := class{traffic: t}
	return c.sumMessages(e)
}

// hasUnfinishedJob reports whether the class has ranks of an unfinished job on an ideal network. The bytes that such a
// job's messages have delivered are unknown.
func (c *class) hasUnfinishedJob(e *Evaluation) (some bool) {
	if e.Load.Ideal == nil {
		return false
	}
	c.visitRanks(e, func(j, _, _ int, _ *outcome.RankCounters) { some = some || e.Result.Jobs[j].Left > 0 })
	return some
}

// goodputByHost returns the goodput of each host in bit/s, in the order of c.hosts, over the measured part. The class
// must be a group of hosts.
func (c *class) goodputByHost(e *Evaluation) []float64 {
	bytes := make([]unit.Bytes, len(c.hosts))
	hostIndex := func(h int) int {
		i, _ := slices.BinarySearch(c.hosts, h)
		return i
	}
	for i := range e.Load.Flows {
		if c.hasFlow(e, i) {
			bytes[hostIndex(c.flowHost(e, i))] += e.Result.Flows[i].Receiver.ReceivedBytes
		}
	}
	c.visitRanks(e, func(_, _, h int, x *outcome.RankCounters) {
		if c.receiving {
			bytes[hostIndex(h)] += x.Got
		} else {
			bytes[hostIndex(h)] += x.Received.ReceivedBytes
		}
	})
	out := make([]float64, len(bytes))
	for i, b := range bytes {
		out[i] = float64(b) * 8 / e.measuredSeconds()
	}
	return out
}

// measuredSeconds returns the length of the measured part in seconds. An ideal network has no warm-up, so there it is
// the whole run.
func (e *Evaluation) measuredSeconds() float64 {
	if e.Load.Ideal != nil {
		return e.Result.Time.Seconds()
	}
	return e.seconds
}

// addByClass adds a measure that has the number f(k) for each class k. If sized is set, classes without sized flows
// are left out.
func (e *Evaluation) addByClass(classes []class, name, unitName string, sized bool, f func(k int) float64) {
	m := Measured{Name: name, Unit: unitName, Groups: []GroupValue{}}
	for k := range classes {
		if classes[k].sized || !sized {
			m.Groups = append(m.Groups, GroupValue{Group: classes[k].name, Value: f(k)})
		}
	}
	e.Add(m)
}

// maxHostMean returns the largest of the hosts' means of value(i) over their flows i; NaN without a value. Flows for
// which value returns false do not count. The class must be a group of hosts.
func (c *class) maxHostMean(e *Evaluation, value func(i int) (v float64, ok bool)) float64 {
	sum, n := make([]float64, len(c.hosts)), make([]float64, len(c.hosts))
	for i := range e.Load.Flows {
		if !c.hasFlow(e, i) {
			continue
		}
		if v, ok := value(i); ok {
			k, _ := slices.BinarySearch(c.hosts, c.flowHost(e, i))
			sum[k], n[k] = sum[k]+v, n[k]+1
		}
	}
	largest := math.NaN()
	for k := range sum {
		if m := sum[k] / n[k]; n[k] > 0 && !(largest >= m) {
			largest = m
		}
	}
	return largest
}
