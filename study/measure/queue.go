package measure

import (
	"slices"

	"weir/core/outcome"
	"weir/core/unit"
)

// queue measures the length of queues.
type queue struct {
	Plain
	isSinglePort bool  // a port, not a pattern of switches
	ports        []int // the ports; their samples are evaluated together
	label        string
	every        unit.Time
	from, until  unit.Time // the sampled part; until 0: the end of the run
	inBytes      bool
	log          bool // keep a histogram of each port
	percentiles  []float64
}

// Label returns the port's name, or the pattern of switches.
func (m *queue) Label() string { return m.label }

// Excludes returns an error text unless other, which must be a queue measure, has the same unit.
func (m *queue) Excludes(other Measure) (why, allowed string) {
	if other.(*queue).inBytes != m.inBytes {
		return "every queue measure of an experiment needs the same unit", ""
	}
	return "", ""
}

// ReadOptions reads the entry's options, and reports an error unless either `port` or `switches` is given.
func (m *queue) ReadOptions(o *Options) {
	port, switches := o.Node.Get("port"), o.Node.Get("switches")
	switch {
	case (port == nil) == (switches == nil):
		o.Node.FailMissing("port", "queue needs the key port or switches")
		return
	case port != nil:
		i := o.ReadPort(port, true)
		m.isSinglePort, m.ports, m.label = true, []int{i}, o.Point.PortName(i)
	default:
		m.label = o.ReadText(switches)
		nodes := o.ReadSwitches(switches)
		for l := range o.Point.Network.Links {
			for e, n := range o.Point.Network.Links[l].Ends {
				if slices.Contains(nodes, n) {
					m.ports = append(m.ports, 2*l+e)
				}
			}
		}
	}
	m.decodeSpan(o)
	m.inBytes = o.ReadChoice("unit", "unit") == "bytes"
	m.percentiles = o.ReadPercentiles()
	if m.log = o.ReadChoice("log", "value of log") == "true"; m.log && !m.inBytes {
		o.Fail(o.Node.Get("log").Position, "log together with unit: bytes", "log needs queue lengths in bytes")
	}
}

// decodeSpan reads `from`, `until` and `every`, and reports an error if that part is empty.
func (m *queue) decodeSpan(o *Options) {
	begin, end := o.Point.Warmup, o.Point.Warmup+o.Point.Duration
	from, until := o.Node.Get("from"), o.Node.Get("until")
	if from != nil {
		m.from = o.ReadTime(from, true)
	}
	if until != nil {
		m.until = o.ReadTime(until, true)
	}
	part := end
	if m.until > 0 {
		part = min(part, m.until)
	}
	if part -= max(begin, m.from); part > 0 {
		m.every = o.ReadEveryWithin(part)
		return
	}
	switch t := from; {
	case t != nil && m.from >= end:
		o.Fail(t.Position, "a time before the end of the run, "+end.String(), "the measured part of the run is empty")
	case t != nil && m.until > 0:
		o.Fail(t.Position, "a time before until, "+m.until.String(), "the measured part of the run is empty")
	default:
		o.Fail(until.Position, "a time after the warmup of "+begin.String(), "the measured part of the run is empty")
	}
}

// ListNeeds requests samples of the length of each port's queue.
func (m *queue) ListNeeds(*Point, *outcome.Load) (n Needs) {
	w := outcome.Watch{What: outcome.QueuePackets, Every: m.every, From: m.from, Until: m.until}
	if m.inBytes {
		w.What = outcome.QueueBytes
	}
	for _, w.Index = range m.ports {
		n.Watches = append(n.Watches, w)
	}
	return n
}

// CountSeries returns 0 for several ports, which have no series (SeriesCounter).
func (m *queue) CountSeries(*Evaluation) int {
	if m.isSinglePort {
		return 1
	}
	return 0
}

// AddValues adds mean, maximum, percentiles and distribution of the samples; for one port the series.
func (m *queue) AddValues(e *Evaluation) {
	unitName := "packets"
	if m.inBytes {
		unitName = "bytes"
	}
	var all []float64
	for k, samples := range e.Samples {
		for _, x := range samples {
			all = append(all, float64(x))
		}
		if m.log {
			e.AddHistogram("queue", e.Point.Network.PortName(m.ports[k]/2, m.ports[k]%2), samples)
		}
	}
	if m.isSinglePort {
		e.AddSeries("queue", unitName, m.label, m.every, all)
		s := &e.Values.Series[len(e.Values.Series)-1]
		s.StartS = max(m.from, e.Point.Warmup).Seconds()
	}
	e.addLengths("queue", m.label, unitName, m.percentiles, all)
}

// buffer measures the bytes that wait in all ports of a switch.
type buffer struct {
	Plain
	label       string
	nodes       []int
	every       unit.Time
	percentiles []float64
}

// Label returns the pattern of switches.
func (m *buffer) Label() string { return m.label }

// ReadOptions reads `switches`, `every` and `percentiles`.
func (m *buffer) ReadOptions(o *Options) {
	t := o.Node.GetDefault("switches")
	m.label, m.nodes = o.ReadText(t), o.ReadSwitches(t)
	m.every = o.ReadEvery()
	m.percentiles = o.ReadPercentiles()
}

// ListNeeds requests samples of each switch's buffer.
func (m *buffer) ListNeeds(*Point, *outcome.Load) (n Needs) {
	for _, node := range m.nodes {
		n.Watches = append(n.Watches, outcome.Watch{What: outcome.BufferBytes, Index: node, Every: m.every})
	}
	return n
}

// maxShownSwitches is the largest number of switches that have a series of their buffer.
const maxShownSwitches = 8

// CountSeries returns 0 for more than maxShownSwitches switches, which have no series (SeriesCounter).
func (m *buffer) CountSeries(*Evaluation) int {
	if len(m.nodes) > maxShownSwitches {
		return 0
	}
	return len(m.nodes)
}

// AddValues adds mean, maximum, percentiles and distribution over the switches; for few switches the series.
func (m *buffer) AddValues(e *Evaluation) {
	var all []float64
	for k, samples := range e.Samples {
		over := make([]float64, 0, len(samples))
		for _, x := range samples {
			over = append(over, float64(x))
		}
		if len(m.nodes) <= maxShownSwitches {
			e.AddSeries("buffer", "bytes", e.Point.Network.Nodes[m.nodes[k]].Name, m.every, over)
		}
		all = append(all, over...)
	}
	e.addLengths("buffer", m.label, "bytes", m.percentiles, all)
}
