package measure

import (
	"math"
	"sort"

	"weir/core/outcome"
	"weir/core/transport"
	"weir/core/unit"
)

// Evaluation has the result of a run at a point, from which measures are computed. They add to Values.
type Evaluation struct {
	Point   *Point
	Load    *outcome.Load
	Result  *outcome.Result
	Samples [][]int64             // of the measure's watches
	Onsets  []outcome.OnsetResult // of the measure's onsets
	Values  *Values               // what has been added so far

	seconds      float64 // of the measured part
	list         List
	onlyTraffics []string // traffics to count in groups of hosts; nil: all
}

// Add appends a measure. If a measure of the same name exists, for another port for example, its groups are extended,
// and m.Value and m.Unit are ignored.
func (e *Evaluation) Add(m Measured) {
	for i := range e.Values.Measures {
		if e.Values.Measures[i].Name == m.Name {
			e.Values.Measures[i].Groups = append(e.Values.Measures[i].Groups, m.Groups...)
			return
		}
	}
	e.Values.Measures = append(e.Values.Measures, m)
}

// AddByTraffic adds a measure that has the number f(t) for each traffic t, an index in Point.Traffic.
func (e *Evaluation) AddByTraffic(name, unitName string, f func(t int) float64) {
	m := Measured{Name: name, Unit: unitName}
	for t := range e.Point.Traffic {
		m.Groups = append(m.Groups, GroupValue{Group: e.Point.Traffic[t].Name, Value: f(t)})
	}
	e.Add(m)
}

// AddBySizedTraffic adds a measure that has the number f(t) for each traffic t that has flows with a size at some
// point.
func (e *Evaluation) AddBySizedTraffic(name, unitName string, f func(t int) float64) {
	m := Measured{Name: name, Unit: unitName, Groups: []GroupValue{}}
	for t := range e.Point.Traffic {
		if e.Point.Traffic[t].Sized {
			m.Groups = append(m.Groups, GroupValue{Group: e.Point.Traffic[t].Name, Value: f(t)})
		}
	}
	e.Add(m)
}

// AddSeries adds a quantity over time. The first value is at the start of the measured part; every is the step.
func (e *Evaluation) AddSeries(name, unitName, group string, every unit.Time, values []float64) {
	s := Series{Name: name, Unit: unitName, Group: group, StartS: e.Point.Warmup.Seconds(), StepS: every.Seconds(),
		Values: []Number{}}
	for _, v := range values {
		s.Values = append(s.Values, Number(v))
	}
	e.Values.Series = append(e.Values.Series, s)
}

// AddDistribution adds a distribution: how often a quantity had each of its values. An earlier one of the same name
// stays.
func (e *Evaluation) AddDistribution(d Distribution) {
	e.Values.Distributions = append(e.Values.Distributions, d)
}

// AddHistogram adds a histogram of a port's samples in bytes, with bins of 1 kB.
func (e *Evaluation) AddHistogram(name, port string, bytes []int64) {
	h := Histogram{Name: name, Unit: "kB", Group: port, Counts: []uint64{}}
	for _, b := range bytes {
		h.addSample(b)
	}
	e.Values.Histograms = append(e.Values.Histograms, h)
}

// VisitFlows calls f for each flow of traffic t with its sender's and receiver's counters and its completion time,
// unit.Never if it did not finish. f must not change the counters.
func (e *Evaluation) VisitFlows(t int, f func(s *transport.Sent, r *transport.Received, fct unit.Time)) {
	for i := range e.Load.Flows {
		if e.Load.Flows[i].Group == t {
			f(&e.Result.Flows[i].Sender, &e.Result.Flows[i].Receiver, e.Result.Flows[i].FCT)
		}
	}
}

// countIntervals returns the number of intervals between the samples of each watch; 0 without samples. It assumes that
// all watches have equally many.
func (e *Evaluation) countIntervals() int {
	if len(e.Samples) == 0 {
		return 0
	}
	return max(len(e.Samples[0])-1, 0)
}

// findSettledIndex returns the index of the first of hold consecutive values for which good returns true, not before
// index from; −1 if there are no such values.
func findSettledIndex(values []float64, from, hold int, good func(v float64) bool) int {
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

// firstIndexAfter returns the index of the first sample, or interval, that begins at or after a time, which must not be
// before the measured part.
func (e *Evaluation) firstIndexAfter(time, every unit.Time) int {
	return int((time - e.Point.Warmup + every - 1) / every)
}

// addLengths adds the mean, the maximum, the percentiles and the distribution of the samples, which it sorts. label
// names the distribution; it precedes the groups' names if several entries have the measure.
func (e *Evaluation) addLengths(name, label, unitName string, percentiles []float64, samples []float64) {
	sort.Float64s(samples)
	largest := math.NaN()
	if n := len(samples); n > 0 {
		largest = samples[n-1]
	}
	prefix, same := "", 0
	for _, other := range e.list {
		if other.Name == name {
			same++
		}
	}
	if same > 1 { // the port's name precedes the names of its groups
		prefix = label + " "
	}
	groups := []GroupValue{{Group: prefix + "mean", Value: mean(samples)}, {Group: prefix + "max", Value: largest}}
	for _, q := range percentiles {
		groups = append(groups, GroupValue{Group: prefix + percentileGroup(q), Value: percentile(samples, q)})
	}
	e.Add(Measured{Name: name, Unit: unitName, Groups: groups})
	d := Distribution{Name: name, Unit: unitName, Group: label}
	for _, v := range samples {
		d.Add(v, 1)
	}
	e.AddDistribution(d)
}

// makeFlowTable returns the table of all flows of the run. Its counters cover the measured part.
func (e *Evaluation) makeFlowTable() *FlowTable {
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
			ideal = e.idealSeconds(i)
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

// idealSeconds returns the ideal completion time of flow i in seconds (Point.IdealFCT). The flow must have a size.
func (e *Evaluation) idealSeconds(i int) float64 {
	f := &e.Load.Flows[i]
	return e.Point.IdealFCT(f.Src, f.Dst, f.Size, &e.Point.Traffic[f.Group]).Seconds()
}
