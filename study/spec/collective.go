package spec

import (
	"strconv"

	"weir/core/unit"
	"weir/core/workload"
	"weir/internal/document"
)

// collective reads the flows of a traffic that is a collective operation.
func (d *decoder) collective(x document.Map, p *Point, tr Traffic, size unit.Bytes) {
	kind := x.Get("collective")
	for _, k := range traffic.Names(notRing) {
		if v := x.Get(k); v != nil {
			d.Fail(v.Place, "hosts, size, start", "%q stands beside collective, which decides who sends what to whom", k)
		}
	}
	word := d.word(kind, traffic, "collective")
	if tr.startHigh > tr.startLow {
		d.Fail(x.Get("start").Place, "one time", "a collective begins at one time")
	}
	if x.Get("size") == nil {
		x.Missing("size", "a collective needs the size of what every host has")
	}
	hosts := d.hosts(x, "hosts", p)
	if !d.fine() {
		return
	}
	for _, h := range hosts[1:] {
		if !p.seen.Routes.Joined(hosts[0], h) {
			d.Fail(x.Get("hosts").Place, "hosts that links and switches join", "there is no path from %s to %s",
				p.seen.Network.Nodes[hosts[0]].Name, p.seen.Network.Nodes[h].Name)
			return
		}
	}
	all, err := workload.AllReduce(word, len(hosts), size)
	switch {
	case err != nil && len(hosts) < 2:
		d.Fail(x.Get("hosts").Place, "two hosts or more", "%v", err)
		return
	case err != nil:
		d.Fail(x.Get("size").Place, strconv.Itoa(len(hosts))+" B or more", "%v", err)
		return
	case !d.room(x.Get("hosts").Place, p, float64(all.Steps())):
		return
	}
	p.flows.addReduction(reduction{Collective: all, traffic: len(p.entries), hosts: hosts, start: tr.startLow})
	tr.seen.Collective = true
	p.entries = append(p.entries, tr)
}
