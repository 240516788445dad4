package experiment

import (
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
	"weir/worlds/sim"
)

// watches are what a run's measures look at, and how many each of them has.
func (p *point) watches(c *sim.Config) (all []sim.Watch, each []int) {
	for _, m := range p.measures {
		before := len(all)
		if m.watches != nil {
			all = append(all, m.watches(m, p, c)...)
		}
		each = append(each, len(all)-before)
	}
	return all, each
}

// observe makes a configuration look at what the measures need. The error says that
// it is too much.
func (p *point) observe(c *sim.Config) error {
	c.Watches, _ = p.watches(c)
	if total := p.samples(c); total > mostWatched {
		return &tooMuch{total}
	}
	for _, m := range p.measures {
		c.Delays = c.Delays || m.name == "delay"
		c.Tally = c.Tally || m.name == "overhead"
		c.Peaks = c.Peaks || m.name == "overshoot"
		c.Notices = c.Notices || m.name == "nacks"
		c.Ordering = c.Ordering || m.name == "reordering"
		if m.name == "reduction" {
			c.Onsets = append(c.Onsets, m.onsets(p, c)...)
		}
	}
	return nil
}

// samples is how many values a run keeps of what is watched.
func (p *point) samples(c *sim.Config) (total float64) {
	for _, w := range c.Watches {
		total += float64(p.duration/w.Every) + 1
	}
	return total
}

// tooMuch is the error of measures that would keep too many samples.
type tooMuch struct{ samples float64 }

func (e *tooMuch) Error() string {
	return "the measures would keep " + SI(e.samples) + " samples a run; at most " + SI(mostWatched) +
		" fit: make every longer, or watch less"
}

// evaluation computes a run's measures.
type evaluation struct {
	p       *point
	c       *sim.Config
	res     *sim.Result
	seconds float64 // of the measured part
	samples [][]int64
	onsets  []sim.OnsetResult // of a reduction
	run     *Run
}

// evaluate fills in what the measures give.
func (p *point) evaluate(c *sim.Config, res *sim.Result, run *Run) {
	e := &evaluation{p: p, c: c, res: res, seconds: res.Measured.Seconds(), run: run}
	_, each := p.watches(c)
	at := 0
	onsets := res.Onsets
	for i, m := range p.measures {
		if m.name == "reduction" {
			n := len(m.onsets(p, c))
			e.onsets, onsets = onsets[:n], onsets[n:]
		}
		e.samples = res.Watched[at : at+each[i]]
		at += each[i]
		m.evaluate(m, e)
	}
	run.Flows = e.flowTable()
}

// shape gives the names of what a point's runs have: it evaluates an empty result.
func (p *point) shape() *Run {
	c, err := p.config(1)
	if err != nil {
		return &Run{}
	}
	res := &sim.Result{Flows: make([]sim.FlowResult, len(c.Flows)), Ports: make([]sim.PortResult, 2*len(p.network.Links)),
		Watched: make([][]int64, len(c.Watches)), Delays: make([]unit.Histogram, len(p.traffic)),
		Onsets: make([]sim.OnsetResult, len(c.Onsets))}
	for i := range res.Flows {
		res.Flows[i].FCT, res.Flows[i].Written = unit.Never, unit.Never
	}
	run := &Run{}
	p.evaluate(c, res, run)
	return run
}

// add appends a measure, or groups to one that is there already: of another port.
func (e *evaluation) add(m Measured) {
	for i := range e.run.Measures {
		if e.run.Measures[i].Name == m.Name {
			e.run.Measures[i].Groups = append(e.run.Measures[i].Groups, m.Groups...)
			return
		}
	}
	e.run.Measures = append(e.run.Measures, m)
}

// byTraffic adds one number a traffic.
func (e *evaluation) byTraffic(name, unitName string, f func(t int) float64) {
	m := Measured{Name: name, Unit: unitName}
	for t := range e.p.traffic {
		m.Groups = append(m.Groups, Grouped{e.p.traffic[t].name, f(t)})
	}
	e.add(m)
}

// series adds a quantity over time, whose values begin with the measured part.
func (e *evaluation) series(name, unitName, group string, every unit.Time, values []float64) {
	s := Series{Name: name, Unit: unitName, Group: group, StartS: e.p.warmup.Seconds(), StepS: every.Seconds(),
		Values: []Number{}}
	for _, v := range values {
		s.Values = append(s.Values, Number(v))
	}
	e.run.Series = append(e.run.Series, s)
}

// ofSized adds one number for each traffic whose flows have an end in some point.
func (e *evaluation) ofSized(name, unitName string, f func(t int) float64) {
	m := Measured{Name: name, Unit: unitName, Groups: []Grouped{}}
	for t := range e.p.traffic {
		if e.p.traffic[t].sized {
			m.Groups = append(m.Groups, Grouped{e.p.traffic[t].name, f(t)})
		}
	}
	e.add(m)
}

// each goes through a traffic's flows.
func (e *evaluation) each(t int, f func(s, r *transport.Counters, fct unit.Time)) {
	for i := range e.c.Flows {
		if e.c.Flows[i].Group == t {
			f(&e.res.Flows[i].Sender, &e.res.Flows[i].Receiver, e.res.Flows[i].FCT)
		}
	}
}

func (e *evaluation) goodput(t int) float64 {
	var b unit.Bytes
	e.each(t, func(_, r *transport.Counters, _ unit.Time) { b += r.ReceivedBytes })
	return float64(b) * 8 / e.seconds
}

// jain is (Σx)²/(n·Σx²); not a number if all are 0.
func jain(x []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, v := range x {
		sum += v
		squares += float64(v * v)
	}
	return sum * sum / (float64(len(x)) * squares)
}

// watchGoodput looks at what every flow has received.
func watchGoodput(m *measure, _ *point, c *sim.Config) (out []sim.Watch) {
	for i := range c.Flows {
		if m.every > 0 && (m.traffic < 0 || c.Flows[i].Group == m.traffic) {
			out = append(out, sim.Watch{What: sim.ReceivedBytes, Index: i, Every: m.every})
		}
	}
	return out
}

func watchJain(m *measure, p *point, c *sim.Config) []sim.Watch { return watchGoodput(m, p, c) }

// intervals is how many intervals the watched flows have.
func (e *evaluation) intervals() int {
	if len(e.samples) == 0 {
		return 0
	}
	return max(len(e.samples[0])-1, 0)
}

// received gives the goodput in interval k of each traffic that is watched.
func (e *evaluation) received(m *measure, k int) []float64 {
	out := make([]float64, len(e.p.traffic))
	n := 0
	for i := range e.c.Flows {
		if g := e.c.Flows[i].Group; m.traffic < 0 || g == m.traffic {
			out[g] += float64(e.samples[n][k+1]-e.samples[n][k]) * 8 / m.every.Seconds()
			n++
		}
	}
	return out
}

// fairness is Jain's index in every interval: of the traffics, or of the flows that
// were there during all of it.
func (e *evaluation) fairness(m *measure) (out []float64) {
	for k := range e.intervals() {
		if m.by == "traffic" {
			out = append(out, jain(e.received(m, k)))
			continue
		}
		var x []float64
		begin, end := e.p.warmup+unit.Time(k)*m.every, e.p.warmup+unit.Time(k+1)*m.every
		for i := range e.c.Flows {
			f, start, fct := &e.c.Flows[i], e.res.Flows[i].Start, e.res.Flows[i].FCT
			if start <= begin && (fct == unit.Never || start+fct >= end) && (f.Stop == 0 || f.Stop >= end) {
				x = append(x, float64(e.samples[i][k+1]-e.samples[i][k]))
			}
		}
		out = append(out, jain(x))
	}
	return out
}

func evaluateGoodput(m *measure, e *evaluation) {
	if m.by == "traffic" {
		e.byTraffic("goodput", "bps", e.goodput)
	} else {
		sum := 0.0
		for t := range e.p.traffic {
			sum += e.goodput(t)
		}
		e.add(Measured{Name: "goodput", Unit: "bps", Value: sum})
	}
	if m.every == 0 {
		return
	}
	over := make([][]float64, len(e.p.traffic))
	var all []float64
	for k := range e.intervals() {
		sum := 0.0
		for t, x := range e.received(m, k) {
			over[t] = append(over[t], x)
			sum += x
		}
		all = append(all, sum)
	}
	if m.by == "all" {
		e.series("goodput", "bps", "", m.every, all)
		return
	}
	for t := range e.p.traffic {
		e.series("goodput", "bps", e.p.traffic[t].name, m.every, over[t])
	}
}

func evaluateJain(m *measure, e *evaluation) {
	var x []float64
	if m.by == "traffic" {
		for t := range e.p.traffic {
			x = append(x, e.goodput(t))
		}
	} else {
		for i := range e.res.Flows {
			f, fct := &e.c.Flows[i], e.res.Flows[i].FCT
			if fct != unit.Never && f.Start+fct <= e.p.warmup || f.Stop > 0 && f.Stop <= e.p.warmup {
				continue // it ended before anything was measured
			}
			x = append(x, float64(e.res.Flows[i].Receiver.ReceivedBytes))
		}
	}
	e.add(Measured{Name: "jain", Value: jain(x)})
	if m.every > 0 {
		e.series("jain", "", "", m.every, e.fairness(m))
	}
}

// settled is the first of hold consecutive values from index from on that are all
// good, −1 if there are none.
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

// firstAfter is the number of the first sample, or interval, at or after a time.
func (e *evaluation) firstAfter(m *measure) int {
	return int((m.after - e.p.warmup + m.every - 1) / m.every)
}

func evaluateFairness(m *measure, e *evaluation) {
	at := math.NaN()
	if k := settled(e.fairness(m), e.firstAfter(m), m.hold, func(v float64) bool { return v >= m.level }); k >= 0 {
		at = (e.p.warmup + unit.Time(k+1)*m.every - m.after).Seconds()
	}
	e.add(Measured{Name: "time_to_fairness", Unit: "s", Value: at})
}

func evaluateLoss(_ *measure, e *evaluation) {
	e.byTraffic("loss", "", func(t int) float64 {
		var sent, received int64
		e.each(t, func(s, r *transport.Counters, _ unit.Time) {
			sent += s.SentPackets
			received += r.ReceivedPackets
		})
		return max(0, 1-float64(received)/float64(sent))
	})
}

func evaluateDelay(m *measure, e *evaluation) {
	e.byTraffic("delay", "s", func(t int) float64 {
		var sum unit.Time
		var n int64
		e.each(t, func(_, r *transport.Counters, _ unit.Time) {
			sum += r.DelaySum
			n += r.ReceivedPackets - r.Duplicates
		})
		return sum.Seconds() / float64(n)
	})
	e.byTraffic("delay_max", "s", func(t int) float64 {
		most := unit.Time(-1)
		e.each(t, func(_, r *transport.Counters, _ unit.Time) { most = max(most, r.DelayMax) })
		if most <= 0 {
			return math.NaN()
		}
		return most.Seconds()
	})
	for t := range e.p.traffic {
		d := Distribution{Name: "delay", Unit: "s", Group: e.p.traffic[t].name}
		for _, c := range e.res.Delays[t].Classes() {
			d.add(c.Middle().Seconds(), c.Count)
		}
		e.distribution(d)
	}
	for _, q := range m.percentiles {
		e.byTraffic(percentileName("delay", q), "s", func(t int) float64 {
			return e.run.distribution("delay", e.p.traffic[t].name).percentile(q)
		})
	}
}

func evaluateJitter(_ *measure, e *evaluation) {
	e.byTraffic("jitter", "s", func(t int) float64 {
		sum, n := 0.0, 0.0
		e.each(t, func(_, r *transport.Counters, _ unit.Time) {
			sum += r.Jitter
			n++
		})
		return sum / n / 1e12
	})
}

func evaluateRetransmissions(m *measure, e *evaluation) {
	e.byTraffic("retransmissions", "packets", func(t int) float64 {
		n := 0.0
		e.each(t, func(s, _ *transport.Counters, _ unit.Time) { n += float64(s.Retransmitted) })
		return n
	})
	if m.by == "traffic" {
		return
	}
	all := make([][]float64, len(e.p.traffic))
	for t := range all {
		e.each(t, func(s, _ *transport.Counters, _ unit.Time) { all[t] = append(all[t], float64(s.Retransmitted)) })
		sort.Float64s(all[t])
	}
	e.byTraffic("retransmissions_mean", "packets", func(t int) float64 { return mean(all[t]) })
	e.byTraffic("retransmissions_sd", "packets", func(t int) float64 { return deviation(all[t]) })
	for t := range all {
		e.distribution(distributionOf("retransmissions", "packets", e.p.traffic[t].name, all[t]))
	}
}

// deviation is the sample's standard deviation, with n−1; not a number for fewer than two.
func deviation(x []float64) float64 {
	middle, squares := mean(x), 0.0
	for _, v := range x {
		squares += float64((v - middle) * (v - middle))
	}
	if len(x) < 2 {
		return math.NaN()
	}
	return math.Sqrt(squares / float64(len(x)-1))
}

// distributionOf is that of ascending values.
func distributionOf(name, unitName, group string, ascending []float64) Distribution {
	d := Distribution{Name: name, Unit: unitName, Group: group}
	for _, v := range ascending {
		d.add(v, 1)
	}
	return d
}

func evaluateUnacked(_ *measure, e *evaluation) {
	all := make([][]float64, len(e.p.traffic))
	for i := range e.c.Flows {
		if f := &e.res.Flows[i]; f.Written != unit.Never {
			all[e.c.Flows[i].Group] = append(all[e.c.Flows[i].Group], float64(f.Sender.Unacked))
		}
	}
	e.byTraffic("unacked", "bytes", func(t int) float64 { return mean(all[t]) })
	e.byTraffic("unacked_max", "bytes", func(t int) float64 {
		if len(all[t]) == 0 {
			return math.NaN()
		}
		return slices.Max(all[t])
	})
}

// watchBalance looks at what upward ports have sent.
func watchBalance(m *measure, _ *point, _ *sim.Config) (out []sim.Watch) {
	for _, port := range m.ports {
		if m.every > 0 {
			out = append(out, sim.Watch{What: sim.SentPackets, Index: port, Every: m.every})
		}
	}
	return out
}

func evaluateBalance(m *measure, e *evaluation) {
	index, packets := Measured{Name: "balance"}, Measured{Name: "port_packets", Unit: "packets"}
	next := 0
	for _, n := range m.nodes {
		var x []float64
		for next < len(m.ports) && e.p.network.Links[m.ports[next]/2].Ends[m.ports[next]%2] == n {
			sent := float64(e.res.Ports[m.ports[next]].TxPackets)
			x = append(x, sent)
			packets.Groups = append(packets.Groups, Grouped{portName(e.p.network, m.ports[next]), sent})
			next++
		}
		index.Groups = append(index.Groups, Grouped{e.p.network.Nodes[n].Name, jain(x)})
	}
	e.add(index)
	e.add(packets)
	for k, samples := range e.samples {
		over := make([]float64, 0, len(samples))
		for _, v := range samples {
			over = append(over, float64(v-samples[0]))
		}
		e.series("port_packets", "packets", portName(e.p.network, m.ports[k]), m.every, over)
	}
}

func evaluateDrops(_ *measure, e *evaluation) {
	x := Measured{Name: "drops", Unit: "packets", Groups: []Grouped{{"all", 0}}}
	for r := dataplane.Reason(1); r < dataplane.Reasons; r++ {
		x.Groups = append(x.Groups, Grouped{dropGroup(r), float64(e.res.Drops[r])})
		x.Groups[0].Value += float64(e.res.Drops[r])
	}
	e.add(x)
}

// dropGroup is a reason's name as expressions can write it.
func dropGroup(r dataplane.Reason) string { return r.Word() }

func evaluateOverhead(_ *measure, e *evaluation) {
	t := &e.res.Tally
	data := t.Kinds[packet.Data]
	groups := []Grouped{{"payload", float64(t.Payload)}, {"headers", float64(data - t.Payload)},
		{"extensions", float64(t.Extensions)}}
	for _, k := range []struct {
		name string
		kind packet.Kind
	}{{"ack", packet.Ack}, {"nack", packet.Nack}, {"notice", packet.Notice}, {"probe", packet.Probe}} {
		groups = append(groups, Grouped{k.name, float64(t.Kinds[k.kind])})
	}
	groups = append(groups, Grouped{"pfc", float64(t.Kinds[packet.Pause] + t.Kinds[packet.Resume])})
	e.add(Measured{Name: "overhead", Unit: "bytes", Groups: groups})
}

// completions are a traffic's finished flows with their size and a value, ascending
// by the value.
type completion struct {
	size  unit.Bytes
	value float64
}

func (e *evaluation) completions(t int, value func(i int, fct unit.Time) float64) (out []completion) {
	for i := range e.c.Flows {
		if f := &e.c.Flows[i]; f.Group == t && e.res.Flows[i].FCT != unit.Never {
			out = append(out, completion{f.Size, value(i, e.res.Flows[i].FCT)})
		}
	}
	sort.Slice(out, func(i, j int) bool {
		a, b := out[i], out[j]
		return a.value < b.value || a.value == b.value && a.size < b.size
	})
	return out
}

func values(of []completion) []float64 {
	out := make([]float64, len(of))
	for i := range of {
		out[i] = of[i].value
	}
	return out
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// completed adds what fct and slowdown have in common: percentiles, distribution and
// the table by flow size.
func (e *evaluation) completed(m *measure, unitName string, all [][]completion) {
	for _, q := range m.percentiles {
		e.ofSized(percentileName(m.name, q), unitName, func(t int) float64 { return percentile(values(all[t]), q) })
	}
	for t := range e.p.traffic {
		if !e.p.traffic[t].sized {
			continue
		}
		d := Distribution{Name: m.name, Unit: unitName, Group: e.p.traffic[t].name}
		for _, x := range all[t] {
			d.add(x.value, 1)
		}
		e.distribution(d)
		if m.bins > 0 {
			e.run.Bins = append(e.run.Bins, e.binned(m, t, unitName, all[t]))
		}
	}
}

// binned splits a traffic's flows by size into bins of equally many flows: by the
// distribution that sizes are drawn from, so that the bins of all runs are the same,
// or else by the run's own flows.
func (e *evaluation) binned(m *measure, t int, unitName string, all []completion) Binned {
	b := Binned{Name: m.name, Unit: unitName, Traffic: e.p.traffic[t].name, Percentiles: m.percentiles}
	for _, edge := range e.edges(m, t) {
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
func (e *evaluation) edges(m *measure, t int) (out []unit.Bytes) {
	var of func(share float64) unit.Bytes
	if g := e.p.traffic[t].generator; g != nil && g.sizes != nil {
		of = func(share float64) unit.Bytes { return g.sizes.Size(share) }
	} else {
		var sizes []unit.Bytes
		for i := range e.c.Flows {
			if e.c.Flows[i].Group == t && e.c.Flows[i].Size > 0 {
				sizes = append(sizes, e.c.Flows[i].Size)
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

func evaluateFCT(m *measure, e *evaluation) {
	all := make([][]completion, len(e.p.traffic))
	for t := range all {
		all[t] = e.completions(t, func(_ int, fct unit.Time) float64 { return fct.Seconds() })
	}
	e.ofSized("fct", "s", func(t int) float64 { return mean(values(all[t])) })
	e.ofSized("fct_max", "s", func(t int) float64 {
		if n := len(all[t]); n > 0 {
			return all[t][n-1].value
		}
		return math.NaN()
	})
	e.ofSized("fct_finished", "flows", func(t int) float64 { return float64(len(all[t])) })
	e.completed(m, "s", all)
	if m.deviation {
		e.ofSized("fct_sd", "s", func(t int) float64 { return deviation(values(all[t])) })
	}
	if !e.p.buffered {
		return
	}
	written := make([][]float64, len(e.p.traffic))
	for i := range e.c.Flows {
		if at := e.res.Flows[i].Written; at != unit.Never {
			written[e.c.Flows[i].Group] = append(written[e.c.Flows[i].Group], at.Seconds())
		}
	}
	e.ofSized("fct_written", "s", func(t int) float64 { return mean(written[t]) })
	if !m.deviation {
		return
	}
	e.ofSized("fct_written_sd", "s", func(t int) float64 { return deviation(written[t]) })
	for t := range written {
		sort.Float64s(written[t])
		if e.p.traffic[t].sized {
			e.distribution(distributionOf("fct_written", "s", e.p.traffic[t].name, written[t]))
		}
	}
}

func evaluateSlowdown(m *measure, e *evaluation) {
	all := make([][]completion, len(e.p.traffic))
	for t := range all {
		all[t] = e.completions(t, func(i int, fct unit.Time) float64 { return fct.Seconds() / e.ideal(i) })
	}
	e.ofSized("slowdown", "", func(t int) float64 { return mean(values(all[t])) })
	e.completed(m, "", all)
}

// ideal is the ideal completion time of flow i.
func (e *evaluation) ideal(i int) float64 {
	f := &e.c.Flows[i]
	return e.p.ideal(f.Src, f.Dst, f.Size, &e.p.traffic[f.Group]).Seconds()
}

func watchQueue(m *measure, _ *point, _ *sim.Config) (out []sim.Watch) {
	w := sim.Watch{What: sim.QueuePackets, Every: m.every}
	if m.inBytes {
		w.What = sim.QueueBytes
	}
	for _, w.Index = range m.ports {
		out = append(out, w)
	}
	return out
}

func evaluateQueue(m *measure, e *evaluation) {
	unitName := "packets"
	if m.inBytes {
		unitName = "bytes"
	}
	var all []float64
	for _, samples := range e.samples {
		for k, x := range samples {
			if e.p.warmup+unit.Time(k)*m.every >= m.until {
				break
			}
			all = append(all, float64(x))
		}
	}
	if m.port >= 0 {
		e.series("queue", unitName, m.label, m.every, all)
	}
	e.lengths(m, unitName, all)
}

// lengths adds what a measure of samples gives: mean, largest, percentiles, distribution.
func (e *evaluation) lengths(m *measure, unitName string, all []float64) {
	sort.Float64s(all)
	most := math.NaN()
	if n := len(all); n > 0 {
		most = all[n-1]
	}
	prefix, same := "", 0
	for _, other := range e.p.measures {
		if other.name == m.name {
			same++
		}
	}
	if same > 1 { // a port's name stands before its groups
		prefix = m.label + " "
	}
	groups := []Grouped{{prefix + "mean", mean(all)}, {prefix + "max", most}}
	for _, q := range m.percentiles {
		groups = append(groups, Grouped{prefix + percentileGroup(q), percentile(all, q)})
	}
	e.add(Measured{Name: m.name, Unit: unitName, Groups: groups})
	d := Distribution{Name: m.name, Unit: unitName, Group: m.label}
	for _, v := range all {
		d.add(v, 1)
	}
	e.distribution(d)
}

func watchBuffer(m *measure, _ *point, _ *sim.Config) (out []sim.Watch) {
	for _, n := range m.nodes {
		out = append(out, sim.Watch{What: sim.BufferBytes, Index: n, Every: m.every})
	}
	return out
}

func evaluateBuffer(m *measure, e *evaluation) {
	var all []float64
	for k, samples := range e.samples {
		over := make([]float64, 0, len(samples))
		for _, x := range samples {
			over = append(over, float64(x))
		}
		if len(m.nodes) <= mostShown {
			e.series("buffer", "bytes", e.p.network.Nodes[m.nodes[k]].Name, m.every, over)
		}
		all = append(all, over...)
	}
	e.lengths(m, "bytes", all)
}

// mostShown is of how many switches the buffer is shown over time.
const mostShown = 8

func evaluatePause(m *measure, e *evaluation) {
	share, frames := Measured{Name: "pfc_pause"}, Measured{Name: "pfc_pauses", Unit: "frames"}
	total := e.res.Measured.Seconds()
	add := func(group string, held, got float64) {
		share.Groups = append(share.Groups, Grouped{group, held})
		frames.Groups = append(frames.Groups, Grouped{group, got})
	}
	switch m.by {
	case "port":
		for i := range e.res.Ports {
			p := &e.res.Ports[i].Pauses
			add(portName(e.p.network, i), p.Any.Seconds()/total, float64(p.Frames))
		}
	case "traffic":
		nic := make([]int, len(e.p.network.Nodes)) // its port, by host
		for l := range e.p.network.Links {
			for end, n := range e.p.network.Links[l].Ends {
				nic[n] = 2*l + end
			}
		}
		for t := range e.p.traffic {
			held, got := 0.0, 0.0
			var senders []float64
			seen := map[[2]int]bool{}
			for i := range e.c.Flows {
				f := &e.c.Flows[i]
				if at := [2]int{f.Src, int(f.SenderClass())}; f.Group == t && !seen[at] {
					seen[at] = true
					p := &e.res.Ports[nic[f.Src]].Pauses
					senders = append(senders, p.Time[f.SenderClass()].Seconds()/total)
					got += float64(p.Frames)
				}
			}
			held = mean(senders)
			add(e.p.traffic[t].name, held, got)
		}
	default:
		for i := range e.res.Ports {
			p := &e.res.Ports[i].Pauses
			share.Value += p.Any.Seconds() / total / float64(len(e.res.Ports))
			frames.Value += float64(p.Frames)
		}
	}
	e.add(share)
	e.add(frames)
}

// watchPort looks at what a port has sent.
func watchPort(m *measure, p *point, _ *sim.Config) []sim.Watch {
	if m.every == 0 {
		return nil
	}
	what := sim.SentBytes
	if m.name == "utilisation" && p.network.Links[m.port/2].Rate.Bits == 0 {
		what = sim.SentPackets
	}
	return []sim.Watch{{What: what, Index: m.port, Every: m.every}}
}

func evaluateThroughput(m *measure, e *evaluation) {
	e.add(Measured{Name: "throughput", Unit: "bps",
		Groups: []Grouped{{m.label, float64(e.res.Ports[m.port].TxBytes) * 8 / e.seconds}}})
	if m.every > 0 {
		e.series("throughput", "bps", m.label, m.every, e.sent(m))
	}
}

// sent is what a port has sent in every interval: bit/s, or packets/s.
func (e *evaluation) sent(m *measure) (out []float64) {
	each := 8.0
	if m.name == "utilisation" && e.p.network.Links[m.port/2].Rate.Bits == 0 {
		each = 1
	}
	for k := range e.intervals() {
		out = append(out, float64(e.samples[0][k+1]-e.samples[0][k])*each/m.every.Seconds())
	}
	return out
}

func evaluateUtilisation(m *measure, e *evaluation) {
	port := &e.res.Ports[m.port]
	sent := float64(port.TxBytes) * 8
	if e.p.network.Links[m.port/2].Rate.Bits == 0 {
		sent = float64(port.TxPackets)
	}
	e.add(Measured{Name: "utilisation", Groups: []Grouped{{m.label, sent / port.Capacity}}})
	if m.every > 0 {
		over := e.sent(m)
		for k := range over {
			over[k] /= e.rateIn(m.port/2, e.p.warmup+unit.Time(k)*m.every, m.every)
		}
		e.series("utilisation", "", m.label, m.every, over)
	}
}

// rateIn is the mean rate of a link in an interval, in bit/s or packets/s.
func (e *evaluation) rateIn(link int, from, length unit.Time) float64 {
	perSecond := func(l unit.LinkRate) float64 { return float64(max(int64(l.Bits), int64(l.Packets))) }
	rate, at, sum := perSecond(e.p.network.Links[link].Rate), from, 0.0
	for _, x := range e.c.Events {
		if x.Link != link || x.Rate == (unit.LinkRate{}) || x.At >= from+length {
			continue
		}
		if x.At > at {
			sum += rate * (x.At - at).Seconds()
			at = x.At
		}
		rate = perSecond(x.Rate)
	}
	return (sum + rate*(from+length-at).Seconds()) / length.Seconds()
}

// gauges tells whether a traffic's senders show what the measure is of.
func (m *measure) gauges(tr *traffic) bool {
	if m.name == "rtt" || m.name == "delivery_rate" {
		return tr.transport.Timed
	}
	return tr.transport.Gauged
}

// gaugedFlows are those whose state a measure shows: the first ones of each traffic
// that has such a state.
func (m *measure) gaugedFlows(p *point, c *sim.Config) (out []int) {
	count := make([]int, len(p.traffic))
	for i := range c.Flows {
		t := c.Flows[i].Group
		if m.gauges(&p.traffic[t]) && (m.traffic < 0 || m.traffic == t) && count[t] < m.flows {
			count[t]++
			out = append(out, i)
		}
	}
	return out
}

var gauges = map[string]struct {
	what sim.Watched
	unit string
}{"cwnd": {sim.Window, "bytes"}, "rate": {sim.Rate, "bps"}, "in_flight": {sim.InFlight, "bytes"},
	"rtt": {sim.RTT, "s"}, "delivery_rate": {sim.DeliveryRate, "bps"}}

func watchGauge(m *measure, p *point, c *sim.Config) (out []sim.Watch) {
	for _, i := range m.gaugedFlows(p, c) {
		out = append(out, sim.Watch{What: gauges[m.name].what, Index: i, Every: m.every})
	}
	return out
}

func evaluateGauge(m *measure, e *evaluation) {
	unitName := gauges[m.name].unit
	sum, n := make([]float64, len(e.p.traffic)), make([]float64, len(e.p.traffic))
	number := make([]int, len(e.p.traffic))
	for k, i := range m.gaugedFlows(e.p, e.c) {
		t := e.c.Flows[i].Group
		var over []float64
		for _, v := range e.samples[k] {
			x := float64(v)
			if m.name == "rtt" {
				x = unit.Time(v).Seconds()
			}
			if v < 0 {
				x = math.NaN()
			} else {
				sum[t] += x
				n[t]++
			}
			over = append(over, x)
		}
		e.series(m.name, unitName, e.p.traffic[t].name+"."+strconv.Itoa(number[t]), m.every, over)
		number[t]++
	}
	x := Measured{Name: m.name, Unit: unitName}
	for t := range e.p.traffic {
		if m.gauges(&e.p.traffic[t]) && (m.traffic < 0 || m.traffic == t) {
			x.Groups = append(x.Groups, Grouped{e.p.traffic[t].name, sum[t] / n[t]})
		}
	}
	e.add(x)
}

func watchReaction(m *measure, p *point, c *sim.Config) []sim.Watch {
	switch m.of {
	case "goodput":
		return watchGoodput(m, p, c)
	case "queue":
		what := sim.QueuePackets
		return []sim.Watch{{What: what, Index: m.port, Every: m.every}}
	}
	return []sim.Watch{{What: sim.SentBytes, Index: m.port, Every: m.every}}
}

// evaluateReaction finds when a quantity is first within the band around its target,
// and stays there for hold samples. Without a target it is where the quantity
// settles: the mean of the second half of the time that is looked at.
func evaluateReaction(m *measure, e *evaluation) {
	var over []float64
	later := unit.Time(0) // an interval counts at its end
	switch m.of {
	case "goodput":
		for k := range e.intervals() {
			over = append(over, e.received(m, k)[m.traffic])
		}
		later = m.every
	case "queue":
		for _, v := range e.samples[0] {
			over = append(over, float64(v))
		}
	default:
		over = e.sent(m)
		later = m.every
	}
	first := e.firstAfter(m)
	end := min(len(over), int((m.until-later-e.p.warmup)/m.every)+1)
	at := math.NaN()
	if first < end {
		target := m.target
		if math.IsNaN(target) {
			target = mean(over[first+(end-first)/2 : end])
		}
		if k := settled(over[:end], first, m.hold, func(v float64) bool {
			return math.Abs(v-target) <= m.level*target
		}); k >= 0 {
			at = (e.p.warmup + unit.Time(k)*m.every + later - m.after).Seconds()
		}
	}
	e.add(Measured{Name: "reaction", Unit: "s", Groups: []Grouped{{m.label, at}}})
}

// hasBuffer tells whether a traffic has a send buffer, so that the last write can
// return before the last byte is acknowledged.
func (p *point) hasBuffer() bool {
	for i := range p.traffic {
		if p.traffic[i].transport.Buffered {
			return true
		}
	}
	return false
}

// percentileName is what a measure's percentile is called: fct_p99, fct_p99_9.
func percentileName(measure string, p float64) string {
	return measure + "_p" + strings.ReplaceAll(strconv.FormatFloat(p, 'f', -1, 64), ".", "_")
}

// percentileGroup is what it is called as a group: p99_9.
func percentileGroup(p float64) string { return percentileName("", p)[1:] }

// percentile is the p-th of sorted values by nearest rank; NaN with fewer than ten
// values beyond it, on the side where there are fewer.
func percentile(sorted []float64, p float64) float64 {
	k := rank(uint64(len(sorted)), p)
	if k == 0 {
		return math.NaN()
	}
	return sorted[k-1]
}

// rank is the p-th percentile's place among n sorted values, counted from 1; 0 if
// there are too few. What floating point adds or takes is no value: of 10,000 ten are
// beyond the 99.9th.
func rank(n uint64, p float64) uint64 {
	const rounding = 1e-9
	if float64(n)*min(p, 100-p)/100 < 10-rounding {
		return 0
	}
	return min(uint64(math.Ceil(float64(n)*p/100-rounding)), n)
}
