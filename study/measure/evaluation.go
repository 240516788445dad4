package measure

import (
	"math"
	"sort"

	"weir/core/outcome"
	"weir/core/transport"
	"weir/core/unit"
)

// Evaluation is what measures are evaluated from: a run's result at a point. They add to its Values.
type Evaluation struct {
	Point   *Point
	Load    *outcome.Load
	Result  *outcome.Result
	Samples [][]int64             // of the measure's watches
	Onsets  []outcome.OnsetResult // of the measure's onsets
	Values  *Values               // what was added so far

	seconds float64 // of the measured part
	list    List
	only    []string // traffics whose flows count in groups of hosts; nil: all
}

// Add appends a measure. If one of its name is there already, of another port, its groups join that one.
func (e *Evaluation) Add(m Measured) {
	for i := range e.Values.Measures {
		if e.Values.Measures[i].Name == m.Name {
			e.Values.Measures[i].Groups = append(e.Values.Measures[i].Groups, m.Groups...)
			return
		}
	}
	e.Values.Measures = append(e.Values.Measures, m)
}

// ByTraffic adds one number for each traffic.
func (e *Evaluation) ByTraffic(name, unitName string, f func(t int) float64) {
	m := Measured{Name: name, Unit: unitName}
	for t := range e.Point.Traffic {
		m.Groups = append(m.Groups, Grouped{Group: e.Point.Traffic[t].Name, Value: f(t)})
	}
	e.Add(m)
}

// OfSized adds one number for each traffic whose flows have a size at some point.
func (e *Evaluation) OfSized(name, unitName string, f func(t int) float64) {
	m := Measured{Name: name, Unit: unitName, Groups: []Grouped{}}
	for t := range e.Point.Traffic {
		if e.Point.Traffic[t].Sized {
			m.Groups = append(m.Groups, Grouped{Group: e.Point.Traffic[t].Name, Value: f(t)})
		}
	}
	e.Add(m)
}

// AddSeries adds a quantity over time, whose values begin with the measured part.
func (e *Evaluation) AddSeries(name, unitName, group string, every unit.Time, values []float64) {
	s := Series{Name: name, Unit: unitName, Group: group, StartS: e.Point.Warmup.Seconds(), StepS: every.Seconds(),
		Values: []Number{}}
	for _, v := range values {
		s.Values = append(s.Values, Number(v))
	}
	e.Values.Series = append(e.Values.Series, s)
}

// AddDistribution adds how often a quantity had each of its values.
func (e *Evaluation) AddDistribution(d Distribution) {
	e.Values.Distributions = append(e.Values.Distributions, d)
}

// AddHistogram adds how many of a port's samples in bytes there are in each kB.
func (e *Evaluation) AddHistogram(name, port string, bytes []int64) {
	h := Histogram{Name: name, Unit: "kB", Group: port, Counts: []uint64{}}
	for _, b := range bytes {
		h.add(b)
	}
	e.Values.Histograms = append(e.Values.Histograms, h)
}

// Each calls f for each of a traffic's flows.
func (e *Evaluation) Each(t int, f func(s *transport.Sent, r *transport.Received, fct unit.Time)) {
	for i := range e.Load.Flows {
		if e.Load.Flows[i].Group == t {
			f(&e.Result.Flows[i].Sender, &e.Result.Flows[i].Receiver, e.Result.Flows[i].FCT)
		}
	}
}

// intervals is how many intervals the watched flows have.
func (e *Evaluation) intervals() int {
	if len(e.Samples) == 0 {
		return 0
	}
	return max(len(e.Samples[0])-1, 0)
}

// settled is the index of the first of hold consecutive values, from index from on, that are
// all good; −1 if there are none.
func settled(values []float64, from, hold int, good func(v float64) bool) int {
	run := 0
	for k := from; k < len(values); k++ {
		if run++; !good(values[k]) {
			run = 0
		}
		if run == hold {
			return k - hold + 1
		}
	}
	return -1
}

// firstAfter is the index of the first sample, or interval, at or after a time.
func (e *Evaluation) firstAfter(after, every unit.Time) int {
	return int((after - e.Point.Warmup + every - 1) / every)
}

// lengths adds the mean, the largest, the percentiles and the distribution of samples.
func (e *Evaluation) lengths(name, label, unitName string, percentiles []float64, all []float64) {
	sort.Float64s(all)
	most := math.NaN()
	if n := len(all); n > 0 {
		most = all[n-1]
	}
	prefix, same := "", 0
	for _, other := range e.list {
		if other.Name == name {
			same++
		}
	}
	if same > 1 { // a port's name stands before its groups
		prefix = label + " "
	}
	groups := []Grouped{{Group: prefix + "mean", Value: mean(all)}, {Group: prefix + "max", Value: most}}
	for _, q := range percentiles {
		groups = append(groups, Grouped{Group: prefix + percentileGroup(q), Value: percentile(all, q)})
	}
	e.Add(Measured{Name: name, Unit: unitName, Groups: groups})
	d := Distribution{Name: name, Unit: unitName, Group: label}
	for _, v := range all {
		d.Add(v, 1)
	}
	e.AddDistribution(d)
}

// flowTable makes the table of a run. Counters are those of the measured part.
func (e *Evaluation) flowTable() *FlowTable {
	t := newFlowTable(len(e.Load.Flows))
	index := map[string]int32{}
	name := func(s string) int32 {
		i, ok := index[s]
		if !ok {
			i = int32(len(t.Names))
			index[s] = i
			t.Names = append(t.Names, s)
		}
		return i
	}
	for i := range e.Load.Flows {
		f, r := &e.Load.Flows[i], &e.Result.Flows[i]
		start, fct, ideal := math.NaN(), math.NaN(), math.NaN()
		if r.Start != unit.Never {
			start = r.Start.Seconds()
		}
		if r.FCT != unit.Never {
			fct = r.FCT.Seconds()
		}
		if f.Size > 0 {
			ideal = e.ideal(i)
		}
		t.Traffic = append(t.Traffic, name(e.Point.Traffic[f.Group].Name))
		t.Src = append(t.Src, name(e.Point.Network.Nodes[e.Point.Host(f.Src)].Name))
		t.Dst = append(t.Dst, name(e.Point.Network.Nodes[e.Point.Host(f.Dst)].Name))
		t.SrcPort, t.DstPort = append(t.SrcPort, f.SrcPort), append(t.DstPort, f.DstPort)
		t.SizeBytes = append(t.SizeBytes, int64(f.Size))
		t.StartS = append(t.StartS, Number(start))
		t.FCTS, t.IdealS = append(t.FCTS, Number(fct)), append(t.IdealS, Number(ideal))
		t.ReceivedBytes = append(t.ReceivedBytes, int64(r.Receiver.ReceivedBytes))
		t.SentPackets = append(t.SentPackets, r.Sender.SentPackets)
		t.RetransmittedPackets = append(t.RetransmittedPackets, r.Sender.Retransmitted)
	}
	return t
}

// ideal is the ideal completion time of flow i.
func (e *Evaluation) ideal(i int) float64 {
	f := &e.Load.Flows[i]
	return e.Point.Ideal(f.Src, f.Dst, f.Size, &e.Point.Traffic[f.Group]).Seconds()
}
