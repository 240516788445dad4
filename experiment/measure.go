package experiment

import (
	"math"
	"sort"
	"strconv"
	"strings"

	"weir/dataplane"
	"weir/sim"
	"weir/topology"
	"weir/transport"
	"weir/unit"
)

// measure is one entry of the spec's measure list, decoded.
type measure struct {
	name        string
	port        int // queue, throughput, utilisation: index into sim.Result.Ports
	by          string
	percentiles []float64 // fct, slowdown
}

// Measures are the names that the measure list knows, with what they give.
var measureNames = []string{"delay", "drops", "fct", "goodput", "jain", "jitter", "loss", "queue", "retransmissions", "slowdown", "throughput", "utilisation"}

// Measures returns the measures that an experiment can name, with what each is.
func Measures() [][2]string {
	return [][2]string{
		{"delay", "one-way delay of data packets, mean and largest, by traffic [s]"},
		{"drops", "packets dropped in switches and on links, by reason"},
		{"fct", "flow completion time, from start to last byte acknowledged, mean and largest of the finished, and to the last write's return (fct_written), by traffic [s]"},
		{"goodput", "payload bits per second that were new to the receiver, by traffic or in all [bit/s]"},
		{"jain", "Jain's index of the traffics' goodputs: (Σx)²/(n·Σx²)"},
		{"jitter", "smoothed difference of transit times (RFC 3550 §6.4.1), by traffic [s]"},
		{"loss", "share of the sent data packets that did not arrive within the measured part, by traffic"},
		{"queue", "length of a port's queue without the frame on the wire, mean, largest and 99th percentile [packets]"},
		{"retransmissions", "data packets sent again, by traffic"},
		{"slowdown", "flow completion time over the ideal one of the flow alone: " + IdealFormula + "; mean and percentiles of the finished, by traffic"},
		{"throughput", "bits of frames per second that a port has sent [bit/s]"},
		{"utilisation", "share of the measured time in which a port's link was busy"},
	}
}

func (d *decoder) measureList(root *tree, p *point) {
	t := root.get("measure")
	if t == nil {
		kept := &tree{place: root.place, kind: list, from: "default: ours", items: []*tree{{place: root.place, text: "goodput"}}}
		if root.orig != nil && root.orig.get("measure") == nil {
			root.orig.set("measure", kept)
		}
		t = copyTree(kept)
		root.set("measure", t)
	}
	if t.kind != list {
		d.fail(t.place, "[goodput, {queue: {port: s1->server}}]", "measure is a list")
		return
	}
	for _, x := range t.items {
		var m measure
		var options *tree
		if m.name, options = d.named(x, "measure"); options == nil {
			continue
		}
		switch m.name {
		case "goodput":
			d.keys(options, "goodput's key", []string{"by"})
			m.by = d.word(d.value(options, "by", "traffic", "ours"), "grouping", []string{"traffic", "all"})
		case "fct", "slowdown":
			d.keys(options, m.name+"'s key", []string{"by", "percentiles"})
			m.by = d.word(d.value(options, "by", "traffic", "ours"), "grouping", []string{"traffic"})
			m.percentiles = d.percentiles(options, m.name == "slowdown")
		case "loss", "delay", "jitter", "retransmissions":
			d.keys(options, m.name+"'s key", []string{"by"})
			m.by = d.word(d.value(options, "by", "traffic", "ours"), "grouping", []string{"traffic"})
		case "jain", "drops":
			d.keys(options, m.name+"'s key", nil)
		case "queue", "throughput", "utilisation":
			allowed := []string{"port"}
			if m.name == "queue" {
				allowed = []string{"port", "every"}
			}
			d.keys(options, m.name+"'s key", allowed)
			port := options.get("port")
			if port == nil {
				d.fail(x.place, m.name+": {port: switch->node}", "%s needs a port", m.name)
				continue
			}
			m.port = d.port(port, p, m.name == "queue")
			if m.name == "queue" {
				every := d.positive(d.value(options, "every", "10ms", "ours"))
				if p.sample != 0 && p.sample != every {
					d.fail(options.place, p.sample.String(), "all queues of an experiment are sampled equally often")
				}
				p.sample = every
				if p.duration/every > mostSamples {
					d.fail(options.place, "at least "+(p.duration/mostSamples+1).String(), "that many samples of a queue would not fit into memory")
				}
			}
		default:
			d.unknown(x.place, "measure", m.name, measureNames)
			continue
		}
		for _, other := range p.measures {
			if other.name == m.name && other.port == m.port {
				d.fail(x.place, "", "the measure %s is here already", m.name)
			}
		}
		p.measures = append(p.measures, m)
	}
}

// percentiles reads those of a measure of flows; without any, a slowdown has 50, 95 and
// 99, as the HPCC paper's figures do.
func (d *decoder) percentiles(options *tree, standard bool) (out []float64) {
	t := options.get("percentiles")
	if t == nil {
		if !standard {
			return nil
		}
		kept := &tree{place: options.place, kind: list, from: "default: HPCC §5", items: []*tree{{place: options.place, text: "50"}, {place: options.place, text: "95"}, {place: options.place, text: "99"}}}
		if options.orig != nil {
			options.orig.set("percentiles", kept)
		}
		t = copyTree(kept)
		options.set("percentiles", t)
	}
	if t.kind != list {
		d.fail(t.place, "[50, 95, 99]", "percentiles are a list")
		return nil
	}
	for _, x := range t.items {
		v, err := strconv.ParseFloat(d.text(x), 64)
		if err != nil || !(v > 0 && v < 100) {
			d.fail(x.place, "numbers above 0 and below 100", "%q is not a percentile", x.text)
			continue
		}
		out = append(out, v)
	}
	return out
}

// percentileName is what a measure's percentile is called: fct_p99, fct_p99_9.
func percentileName(measure string, p float64) string {
	return measure + "_p" + strings.ReplaceAll(strconv.FormatFloat(p, 'f', -1, 64), ".", "_")
}

// percentile is the p-th of sorted values by nearest rank; NaN with fewer than ten
// values beyond it, on the side where there are fewer.
func percentile(sorted []float64, p float64) float64 {
	n := float64(len(sorted))
	if n*min(p, 100-p)/100 < 10 {
		return math.NaN()
	}
	return sorted[min(int(math.Ceil(n*p/100)), len(sorted))-1]
}

// mostSamples bounds what a run keeps of one queue.
const mostSamples = 1 << 22

// queueGroups are the groups of the queue measure of a port. With several ports, a
// port's name stands before them.
func (p *point) queueGroups(port int) []string {
	groups, queues := []string{"mean", "max", "p99"}, 0
	for _, m := range p.measures {
		if m.name == "queue" {
			queues++
		}
	}
	if queues > 1 {
		for i := range groups {
			groups[i] = portName(p.network, port) + " " + groups[i]
		}
	}
	return groups
}

// port finds a port by its name; the index is that of sim.Result.Ports: two a
// link, in the order of links.
func (d *decoder) port(t *tree, p *point, ofSwitch bool) int {
	var names []string
	for l := range p.network.Links {
		for e := range 2 {
			if ofSwitch && !p.network.Nodes[p.network.Links[l].Ends[e]].Switch {
				continue
			}
			name := p.network.PortName(l, e)
			if name == t.text {
				return 2*l + e
			}
			names = append(names, name)
		}
	}
	if len(names) > 20 {
		names = append(names[:20], "…")
	}
	d.unknown(t.place, "port", d.text(t), names)
	return 0
}

// evaluate computes a run's measures.
func (p *point) evaluate(c *sim.Config, res *sim.Result) (measured []Measured, series []Series) {
	seconds := res.Measured.Seconds()
	byTraffic := func(name, unitName string, f func(t int) float64) Measured {
		m := Measured{Name: name, Unit: unitName}
		for t := range p.traffic {
			m.Groups = append(m.Groups, Grouped{p.traffic[t].name, f(t)})
		}
		return m
	}
	goodput := func(t int) float64 {
		var b unit.Bytes
		for i := range c.Flows {
			if c.Flows[i].Group == t {
				b += res.Flows[i].Receiver.ReceivedBytes
			}
		}
		return float64(b) * 8 / seconds
	}
	// each adds up or picks over a traffic's flows
	each := func(t int, f func(s, r *transport.Counters, fct unit.Time)) {
		for i := range c.Flows {
			if c.Flows[i].Group == t {
				f(&res.Flows[i].Sender, &res.Flows[i].Receiver, res.Flows[i].FCT)
			}
		}
	}
	// join appends groups to a measure that is there already: of another port
	join := func(m Measured) {
		for i := range measured {
			if measured[i].Name == m.Name {
				measured[i].Groups = append(measured[i].Groups, m.Groups...)
				return
			}
		}
		measured = append(measured, m)
	}
	for _, m := range p.measures {
		switch m.name {
		case "goodput":
			if m.by == "traffic" {
				measured = append(measured, byTraffic("goodput", "bps", goodput))
				continue
			}
			sum := 0.0
			for t := range p.traffic {
				sum += goodput(t)
			}
			measured = append(measured, Measured{Name: "goodput", Unit: "bps", Value: sum})
		case "jain":
			sum, squares := 0.0, 0.0
			for t := range p.traffic {
				x := goodput(t)
				sum += x
				squares += float64(x * x)
			}
			measured = append(measured, Measured{Name: "jain", Value: sum * sum / (float64(len(p.traffic)) * squares)})
		case "loss":
			measured = append(measured, byTraffic("loss", "", func(t int) float64 {
				var sent, received int64
				each(t, func(s, r *transport.Counters, _ unit.Time) {
					sent += s.SentPackets
					received += r.ReceivedPackets
				})
				return max(0, 1-float64(received)/float64(sent))
			}))
		case "delay":
			measured = append(measured, byTraffic("delay", "s", func(t int) float64 {
				var sum unit.Time
				var n int64
				each(t, func(_, r *transport.Counters, _ unit.Time) {
					sum += r.DelaySum
					n += r.ReceivedPackets - r.Duplicates
				})
				return sum.Seconds() / float64(n)
			}), byTraffic("delay_max", "s", func(t int) float64 {
				most := unit.Time(-1)
				each(t, func(_, r *transport.Counters, _ unit.Time) { most = max(most, r.DelayMax) })
				if most <= 0 {
					return math.NaN()
				}
				return most.Seconds()
			}))
		case "jitter":
			measured = append(measured, byTraffic("jitter", "s", func(t int) float64 {
				sum, n := 0.0, 0.0
				each(t, func(_, r *transport.Counters, _ unit.Time) {
					sum += r.Jitter
					n++
				})
				return sum / n / 1e12
			}))
		case "retransmissions":
			measured = append(measured, byTraffic("retransmissions", "packets", func(t int) float64 {
				n := 0.0
				each(t, func(s, _ *transport.Counters, _ unit.Time) { n += float64(s.Retransmitted) })
				return n
			}))
		case "fct":
			fcts := func(t int) (all []float64) {
				each(t, func(_, _ *transport.Counters, fct unit.Time) {
					if fct != unit.Never {
						all = append(all, fct.Seconds())
					}
				})
				sort.Float64s(all)
				return
			}
			finished := func(t int) (n, sum, most float64) {
				each(t, func(_, _ *transport.Counters, fct unit.Time) {
					if fct != unit.Never {
						n++
						sum += fct.Seconds()
						most = max(most, fct.Seconds())
					}
				})
				return
			}
			measured = append(measured, byTraffic("fct", "s", func(t int) float64 {
				n, sum, _ := finished(t)
				return sum / n
			}), byTraffic("fct_max", "s", func(t int) float64 {
				n, _, most := finished(t)
				if n == 0 {
					return math.NaN()
				}
				return most
			}), byTraffic("fct_finished", "flows", func(t int) float64 {
				n, _, _ := finished(t)
				return n
			}))
			for _, q := range m.percentiles {
				measured = append(measured, byTraffic(percentileName("fct", q), "s", func(t int) float64 { return percentile(fcts(t), q) }))
			}
			if p.buffered {
				measured = append(measured, byTraffic("fct_written", "s", func(t int) float64 {
					n, sum := 0.0, 0.0
					for i := range c.Flows {
						if at := res.Flows[i].Written; c.Flows[i].Group == t && at != unit.Never {
							n++
							sum += at.Seconds()
						}
					}
					return sum / n
				}))
			}
		case "slowdown":
			all := p.slowdowns(c, res)
			measured = append(measured, byTraffic("slowdown", "", func(t int) float64 {
				sum := 0.0
				for _, x := range all[t] {
					sum += x
				}
				return sum / float64(len(all[t]))
			}))
			for _, q := range m.percentiles {
				measured = append(measured, byTraffic(percentileName("slowdown", q), "", func(t int) float64 { return percentile(all[t], q) }))
			}
		case "queue":
			q := res.Ports[m.port].QueuePackets
			s := Series{Name: "queue_packets", Group: portName(p.network, m.port), StartS: p.warmup.Seconds(), StepS: p.sample.Seconds()}
			sum, most := 0.0, math.NaN()
			sorted := make([]float64, 0, len(q))
			for i, x := range q {
				v := float64(x)
				sum += v
				if i == 0 || v > most {
					most = v
				}
				s.Values = append(s.Values, v)
				sorted = append(sorted, v)
			}
			sort.Float64s(sorted)
			p99 := math.NaN()
			if n := len(sorted); n/100 >= 10 { // at least ten samples beyond it
				p99 = sorted[n-1-n/100]
			}
			groups := p.queueGroups(m.port)
			join(Measured{Name: "queue", Unit: "packets", Groups: []Grouped{
				{groups[0], sum / float64(len(q))}, {groups[1], most}, {groups[2], p99}}})
			series = append(series, s)
		case "throughput":
			join(Measured{Name: "throughput", Unit: "bps", Groups: []Grouped{
				{portName(p.network, m.port), float64(res.Ports[m.port].TxBytes) * 8 / seconds}}})
		case "utilisation":
			port := &res.Ports[m.port]
			busy := math.NaN()
			if r := p.network.Links[port.Link].Rate; r.Bits > 0 {
				busy = float64(port.TxBytes) * 8 / seconds / float64(r.Bits)
			} else {
				busy = float64(port.TxPackets) / seconds / float64(r.Packets)
			}
			join(Measured{Name: "utilisation", Groups: []Grouped{{portName(p.network, m.port), busy}}})
		case "drops":
			x := Measured{Name: "drops", Unit: "packets", Groups: []Grouped{}}
			for r := dataplane.Reason(1); r < dataplane.Reasons; r++ {
				x.Groups = append(x.Groups, Grouped{dropGroup(r), float64(res.Drops[r])})
			}
			measured = append(measured, x)
		}
	}
	return measured, series
}

// controlled tells whether a traffic has a send buffer, so that the last write can
// return before the last byte is acknowledged.
func (p *point) controlled() bool {
	for i := range p.traffic {
		if p.traffic[i].transport.Controlled {
			return true
		}
	}
	return false
}

// dropGroup is a reason's name as expressions can write it.
func dropGroup(r dataplane.Reason) string { return strings.ReplaceAll(r.String(), " ", "_") }

func portName(n *topology.Network, port int) string { return n.PortName(port/2, port%2) }
