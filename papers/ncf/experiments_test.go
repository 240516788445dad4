package ncf_test

import (
	"slices"
	"testing"

	"weir/core/cc"
	"weir/core/cc/bbr"
	boltsender "weir/core/cc/bolt"
	"weir/core/cc/cubic"
	"weir/core/cc/dcqcn"
	"weir/core/cc/dctcp"
	"weir/core/cc/none"
	"weir/core/cc/reno"
	"weir/core/cc/swift"
	"weir/core/cc/timely"
	"weir/core/dataplane"
	"weir/core/dataplane/aqm/ecn"
	"weir/core/dataplane/balance/ecmp"
	"weir/core/dataplane/balance/spray"
	"weir/core/dataplane/buffer/inputloss"
	ndpswitch "weir/core/dataplane/buffer/ndp"
	"weir/core/dataplane/classify"
	"weir/core/dataplane/feedback/bolt"
	"weir/core/dataplane/feedback/fastcnp"
	"weir/core/dataplane/feedback/inband"
	"weir/core/dataplane/forward"
	"weir/core/dataplane/tm"
	"weir/core/topology"
	"weir/core/transport"
	"weir/core/transport/ndp"
	"weir/core/transport/rdma"
	"weir/core/transport/tcp"
	"weir/core/transport/udp"
	"weir/core/workload"
	"weir/internal/testkit/runtest"
	"weir/papers/hpcc"
	"weir/papers/ncf"
	"weir/study/claim"
	"weir/study/experiment"
	"weir/study/measure"
)

// library is the registry of the experiments in experiments/.
func library() *experiment.Registry {
	return &experiment.Registry{
		Measures:  measure.Definitions(),
		Workloads: workload.Distributions(),
		Programs: []dataplane.Scheme{bolt.Scheme(), classify.Scheme(), ecmp.Scheme(), ecn.Scheme(), fastcnp.Scheme(),
			forward.Scheme(),
			inband.Scheme(), inputloss.Scheme(),
			ncf.Scheme(), ndpswitch.Scheme(), spray.Scheme()},
		Schedulers: tm.Schemes(),
		Transports: []transport.Scheme{ndp.Scheme(), rdma.Scheme(), tcp.Scheme(), udp.Scheme(), udp.ControlledScheme()},
		Topologies: topology.Schemes(),
		Controllers: []cc.Scheme{bbr.Scheme(), boltsender.Scheme(), cubic.Scheme(), dcqcn.Scheme(), dctcp.Scheme(),
			hpcc.Scheme(),
			hpcc.PowerScheme(), none.Scheme(), reno.Scheme(),
			swift.Scheme(), timely.Scheme()},
		Library: []experiment.Library{{Name: "ncf", Files: ncf.Experiments}},
	}
}

// TestQuickKeepsEnds checks that the quick variant of every experiment has one seed, or eight where the lab has one,
// every scheme, and both ends of every other sweep.
func TestQuickKeepsEnds(t *testing.T) {
	for _, e := range library().Experiments() {
		sweep, quick := runtest.ReadVariants(t, library(), e.Name)
		seeds := "1"
		if len(quick["lab_repeat"]) > 0 {
			seeds = "8"
		}
		if !slices.Equal(quick["repeat"], []string{seeds}) {
			t.Errorf("%s: quick has %v seeds, want %s", e.Name, quick["repeat"], seeds)
		}
		for key, all := range sweep {
			values, changed := quick[key]
			switch {
			case !changed, key == "length": // of the run: shorter is what makes it quick
			case key == "scheme" && len(values) != len(all):
				t.Errorf("%s: quick has %d of %d schemes", e.Name, len(values), len(all))
			case values[0] != all[0] || values[len(values)-1] != all[len(all)-1]:
				t.Errorf("%s: quick has %v of %v", e.Name, values, all)
			}
		}
	}
}

// mechanisms checks that the claims of an experiment about the mechanism itself hold. docs/papers/ncf.md reports the
// other claims, which compare speeds and schemes, with any verdict.
func mechanisms(t *testing.T, name string, o experiment.Options, claims ...string) {
	t.Helper()
	verdicts := map[string]string{}
	for _, c := range runtest.ExecuteAll(t, library(), "ncf/"+name, o).Claims {
		if verdicts[c.ID] = string(c.Verdict) + ": " + c.Measured; c.Verdict == claim.Holds {
			verdicts[c.ID] = ""
		}
	}
	for _, id := range claims {
		if said, ok := verdicts[id]; !ok {
			t.Errorf("%s has no claim %s", name, id)
		} else if said != "" {
			t.Errorf("%s %s", id, said)
		}
	}
}

// TestIncast_NacksPreventTimeouts checks 64 senders into a shallow buffer: NACKs avoid timeouts without a storm. The
// claims cover the speed, the competitors and the windows. TestExperiments_QuickMechanismsHold has every scheme.
func TestIncast_NacksPreventTimeouts(t *testing.T) {
	mechanisms(t, "incast", experiment.Options{Quick: true, Set: []string{"senders=64", "buffer=97KB",
		"scheme=[drop, ncf, " +
			"ncf_top0, ncf_coalesced, ncf_supply, ncf_quickack, ncf_supply_quickack, rdma_drop, rdma_ncf, rdma_supply]"}},
		"incast.drop-times-out",
		"incast.no-timeouts", "incast.no-timeouts-rdma", "incast.completes", "incast.overhead", "incast.overhead-rdma",
		"incast.storm", "incast.storm-mice", "incast.completes-rdma", "incast.nacks-arrive", "incast.throughput-quickack")
}
