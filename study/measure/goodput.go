package measure

import (
	"math"
	"slices"

	"weir/core/outcome"
	"weir/core/unit"
	"weir/internal/document"
)

// goodput measures the payload that was new to receivers, in bit/s.
type goodput struct {
	grouped
	every unit.Time
}

// ReadOptions reads `by` and `every`.
func (m *goodput) ReadOptions(o *Options) {
	m.grouped.ReadOptions(o)
	m.every = o.ReadEvery()
}

// Check reports an error if goodput over time is not available: on ideal networks, and of jobs by groups.
func (m *goodput) Check(p *Point) (why, allowed string) {
	jobs := slices.ContainsFunc(p.Traffic, func(t Traffic) bool { return t.Job })
	switch {
	case m.every > 0 && p.NoPackets:
		return "every is given, but an ideal network carries no packets whose goodput changes over time",
			"goodput without every"
	case m.every > 0 && m.isByGroup() && jobs:
		return "goodput of jobs over time is available by traffic only", "by: traffic or no every"
	}
	return "", ""
}

// ListNeeds requests samples of the bytes that every flow and job has received, if `every` is given.
func (m *goodput) ListNeeds(_ *Point, load *outcome.Load) Needs {
	return Needs{Watches: watchReceived(load, m.every, -1)}
}

// CountSeries returns the number of series: one for each traffic or group, or one in all (SeriesCounter).
func (m *goodput) CountSeries(e *Evaluation) int {
	if m.by == "all" {
		return 1
	}
	return len(m.listClasses(e))
}

// trafficGoodput returns the goodput of traffic t in bit/s over the measured part (classGoodput).
func (e *Evaluation) trafficGoodput(t int) float64 {
	return e.classGoodput(&class{traffic: t})
}

// classGoodput returns the goodput of a class in bit/s over the measured part, from its flows and its jobs' messages;
// NaN if an unfinished job on an ideal network has ranks in the class.
func (e *Evaluation) classGoodput(c *class) float64 {
	if c.hasUnfinishedJob(e) {
		return math.NaN()
	}
	messages := c.sumMessages(e)
	b := messages.Received.ReceivedBytes
	for i := range e.Load.Flows {
		if c.hasFlow(e, i) {
			b += e.Result.Flows[i].Receiver.ReceivedBytes
		}
	}
	return float64(b) * 8 / e.measuredSeconds()
}

// watchReceived returns watches of the bytes that the flows and the jobs' messages of a traffic receive. A negative
// traffic selects all. Flows come first, then jobs, each in the load's order. Messages on an ideal network are not
// watched. Without every it returns nil.
func watchReceived(load *outcome.Load, every unit.Time, traffic int) (out []outcome.Watch) {
	for i := range load.Flows {
		if every > 0 && (traffic < 0 || load.Flows[i].Group == traffic) {
			out = append(out, outcome.Watch{What: outcome.ReceivedBytes, Index: i, Every: every})
		}
	}
	for i := range load.Jobs {
		if every > 0 && load.Ideal == nil && (traffic < 0 || load.Jobs[i].Group == traffic) {
			out = append(out, outcome.Watch{What: outcome.MessageBytes, Index: i, Every: every})
		}
	}
	return out
}

// goodputInInterval returns the goodput of each traffic in interval k, from 0 and below countIntervals, in bit/s. It
// uses the samples of watchReceived, whose argument traffic must be the same. It is 0 for traffics that are not
// watched.
func (e *Evaluation) goodputInInterval(traffic int, every unit.Time, k int) []float64 {
	out := make([]float64, len(e.Point.Traffic))
	n := 0
	for i := range e.Load.Flows {
		if g := e.Load.Flows[i].Group; traffic < 0 || g == traffic {
			out[g] += float64(e.Samples[n][k+1]-e.Samples[n][k]) * 8 / every.Seconds()
			n++
		}
	}
	for i := range e.Load.Jobs {
		if g := e.Load.Jobs[i].Group; e.Load.Ideal == nil && (traffic < 0 || g == traffic) {
			out[g] += float64(e.Samples[n][k+1]-e.Samples[n][k]) * 8 / every.Seconds()
			n++
		}
	}
	return out
}

// AddValues adds the goodputs, by groups also the slowest host's goodput, and with `every` the series.
func (m *goodput) AddValues(e *Evaluation) {
	all := m.listClasses(e)
	switch {
	case m.by == "traffic":
		e.AddByTraffic("goodput", "bps", e.trafficGoodput)
	case m.isByGroup():
		e.addByClass(all, "goodput", "bps", false, func(k int) float64 { return e.classGoodput(&all[k]) })
		e.addByClass(all, "goodput_slowest", "bps", false, func(k int) float64 {
			if hosts := all[k].goodputByHost(e); len(hosts) > 0 && !all[k].hasUnfinishedJob(e) {
				return slices.Min(hosts)
			}
			return math.NaN()
		})
	default:
		sum := 0.0
		for t := range e.Point.Traffic {
			sum += e.trafficGoodput(t)
		}
		e.Add(Measured{Name: "goodput", Unit: "bps", Value: sum})
	}
	if m.every == 0 {
		return
	}
	if m.isByGroup() {
		m.addGroupSeries(e, all)
		return
	}
	over := make([][]float64, len(e.Point.Traffic))
	var sums []float64
	for k := range e.countIntervals() {
		sum := 0.0
		for t, x := range e.goodputInInterval(-1, m.every, k) {
			over[t] = append(over[t], x)
			sum += x
		}
		sums = append(sums, sum)
	}
	if m.by == "all" {
		e.AddSeries("goodput", "bps", "", m.every, sums)
		return
	}
	for t := range e.Point.Traffic {
		e.AddSeries("goodput", "bps", e.Point.Traffic[t].Name, m.every, over[t])
	}
}

// addGroupSeries adds the goodput of each group over time. Jobs are excluded (Check).
func (m *goodput) addGroupSeries(e *Evaluation, classes []class) {
	for c := range classes {
		var over []float64
		for k := range e.countIntervals() {
			sum := 0.0
			for i := range e.Load.Flows {
				if classes[c].hasFlow(e, i) {
					sum += float64(e.Samples[i][k+1]-e.Samples[i][k]) * 8 / m.every.Seconds()
				}
			}
			over = append(over, sum)
		}
		e.AddSeries("goodput", "bps", classes[c].name, m.every, over)
	}
}

// jainKind returns the kind of Jain's fairness index.
func jainKind() Definition {
	return Definition{Name: "jain",
		Doc: "Jain's index of the goodputs of traffics, flows or senders: (Σx)²/(n·Σx²); with " +
			"every over time too",
		Reads:  "Jain's fairness index of the goodputs: 1 if all are the same, 1/k if one of k gets everything",
		Keys:   []Key{byKey("traffic", "traffic", "flow", "sender"), everyKey("")},
		Better: Higher,
		New:    func() Measure { return &jain{} }}
}

// jain measures the fairness of goodputs.
type jain struct {
	Plain
	by    string
	every unit.Time
}

// ReadOptions reads `by` and `every`.
func (m *jain) ReadOptions(o *Options) {
	m.by = o.ReadChoice("by", "grouping")
	m.every = o.ReadEvery()
}

// ListNeeds requests samples of the bytes that every flow and job has received, if `every` is given.
func (m *jain) ListNeeds(_ *Point, load *outcome.Load) Needs {
	return Needs{Watches: watchReceived(load, m.every, -1)}
}

// CountSeries returns 1: the series of the index (SeriesCounter).
func (*jain) CountSeries(*Evaluation) int { return 1 }

// shares collects received bytes by flow, or by the host that sends the flows.
type shares struct {
	all   []float64
	index map[int]int // a sender's index in all, by node
}

// addFlow adds the bytes x of a flow from node src, or any other quantity: to its sender's share if grouping is
// "sender", else as its own share.
func (s *shares) addFlow(grouping string, src int, x float64) {
	if grouping != "sender" {
		s.all = append(s.all, x)
		return
	}
	if s.index == nil {
		s.index = map[int]int{}
	}
	i, there := s.index[src]
	if !there {
		i = len(s.all)
		s.index[src], s.all = i, append(s.all, 0)
	}
	s.all[i] += x
}

// computeFairness returns Jain's index for each interval, from the samples of watchReceived for all traffics. grouping
// is traffic, flow or sender. It covers the traffics, or the flows that were active throughout the interval, or the
// senders of these flows. It is NaN for an interval in which no byte arrived.
func (e *Evaluation) computeFairness(grouping string, every unit.Time) (out []float64) {
	for k := range e.countIntervals() {
		if grouping == "traffic" {
			out = append(out, jainIndex(e.goodputInInterval(-1, every, k)))
			continue
		}
		var x shares
		begin, end := e.Point.Warmup+unit.Time(k)*every, e.Point.Warmup+unit.Time(k+1)*every
		for i := range e.Load.Flows {
			f, start, fct := &e.Load.Flows[i], e.Result.Flows[i].Start, e.Result.Flows[i].FCT
			if start <= begin && (fct == unit.Never || start+fct >= end) && (f.Stop == 0 || f.Stop >= end) {
				x.addFlow(grouping, e.Point.Host(f.Src), float64(e.Samples[i][k+1]-e.Samples[i][k]))
			}
		}
		out = append(out, jainIndex(x.all))
	}
	return out
}

// AddValues adds Jain's index of the measured part, and with `every` its series.
func (m *jain) AddValues(e *Evaluation) {
	var x shares
	if m.by == "traffic" {
		for t := range e.Point.Traffic {
			x.all = append(x.all, e.trafficGoodput(t))
		}
	} else {
		for i := range e.Result.Flows {
			f, fct := &e.Load.Flows[i], e.Result.Flows[i].FCT
			if fct != unit.Never && f.Start+fct <= e.Point.Warmup || f.Stop > 0 && f.Stop <= e.Point.Warmup {
				continue // the flow ended in the warm-up
			}
			x.addFlow(m.by, e.Point.Host(f.Src), float64(e.Result.Flows[i].Receiver.ReceivedBytes))
		}
	}
	e.Add(Measured{Name: "jain", Value: jainIndex(x.all)})
	if m.every > 0 {
		e.AddSeries("jain", "", "", m.every, e.computeFairness(m.by, m.every))
	}
}

// timeToFairness measures the time until shares become and stay fair.
type timeToFairness struct {
	Plain
	by    string
	every unit.Time
	level float64 // index from which on shares are fair, above 0 up to 1
	after unit.Time
	hold  int
}

// ReadOptions reads `by`, `every`, `index`, `after` and `hold`.
func (m *timeToFairness) ReadOptions(o *Options) {
	m.by = o.ReadChoice("by", "grouping")
	m.every = o.ReadEvery()
	level := o.Node.GetDefault("index")
	if m.level = document.ReadValue(o.Reader, level, unit.ParseShare); !(m.level > 0 && m.level <= 1) &&
		level.Kind == document.Scalar {
		o.Fail(level.Position, "above 0% and up to 100%", "%q is not a valid Jain index", level.Text)
	}
	m.after = o.Point.Warmup
	if t := o.Node.Get("after"); t != nil {
		m.after = o.ReadTime(t, false)
	}
	m.hold = o.ReadHold(m.every, o.Point.End()-m.after)
}

// ListNeeds requests samples of the bytes that every flow and job has received.
func (m *timeToFairness) ListNeeds(_ *Point, load *outcome.Load) Needs {
	return Needs{Watches: watchReceived(load, m.every, -1)}
}

// CountSeries returns 0: only the time is kept, no series (SeriesCounter).
func (*timeToFairness) CountSeries(*Evaluation) int { return 0 }

// AddValues adds the time from `after` until the end of the first of `hold` fair intervals; NaN if there is no such
// time.
func (m *timeToFairness) AddValues(e *Evaluation) {
	seconds := math.NaN()
	if k := findSettledIndex(e.computeFairness(m.by, m.every), e.firstIndexAfter(m.after, m.every), m.hold,
		func(v float64) bool {
			return v >= m.level
		}); k >= 0 {
		seconds = (e.Point.Warmup + unit.Time(k+1)*m.every - m.after).Seconds()
	}
	e.Add(Measured{Name: "time_to_fairness", Unit: "s", Value: seconds})
}
