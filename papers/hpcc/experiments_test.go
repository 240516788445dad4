package hpcc_test

import (
	"slices"
	"strings"
	"testing"

	"weir/core/cc/cubic"
	"weir/core/cc/dcqcn"
	"weir/core/cc/dctcp"
	"weir/core/cc/none"
	"weir/core/cc/swift"
	"weir/core/cc/timely"
	"weir/core/dataplane"
	"weir/core/dataplane/aqm/ecn"
	"weir/core/dataplane/balance/drill"
	"weir/core/dataplane/balance/ecmp"
	"weir/core/dataplane/balance/letflow"
	"weir/core/dataplane/balance/spray"
	"weir/core/dataplane/buffer/pfc"
	"weir/core/dataplane/buffer/sharedbuffer"
	"weir/core/dataplane/classify"
	"weir/core/dataplane/feedback/inband"
	"weir/core/dataplane/forward"
	"weir/core/jobs/collective"
	"weir/internal/testkit/runtest"
	"weir/papers/hpcc"
	"weir/study/claim"
	"weir/study/experiment"
)

// library is the registry of the experiments in experiments/.
func library() *experiment.Registry {
	r := registry()
	r.Programs = []dataplane.Scheme{classify.Scheme(), ecmp.Scheme(), ecn.Scheme(), forward.Scheme(), inband.Scheme(),
		drill.Scheme(), letflow.Scheme(), pfc.Scheme(), sharedbuffer.Scheme(), spray.Scheme()}
	r.Controllers = append(r.Controllers, cubic.Scheme(), dcqcn.Scheme(), dctcp.Scheme(), none.Scheme(), swift.Scheme(),
		timely.Scheme())
	r.Jobs = collective.Schemes()
	r.Library = []experiment.Library{{Name: "hpcc", Files: hpcc.Experiments}}
	return r
}

// TestExperiments_NamedClaimsHold runs the paper's testbed and single-switch cases, with one seed: the claims named
// here hold. TestExperimentsFull has all seeds, and the claims that depend on them.
func TestExperiments_NamedClaimsHold(t *testing.T) {
	for name, claims := range map[string][]string{
		"incast16":          {"incast16.above-bound", "incast16.fairer", "incast16.full"},
		"incast16-reaction": {"incast16.per-ack", "incast16.per-rtt", "incast16.combined"},
		"rates":             {"fig6.rx-rate"},
		"joins":             {"joins.fair", "joins.no-queue"},
		"long-short":        {"long-short.hpcc-recovers", "long-short.clamped-slow"},
		"incast-long":       {"incast-long.hpcc-drains", "incast-long.dcqcn-queue", "incast-long.shorter"},
		"elephant-mice":     {"mice.hpcc", "mice.dcqcn-timer"},
	} {
		t.Run(name, func(t *testing.T) { claimsHold(t, name, experiment.Options{Set: []string{"repeat=1"}}, claims...) })
	}
}

// TestOwnExperiments checks Weir's additions to the paper, with one seed and some of the points: the claims named here
// hold. TestOwnExperimentsFull has the quick variants.
func TestOwnExperiments(t *testing.T) {
	for _, x := range []struct {
		name        string
		set, claims []string
	}{
		{"thinning", []string{"scheme=hpcc", "ack_every=[1 packet, 2 packets, 4 packets, 32 packets]",
			"traffic.web.stop=10ms"},
			[]string{"thinning.acks", "thinning.cheap", "thinning.queue", "thinning.no-collapse"}},
		{"parameters", []string{"set=[paper, draft]", "traffic.web.stop=500us"},
			[]string{"parameters.not-critical", "parameters.short-t"}},
		{"collectives", []string{"shape=ring", "scheme=hpcc", "spread=[ecmp, spray]",
			"traffic.reduce.job.all_reduce_flows.size=6MB"},
			[]string{"collectives.sprayed", "collectives.lossless"}},
		{"collectives", []string{"shape=tree", "scheme=[none, rx_hpcc]", "spread=[ecmp, spray]",
			"traffic.reduce.job.all_reduce_flows.size=2MB"},
			[]string{"collectives.short-queues", "collectives.lossless"}},
		{"collectives-chosen", []string{"shape=ring", "traffic.reduce.job.all_reduce_flows.size=8MB"},
			[]string{"collectives.chosen", "collectives.chosen-lossless"}},
		{"two-way", []string{"flows=[1, 8]", "rate=100Gbps", "stage=[0, 5]", "duration=500us", "warmup=2ms"},
			[]string{"two-way.full", "two-way.short-queue", "two-way.swings", "two-way.first", "two-way.receiver",
				"two-way.lossless"}},
		{"two-way-tcp", []string{"link=100M", "law=[agent_0, agent_5]"},
			[]string{"two-way-tcp.full", "two-way-tcp.short-queue", "two-way-tcp.swings"}},
		{"paths-incast", []string{"duration=1ms", "warmup=2ms", "law=hpcc"}, []string{"paths-incast.queue",
			"paths-incast.stage", "paths-incast.equal", "paths-incast.lossless"}},
		{"paths-half", []string{"duration=200us", "warmup=400us", "how=[ecmp, drill, chosen]"}, []string{"paths-half.chosen",
			"paths-half.chosen-full", "paths-half.lossless", "paths-half.drill"}},
		{"paths-relative", []string{"duration=400us", "warmup=600us", "slow=25Gbps", "stage=5", "balance=spray"},
			[]string{"paths-relative.queue", "paths-relative.goodput", "paths-relative.waits"}},
		{"paths-failure", []string{"duration=3200us", "how=[spray, chosen]"},
			[]string{"paths-failure.finds"}},
		{"paths-stage", []string{"duration=500us", "warmup=1ms", "spines=1", "law=[hpcc_0, hpcc_5, rx_5]"},
			[]string{"paths-stage.swings", "paths-stage.short", "paths-stage.equal", "paths-stage.lossless"}},
		{"lab-kernel", []string{"duration=5s", "warmup=3s"}, []string{"lab-kernel.busy", "lab-kernel.empty",
			"lab-kernel.fair", "lab-kernel.cubic"}},
		{"short-paths", []string{"delay=25us", "n=[1, 4]", "duration=1s", "warmup=1s"},
			[]string{"short-paths.goodput", "short-paths.queue", "short-paths.queue-bursts"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			claimsHold(t, x.name, experiment.Options{Set: append(x.set, "repeat=1")}, x.claims...)
		})
	}
}

// claimsHold runs an experiment and checks that these of its claims hold.
func claimsHold(t *testing.T, name string, o experiment.Options, claims ...string) {
	t.Helper()
	held := map[string]bool{}
	for _, c := range runtest.ExecuteAll(t, library(), "hpcc/"+name, o).Claims {
		held[c.ID] = c.Verdict == claim.Holds
		if slices.Contains(claims, c.ID) && !held[c.ID] {
			t.Errorf("%s %s: %s", c.ID, c.Verdict, c.Measured)
		}
	}
	for _, id := range claims {
		if _, ok := held[id]; !ok {
			t.Errorf("%s has no claim %s", name, id)
		}
	}
}

// TestQuickKeepsSchemes checks that the quick variants of HPCC §5.3 keep every scheme.
func TestQuickKeepsSchemes(t *testing.T) {
	seen := 0
	for _, e := range library().Experiments() {
		if !strings.HasPrefix(e.Name, "hpcc/websearch") && !strings.HasPrefix(e.Name, "hpcc/hadoop") {
			continue
		}
		seen++
		want := 6
		if strings.HasSuffix(e.Name, "-incast") || e.Name == "hpcc/websearch-50" {
			want = 7 // HPCC also with PFC's trigger as the paper's text has it, or with the drafts' maxStage
		}
		sweep, quick := runtest.ReadVariants(t, library(), e.Name)
		if _, changed := quick["scheme"]; changed || len(sweep["scheme"]) != want {
			t.Errorf("%s: %d schemes, the quick variant changes them: %v", e.Name, len(sweep["scheme"]), changed)
		}
	}
	if seen != 8 {
		t.Errorf("%d experiments", seen)
	}
}
