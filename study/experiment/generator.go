package experiment

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"weir/core/topology"
	"weir/core/unit"
	"weir/core/workload"
	"weir/internal/document"
)

// Generator defines how the flows of a traffic are drawn, with new draws for every seed. Package plan draws them.
type Generator struct {
	From, To           []int // hosts
	FromCount, ToCount int   // number of hosts to draw from them; 0: all
	Pattern            string
	Stride             int
	Flows              int
	Sets               []unit.Time // start of each set, relative to the traffic's start; without a load
	Size               unit.Bytes
	Sizes              *workload.CDF // nil: Size
	// offered load as a share of the sending hosts' links; 0: flows begin at the traffic's start
	OfferedLoad float64
	Periodic    bool
	rates       map[int]float64 // rates of the hosts' links in bit/s
}

// Patterns of destinations.
const (
	ToHosts     = "hosts"       // every host of To
	ToRandom    = "random"      // another host for each flow
	Permutation = "permutation" // each host sends to one other and receives from one
	ToStride    = "stride"      // the host Stride positions further in the list
)

// destinationWords returns the words for destinations that are not names of hosts.
func destinationWords() []string { return traffic.FindKey("to").Form.ListWords() }

// isDrawn reports whether a traffic's flows are drawn for every seed, by the keys that it has.
func isDrawn(x document.Map) bool {
	for _, key := range []string{"from", "to"} {
		if t := x.Get(key); t != nil && (t.Kind == document.Mapping || t.Kind == document.Scalar &&
			slices.Contains(destinationWords(), t.Text)) {
			return true
		}
	}
	return x.Get("sizes") != nil || x.Get("load") != nil || x.Get("arrivals") != nil
}

// readEndpoints reads from or to: hosts, random, permutation, {random: n}, {stride: n}. It stores the pattern and
// counts in g. key is from or to. Where hosts are drawn, it returns all hosts of the network. generated reports whether
// the hosts are drawn; it is also true after an error in the form.
func (d *trafficDecoder) readEndpoints(x document.Map, key string, p *Point, g *Generator) (hosts []int,
	generated bool) {
	t := x.Get(key)
	all := func() (out []int) {
		for i, n := range p.measured.Network.Nodes {
			if !n.Switch {
				out = append(out, i)
			}
		}
		return
	}
	if t == nil || t.Kind == document.List || t.Kind == document.Scalar && !slices.Contains(destinationWords(), t.Text) {
		return d.nodes.readHosts(x, key, p), false
	}
	if t.Kind == document.Scalar {
		if key == "from" {
			d.Fail(t.Position, "a host, a pattern or {random: 10}", "%q is not a valid source", t.Text)
			return nil, true
		}
		g.Pattern = t.Text
		return all(), true
	}
	tables := []*document.Table{drawn}
	if key == "to" {
		tables = append(tables, strided)
	}
	i := slices.IndexFunc(tables, func(x *document.Table) bool {
		return len(t.Keys) == 1 && slices.Contains(x.KeyNames(), t.Keys[0].Name)
	})
	if i < 0 {
		d.Fail(t.Position, "a host, a pattern, a list of them, random, permutation, {random: 1}, {stride: 8}",
			"the value is not a valid %s",
			map[string]string{"from": "source", "to": "destination"}[key])
		return nil, true
	}
	hosts = all()
	n := d.ReadInteger(tables[i].ViewMap(t).Get(t.Keys[0].Name), 1, max(len(hosts)-1, 1))
	switch {
	case tables[i] == strided:
		g.Pattern, g.Stride = ToStride, n
	case key == "from":
		g.FromCount = n
	default:
		g.ToCount = n
	}
	return hosts, true
}

// readSizes reads a distribution of flow sizes: its name, or {file: …}. It returns nil after an error.
func (d *trafficDecoder) readSizes(t *document.Node) *workload.CDF {
	if t.Kind == document.Mapping {
		m, ok := d.ReadMap(t, sizes)
		file := m.Get("file")
		if !ok || file == nil {
			return nil
		}
		data, name := d.openText(file)
		if !d.entryOK() {
			return nil
		}
		c, err := workload.ReadCDF(bytes.NewReader(data), name)
		if err != nil {
			ReportForeignError(d.Reader, file, err)
			return nil
		}
		return c
	}
	var names []string
	for i := range d.registry.Workloads {
		c := &d.registry.Workloads[i]
		if c.Name == t.Text && t.Kind == document.Scalar {
			return c
		}
		names = append(names, c.Name)
	}
	d.FailUnknown(t.Position, "distribution of sizes", d.ReadText(t), append(names, "{file: …}"))
	return nil
}

// addGenerator reads the other keys of a traffic with drawn flows into g, and adds the traffic to the point, unless one
// of these keys has an error. It also checks the numbers of hosts and their paths. flows is the number of flows per
// sender or pair without a load.
func (d *trafficDecoder) addGenerator(x document.Map, p *Point, tr Traffic, g *Generator, flows int) {
	g.Flows = flows
	if v := x.Get("sizes"); v != nil {
		if s := x.Get("size"); s != nil {
			d.Fail(s.Position, "remove size, or remove sizes", "size is given together with sizes")
		}
		g.Sizes = d.readSizes(v)
	}
	if v := x.Get("load"); v != nil {
		ok := false
		if g.OfferedLoad, ok = document.ReadValid(d.Reader, v, unit.ParseShare); ok && !(g.OfferedLoad > 0 &&
			g.OfferedLoad <= 10) {
			d.Fail(v.Position, "above 0% and up to 1000%", "%q is not a valid load", v.Text)
		}
		if f := x.Get("flows"); f != nil {
			d.Fail(f.Position, "remove flows, or remove load",
				"flows is given together with load, which determines the number of flows")
		}
		if g.Size == 0 && x.Get("sizes") == nil {
			d.Fail(v.Position, "size: 500kB or sizes: websearch", "load is given without a flow size")
		}
		if tr.startHigh > tr.startLow {
			d.Fail(x.Get("start").Position, "one time", "start is a range, but with load it is the time at which arrivals begin")
		}
		g.Periodic = d.ReadWord(x.GetDefault("arrivals"), "value of arrivals",
			traffic.FindKey("arrivals").Form.Words) == "periodic"
	} else if v := x.Get("arrivals"); v != nil {
		d.Fail(v.Position, "a load, such as load: 50%, or no arrivals", "arrivals is given without load")
	}
	if !d.entryOK() {
		return
	}
	g.rates = hostRates(p.measured.Network)
	switch hosts := len(g.From); {
	case g.FromCount+max(g.ToCount, len(g.ExcludedSource())) > hosts && g.FromCount > 0:
		d.Fail(x.Position, fmt.Sprintf("up to %d in total", hosts),
			"%d sources and %d destinations are more than the available hosts",
			g.FromCount, max(g.ToCount, len(g.ExcludedSource())))
	case (g.Pattern == Permutation || g.Pattern == ToStride) && hosts < 2:
		d.Fail(x.Position, "two hosts or more", "a %s needs at least two hosts", g.Pattern)
	case g.Pattern == ToStride && g.Stride%hosts == 0:
		d.Fail(x.Get("to").Position, fmt.Sprintf("1 … %d", hosts-1),
			"a stride of %d over %d hosts leads back to the sender",
			g.Stride, hosts)
	}
	if d.entryOK() {
		d.nodes.checkPaths(x.Get("to").Position, p, g.listPairs(p))
	}
	tr.generator = g
	p.entries = append(p.entries, tr)
}

// readSets reads the start of each set of a traffic, relative to its start: {count: 4, interval: 100s}. Without the key
// there is one set, at 0. It returns nil after an error. tr needs its start.
func (d *trafficDecoder) readSets(x document.Map, p *Point, tr *Traffic) []unit.Time {
	t := x.Get("sets")
	if t == nil {
		return []unit.Time{0}
	}
	if l := x.Get("load"); l != nil {
		d.Fail(t.Position, "remove sets, or remove load",
			"sets is given together with load, which determines when flows begin")
		return nil
	}
	if t.Kind != document.Mapping {
		d.Fail(t.Position, "{count: 4, interval: 100s}", "sets is not a map with count and interval")
		return nil
	}
	m, ok := d.ReadMap(t, sets)
	if !ok {
		return nil
	}
	count, interval := m.Get("count"), m.Get("interval")
	if count == nil || interval == nil {
		d.Fail(t.Position, "{count: 4, interval: 100s}", "sets needs both count and interval")
		return nil
	}
	n, every := d.ReadInteger(count, 1, int(d.maxFlows())), d.ReadPositiveTime(interval)
	if !d.entryOK() {
		return nil
	}
	if end := p.measured.End(); unit.Time(n-1) > (end-1-tr.startHigh)/every {
		d.Fail(t.Position, "a shorter interval or a smaller count", "set %d would begin after the end of the run (%v)", n,
			end)
		return nil
	}
	out := make([]unit.Time, n)
	for i := range out {
		out[i] = unit.Time(i) * every
	}
	return out
}

// typeOfService has the TOS bytes of a traffic's flows.
type typeOfService struct {
	last   uint8      // of the largest flows, or of all
	bySize []sizedTOS // ascending
}

// sizedTOS is the TOS byte of flows with at least from bytes.
type sizedTOS struct {
	from unit.Bytes
	tos  uint8
}

// readTOS reads into tr.tos a TOS byte, or one for each class of flow sizes: {0 B: 0x10, 100KB: 0x08}. By sizes, the
// first class must begin at 0 B and sizes must ascend. x must have the key tos.
func (d *trafficDecoder) readTOS(x document.Map, tr *Traffic) {
	t := x.Get("tos")
	one := func(v *document.Node) uint8 {
		n, err := strconv.ParseUint(d.ReadText(v), 0, 8)
		if err != nil {
			d.Fail(v.Position, "0 … 255, 0x00 … 0xff", "%q is not a valid TOS byte", v.Text)
		}
		return uint8(n)
	}
	if t.Kind != document.Mapping {
		tr.tos.last = one(t)
		return
	}
	classes := x.GetEntries("tos")
	if len(classes) == 0 {
		d.Fail(t.Position, "{0 B: 0x10, 100KB: 0x08}", "tos has no TOS byte")
		return
	}
	for i, k := range classes {
		from, err := unit.ParseBytes(k.Name)
		switch {
		case err != nil:
			d.Fail(k.Position, "{0 B: 0x10, 100KB: 0x08}", "%v", err)
			return
		case i == 0 && from != 0:
			d.Fail(k.Position, "0 B, with larger sizes after it", "the first flow size in tos is %q", k.Name)
			return
		case i > 0 && from <= tr.tos.bySize[i-1].from:
			d.Fail(k.Position, "ascending sizes", "%q is not above the preceding size", k.Name)
			return
		}
		tr.tos.bySize = append(tr.tos.bySize, sizedTOS{from, one(k.Value)})
	}
	tr.tos.last = tr.tos.bySize[len(tr.tos.bySize)-1].tos
}

// TOSOf returns the TOS byte of a flow with the given size in bytes. Size 0 is a flow without an end, which has the TOS
// byte of the largest flows.
func (tr *Traffic) TOSOf(size unit.Bytes) uint8 {
	if size == 0 { // the flow has no end
		return tr.tos.last
	}
	for i := len(tr.tos.bySize) - 1; i >= 0; i-- {
		if size >= tr.tos.bySize[i].from {
			return tr.tos.bySize[i].tos
		}
	}
	return tr.tos.last
}

// MeanSize returns the mean size of a flow in bytes; 0: flows have no end.
func (g *Generator) MeanSize() float64 {
	if g.Sizes != nil {
		return g.Sizes.MeanSize()
	}
	return float64(g.Size)
}

// groupSize returns the number of flows that begin together. Every source of an arrival sends to every destination
// that was drawn.
func (g *Generator) groupSize() int { return max(g.FromCount, 1) * max(g.ToCount, 1) }

// ArrivalRate returns the mean number of arrivals per second of one source, or of a whole incast. An arrival is one
// flow, ToCount flows, or in an incast the flows of all its sources. source is a node; an incast ignores it. The load
// of an incast is a share of all hosts' links. The mean size must not be 0.
func (g *Generator) ArrivalRate(source int) float64 {
	rate := g.rates[source]
	if g.FromCount > 0 {
		rate = 0
		for _, h := range g.From {
			rate += g.rates[h]
		}
	}
	return g.OfferedLoad * rate / 8 / g.MeanSize() / float64(g.groupSize())
}

// ArrivalsEnd returns the time at which arrivals end: the traffic's stop or the end of the run, whichever is earlier.
func (g *Generator) ArrivalsEnd(p *Point, tr *Traffic) unit.Time {
	return min(tr.stop, p.measured.End())
}

// ExpectedFlows returns the mean number of flows of a run, over all sets. With a load it is the mean of a random
// number.
func (g *Generator) ExpectedFlows(p *Point, tr *Traffic) float64 {
	if g.OfferedLoad == 0 {
		n := float64(len(g.From))
		if g.FromCount > 0 {
			n = float64(g.FromCount)
		}
		return n * float64(g.Flows) * float64(max(g.ToCount, 1)) * float64(len(g.Sets))
	}
	seconds := (g.ArrivalsEnd(p, tr) - tr.startLow).Seconds()
	if g.FromCount > 0 {
		return g.ArrivalRate(0) * float64(g.groupSize()) * seconds
	}
	n := 0.0
	for _, h := range g.From {
		n += g.ArrivalRate(h) * seconds
	}
	return n * float64(max(g.ToCount, 1))
}

// ExcludedSource returns the one host to which all send, as a set of one node; nil if there are several receivers or
// they are drawn. This host is not drawn as a source.
func (g *Generator) ExcludedSource() map[int]bool {
	if g.Pattern != ToHosts || g.ToCount > 0 || len(g.To) != 1 {
		return nil
	}
	return map[int]bool{g.To[0]: true}
}

// hostRates returns each host's sending rate in bit/s: the sum of its links to switches with links to other switches,
// or else of all its links. So a switch inside a server does not count. A packet of a rate in packets counts 1500
// bytes.
func hostRates(n *topology.Network) map[int]float64 {
	leads := make([]bool, len(n.Nodes))
	for _, l := range n.Links {
		if n.Nodes[l.Ends[0]].Switch && n.Nodes[l.Ends[1]].Switch {
			leads[l.Ends[0]], leads[l.Ends[1]] = true, true
		}
	}
	out, all := map[int]float64{}, map[int]float64{}
	for _, l := range n.Links {
		rate := float64(l.Rate.Bits)
		if l.Rate.Bits == 0 {
			rate = float64(l.Rate.Packets) * 12000
		}
		for e, host := range l.Ends {
			if n.Nodes[host].Switch {
				continue
			}
			if all[host] += rate; leads[l.Ends[1-e]] {
				out[host] += rate
			}
		}
	}
	for host, rate := range all {
		if out[host] == 0 {
			out[host] = rate
		}
	}
	return out
}

// listPairs returns pairs of hosts between which the generator may draw a flow, to check their paths: for a stride all
// pairs, otherwise only a pair without a path, if there is one.
func (g *Generator) listPairs(p *Point) iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		if g.Pattern == ToStride && g.FromCount == 0 {
			for i, from := range g.From {
				if !yield(from, g.From[(i+g.Stride)%len(g.From)]) {
					return
				}
			}
			return
		}
		to := g.To
		if g.Pattern == Permutation || g.Pattern == ToStride {
			to = g.From
		}
		if a, b, found := p.measured.Routes.FindUnjoined(g.From, to); found {
			yield(a, b)
		}
	}
}
