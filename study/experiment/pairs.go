package experiment

import (
	"slices"

	"weir/internal/document"
)

// pairAll joins every one of the generator's hosts to every other that it names.
func (d *trafficDecoder) pairAll(x document.Map, p *Point, g *Generator) (pairs [][2]int) {
	for _, a := range g.From {
		for _, b := range g.To {
			if a == b {
				if len(g.From) == 1 && len(g.To) == 1 {
					d.Fail(x.Get("to").Place, "another host", "the traffic goes from %q to itself", p.seen.Network.Nodes[a].Name)
				}
				continue
			}
			pairs = append(pairs, [2]int{a, b})
		}
	}
	return pairs
}

// readPairs reads who sends to whom: [[h0, h5], [h1, h4]].
func (d *trafficDecoder) readPairs(x document.Map, p *Point) (pairs [][2]int) {
	t := x.Get("pairs")
	for _, key := range []string{"from", "to", "load", "sizes"} {
		if v := x.Get(key); v != nil {
			d.Fail(v.Place, "pairs alone", "%s stands beside pairs, which say who sends to whom", key)
		}
	}
	if t.Kind != document.List || len(t.Items) == 0 {
		d.Fail(t.Place, "[[h0, h5], [h1, h4]]", "this is no list of pairs")
		return nil
	}
	n := p.seen.Network
	for _, item := range t.Items {
		if item.Kind != document.List || len(item.Items) != 2 {
			d.Fail(item.Place, "[h0, h5]", "a pair is a sender and a receiver")
			continue
		}
		var pair [2]int
		for e, y := range item.Items {
			i, ok := d.nodes.directory.of(n).nodes[d.Text(y)]
			switch {
			case !ok:
				d.Unknown(y.Place, "host", y.Text, d.nodes.directory.hosts)
			case n.Nodes[i].Switch:
				d.Fail(y.Place, document.Near(y.Text, d.nodes.directory.hosts), "%q is a switch; flows go from host to host",
					y.Text)
			}
			pair[e] = i
		}
		if pair[0] == pair[1] && d.entryFine() {
			d.Fail(item.Place, "another host", "the traffic goes from %q to itself", n.Nodes[pair[0]].Name)
		}
		pairs = append(pairs, pair)
	}
	return pairs
}

// addFlows makes the flows of pairs of hosts.
func (d *trafficDecoder) addFlows(x document.Map, p *Point, tr Traffic, g *Generator, pairs [][2]int, flows int) {
	id := len(p.entries)
	p.entries = append(p.entries, tr)
	number := d.readPorts(x, p)
	at := x.Get("to")
	if at == nil {
		at = x.Get("pairs")
	}
	index := 0
	for _, pair := range pairs {
		a, b := pair[0], pair[1]
		if !d.nodes.checkPath(at.Place, p, a, b) || !d.checkFlowCount(x.Place, p, float64(flows)*float64(len(g.Sets))) {
			return
		}
		p.flows.grow(flows * len(g.Sets))
		for _, later := range g.Sets {
			for range flows {
				f := Flow{Traffic: id, Index: index, Src: a, Dst: b, Size: g.Size, Later: later}
				if number != nil && !number.give(&f) {
					d.Fail(x.Get("ports").Place, "1 … 65535", "flow %d of the traffic would have a port beyond 65535", index)
					return
				}
				p.flows.add(f)
				index++
			}
		}
	}
}

// numbering gives flows their ports.
type numbering struct {
	first [2]int   // of a sender, of a receiver
	flows [2][]int // by host: flows that it sends, that it receives, so far
}

// readPorts reads a traffic's ports; nil: it has none of its own.
func (d *trafficDecoder) readPorts(x document.Map, p *Point) *numbering {
	t := x.Get("ports")
	if t == nil {
		return nil
	}
	m, ok := d.Map(t, ports)
	if !ok {
		return nil
	}
	if p.numbered[0] == nil {
		for e := range p.numbered {
			p.numbered[e] = make([]int, len(p.seen.Network.Nodes))
		}
	}
	n := &numbering{flows: p.numbered}
	for e, key := range []string{"from", "to"} {
		if v := m.Get(key); v != nil {
			n.first[e] = d.Integer(v, 1, 65535)
		} else {
			m.Missing(key, "the ports have no first one of %s", map[string]string{"from": "senders", "to": "receivers"}[key])
			return nil
		}
	}
	return n
}

// give gives a flow the next ports of its hosts; false: there are no more.
func (n *numbering) give(f *Flow) bool {
	for e, host := range [2]int{f.Src, f.Dst} {
		f.own[e] = n.first[e] + n.flows[e][host]
		n.flows[e][host]++
	}
	return slices.Max(f.own[:]) <= 65535
}

// Ports are the ports of a flow that the file numbers; false: it does not.
func (f *Flow) Ports() (src, dst int, ok bool) { return f.own[0], f.own[1], f.own[0] > 0 }
