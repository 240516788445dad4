package measure

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"weir/core/unit"
)

// completion is what the measures of completed flows share.
type completion struct {
	grouped
	name        string
	percentiles []float64 // ascending in the file's order
	bins        int
}

// mostBins bounds the rows of a table by flow size.
const mostBins = 1000

// decode reads by and percentiles.
func (m *completion) decode(o *Options) {
	m.grouped.Decode(o)
	m.percentiles = o.Percentiles()
}

// decodeBins reads the number of parts into which flows are split by size.
func (m *completion) decodeBins(o *Options) {
	if b := o.Node.Get("bins"); b != nil {
		m.bins = o.Integer(b, 1, mostBins)
	}
}

// Check says that some flows must have a size.
func (m *completion) Check(p *Point) (why, allowed string) {
	if slices.ContainsFunc(p.Traffic, func(t Traffic) bool { return t.Sized }) {
		return "", ""
	}
	return fmt.Sprintf("no traffic of the experiment has a %s: its flows have no end", m.name), "a traffic with a size"
}

// completed is a finished flow's size and a value.
type completed struct {
	size  unit.Bytes
	value float64
}

// completions are a class's finished flows, ascending by the value.
func (e *Evaluation) completions(c *class, value func(i int, fct unit.Time) float64) (out []completed) {
	for i := range e.Load.Flows {
		if f := &e.Load.Flows[i]; e.Result.Flows[i].FCT != unit.Never && c.has(e, i) {
			out = append(out, completed{f.Size, value(i, e.Result.Flows[i].FCT)})
		}
	}
	sort.Slice(out, func(i, j int) bool {
		a, b := out[i], out[j]
		return a.value < b.value || a.value == b.value && a.size < b.size
	})
	return out
}

func values(of []completed) []float64 {
	out := make([]float64, len(of))
	for i := range of {
		out[i] = of[i].value
	}
	return out
}

// add adds what fct and slowdown have in common: percentiles, distribution and
// the table by flow size.
func (m *completion) add(e *Evaluation, of []class, unitName string, all [][]completed) {
	for _, q := range m.percentiles {
		e.ofClasses(of, PercentileName(m.name, q), unitName, true, func(k int) float64 {
			return percentile(values(all[k]), q)
		})
	}
	for k := range of {
		if !of[k].sized {
			continue
		}
		d := Distribution{Name: m.name, Unit: unitName, Group: of[k].name}
		for _, x := range all[k] {
			d.Add(x.value, 1)
		}
		e.AddDistribution(d)
		if m.bins > 0 {
			e.Values.Bins = append(e.Values.Bins, m.binned(e, &of[k], unitName, all[k]))
		}
	}
}

// binned splits a class's flows by size into bins of equally many flows. The bins are those
// of the distribution that sizes are drawn from, so that they are the same in all runs; without
// one they are those of the run's own flows.
func (m *completion) binned(e *Evaluation, c *class, unitName string, all []completed) Binned {
	b := Binned{Name: m.name, Unit: unitName, Traffic: c.name, Percentiles: m.percentiles}
	for _, edge := range m.edges(e, c) {
		from := unit.Bytes(0)
		if n := len(b.Bins); n > 0 {
			from = unit.Bytes(b.Bins[n-1].ToBytes)
		}
		var in []float64
		for _, x := range all {
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

// edges are the bins' largest sizes, ascending.
func (m *completion) edges(e *Evaluation, c *class) (out []unit.Bytes) {
	var of func(share float64) unit.Bytes
	if c.traffic >= 0 && e.Point.Traffic[c.traffic].Sizes != nil {
		of = e.Point.Traffic[c.traffic].Sizes.Size
	} else {
		var sizes []unit.Bytes
		for i := range e.Load.Flows {
			if e.Load.Flows[i].Size > 0 && c.has(e, i) {
				sizes = append(sizes, e.Load.Flows[i].Size)
			}
		}
		if len(sizes) == 0 {
			return nil
		}
		sort.Slice(sizes, func(i, j int) bool { return sizes[i] < sizes[j] })
		of = func(share float64) unit.Bytes { return sizes[max(int(math.Ceil(share*float64(len(sizes))))-1, 0)] }
	}
	for k := 1; k <= m.bins; k++ {
		if edge := of(float64(k) / float64(m.bins)); len(out) == 0 || edge > out[len(out)-1] {
			out = append(out, edge)
		}
	}
	return out
}

// fct is the flow completion time.
type fct struct {
	completion
	deviation bool
}

// Decode reads percentiles, bins and deviation.
func (m *fct) Decode(o *Options) {
	m.name = "fct"
	m.decode(o)
	m.deviation = o.Choose("deviation", "answer") == "true"
	m.decodeBins(o)
}

// Evaluate adds it.
func (m *fct) Evaluate(e *Evaluation) {
	of := m.classes(e)
	all := make([][]completed, len(of))
	for k := range all {
		all[k] = e.completions(&of[k], func(_ int, fct unit.Time) float64 { return fct.Seconds() })
	}
	e.ofClasses(of, "fct", "s", true, func(k int) float64 { return mean(values(all[k])) })
	e.ofClasses(of, "fct_max", "s", true, func(k int) float64 {
		if n := len(all[k]); n > 0 {
			return all[k][n-1].value
		}
		return math.NaN()
	})
	e.ofClasses(of, "fct_finished", "flows", true, func(k int) float64 { return float64(len(all[k])) })
	m.add(e, of, "s", all)
	if m.deviation {
		e.ofClasses(of, "fct_sd", "s", true, func(k int) float64 { return deviation(values(all[k])) })
	}
	if m.ofGroups() {
		e.ofClasses(of, "fct_slowest", "s", true, func(k int) float64 {
			return of[k].slowest(e, func(i int) (float64, bool) {
				return e.Result.Flows[i].FCT.Seconds(), e.Result.Flows[i].FCT != unit.Never
			})
		})
	}
	if e.Point.Buffered && !m.ofGroups() {
		m.written(e)
	}
}

// written adds when writes of applications return, by traffic.
func (m *fct) written(e *Evaluation) {
	written := make([][]float64, len(e.Point.Traffic))
	for i := range e.Load.Flows {
		if at := e.Result.Flows[i].Written; at != unit.Never {
			written[e.Load.Flows[i].Group] = append(written[e.Load.Flows[i].Group], at.Seconds())
		}
	}
	e.OfSized("fct_written", "s", func(t int) float64 { return mean(written[t]) })
	if !m.deviation {
		return
	}
	e.OfSized("fct_written_sd", "s", func(t int) float64 { return deviation(written[t]) })
	for t := range written {
		sort.Float64s(written[t])
		if e.Point.Traffic[t].Sized {
			e.AddDistribution(distributionOf("fct_written", "s", e.Point.Traffic[t].Name, written[t]))
		}
	}
}

// slowdown is the flow completion time divided by that of the flow alone.
type slowdown struct{ completion }

// Decode reads percentiles and bins.
func (m *slowdown) Decode(o *Options) {
	m.name = "slowdown"
	m.decode(o)
	m.decodeBins(o)
}

// Evaluate adds it.
func (m *slowdown) Evaluate(e *Evaluation) {
	of := m.classes(e)
	all := make([][]completed, len(of))
	for k := range all {
		all[k] = e.completions(&of[k], func(i int, fct unit.Time) float64 { return fct.Seconds() / e.ideal(i) })
	}
	e.ofClasses(of, "slowdown", "", true, func(k int) float64 { return mean(values(all[k])) })
	m.add(e, of, "", all)
}

// unfinished is how many flows did not reach their end: means of completion times leave them out.
type unfinished struct{ grouped }

// Evaluate adds it.
func (m *unfinished) Evaluate(e *Evaluation) {
	of := m.classes(e)
	e.ofClasses(of, "unfinished", "", true, func(k int) float64 {
		n := 0
		for i := range e.Load.Flows {
			if f := &e.Load.Flows[i]; of[k].has(e, i) && f.Size > 0 && e.Result.Flows[i].FCT == unit.Never {
				n++
			}
		}
		return float64(n)
	})
}

// fctLast is how long a traffic's flows take together.
type fctLast struct{ traffics }

// Evaluate adds how long a traffic's flows took together, from the first start until the last
// byte of all has arrived, and their common goodput in that time.
func (*fctLast) Evaluate(e *Evaluation) {
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
	e.OfSized("fct_last", "s", took)
	e.OfSized("incast_goodput", "bps", func(t int) float64 {
		var size unit.Bytes
		for i := range e.Load.Flows {
			if e.Load.Flows[i].Group == t {
				size += e.Load.Flows[i].Size
			}
		}
		return float64(size) * 8 / took(t)
	})
}

// collective is how long collectives take.
type collective struct{ traffics }

// Decode reads by, and checks that there is one.
func (m *collective) Decode(o *Options) {
	m.traffics.Decode(o)
	if !slices.ContainsFunc(o.Point.Traffic, func(t Traffic) bool { return t.Collective }) {
		o.Fail(o.At, "a traffic with job: {all_reduce_flows: {…}}", "no traffic of the experiment is a collective")
	}
}

// Evaluate adds when the last data of each collective arrived; not a number if some did not.
func (*collective) Evaluate(e *Evaluation) {
	m := Measured{Name: "collective", Unit: "s", Groups: []Grouped{}}
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
		m.Groups = append(m.Groups, Grouped{Group: tr.Name, Value: v})
	}
	e.Add(m)
}
