package measure

import (
	"math"
	"slices"

	"weir/core/outcome"
	"weir/core/unit"
	"weir/internal/document"
)

// goodput is the payload that was new to receivers.
type goodput struct {
	grouped
	every unit.Time
}

// Decode reads by and every.
func (m *goodput) Decode(o *Options) {
	m.grouped.Decode(o)
	m.every = o.Every()
}

// Check refuses what is not known over time.
func (m *goodput) Check(p *Point) (why, allowed string) {
	jobs := slices.ContainsFunc(p.Traffic, func(t Traffic) bool { return t.Job })
	switch {
	case m.every > 0 && p.NoPackets:
		return "goodput over time is of packets, which an ideal network does not carry", "goodput without every"
	case m.every > 0 && m.ofGroups() && jobs:
		return "goodput of jobs over time is by traffic", "by: traffic, or no every"
	}
	return "", ""
}

// Needs is what every flow has received.
func (m *goodput) Needs(_ *Point, load *outcome.Load) Needs {
	return Needs{Watches: received(load, m.every, -1)}
}

// Keeps returns the number of traffics or groups, which have a series each (Keeping).
func (m *goodput) Keeps(e *Evaluation) int {
	if m.by == "all" {
		return 1
	}
	return len(m.classes(e))
}

// goodput is that of a traffic.
func (e *Evaluation) goodput(t int) float64 {
	return e.goodputOf(&class{traffic: t})
}

// goodputOf is that of a class: its flows, and the messages of its jobs.
func (e *Evaluation) goodputOf(c *class) float64 {
	if c.undone(e) {
		return math.NaN()
	}
	messages := c.messages(e)
	b := messages.Received.ReceivedBytes
	for i := range e.Load.Flows {
		if c.has(e, i) {
			b += e.Result.Flows[i].Receiver.ReceivedBytes
		}
	}
	return float64(b) * 8 / e.measuredSeconds()
}

// received watches what the flows and the jobs' messages of a traffic have received, or those of all if traffic is
// negative.
func received(load *outcome.Load, every unit.Time, traffic int) (out []outcome.Watch) {
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

// received gives the goodput of each watched traffic in interval k.
func (e *Evaluation) received(traffic int, every unit.Time, k int) []float64 {
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

// Evaluate adds it.
func (m *goodput) Evaluate(e *Evaluation) {
	all := m.classes(e)
	switch {
	case m.by == "traffic":
		e.ByTraffic("goodput", "bps", e.goodput)
	case m.ofGroups():
		e.ofClasses(all, "goodput", "bps", false, func(k int) float64 { return e.goodputOf(&all[k]) })
		e.ofClasses(all, "goodput_slowest", "bps", false, func(k int) float64 {
			if hosts := all[k].byHost(e); len(hosts) > 0 && !all[k].undone(e) {
				return slices.Min(hosts)
			}
			return math.NaN()
		})
	default:
		sum := 0.0
		for t := range e.Point.Traffic {
			sum += e.goodput(t)
		}
		e.Add(Measured{Name: "goodput", Unit: "bps", Value: sum})
	}
	if m.every == 0 {
		return
	}
	if m.ofGroups() {
		m.overGroups(e, all)
		return
	}
	over := make([][]float64, len(e.Point.Traffic))
	var sums []float64
	for k := range e.intervals() {
		sum := 0.0
		for t, x := range e.received(-1, m.every, k) {
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

// overGroups adds the goodput of groups over time, which jobs have no part in.
func (m *goodput) overGroups(e *Evaluation, all []class) {
	for c := range all {
		var over []float64
		for k := range e.intervals() {
			sum := 0.0
			for i := range e.Load.Flows {
				if all[c].has(e, i) {
					sum += float64(e.Samples[i][k+1]-e.Samples[i][k]) * 8 / m.every.Seconds()
				}
			}
			over = append(over, sum)
		}
		e.AddSeries("goodput", "bps", all[c].name, m.every, over)
	}
}

// jainKind is the index of fairness.
func jainKind() Definition {
	return Definition{Name: "jain",
		Doc: "Jain's index of the goodputs of traffics, flows or senders: (Σx)²/(n·Σx²); with " +
			"every over time too",
		Reads:  "Jain's fairness index of the goodputs: 1 if all are the same, 1/k if one of k gets everything",
		Keys:   []Key{by("traffic", "traffic", "flow", "sender"), every("")},
		Better: Higher,
		New:    func() Measure { return &jain{} }}
}

// jain is the fairness of goodputs.
type jain struct {
	Plain
	by    string
	every unit.Time
}

// Decode reads by and every.
func (m *jain) Decode(o *Options) {
	m.by = o.Choose("by", "grouping")
	m.every = o.Every()
}

// Needs is what every flow has received.
func (m *jain) Needs(_ *Point, load *outcome.Load) Needs {
	return Needs{Watches: received(load, m.every, -1)}
}

// Keeps returns the one series of the index (Keeping).
func (*jain) Keeps(*Evaluation) int { return 1 }

// shares are goodputs of flows, or of hosts that send them.
type shares struct {
	all []float64
	of  map[int]int // a sender's place in all
}

// add counts what a flow from src has received.
func (s *shares) add(by string, src int, x float64) {
	if by != "sender" {
		s.all = append(s.all, x)
		return
	}
	if s.of == nil {
		s.of = map[int]int{}
	}
	i, there := s.of[src]
	if !there {
		i = len(s.all)
		s.of[src], s.all = i, append(s.all, 0)
	}
	s.all[i] += x
}

// fairness is Jain's index in every interval: of the traffics, or of the flows that were
// active throughout the interval, or of their senders.
func (e *Evaluation) fairness(by string, every unit.Time) (out []float64) {
	for k := range e.intervals() {
		if by == "traffic" {
			out = append(out, jainIndex(e.received(-1, every, k)))
			continue
		}
		var x shares
		begin, end := e.Point.Warmup+unit.Time(k)*every, e.Point.Warmup+unit.Time(k+1)*every
		for i := range e.Load.Flows {
			f, start, fct := &e.Load.Flows[i], e.Result.Flows[i].Start, e.Result.Flows[i].FCT
			if start <= begin && (fct == unit.Never || start+fct >= end) && (f.Stop == 0 || f.Stop >= end) {
				x.add(by, e.Point.Host(f.Src), float64(e.Samples[i][k+1]-e.Samples[i][k]))
			}
		}
		out = append(out, jainIndex(x.all))
	}
	return out
}

// Evaluate adds it.
func (m *jain) Evaluate(e *Evaluation) {
	var x shares
	if m.by == "traffic" {
		for t := range e.Point.Traffic {
			x.all = append(x.all, e.goodput(t))
		}
	} else {
		for i := range e.Result.Flows {
			f, fct := &e.Load.Flows[i], e.Result.Flows[i].FCT
			if fct != unit.Never && f.Start+fct <= e.Point.Warmup || f.Stop > 0 && f.Stop <= e.Point.Warmup {
				continue // it ended before anything was measured
			}
			x.add(m.by, e.Point.Host(f.Src), float64(e.Result.Flows[i].Receiver.ReceivedBytes))
		}
	}
	e.Add(Measured{Name: "jain", Value: jainIndex(x.all)})
	if m.every > 0 {
		e.AddSeries("jain", "", "", m.every, e.fairness(m.by, m.every))
	}
}

// timeToFairness is how long it takes until shares are fair and stay so.
type timeToFairness struct {
	Plain
	by    string
	every unit.Time
	level float64 // the index that is fair
	after unit.Time
	hold  int
}

// Decode reads which index is fair, from when on, and how long it must stay so.
func (m *timeToFairness) Decode(o *Options) {
	m.by = o.Choose("by", "grouping")
	m.every = o.Every()
	level := o.Node.Default("index")
	if m.level = document.Read(o.Reader, level, unit.ParseShare); !(m.level > 0 && m.level <= 1) &&
		level.Kind == document.Scalar {
		o.Fail(level.Position, "above 0% up to 100%", "%q is not a Jain index", level.Text)
	}
	m.after = o.Point.Warmup
	if t := o.Node.Get("after"); t != nil {
		m.after = o.Time(t, false)
	}
	m.hold = o.Hold(m.every, o.Point.End()-m.after)
}

// Needs is what every flow has received.
func (m *timeToFairness) Needs(_ *Point, load *outcome.Load) Needs {
	return Needs{Watches: received(load, m.every, -1)}
}

// Keeps returns 0: only the time is kept (Keeping).
func (*timeToFairness) Keeps(*Evaluation) int { return 0 }

// Evaluate adds it.
func (m *timeToFairness) Evaluate(e *Evaluation) {
	at := math.NaN()
	if k := settled(e.fairness(m.by, m.every), e.firstAfter(m.after, m.every), m.hold, func(v float64) bool {
		return v >= m.level
	}); k >= 0 {
		at = (e.Point.Warmup + unit.Time(k+1)*m.every - m.after).Seconds()
	}
	e.Add(Measured{Name: "time_to_fairness", Unit: "s", Value: at})
}
