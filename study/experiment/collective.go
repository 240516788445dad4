package experiment

import (
	"iter"

	"weir/core/jobs/collective"
	"weir/core/jobs/job"
	"weir/core/scheme"
	"weir/internal/document"
)

// warnCollective is the warning about the key that a job has taken the place of.
var warnCollective = scheme.WarningKind{ID: "collective-key",
	Condition: "collective and size stand for job: {" + collective.AllReduceFlows + ": {algorithm: …, size: …}}"}

// convertCollective returns the job that a traffic's key collective stands for, with a warning. Without the size that
// it needs it returns nil, and records the error.
func (d *jobDecoder) convertCollective(x document.Map, name string) *document.Node {
	algorithm, size := x.Get("collective"), x.Get("size")
	word := d.readWord(algorithm, traffic, "collective")
	if size == nil {
		x.Missing("size", "a collective needs the size of what every host has")
	}
	if word == "" || size == nil {
		return nil
	}
	at := algorithm.Place
	d.warn(warnCollective, at, "traffic %s: write job: {%s: {algorithm: %s, size: %s}} in place of collective and size",
		name, collective.AllReduceFlows, word, size.Text)
	params := &document.Node{Place: at, Kind: document.Mapping, Keys: []document.Entry{
		{Place: at, Name: "algorithm", Value: algorithm}, {Place: size.Place, Name: "size", Value: size}}}
	return &document.Node{Place: at, Kind: document.Mapping,
		Keys: []document.Entry{{Place: at, Name: collective.AllReduceFlows, Value: params}}}
}

// addFlows lists the flows of a job in which each message is a flow of the run.
func (d *jobDecoder) addFlows(x document.Map, p *Point, tr Traffic, all job.Flows, hosts []int) {
	at := hostsPlace(x)
	if !d.checkFlowCount(at, p, float64(all.Count())) || !d.nodes.checkPaths(at, p, transfers(p, all, hosts)) {
		return
	}
	p.flows.addReduction(reduction{Flows: all, traffic: len(p.entries), hosts: hosts, start: tr.startLow})
	tr.seen.Collective = true
	p.entries = append(p.entries, tr)
}

// hostsPlace returns where a traffic lists its hosts, or where it begins.
func hostsPlace(x document.Map) document.Place {
	if v := x.Get("hosts"); v != nil {
		return v.Place
	}
	return x.Place
}

// transfers returns the pairs of hosts that send to each other in a job. Where a group of switches has a NIC of each
// host, it returns no pair.
func transfers(p *Point, all job.Flows, hosts []int) iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		if p.seen.Routes.Common(hosts) {
			return
		}
		for k := range all.Count() {
			if src, dst, _ := all.Transfer(k); !yield(hosts[src], hosts[dst]) {
				return
			}
		}
	}
}
