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
	traffics
	name        string
	percentiles []float64 // ascending in the file's order
	bins        int
}

// mostBins bounds the rows of a table by flow size.
const mostBins = 1000

// decode reads by and percentiles.
func (m *completion) decode(o *Options) {
	m.traffics.Decode(o)
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

// completions are a traffic's finished flows, ascending by the value.
func (e *Evaluation) completions(t int, value func(i int, fct unit.Time) float64) (out []completed) {
	for i := range e.Config.Flows {
		if f := &e.Config.Flows[i]; f.Group == t && e.Result.Flows[i].FCT != unit.Never {
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
func (m *completion) add(e *Evaluation, unitName string, all [][]completed) {
	for _, q := range m.percentiles {
		e.OfSized(PercentileName(m.name, q), unitName, func(t int) float64 { return percentile(values(all[t]), q) })
	}
	for t := range e.Point.Traffic {
		if !e.Point.Traffic[t].Sized {
			continue
		}
		d := Distribution{Name: m.name, Unit: unitName, Group: e.Point.Traffic[t].Name}
		for _, x := range all[t] {
			d.Add(x.value, 1)
		}
		e.AddDistribution(d)
		if m.bins > 0 {
			e.Values.Bins = append(e.Values.Bins, m.binned(e, t, unitName, all[t]))
		}
	}
}

// binned splits a traffic's flows by size into bins of equally many flows. The bins are those
// of the distribution that sizes are drawn from, so that they are the same in all runs; without
// one they are those of the run's own flows.
func (m *completion) binned(e *Evaluation, t int, unitName string, all []completed) Binned {
	b := Binned{Name: m.name, Unit: unitName, Traffic: e.Point.Traffic[t].Name, Percentiles: m.percentiles}
	for _, edge := range m.edges(e, t) {
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
func (m *completion) edges(e *Evaluation, t int) (out []unit.Bytes) {
	var of func(share float64) unit.Bytes
	if sizes := e.Point.Traffic[t].Sizes; sizes != nil {
		of = func(share float64) unit.Bytes { return sizes.Size(share) }
	} else {
		var sizes []unit.Bytes
		for i := range e.Config.Flows {
			if e.Config.Flows[i].Group == t && e.Config.Flows[i].Size > 0 {
				sizes = append(sizes, e.Config.Flows[i].Size)
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
	all := make([][]completed, len(e.Point.Traffic))
	for t := range all {
		all[t] = e.completions(t, func(_ int, fct unit.Time) float64 { return fct.Seconds() })
	}
	e.OfSized("fct", "s", func(t int) float64 { return mean(values(all[t])) })
	e.OfSized("fct_max", "s", func(t int) float64 {
		if n := len(all[t]); n > 0 {
			return all[t][n-1].value
		}
		return math.NaN()
	})
	e.OfSized("fct_finished", "flows", func(t int) float64 { return float64(len(all[t])) })
	m.add(e, "s", all)
	if m.deviation {
		e.OfSized("fct_sd", "s", func(t int) float64 { return deviation(values(all[t])) })
	}
	if !e.Point.Buffered {
		return
	}
	written := make([][]float64, len(e.Point.Traffic))
	for i := range e.Config.Flows {
		if at := e.Result.Flows[i].Written; at != unit.Never {
			written[e.Config.Flows[i].Group] = append(written[e.Config.Flows[i].Group], at.Seconds())
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
	all := make([][]completed, len(e.Point.Traffic))
	for t := range all {
		all[t] = e.completions(t, func(i int, fct unit.Time) float64 { return fct.Seconds() / e.ideal(i) })
	}
	e.OfSized("slowdown", "", func(t int) float64 { return mean(values(all[t])) })
	m.add(e, "", all)
}

// unfinished is how many flows did not reach their end: means of completion times leave them out.
type unfinished struct{ traffics }

// Evaluate adds it.
func (*unfinished) Evaluate(e *Evaluation) {
	e.OfSized("unfinished", "", func(t int) float64 {
		n := 0
		for i := range e.Config.Flows {
			if f := &e.Config.Flows[i]; f.Group == t && f.Size > 0 && e.Result.Flows[i].FCT == unit.Never {
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
		for i := range e.Config.Flows {
			if f := &e.Config.Flows[i]; f.Group == t {
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
		for i := range e.Config.Flows {
			if e.Config.Flows[i].Group == t {
				size += e.Config.Flows[i].Size
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
		o.Fail(o.At, "a traffic with collective: ring, or tree", "no traffic of the experiment is a collective")
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
		for i := range e.Config.Flows {
			if e.Config.Flows[i].Group == t {
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
