package measure

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"weir/core/unit"
)

// completion is embedded by the measures of finished flows: fct and slowdown.
type completion struct {
	grouped
	name        string
	percentiles []float64 // above 0, below 100, in the file's order
	bins        int
}

// maxBins limits the rows of a table by flow size.
const maxBins = 1000

// decodeCommon reads `by` and `percentiles`.
func (m *completion) decodeCommon(o *Options) {
	m.grouped.ReadOptions(o)
	m.percentiles = o.ReadPercentiles()
}

// decodeBins reads `bins`, the number of parts into which flows are split by size.
func (m *completion) decodeBins(o *Options) {
	if b := o.Node.Get("bins"); b != nil {
		m.bins = o.ReadInteger(b, 1, maxBins)
	}
}

// Check reports an error if no traffic has flows with a size.
func (m *completion) Check(p *Point) (why, allowed string) {
	if slices.ContainsFunc(p.Traffic, func(t Traffic) bool { return t.Sized }) {
		return "", ""
	}
	return fmt.Sprintf("no traffic of the experiment has a %s, since no flow has an end", m.name), "a traffic with a size"
}

// completedFlow is a finished flow's size and its value: time or slowdown.
type completedFlow struct {
	size  unit.Bytes
	value float64
}

// listCompletions returns the finished flows of a class, sorted by value, then by size. value computes it for flow i
// with the given completion time.
func (e *Evaluation) listCompletions(c *class, value func(i int, fct unit.Time) float64) (out []completedFlow) {
	for i := range e.Load.Flows {
		if f := &e.Load.Flows[i]; e.Result.Flows[i].FCT != unit.Never && c.hasFlow(e, i) {
			out = append(out, completedFlow{f.Size, value(i, e.Result.Flows[i].FCT)})
		}
	}
	sort.Slice(out, func(i, j int) bool {
		a, b := out[i], out[j]
		return a.value < b.value || a.value == b.value && a.size < b.size
	})
	return out
}

// completionValues returns the values of finished flows, in their order.
func completionValues(flows []completedFlow) []float64 {
	out := make([]float64, len(flows))
	for i := range flows {
		out[i] = flows[i].value
	}
	return out
}

// addCommon adds percentiles, distributions and tables by flow size. flows has the finished flows of each class,
// ascending by value.
func (m *completion) addCommon(e *Evaluation, classes []class, unitName string, flows [][]completedFlow) {
	for _, q := range m.percentiles {
		e.addByClass(classes, PercentileName(m.name, q), unitName, true, func(k int) float64 {
			return percentile(completionValues(flows[k]), q)
		})
	}
	for k := range classes {
		if !classes[k].sized {
			continue
		}
		d := Distribution{Name: m.name, Unit: unitName, Group: classes[k].name}
		for _, x := range flows[k] {
			d.Add(x.value, 1)
		}
		e.AddDistribution(d)
		if m.bins > 0 {
			e.Values.Bins = append(e.Values.Bins, m.binBySize(e, &classes[k], unitName, flows[k]))
		}
	}
}

// binBySize splits a class's finished flows by size into bins of equally many flows. If sizes are drawn from a
// distribution its quantiles are the edges, so that all runs have the same bins. Otherwise they are the quantiles of
// the run's own flows.
func (m *completion) binBySize(e *Evaluation, c *class, unitName string, flows []completedFlow) Binned {
	b := Binned{Name: m.name, Unit: unitName, Traffic: c.name, Percentiles: m.percentiles}
	for _, edge := range m.binEdges(e, c) {
		from := unit.Bytes(0)
		if n := len(b.Bins); n > 0 {
			from = unit.Bytes(b.Bins[n-1].ToBytes)
		}
		var in []float64
		for _, x := range flows {
			if x.size > from && x.size <= edge {
				in = append(in, x.value)
			}
		}
		bin := Bin{FromBytes: int64(from), ToBytes: int64(edge), N: len(in), Mean: Number(mean(in)), Percentiles: []Number{}}
		for _, q := range m.percentiles {
			bin.Percentiles = append(bin.Percentiles, Number(percentile(in, q)))
		}
		b.Bins = append(b.Bins, bin)
	}
	return b
}

// binEdges returns the largest size of each bin, ascending. Equal edges are merged, so there may be fewer bins. It is
// nil without flows that have a size.
func (m *completion) binEdges(e *Evaluation, c *class) (out []unit.Bytes) {
	var sizeAt func(share float64) unit.Bytes
	if c.traffic >= 0 && e.Point.Traffic[c.traffic].Sizes != nil {
		sizeAt = e.Point.Traffic[c.traffic].Sizes.SizeAt
	} else {
		var sizes []unit.Bytes
		for i := range e.Load.Flows {
			if e.Load.Flows[i].Size > 0 && c.hasFlow(e, i) {
				sizes = append(sizes, e.Load.Flows[i].Size)
			}
		}
		if len(sizes) == 0 {
			return nil
		}
		sort.Slice(sizes, func(i, j int) bool { return sizes[i] < sizes[j] })
		sizeAt = func(share float64) unit.Bytes { return sizes[max(int(math.Ceil(share*float64(len(sizes))))-1, 0)] }
	}
	for k := 1; k <= m.bins; k++ {
		if edge := sizeAt(float64(k) / float64(m.bins)); len(out) == 0 || edge > out[len(out)-1] {
			out = append(out, edge)
		}
	}
	return out
}

// fct measures flow completion times.
type fct struct {
	completion
	deviation bool
}

// ReadOptions reads `by`, `percentiles`, `bins` and `deviation`.
func (m *fct) ReadOptions(o *Options) {
	m.name = "fct"
	m.decodeCommon(o)
	m.deviation = o.ReadChoice("deviation", "value of deviation") == "true"
	m.decodeBins(o)
}

// AddValues adds mean, maximum, number and percentiles of the completion times, deviations if asked for, by groups the
// slowest host's mean, and with send buffers the times of the last write.
func (m *fct) AddValues(e *Evaluation) {
	classes := m.listClasses(e)
	all := make([][]completedFlow, len(classes))
	for k := range all {
		all[k] = e.listCompletions(&classes[k], func(_ int, fct unit.Time) float64 { return fct.Seconds() })
	}
	e.addByClass(classes, "fct", "s", true, func(k int) float64 { return mean(completionValues(all[k])) })
	e.addByClass(classes, "fct_max", "s", true, func(k int) float64 {
		if n := len(all[k]); n > 0 {
			return all[k][n-1].value
		}
		return math.NaN()
	})
	e.addByClass(classes, "fct_finished", "flows", true, func(k int) float64 { return float64(len(all[k])) })
	m.addCommon(e, classes, "s", all)
	if m.deviation {
		e.addByClass(classes, "fct_sd", "s", true, func(k int) float64 { return standardDeviation(completionValues(all[k])) })
	}
	if m.isByGroup() {
		e.addByClass(classes, "fct_slowest", "s", true, func(k int) float64 {
			return classes[k].maxHostMean(e, func(i int) (float64, bool) {
				return e.Result.Flows[i].FCT.Seconds(), e.Result.Flows[i].FCT != unit.Never
			})
		})
	}
	if e.Point.Buffered && !m.isByGroup() {
		m.addWritten(e)
	}
}

// addWritten adds by traffic the mean time until the application's last write returned, and with `deviation` its
// standard deviation and distribution. Flows without such a time do not count.
func (m *fct) addWritten(e *Evaluation) {
	written := make([][]float64, len(e.Point.Traffic))
	for i := range e.Load.Flows {
		if returned := e.Result.Flows[i].Written; returned != unit.Never {
			written[e.Load.Flows[i].Group] = append(written[e.Load.Flows[i].Group], returned.Seconds())
		}
	}
	e.AddBySizedTraffic("fct_written", "s", func(t int) float64 { return mean(written[t]) })
	if !m.deviation {
		return
	}
	e.AddBySizedTraffic("fct_written_sd", "s", func(t int) float64 { return standardDeviation(written[t]) })
	for t := range written {
		sort.Float64s(written[t])
		if e.Point.Traffic[t].Sized {
			e.AddDistribution(distributionOf("fct_written", "s", e.Point.Traffic[t].Name, written[t]))
		}
	}
}

// slowdown measures the flow completion time divided by the ideal one (Point.IdealFCT).
type slowdown struct{ completion }

// ReadOptions reads `by`, `percentiles` and `bins`.
func (m *slowdown) ReadOptions(o *Options) {
	m.name = "slowdown"
	m.decodeCommon(o)
	m.decodeBins(o)
}

// AddValues adds mean, percentiles, distributions and tables of the slowdowns.
func (m *slowdown) AddValues(e *Evaluation) {
	classes := m.listClasses(e)
	all := make([][]completedFlow, len(classes))
	for k := range all {
		all[k] = e.listCompletions(&classes[k], func(i int,
			fct unit.Time) float64 {
			return fct.Seconds() / e.idealSeconds(i)
		})
	}
	e.addByClass(classes, "slowdown", "", true, func(k int) float64 { return mean(completionValues(all[k])) })
	m.addCommon(e, classes, "", all)
}

// unfinished counts the flows with a size that did not finish. Means of completion times leave these flows out.
type unfinished struct{ grouped }

// AddValues adds the number of unfinished flows of each class.
func (m *unfinished) AddValues(e *Evaluation) {
	classes := m.listClasses(e)
	e.addByClass(classes, "unfinished", "", true, func(k int) float64 {
		n := 0
		for i := range e.Load.Flows {
			if f := &e.Load.Flows[i]; classes[k].hasFlow(e, i) && f.Size > 0 && e.Result.Flows[i].FCT == unit.Never {
				n++
			}
		}
		return float64(n)
	})
}

// fctLast measures how long all flows of a traffic take together.
type fctLast struct{ traffics }

// AddValues adds the time from a traffic's first start until the last byte of all its flows has arrived, and their
// common goodput in that time. Both are NaN if a flow has no size or has not arrived.
func (*fctLast) AddValues(e *Evaluation) {
	took := func(t int) float64 {
		first, last := unit.Never, unit.Time(-1)
		for i := range e.Load.Flows {
			if f := &e.Load.Flows[i]; f.Group == t {
				if f.Size == 0 {
					return math.NaN()
				}
				first, last = min(first, e.Result.Flows[i].Start), max(last, e.Result.Flows[i].Arrived)
			}
		}
		if last < 0 || last == unit.Never {
			return math.NaN()
		}
		return (last - first).Seconds()
	}
	e.AddBySizedTraffic("fct_last", "s", took)
	e.AddBySizedTraffic("incast_goodput", "bps", func(t int) float64 {
		var size unit.Bytes
		for i := range e.Load.Flows {
			if e.Load.Flows[i].Group == t {
				size += e.Load.Flows[i].Size
			}
		}
		return float64(size) * 8 / took(t)
	})
}

// collective measures how long collective operations take.
type collective struct{ traffics }

// ReadOptions reads `by`, and reports an error if no traffic is a collective.
func (m *collective) ReadOptions(o *Options) {
	m.traffics.ReadOptions(o)
	if !slices.ContainsFunc(o.Point.Traffic, func(t Traffic) bool { return t.Collective }) {
		o.Fail(o.At, "a traffic with job: {all_reduce_flows: {…}}",
			"no traffic of the experiment has the job all_reduce_flows")
	}
}

// AddValues adds the time from each collective's start until its last data arrived; NaN if a flow has not arrived.
func (*collective) AddValues(e *Evaluation) {
	m := Measured{Name: "collective", Unit: "s", Groups: []GroupValue{}}
	for t := range e.Point.Traffic {
		tr := &e.Point.Traffic[t]
		if !tr.Collective {
			continue
		}
		last := unit.Time(0)
		for i := range e.Load.Flows {
			if e.Load.Flows[i].Group == t {
				last = max(last, e.Result.Flows[i].Arrived)
			}
		}
		v := (last - tr.Start).Seconds()
		if last == unit.Never {
			v = math.NaN()
		}
		m.Groups = append(m.Groups, GroupValue{Group: tr.Name, Value: v})
	}
	e.Add(m)
}
