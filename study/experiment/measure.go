package experiment

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"weir/core/topology"
	"weir/core/unit"
	"weir/internal/document"
	"weir/worlds/sim"
)

// measure is one entry of the spec's measure list, decoded.
type measure struct {
	*kindOfMeasure
	at          document.Place
	port        int    // index into sim.Result.Ports, −1: none
	ports       []int  // queue: those whose samples are taken together
	nodes       []int  // buffer: switches
	label       string // of a port, or what stands for ports
	by          string
	traffic     int       // −1: all
	percentiles []float64 // ascending in the file's order
	every       unit.Time // between samples; 0: no series
	inBytes     bool      // queue
	log         bool      // pfc_pause: keep every frame
	bins        int       // fct, slowdown
	deviation   bool      // fct
	flows       int       // whose state is shown, of each traffic
	after       unit.Time // time_to_fairness, reaction
	until       unit.Time // reaction, queue
	hold        int
	level       float64     // the index that is fair, or the band around the target
	target      float64     // reaction; NaN: where it settles
	of          string      // reaction: goodput, throughput, queue; reduction: first, all
	above       unit.Length // reduction: the queue that is congestion
	inFlight    bool        // reduction: of what is in flight
}

// kindOfMeasure is what the measure list can name.
type kindOfMeasure struct {
	name, doc string
	keys      []string
	decode    func(d *decoder, at, options *document.Node, p *point, m *measure)
	watches   func(m *measure, p *point, c *sim.Config) []sim.Watch
	evaluate  func(m *measure, e *evaluation)
}

// kindsOfMeasure is filled by init, because what it names refers to it.
var kindsOfMeasure []kindOfMeasure

func init() {
	kindsOfMeasure = []kindOfMeasure{
		{"balance", "Jain's index of the packets that a switch's upward ports have sent, by switch, and these packets by " +
			"port (port_packets, with every also over time) of a fat tree",
			[]string{"switches", "every"}, decodeBalance, watchBalance, evaluateBalance},
		{"buffer", "what waits in all ports of a switch: mean, largest, percentiles and distribution over the switches of " +
			"a pattern [bytes]",
			[]string{"switches", "every", "percentiles"}, decodeBuffer, watchBuffer, evaluateBuffer},
		{"collective", "time from a collective's start until the last of its data has arrived, by traffic [s]",
			[]string{"by"}, decodeCollective, nil, evaluateCollective},
		{"cwnd", "congestion window over time of a traffic's first flows, and its mean by traffic [bytes of payload]",
			[]string{"traffic", "every", "flows"}, decodeGauge, watchGauge, evaluateGauge},
		{"delay", "one-way delay of data packets, mean, largest and percentiles, by traffic [s]",
			[]string{"by", "percentiles"}, decodeDelay, nil, evaluateDelay},
		{"delivery_rate", "latest rate at which payload was delivered over time, as senders of a traffic's first flows see " +
			"it, and its mean by traffic [bit/s]",
			[]string{"traffic", "every", "flows"}, decodeGauge, watchGauge, evaluateGauge},
		{"drops", "packets dropped in switches and on links, by reason", nil, nil, nil, evaluateDrops},
		{"fct", "flow completion time, from start to last byte acknowledged, mean and largest of the finished, " +
			"percentiles, by size, and to the last write's return (fct_written), by traffic [s]",
			[]string{"by", "percentiles", "bins", "deviation"}, decodeCompletion, nil, evaluateFCT},
		{"fct_last", "time from a traffic's first start until the last byte of all its flows has arrived [s], and the sum " +
			"of their sizes over that (incast_goodput [bit/s]), by traffic",
			[]string{"by"}, decodeByTraffic, nil, evaluateLast},
		{"goodput", "payload bits per second that were new to the receiver, by traffic or in all; with every over " +
			"time too [bit/s]",
			[]string{"by", "every"}, decodeGoodput, watchGoodput, evaluateGoodput},
		{"in_flight", "payload in flight over time of a traffic's first flows, and its mean by traffic [bytes]",
			[]string{"traffic", "every", "flows"}, decodeGauge, watchGauge, evaluateGauge},
		{"jain", "Jain's index of the goodputs of traffics or flows: (Σx)²/(n·Σx²); with every over time too",
			[]string{"by", "every"}, decodeJain, watchJain, evaluateJain},
		{"jitter", "smoothed difference of transit times (RFC 3550 §6.4.1), by traffic [s]", []string{"by"}, decodeByTraffic,
			nil, evaluateJitter},
		{"loss", "share of the sent data packets that did not arrive within the measured part, by traffic", []string{"by"},
			decodeByTraffic, nil, evaluateLoss},
		{"nacks", "notices that switches made: packets made, dropped, delivered to senders, taken and refused by them " +
			"[packets], share dropped (nacks_lost), delay from switch to sender (nacks_delay): mean, largest, percentiles [s]",
			[]string{"percentiles"}, decodeNacks, nil, evaluateNacks},
		{"overhead", "what the frames on all links consist of: payload (also sent again), headers, extensions, ack, nack, " +
			"notice, pfc, probe [bytes, counted on every link]",
			nil, nil, nil, evaluateOverhead},
		{"overshoot", "largest payload in flight of a sender over its path's bandwidth-delay product (base RTT times the " +
			"slowest link's rate of payload): mean and largest (overshoot_max) of the flows, by traffic",
			[]string{"by"}, decodeWindowed, nil, evaluateOvershoot},
		{"pfc_pause", "share of the time for which PFC held a port, mean of all ports, by port, or of the NICs of a " +
			"traffic's senders in its class; and the Pause frames that they got (pfc_pauses)",
			[]string{"by", "log"}, decodePause, nil, evaluatePause},
		{"queue", "length of a port's queue without the frame on the wire, or of all ports of switches, mean, largest, " +
			"percentiles and distribution [packets or bytes]",
			[]string{"port", "switches", "every", "until", "unit", "percentiles"}, decodeQueue, watchQueue, evaluateQueue},
		{"rate", "pacing rate over time of a traffic's first flows, and its mean by traffic [bit/s]",
			[]string{"traffic", "every", "flows"}, decodeGauge, watchGauge, evaluateGauge},
		{"reaction", "time after which goodput, throughput or queue stays within a band around its target, from a " +
			"given time on [s]",
			[]string{"after", "until", "goodput", "throughput", "queue", "to", "within", "hold", "every"}, decodeReaction,
			watchReaction, evaluateReaction},
		{"reduction", "time from congestion, which begins at a given time or when a queue grows beyond a length " +
			"(reduction_from), until the first sender, or all, have reduced window or rate by a share, by traffic [s]",
			[]string{"traffic", "after", "port", "above", "by", "of", "gauge"}, decodeReduction, nil, evaluateReduction},
		{"reordering", "share of the data packets that came after one that was sent later (RFC 4737 §4.1), and the largest " +
			"extent (§4.2; reordering_extent [packets]), by traffic",
			[]string{"by"}, decodeByTraffic, nil, evaluateReordering},
		{"retransmissions", "data packets sent again, by traffic; by flow: also mean and standard deviation over its flows",
			[]string{"by"}, decodeRetransmissions, nil, evaluateRetransmissions},
		{"rtt", "round-trip time over time, as senders of a traffic's first flows have smoothed it, and its mean " +
			"by traffic [s]",
			[]string{"traffic", "every", "flows"}, decodeGauge, watchGauge, evaluateGauge},
		{"slowdown", "flow completion time over the ideal one of the flow alone: " + IdealFormula +
			"; mean and percentiles of the finished, also by size, by traffic",
			[]string{"by", "percentiles", "bins"}, decodeCompletion, nil, evaluateSlowdown},
		{"throughput", "bits of frames per second that a port has sent; with every over time too [bit/s]",
			[]string{"port", "every"}, decodePort, watchPort, evaluateThroughput},
		{"time_to_fairness", "time until Jain's index of the goodputs is and stays above a level, from a given time on [s]",
			[]string{"by", "every", "index", "hold", "after"}, decodeFairness, watchJain, evaluateFairness},
		{"timeouts", "retransmission timeouts of senders, by traffic", []string{"by"}, decodeWindowed, nil, evaluateTimeouts},
		{"unacked", "payload that was not acknowledged when the application's last write returned, mean and largest over " +
			"the flows, by traffic [bytes]",
			[]string{"by"}, decodeUnacked, nil, evaluateUnacked},
		{"utilisation", "share of what a port's link could have carried; with every over time too",
			[]string{"port", "every"}, decodePort, watchPort, evaluateUtilisation},
	}
}

// Measures returns the measures that an experiment can name, with what each is.
func Measures() (out [][2]string) {
	for _, k := range kindsOfMeasure {
		out = append(out, [2]string{k.name, k.doc})
	}
	return out
}

func measureNames() (out []string) {
	for _, k := range kindsOfMeasure {
		out = append(out, k.name)
	}
	return out
}

func (d *decoder) measureList(root *document.Node, p *point) {
	t := root.Get("measure")
	if t == nil {
		kept := &document.Node{Place: root.Place, Kind: document.List, From: "default: ours",
			Items: []*document.Node{{Place: root.Place, Text: "goodput"}}}
		if root.Orig != nil && root.Orig.Get("measure") == nil {
			root.Orig.Set("measure", kept)
		}
		t = document.Copy(kept)
		root.Set("measure", t)
	}
	if t.Kind != document.List {
		d.Fail(t.Place, "[goodput, {queue: {port: s1->server}}]", "measure is a list")
		return
	}
	for _, x := range t.Items {
		m := &measure{at: x.Place, port: -1, traffic: -1, target: math.NaN()}
		name, options := d.Named(x, "measure")
		if options == nil {
			continue
		}
		for i := range kindsOfMeasure {
			if kindsOfMeasure[i].name == name {
				m.kindOfMeasure = &kindsOfMeasure[i]
			}
		}
		if m.kindOfMeasure == nil {
			d.Unknown(x.Place, "measure", name, measureNames())
			continue
		}
		before := d.Count()
		if len(m.keys) == 0 && len(options.Keys) > 0 {
			d.Fail(options.Keys[0].Place, m.name+" alone", "%s has no options", m.name)
			continue
		}
		d.Keys(options, m.name+"'s key", m.keys)
		if m.decode != nil {
			m.decode(d, x, options, p, m)
		}
		if d.Count() > before {
			continue
		}
		for _, other := range p.measures {
			switch {
			case other.name != m.name:
			case other.label == m.label:
				d.Fail(x.Place, "each measure once", "the measure %s is here already", m.name)
			case other.inBytes != m.inBytes:
				d.Fail(x.Place, "", "all queues of an experiment are measured in the same unit")
			}
		}
		p.measures = append(p.measures, m)
	}
}

func decodeByTraffic(d *decoder, _, options *document.Node, _ *point, m *measure) {
	m.by = d.Word(d.Default(options, "by", "traffic", "ours"), "grouping", []string{"traffic"})
}

func decodeRetransmissions(d *decoder, _, options *document.Node, _ *point, m *measure) {
	m.by = d.Word(d.Default(options, "by", "traffic", "ours"), "grouping", []string{"traffic", "flow"})
}

func decodeUnacked(d *decoder, at, options *document.Node, p *point, m *measure) {
	decodeByTraffic(d, at, options, p, m)
	for i := range p.traffic {
		if p.traffic[i].transport.Buffered {
			return
		}
	}
	d.Fail(at.Place, "a traffic with transport: tcp", "no traffic of the experiment has a send buffer")
}

func decodeBalance(d *decoder, at, options *document.Node, p *point, m *measure) {
	t := d.Default(options, "switches", "*", "ours")
	of := d.switchesOf(t, p)
	d.every(options, p, m)
	if !d.OK() {
		return
	}
	x, err := p.network.Tree()
	if err != nil {
		d.Fail(at.Place, "a fat tree of two or three tiers", "balance is that of upward ports: %v", err)
		return
	}
	ports := p.network.Ports()
	for _, n := range of {
		for _, up := range x.Up[n] {
			ref := ports[n][up]
			m.ports = append(m.ports, 2*ref.Link+ref.End)
		}
		if len(x.Up[n]) > 0 {
			m.nodes = append(m.nodes, n)
		}
	}
	if m.label = d.Text(t); len(m.nodes) == 0 {
		d.Fail(t.Place, "switches of a lower tier", "no switch that %q matches has ports upward", t.Text)
	}
	if len(m.ports) > mostPorts {
		d.Fail(t.Place, fmt.Sprintf("a pattern of switches with %d ports upward at most", mostPorts), "%q has %d", t.Text,
			len(m.ports))
	}
}

func decodeGoodput(d *decoder, _, options *document.Node, p *point, m *measure) {
	m.by = d.Word(d.Default(options, "by", "traffic", "ours"), "grouping", []string{"traffic", "all"})
	d.every(options, p, m)
}

func decodeJain(d *decoder, _, options *document.Node, p *point, m *measure) {
	m.by = d.Word(d.Default(options, "by", "traffic", "ours"), "grouping", []string{"traffic", "flow"})
	d.every(options, p, m)
}

func decodeDelay(d *decoder, at, options *document.Node, p *point, m *measure) {
	decodeByTraffic(d, at, options, p, m)
	m.percentiles = d.percentiles(options, "", "")
}

// mostBins bounds the rows of a table by flow size.
const mostBins = 1000

func decodeCompletion(d *decoder, at, options *document.Node, p *point, m *measure) {
	decodeByTraffic(d, at, options, p, m)
	standard, source := "", ""
	if m.name == "slowdown" { // as the HPCC paper's figures have it
		standard, source = "50 95 99", "HPCC §5"
	}
	m.percentiles = d.percentiles(options, standard, source)
	if m.name == "fct" {
		m.deviation = d.Word(d.Default(options, "deviation", "false", "ours"), "answer", []string{"true", "false"}) == "true"
	}
	if b := options.Get("bins"); b != nil {
		m.bins = d.Integer(b, 1, mostBins)
	}
}

func decodePort(d *decoder, at, options *document.Node, p *point, m *measure) {
	port := options.Get("port")
	if port == nil {
		d.Missing(options, "port", m.name+"'s key", m.keys, m.name+": {port: switch->node}", "%s needs a port", m.name)
		return
	}
	m.port = d.port(port, p, false)
	m.label = portName(p.network, m.port)
	d.every(options, p, m)
}

func decodeQueue(d *decoder, at, options *document.Node, p *point, m *measure) {
	port, switches := options.Get("port"), options.Get("switches")
	switch {
	case (port == nil) == (switches == nil):
		d.Missing(options, "port", "queue's key", m.keys, `queue: {port: s1->server}, or queue: {switches: "*"}`,
			"queue needs a port, or switches")
		return
	case port != nil:
		m.port = d.port(port, p, true)
		m.ports, m.label = []int{m.port}, portName(p.network, m.port)
	default:
		m.label = d.Text(switches)
		of := d.switchesOf(switches, p)
		for l := range p.network.Links {
			for e, n := range p.network.Links[l].Ends {
				if slices.Contains(of, n) {
					m.ports = append(m.ports, 2*l+e)
				}
			}
		}
	}
	d.Default(options, "every", "10ms", "ours")
	d.every(options, p, m)
	m.inBytes = d.Word(d.Default(options, "unit", "packets", "ours"), "unit", []string{"packets", "bytes"}) == "bytes"
	m.percentiles = d.percentiles(options, "99", "ours")
	m.until = unit.Never
	if t := options.Get("until"); t != nil {
		m.until = d.measuredTime(t, p, true)
	}
}

// switchesOf are the nodes that are switches whose names a pattern matches.
func (d *decoder) switchesOf(t *document.Node, p *point) (nodes []int) {
	pattern := d.Text(t)
	var names []string
	for i, n := range p.network.Nodes {
		if !n.Switch {
			continue
		}
		names = append(names, n.Name)
		if ok, err := path.Match(pattern, n.Name); err == nil && ok {
			nodes = append(nodes, i)
		}
	}
	if len(nodes) == 0 {
		d.Unknown(t.Place, "switch", pattern, append(names[:min(len(names), 10):min(len(names), 10)], "*"))
	}
	return nodes
}

func decodeBuffer(d *decoder, at, options *document.Node, p *point, m *measure) {
	t := d.Default(options, "switches", "*", "ours")
	m.label, m.nodes = d.Text(t), d.switchesOf(t, p)
	d.Default(options, "every", "10ms", "ours")
	d.every(options, p, m)
	m.percentiles = d.percentiles(options, "99", "ours")
}

// mostPorts bounds the groups of a measure by port.
const mostPorts = 256

func decodePause(d *decoder, at, options *document.Node, p *point, m *measure) {
	m.log = d.Word(d.Default(options, "log", "false", "ours"), "answer", []string{"true", "false"}) == "true"
	t := d.Default(options, "by", "all", "ours")
	if m.by = d.Word(t, "grouping", []string{"all", "port", "traffic"}); m.by == "port" &&
		2*len(p.network.Links) > mostPorts {
		d.Fail(t.Place, "all, traffic", "the network has %d ports; at most %d are shown one by one", 2*len(p.network.Links),
			mostPorts)
	}
}

func decodeGauge(d *decoder, at, options *document.Node, p *point, m *measure) {
	var gauged []string
	for i := range p.traffic {
		if m.gauges(&p.traffic[i]) {
			gauged = append(gauged, p.traffic[i].name)
		}
	}
	if len(gauged) == 0 {
		d.Fail(at.Place, "a traffic over a transport with a window", "no traffic of the experiment has a %s", m.name)
		return
	}
	if t := options.Get("traffic"); t != nil {
		name := d.Word(t, "traffic with a "+m.name, gauged)
		for i := range p.traffic {
			if p.traffic[i].name == name {
				m.traffic, m.label = i, name
			}
		}
	}
	d.Default(options, "every", "10ms", "ours")
	d.every(options, p, m)
	m.flows = d.Integer(d.Default(options, "flows", "8", "ours"), 1, 10000)
}

func decodeFairness(d *decoder, at, options *document.Node, p *point, m *measure) {
	m.by = d.Word(d.Default(options, "by", "flow", "ours"), "grouping", []string{"traffic", "flow"})
	d.Default(options, "every", "10ms", "ours")
	d.every(options, p, m)
	level := d.Default(options, "index", "95%", "ours")
	if m.level = document.Read(d.Reader, level, unit.ParseShare); !(m.level > 0 && m.level <= 1) && level.Kind == document.Scalar {
		d.Fail(level.Place, "above 0% up to 100%", "%q is not a Jain index", level.Text)
	}
	m.after, m.until = p.warmup, p.warmup+p.duration
	if t := options.Get("after"); t != nil {
		m.after = d.measuredTime(t, p, false)
	}
	d.hold(options, "10", m)
}

// hold reads how many samples one after another have to be good. So many must be
// there.
func (d *decoder) hold(options *document.Node, standard string, m *measure) {
	t := d.Default(options, "hold", standard, "ours")
	m.hold = d.Integer(t, 1, 1000000)
	if span := m.until - m.after; d.OK() && m.every > 0 && unit.Time(m.hold) > span/m.every {
		d.Fail(t.Place, "a shorter every, or a smaller hold", "there are no %d samples, one every %v, within %v", m.hold,
			m.every, span)
	}
}

func decodeReaction(d *decoder, at, options *document.Node, p *point, m *measure) {
	for _, of := range []string{"goodput", "throughput", "queue"} {
		t := options.Get(of)
		switch {
		case t == nil:
			continue
		case m.of != "":
			d.Fail(t.Place, "one of goodput, throughput, queue", "a reaction is that of one quantity")
			return
		}
		m.of = of
		if of != "goodput" {
			m.port = d.port(t, p, of == "queue")
			if m.label = portName(p.network, m.port); of == "queue" {
				m.label = "queue " + m.label
			}
			continue
		}
		var names []string
		for i := range p.traffic {
			names = append(names, p.traffic[i].name)
			if p.traffic[i].name == t.Text {
				m.traffic = i
			}
		}
		m.label = d.Word(t, "traffic", names)
	}
	after := options.Get("after")
	if m.of == "" || after == nil {
		d.Missing(options, "after", "reaction's key", m.keys, "reaction: {after: 5ms, goodput: light}",
			"a reaction needs after, and one of goodput, throughput, queue")
		return
	}
	m.after, m.until = d.measuredTime(after, p, false), p.warmup+p.duration
	if t := options.Get("until"); t != nil {
		if m.until = d.measuredTime(t, p, true); m.until <= m.after && d.OK() {
			d.Fail(t.Place, "a time after "+m.after.String(), "%s is not after the step", t.Text)
		}
	}
	if t := options.Get("to"); t != nil {
		if m.of == "queue" {
			if l, ok := document.ReadOK(d.Reader, t, unit.ParseLength); ok && l.Bytes > 0 {
				d.Fail(t.Place, "a number of packets such as 24 packets", "%q is not a number of packets", t.Text)
			} else {
				m.target = float64(l.Packets)
			}
		} else {
			m.target = float64(document.Read(d.Reader, t, unit.ParseRate))
		}
	}
	d.Default(options, "every", "1ms", "ours")
	d.every(options, p, m)
	within := d.Default(options, "within", "10%", "ours")
	if m.level = document.Read(d.Reader, within, unit.ParseShare); m.level <= 0 && within.Kind == document.Scalar {
		d.Fail(within.Place, "above 0%", "%q is not a band", within.Text)
	}
	d.hold(options, "5", m)
}

// measuredTime reads a time of the measured part, the end included or not.
func (d *decoder) measuredTime(t *document.Node, p *point, included bool) unit.Time {
	at, ok := document.ReadOK(d.Reader, t, unit.ParseTime)
	end, allowed := p.warmup+p.duration, "before "
	if included {
		allowed = "up to "
	}
	if ok && (at < p.warmup || at > end || at == end && !included) {
		d.Fail(t.Place, "from "+p.warmup.String()+" on, "+allowed+end.String(), "%q is not within the measured part", t.Text)
	}
	return at
}

// every reads the time between samples.
func (d *decoder) every(options *document.Node, p *point, m *measure) {
	t := options.Get("every")
	if t == nil {
		return
	}
	switch m.every = d.Positive(t); {
	case p.duration/m.every > mostSamples:
		d.Fail(t.Place, "at least "+(p.duration/mostSamples+1).String(), "that many samples would not fit into memory")
	case m.every > p.duration:
		d.Fail(t.Place, "up to "+p.duration.String(), "every %s is longer than the measured part", t.Text)
	}
}

// percentiles reads those of a measure; standard are what it has without the key.
func (d *decoder) percentiles(options *document.Node, standard, source string) (out []float64) {
	t := options.Get("percentiles")
	if t == nil {
		if standard == "" {
			return nil
		}
		kept := &document.Node{Place: options.Place, Kind: document.List, From: "default: " + source}
		for _, v := range strings.Fields(standard) {
			kept.Items = append(kept.Items, &document.Node{Place: options.Place, Text: v})
		}
		if options.Orig != nil {
			options.Orig.Set("percentiles", kept)
		}
		t = document.Copy(kept)
		options.Set("percentiles", t)
	}
	if t.Kind != document.List {
		d.Fail(t.Place, "[50, 95, 99]", "percentiles are a list")
		return nil
	}
	for _, x := range t.Items {
		v, err := strconv.ParseFloat(d.Text(x), 64)
		if err != nil || !(v > 0 && v < 100) {
			d.Fail(x.Place, "numbers above 0 and below 100", "%q is not a percentile", x.Text)
			continue
		}
		for _, other := range out {
			if other == v {
				d.Fail(x.Place, "", "the percentile %s is here already", x.Text)
			}
		}
		out = append(out, v)
	}
	return out
}

// mostSamples bounds what a run keeps of one quantity, mostWatched of all.
const (
	mostSamples = 1 << 22
	mostWatched = 1 << 26
)

// port finds a port by its name; the index is that of sim.Result.Ports: two a
// link, in the order of links.
func (d *decoder) port(t *document.Node, p *point, ofSwitch bool) int {
	var names []string
	for l := range p.network.Links {
		for e := range 2 {
			if ofSwitch && !p.network.Nodes[p.network.Links[l].Ends[e]].Switch {
				continue
			}
			name := p.network.PortName(l, e)
			if name == t.Text {
				return 2*l + e
			}
			names = append(names, name)
		}
	}
	if len(names) > 20 {
		names = append(names[:20], "…")
	}
	d.Unknown(t.Place, "port", d.Text(t), names)
	return 0
}

func portName(n *topology.Network, port int) string { return n.PortName(port/2, port%2) }
