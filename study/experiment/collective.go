package experiment

import (
	"iter"
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
	case !d.joinAll(x.Get("hosts").Place, p, transfers(p, &all, hosts)):
		return
	}
	p.flows.addReduction(reduction{Collective: all, traffic: len(p.entries), hosts: hosts, start: tr.startLow})
	tr.seen.Collective = true
	p.entries = append(p.entries, tr)
}

// transfers returns the pairs of hosts that send to each other in a collective operation. Where a group of switches has
// a NIC of each host, it returns no pair.
func transfers(p *Point, all *workload.Collective, hosts []int) iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		if p.seen.Routes.Common(hosts) {
			return
		}
		for k := range all.Steps() {
			if src, dst, _ := all.Transfer(k); !yield(hosts[src], hosts[dst]) {
				return
			}
		}
	}
}
