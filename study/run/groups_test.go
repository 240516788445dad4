package run

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"weir/internal/testkit"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/study/report"
	"weir/study/results"
)

const groupSpec = `duration: 20ms
framing: hpcc
mtu: 1000 B payload
topology: {leaf_spine: {leaves: 1, spines: 1, hosts: 6, rate: 10Gbps, delay: 1us}}
switch: [ecmp]
groups: {storage: [h4, h5], fast: [h0, h1], all: "*"}
traffic:
  - {name: read, from: storage, to: [h0, h1, h2], transport: rdma, cc: dctcp, size: 100kB, start: 0s}
  - {name: write, from: h2, to: storage, transport: rdma, cc: dctcp, size: 500kB, start: 0s}
  - {name: train, job: {all_reduce: {size: 400kB, iterations: 3, compute: 100us, slow: {h1: 1.5}}},
     hosts: [h0, h1, h2, h3], transport: rdma, cc: dctcp}
%s
`

// TestMeasures_GroupByHosts checks that values by group cover the flows that its hosts send or receive, and
// of their ranks. A host may be in several groups. The slowest value is taken over hosts. A traffic limits the
// flows that count, and plots select a group like a traffic.
func TestMeasures_GroupByHosts(t *testing.T) {
	o := executeJob(t, fmt.Sprintf(groupSpec, `measure: [fct, {fct: {by: to_group, percentiles: [50]}}, goodput,
  {goodput: {by: group}}, {unfinished: {by: group, traffic: write}}, job, {job: {by: group}}, {slowdown: {by: group}}]
plot: [{x: fct, y: cdf, traffic: storage}, {x: slowdown, y: cdf}]`))
	r := o.Runs[0]
	flows := r.Flows
	mean := func(to []string) (mean, slowest float64) {
		sum, n, most := 0.0, 0.0, 0.0
		for _, h := range to {
			own, k := 0.0, 0.0
			for i := range flows.FCTS {
				if flows.Names[flows.Dst[i]] == h {
					own, k = own+float64(flows.FCTS[i]), k+1
				}
			}
			if sum, n = sum+own, n+k; k > 0 {
				most = max(most, own/k)
			}
		}
		return sum / n, most
	}
	all := []string{"h0", "h1", "h2", "h3", "h4", "h5"}
	for group, hosts := range map[string][]string{"storage": all[4:], "fast": all[:2], "all": all} {
		m, slowest := mean(hosts)
		exactly(t, "fct of "+group, valueOf(r, t, "fct", group), m)
		exactly(t, "the slowest of "+group, valueOf(r, t, "fct_slowest", group), slowest)
	}
	whole := valueOf(r, t, "goodput", "all")
	exactly(t, "goodput of all", whole, valueOf(r, t, "goodput", "read")+valueOf(r, t, "goodput", "write")+
		valueOf(r, t, "goodput", "train"))
	exactly(t, "the slowest of storage", valueOf(r, t, "goodput_slowest", "storage"), valueOf(r, t, "goodput", "read")/2)
	exactly(t, "what fast computes", valueOf(r, t, "job_computing", "fast"), 3*(100e-6+150e-6)/2)
	exactly(t, "the slowest rank of fast", valueOf(r, t, "job_slowest_rank", "fast"), 1)
	exactly(t, "what fast sends", valueOf(r, t, "job_sent", "fast"), valueOf(r, t, "job_sent", "train")/2)
	exactly(t, "unfinished", valueOf(r, t, "unfinished", "all"), 0)
	if v := valueOf(r, t, "job", "storage"); !math.IsNaN(v) {
		t.Errorf("a group without ranks has a job of %v", v)
	}
	f, err := report.PlotFigure(o, o.Spec.Plots()[0])
	if err != nil || f == nil || len(f.Panels[0].Marks) != 1 || !strings.Contains(f.Title, "storage") {
		t.Errorf("%+v, %v", f, err)
	}
	for text, want := range map[string]string{
		"measure: [{fct: {by: group}}, {fct: {by: to_group}}]":   "the measure fct is given twice",
		"measure: [{goodput: {by: group, every: 1ms}}]":          "goodput of jobs over time is available by traffic only",
		"groups: {read: [h0]}\nmeasure: [{fct: {by: group}}]":    "read is the name of both a group and a traffic",
		"groups: {}\nmeasure: [{fct: {by: group}}]":              "the experiment has no groups of hosts",
		"network: loggops\nmeasure: [{goodput: {every: 100us}}]": "an ideal network carries no packets whose goodput",
	} {
		whole := fmt.Sprintf(groupSpec, text)
		if strings.HasPrefix(text, "groups") {
			whole = strings.Replace(whole, `groups: {storage: [h4, h5], fast: [h0, h1], all: "*"}`+"\n", "", 1)
			whole = strings.ReplaceAll(whole, "storage", "[h4, h5]")
		}
		if strings.HasPrefix(text, "network") {
			from, to := strings.Index(whole, "  - {name: read"), strings.Index(whole, "  - {name: train")
			whole = whole[:from] + whole[to:]
		}
		if _, err := plan.Load(room(), file("t.yaml", whole), experiment.Options{}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\nwant %s", text, err, want)
		}
	}
}

// TestJobGoodput checks that the goodput of a job is the bytes of its messages that arrived in the measured part,
// divided by its duration. Without a warm-up these are all bytes, with one the bytes after it. Over time the sum is
// the same. On an ideal network it is the bytes sent.
func TestJobGoodput(t *testing.T) {
	const job = `duration: 20ms
framing: hpcc
mtu: 1000 B payload
topology: {leaf_spine: {leaves: 1, spines: 1, hosts: 4, rate: 10Gbps, delay: 1us}}
switch: [ecmp]
traffic:
  - {name: train, job: {all_reduce: {size: 400kB, iterations: 4, compute: 100us, channels: 2}}, transport: rdma,
     cc: dctcp}
`
	measured := func(r *results.Run, warmup float64) float64 { return r.End.TimeS - warmup }
	r := executeJob(t, job+"measure: [job, delay, retransmissions, loss, {goodput: {every: 50us}}]\n").Runs[0]
	sent := valueOf(r, t, "job_sent", "train")
	exactly(t, "all bytes", valueOf(r, t, "goodput", "train")*measured(r, 0)/8, sent)
	sum, before := 0.0, 0.0
	for k, v := range overOf(r, t, "goodput", "train").Values {
		if sum += float64(v) * 50e-6 / 8; k < 10 {
			before += float64(v) * 50e-6 / 8
		}
	}
	if before < 0.05*sent || before > 0.95*sent {
		t.Errorf("%v of %v come in the first 500 us", before, sent)
	}
	// bytes after the last whole interval are in no interval
	testkit.CheckNear(t, "bytes over time", sum, sent, testkit.Tolerance{Relative: 0.1})
	if v := valueOf(r, t, "delay", "train"); !(v > 2e-6 && v < 1e-3) {
		t.Errorf("delay %v", v)
	}
	exactly(t, "loss", valueOf(r, t, "loss", "train"), 0)
	warm := executeJob(t, job+"warmup: 500us\nmeasure: [goodput]\n").Runs[0]
	exactly(t, "bytes after the warm-up", valueOf(warm, t, "goodput", "train")*measured(warm, 500e-6)/8, sent-before)
	ideal := executeJob(t, job+"network: {loggops: {L: 2us, o: 0s, g: 0s, G: 800ps}}\nmeasure: [job, goodput]\n").Runs[0]
	exactly(t, "on an ideal network", valueOf(ideal, t, "goodput", "train"), sent*8/valueOf(ideal, t, "job", "train"))
}
