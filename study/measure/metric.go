package measure

import (
	"math"
	"strings"

	"weir/core/outcome"
	"weir/core/unit"
)

// metric measures one of the metrics that programs of switches define (dataplane.Metered), as weir switch shows them.
// So a program's counters can be plotted without a measure of their own.
type metric struct {
	Plain
	name     string
	switches []int
	label    string
	every    unit.Time
}

// Label returns the name of the metric and the pattern of switches.
func (m *metric) Label() string { return m.name + " " + m.label }

// ReadOptions reads `name`, `switches` and `every`.
func (m *metric) ReadOptions(o *Options) {
	t := o.Node.Get("name")
	if t == nil {
		o.Node.FailMissing("name", "metric needs the key name, such as name: weir_ecn_marked_total")
		return
	}
	m.name = o.ReadText(t)
	s := o.Node.GetDefault("switches")
	m.label, m.switches = o.ReadText(s), o.ReadSwitches(s)
	m.every = o.ReadEvery()
}

// sampleInterval returns the time between samples: `every`, or the whole measured part.
func (m *metric) sampleInterval(p *Point) unit.Time {
	if m.every == 0 {
		return p.Duration
	}
	return m.every
}

// ListNeeds requests samples of the metric at each switch.
func (m *metric) ListNeeds(p *Point, _ *outcome.Load) (n Needs) {
	for _, i := range m.switches {
		n.Watches = append(n.Watches, outcome.Watch{What: outcome.ProgramMetric, Index: i, Name: m.name,
			Every: m.sampleInterval(p)})
	}
	return n
}

// AddValues adds the growth of a counter in the measured part, and with `every` its rate over time. The name of a
// counter ends in _total. For other metrics it adds the mean of the samples, and the samples over time.
func (m *metric) AddValues(e *Evaluation) {
	// Claims use the name as an identifier, so it omits Weir's prefix and the suffix of counters.
	name, counter := strings.CutSuffix(strings.TrimPrefix(m.name, "weir_"), "_total")
	name = "metric_" + name
	x, unitName := Measured{Name: name, Groups: []GroupValue{}}, ""
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
			over = growthRates(over, m.sampleInterval(e.Point))
		}
		group := e.Point.Network.Nodes[i].Name
		x.Groups = append(x.Groups, GroupValue{Group: group, Value: value})
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

// growthRates returns how fast samples grow in each interval, per second; every is the time between samples. The result
// has one value fewer.
func growthRates(samples []float64, every unit.Time) (out []float64) {
	for k := range max(len(samples)-1, 0) {
		out = append(out, (samples[k+1]-samples[k])/every.Seconds())
	}
	return out
}
