package measure

import (
	"math"
	"strings"

	"weir/core/outcome"
	"weir/core/unit"
)

// metric is one of the metrics that programs of switches have (dataplane.Metered), as weir switch shows them: so what a
// program counts can be plotted without a measure for it.
type metric struct {
	Plain
	name     string
	switches []int
	label    string
	every    unit.Time
}

// Label is the name and the pattern of switches.
func (m *metric) Label() string { return m.name + " " + m.label }

// Decode reads which metric, of which switches.
func (m *metric) Decode(o *Options) {
	t := o.Node.Get("name")
	if t == nil {
		o.Node.Missing("name", "metric needs the name of one: weir_ecn_marked_total")
		return
	}
	m.name = o.Text(t)
	s := o.Node.Default("switches")
	m.label, m.switches = o.Text(s), o.Switches(s)
	m.every = o.Every()
}

// step is the time between samples.
func (m *metric) step(p *Point) unit.Time {
	if m.every == 0 {
		return p.Duration
	}
	return m.every
}

// Needs are samples of each switch.
func (m *metric) Needs(p *Point, _ *outcome.Load) (n Needs) {
	for _, i := range m.switches {
		n.Watches = append(n.Watches, outcome.Watch{What: outcome.ProgramMetric, Index: i, Name: m.name, Every: m.step(p)})
	}
	return n
}

// Evaluate adds what a counter (a metric whose name ends in _total) has counted in the measured part, and over time how
// fast it grew; of others the mean of the samples, and these.
func (m *metric) Evaluate(e *Evaluation) {
	// As an identifier, since claims name it: the program's prefix and the end that all counters have say nothing.
	name, counter := strings.CutSuffix(strings.TrimPrefix(m.name, "weir_"), "_total")
	name = "metric_" + name
	x, unitName := Measured{Name: name, Groups: []Grouped{}}, ""
	if counter {
		unitName = "1/s"
	}
	for k, i := range m.switches {
		var over []float64
		for _, bits := range e.Samples[k] {
			over = append(over, math.Float64frombits(uint64(bits)))
		}
		value := mean(over)
		if counter {
			value = math.NaN()
			if n := len(over); n > 1 {
				value = over[n-1] - over[0]
			}
			over = growth(over, m.step(e.Point))
		}
		group := e.Point.Network.Nodes[i].Name
		x.Groups = append(x.Groups, Grouped{Group: group, Value: value})
		if m.every > 0 {
			series := name
			if counter {
				series += "_rate"
			}
			e.AddSeries(series, unitName, group, m.every, over)
		}
	}
	e.Add(x)
}

// growth is how fast samples grow, in every interval.
func growth(samples []float64, every unit.Time) (out []float64) {
	for k := range max(len(samples)-1, 0) {
		out = append(out, (samples[k+1]-samples[k])/every.Seconds())
	}
	return out
}
