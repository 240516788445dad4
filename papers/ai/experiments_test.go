package ai_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"weir/core/cc"
	"weir/core/cc/dcqcn"
	"weir/core/cc/swift"
	"weir/core/dataplane"
	"weir/core/dataplane/aqm/ecn"
	"weir/core/dataplane/balance/ecmp"
	"weir/core/dataplane/balance/letflow"
	"weir/core/dataplane/balance/spray"
	ndpswitch "weir/core/dataplane/buffer/ndp"
	"weir/core/dataplane/buffer/pfc"
	"weir/core/dataplane/buffer/sharedbuffer"
	"weir/core/dataplane/buffer/trimming"
	"weir/core/dataplane/feedback/inband"
	"weir/core/dataplane/tm"
	"weir/core/jobs/collective"
	"weir/core/outcome"
	"weir/core/topology"
	"weir/core/transport"
	"weir/core/transport/ndp"
	"weir/core/transport/rdma"
	"weir/core/transport/uet"
	"weir/core/unit"
	"weir/internal/testkit/plantest"
	"weir/internal/testkit/runtest"
	"weir/papers/ai"
	"weir/papers/hpcc"
	"weir/study/claim"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/study/plan"
	"weir/study/report"
	"weir/study/results"
	"weir/worlds/sim"
)

// library is the registry of the experiments in experiments/.
func library() *experiment.Registry {
	return &experiment.Registry{
		Measures: measure.Definitions(),
		Programs: []dataplane.Scheme{ecmp.Scheme(), ecn.Scheme(), inband.Scheme(), letflow.Scheme(), ndpswitch.Scheme(),
			pfc.Scheme(), sharedbuffer.Scheme(), spray.Scheme(), trimming.Scheme()},
		Schedulers:  tm.Schemes(),
		Transports:  []transport.Scheme{ndp.Scheme(), rdma.Scheme(), uet.Scheme()},
		Topologies:  topology.Schemes(),
		Jobs:        collective.Schemes(),
		Controllers: []cc.Scheme{dcqcn.Scheme(), hpcc.Scheme(), hpcc.RxScheme(), swift.Scheme()},
		Library:     []experiment.Library{{Name: "ai", Files: ai.Experiments}},
	}
}

// valuesOf returns the values of a key of the sweep, or nil without values.
func valuesOf(s *experiment.Spec, key string) (values []string) {
	for _, d := range s.Sweep() {
		for _, v := range d.Values {
			if d.Key == key {
				values = append(values, v.Text)
			}
		}
	}
	return values
}

// schemes are the schemes of the matrix, and the schemes that they are compared with. Two experiments also have hpcc_0,
// for claims about a max_stage of 0.
var schemes = []string{"hpcc", "rx_hpcc", "dcqcn", "swift", "uet", "uet_switch", "ndp"}

// TestQuickKeepsAll checks that the quick variant of every experiment keeps every scheme and every way to spread flows.
func TestQuickKeepsAll(t *testing.T) {
	all := library().Experiments()
	if len(all) != 8 {
		t.Errorf("%d experiments", len(all))
	}
	for _, e := range all {
		t.Run(strings.TrimPrefix(e.Name, "ai/"), func(t *testing.T) {
			sweep, quick := runtest.ReadVariants(t, library(), e.Name)
			for key, a := range sweep {
				if b, changed := quick[key]; changed && key != "gpus" && key != "iterations" && !slices.Equal(a, b) {
					t.Errorf("of %s %v, --quick keeps %v", key, a, b)
				}
			}
			a := slices.DeleteFunc(slices.Clone(sweep["scheme"]), func(x string) bool { return x == "hpcc_0" })
			if len(a) > 0 && !slices.Equal(a, schemes) {
				t.Errorf("schemes %v", a)
			}
		})
	}
}

// TestExperiments_EstimateEveryMatrixSize checks that the matrices have 128 and 1,024 GPUs, with an estimate of either;
// --quick has 128. TestSizesFull has all schemes.
func TestExperiments_EstimateEveryMatrixSize(t *testing.T) {
	for _, name := range []string{"ai/all-reduce", "ai/all-to-all"} {
		estimates(t, name, runtest.Load(t, library(), name, experiment.Options{Set: []string{"scheme=swift", "balance=spray",
			"iterations=2"}}))
	}
}

// estimates checks the sizes of a matrix, and the estimates of its runs.
func estimates(t *testing.T, name string, s *experiment.Spec) {
	t.Helper()
	sweep, quick := runtest.ReadVariants(t, library(), name)
	a, b := sweep["gpus"], quick["gpus"]
	if !slices.Equal(a, []string{"128", "1024"}) || !slices.Equal(b, []string{"128"}) {
		t.Errorf("%s: %v, quick %v", name, a, b)
	}
	hosts := map[int]float64{}
	for _, r := range plan.ListRuns(s) {
		n := 0
		for _, node := range r.SpecPoint.Network().Nodes {
			if !node.Switch {
				n++
			}
		}
		if hops := plan.EstimateHops(r); hops > hosts[n] {
			hosts[n] = hops
		}
		if plan.EstimateMemory(r) <= 0 || plan.EstimateTime(r) <= 0 {
			t.Errorf("%s %v has no estimate", name, r.Point)
		}
	}
	if len(hosts) != 2 || hosts[1024] < 7.9*hosts[128] {
		t.Errorf("%s: packet-hops by GPUs %v", name, hosts)
	}
}

// first is the first run of a file of a test's own.
func first(t *testing.T, src *experiment.Source) *plan.Run {
	t.Helper()
	s := plantest.LoadSource(t, library(), src, experiment.Options{})
	return plan.ListRuns(s)[0]
}

// carried is what a run gives, with something changed.
func carried(t *testing.T, r *plan.Run, change func(c *sim.Config)) (*sim.Config, *outcome.Result) {
	t.Helper()
	c, err := r.Config()
	if err != nil {
		t.Fatal(err)
	}
	change(c)
	res := plantest.Simulate(t, c)
	return c, res
}

// TestAllToAll_HierarchicalLeavesSpinesIdle checks that an all-to-all with forwarding within servers does not use the
// spines of one segment. Sent directly, traffic for another rail passes them.
func TestAllToAll_HierarchicalLeavesSpinesIdle(t *testing.T) {
	for algorithm, idle := range map[string]bool{"direct": false, "hierarchical": true} {
		src := &experiment.Source{Name: "x", File: "x.yaml", Data: []byte(fmt.Sprintf(`
duration: 10ms
topology: {rails: {servers: 4, gpus: 4, spines: 2, rate: 400Gbps, delay: 500ns}}
switch: [ecmp]
traffic:
  - {name: train, transport: rdma, cc: dcqcn, job: {all_to_all: {size: 1MB, algorithm: %s, local: 4}}}
measure: [job]
`, algorithm))}
		c, r := carried(t, first(t, src), func(*sim.Config) {})
		sent := int64(0)
		for _, p := range r.Ports {
			if strings.HasPrefix(c.Wiring.Network.Nodes[p.Node].Name, "spine") {
				sent += int64(p.TxPackets)
			}
		}
		if r.Jobs[0].Left > 0 || (sent == 0) != idle {
			t.Errorf("%s: %d operations are left, spines have sent %d packets", algorithm, r.Jobs[0].Left, sent)
		}
	}
}

// TestTrimmedRDMA checks that RDMA over switches that trim it gives the same result with frames on every link, in
// several threads and in other windows, also with a last packet without whole words. All flows end, without timeouts or
// drops.
func TestTrimmedRDMA(t *testing.T) {
	for name, transport := range map[string]string{
		"go back n": "{rdma: {trimmable: true}}, cc: dcqcn",
		"none":      "{rdma: {recovery: none, trimmable: true, nacks: resend}}, cc: swift",
		"repeat":    "{rdma: {recovery: selective_repeat, trimmable: true}}, cc: hpcc",
		"receivers": "{rdma: {recovery: selective_repeat, trimmable: true, ack_every: 4 packets}}, cc: rx_hpcc",
		"paths":     "{rdma: {recovery: selective_repeat, reordering: adaptive, trimmable: true, paths: 8}}, cc: hpcc",
	} {
		t.Run(name, func(t *testing.T) {
			src := &experiment.Source{Name: "x", File: "x.yaml", Data: []byte(`
duration: 50ms
topology: {fat_tree: {k: 4, rate: 100Gbps, delay: 1us}}
mtu: 1000 B payload
switches: {"*": {queues: 2, programs: [ecmp, {trimming: {rtt: 14us}}, telemetry]}}
traffic: [{name: x, from: {random: 8}, to: {random: 1}, size: 100003 B, start: 0s, transport: ` + transport + `}]
measure: [fct]
`)}
			of := first(t, src)
			var want string
			for i, change := range []func(c *sim.Config){
				func(*sim.Config) {},
				func(c *sim.Config) { c.Wire = true },
				func(c *sim.Config) { c.Threads = 3 },
				func(c *sim.Config) { c.Window = 300 * unit.Nanosecond },
			} {
				_, r := carried(t, of, change)
				var nacks, timeouts, open int64
				got := fmt.Sprint(r.Drops)
				for i := range r.Flows {
					f := &r.Flows[i]
					nacks, timeouts = nacks+f.Sender.NacksTaken, timeouts+f.Timeouts
					if got += fmt.Sprint(f.FCT, f.Sender.SentPackets, " "); f.FCT == unit.Never {
						open++
					}
				}
				if i == 0 {
					want = got
				}
				if got != want || nacks == 0 || timeouts > 0 || open > 0 {
					t.Errorf("%d: %s\n%s before; %d NACKs, %d timeouts, %d flows have not ended", i, got, want, nacks, timeouts, open)
				}
			}
		})
	}
}

// TestLongTrimmedRDMA checks that on long links, too, there are no timeouts for NACKed packets, for a queue of
// microseconds, or on a path that answers: 1,050 flows to one host over links of 50 us (150 on several paths). Of
// go-back-N three flows time out in the first burst: an answer behind a CNP waits until the NIC has sent those for
// other flows' packets. TestLongTrimmedRDMAFull has as many flows; here are 300 (150).
func TestLongTrimmedRDMA(t *testing.T) {
	longTrimmed(t, map[string]longIncast{
		"go back n": {"size: 100kB, flows: 20", 0, "{rdma: {trimmable: true}}, cc: dcqcn"},
		"repeat":    {"size: 100kB, flows: 20", 0, "{rdma: {recovery: selective_repeat, trimmable: true}}, cc: dcqcn"},
		"paths": {"size: 50kB, flows: 10", 0,
			"{rdma: {recovery: selective_repeat, reordering: adaptive, trimmable: true, paths: 8}}, cc: hpcc"},
	})
}

// longIncast is the number and size of flows, the maximum number of timeouts, and the transport.
type longIncast struct {
	flows     string
	most      int64
	transport string
}

// longTrimmed sends incasts over links of 50 us to switches that trim.
func longTrimmed(t *testing.T, incasts map[string]longIncast) {
	t.Helper()
	for name, x := range incasts {
		t.Run(name, func(t *testing.T) {
			src := &experiment.Source{Name: "x", File: "x.yaml", Data: []byte(`
duration: 500ms
topology: {fat_tree: {k: 4, rate: 100Gbps, delay: 50us}}
mtu: 1000 B payload
switches: {"*": {queues: 2, programs: [ecmp, {trimming: {rtt: 14us}}, telemetry]}}
traffic: [{name: x, from: "h[1-15]", to: h0, start: 0s, ` + x.flows + `, transport: ` + x.transport + `}]
measure: [fct]
`)}
			_, r := carried(t, first(t, src), func(*sim.Config) {})
			var timeouts, nacks, open int64
			for i := range r.Flows {
				f := &r.Flows[i]
				timeouts, nacks = timeouts+f.Timeouts, nacks+f.Sender.NacksTaken
				if f.FCT == unit.Never {
					open++
				}
			}
			drops := uint64(0)
			for _, n := range r.Drops {
				drops += uint64(n)
			}
			if timeouts > x.most || nacks == 0 || open > 0 || drops > 0 {
				t.Errorf("%d timeouts, %d NACKs, %d flows have not ended, drops %v", timeouts, nacks, open, r.Drops)
			}
		})
	}
}

// TestNoSuchValue checks that a value that a block of the sweep does not have is an error with those that it has, also
// where all of the network is the block's.
func TestNoSuchValue(t *testing.T) {
	r := library()
	src, err := r.OpenExperiment("ai/all-to-all")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"scheme", "gpus", "balance"} {
		_, err := plan.Load(r, src, experiment.Options{Set: []string{key + "=uet,uet_switch"}})
		if err == nil || !strings.Contains(err.Error(), `unknown sweep value "uet,uet_switch"`) {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// TestCellsAreNamed checks that every cell of schemes and ways to spread flows is there, or is named with its reason:
// in the experiment and in each form of the report. TestCellsAreNamedFull has every experiment.
func TestCellsAreNamed(t *testing.T) { cellsAreNamed(t, "ai/all-to-all") }

// cellsAreNamed checks the cells of experiments.
func cellsAreNamed(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		t.Run(strings.TrimPrefix(name, "ai/"), func(t *testing.T) {
			s := runtest.Load(t, library(), name, experiment.Options{Quick: true})
			there, left := map[string]bool{}, map[string]string{}
			for _, p := range s.Points() {
				there[cell(p.Coordinates())] = true
			}
			for _, a := range s.OmittedPoints() {
				for _, p := range a.Points {
					left[cell(p)] = a.Why
				}
			}
			for _, b := range valuesOf(s, "balance") {
				for _, x := range valuesOf(s, "scheme") {
					at := b + " " + x
					meant := b == "spray" || x != "ndp" && x != "uet_switch" && x != "hpcc_0"
					if there[at] != meant || (len(left[at]) > 40) == meant {
						t.Errorf("%s: there %v, left out because %q", at, there[at], left[at])
					}
				}
			}
			named(t, s)
		})
	}
}

// cell is a place of the matrix.
func cell(at []measure.Coordinate) string {
	var b, s string
	for _, c := range at {
		switch c.Key {
		case "balance":
			b = c.Text
		case "scheme":
			s = c.Text
		}
	}
	return b + " " + s
}

// named checks that reports of no runs at all name the cells that are left out.
func named(t *testing.T, s *experiment.Spec) {
	t.Helper()
	o := &results.Outcome{Spec: s, Name: s.Name(), World: experiment.Sim}
	markdown, err := (&report.TableOptions{}).Markdown(o)
	if err != nil {
		t.Fatal(err)
	}
	page, err := report.FormatHTML(o, nil, nil, report.Page{})
	if err != nil {
		t.Fatal(err)
	}
	lines := report.DescribeOmitted(s)
	if len(lines) != len(s.OmittedPoints()) {
		t.Errorf("left out: %v", lines)
	}
	for form, text := range map[string]string{"text": report.FormatText(o), "Markdown": markdown, "page": string(page),
		"JSON": string(o.JSON())} {
		text = strings.Join(strings.Fields(strings.ReplaceAll(text, "&#39;", "'")), " ")
		for _, a := range s.OmittedPoints() {
			if why := strings.Join(strings.Fields(a.Why), " "); !strings.Contains(text, why) {
				t.Errorf("%s does not say: %s", form, why)
			}
		}
	}
}

// TestCredit_EndsFlowsWithoutFailedClaim runs Ultra Ethernet's transport six times: every flow ends, and no claim
// fails. TestExperiments_QuickVariantsLeaveNoOperations has the whole quick variant.
func TestCredit_EndsFlowsWithoutFailedClaim(t *testing.T) {
	o := runtest.ExecuteAll(t, library(), "ai/credit", experiment.Options{Quick: true, Set: []string{"pattern=incast",
		"control=[nscc, rccc, both]", "balance=[one, mixed]"}})
	for _, c := range o.Claims {
		if c.Verdict == claim.Fails {
			t.Errorf("%s %s: %s", c.ID, c.Verdict, c.Measured)
		}
	}
	for _, r := range o.Runs {
		if n := value(r, "unfinished"); n != 0 {
			t.Errorf("%s: %v flows do not end", measure.PointName(r.Point), n)
		}
	}
}

// TestLockstep_ClaimsHoldOnStar checks that around one switch a host that is 5 us late costs between a fifth and 70 %
// of an all-reduce by halving and doubling. In step the complete operation takes as long as its halves.
// TestExperiments_QuickVariantsLeaveNoOperations has all controls and the fat tree.
func TestLockstep_ClaimsHoldOnStar(t *testing.T) {
	o := runtest.ExecuteAll(t, library(), "ai/lockstep", experiment.Options{Quick: true, Set: []string{"fabric=star",
		"control=[uet, ndp, swift, hpcc]"}})
	for _, c := range o.Claims {
		if c.Verdict != claim.Holds {
			t.Errorf("%s %s: %s", c.ID, c.Verdict, c.Measured)
		}
	}
}

// TestLockstepAligned checks that on a fat tree, too, each of several iterations takes as long as one, if all hosts
// begin it together. One after the other they lose their lockstep.
func TestLockstepAligned(t *testing.T) {
	took := func(set ...string) float64 {
		o := runtest.ExecuteAll(t, library(), "ai/lockstep", experiment.Options{Quick: true, Set: append(set,
			"fabric=fat_tree",
			"control=uet", "operation=all_reduce", "late=0us")})
		return value(o.Runs[0], "job_iteration")
	}
	one, aligned, others := took(), took("iterations=3", "align=2ms"), took("iterations=3")
	if aligned > 1.1*one || aligned < 0.9*one || others < 1.2*one {
		t.Errorf("an iteration takes %.4g s, of three %.4g s aligned, and %.4g s one after the other", one, aligned, others)
	}
}

// value is a run's measure of its only traffic.
func value(r *results.Run, name string) float64 {
	for _, m := range r.Measures {
		if m.Name == name && len(m.Groups) > 0 {
			return m.Groups[0].Value
		}
	}
	return -1
}
