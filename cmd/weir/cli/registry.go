package cli

import (
	"slices"

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
	"weir/core/dataplane/afq"
	"weir/core/dataplane/bolt"
	"weir/core/dataplane/classify"
	"weir/core/dataplane/codel"
	"weir/core/dataplane/conga"
	"weir/core/dataplane/csfq"
	"weir/core/dataplane/drill"
	"weir/core/dataplane/dualpi2"
	"weir/core/dataplane/ecmp"
	"weir/core/dataplane/ecn"
	"weir/core/dataplane/fastcnp"
	"weir/core/dataplane/fdpa"
	"weir/core/dataplane/forward"
	"weir/core/dataplane/hula"
	"weir/core/dataplane/inband"
	"weir/core/dataplane/inputloss"
	"weir/core/dataplane/inputring"
	"weir/core/dataplane/letflow"
	ndpswitch "weir/core/dataplane/ndp"
	"weir/core/dataplane/pfc"
	"weir/core/dataplane/pie"
	"weir/core/dataplane/plan"
	"weir/core/dataplane/ppv"
	"weir/core/dataplane/rainbow"
	"weir/core/dataplane/red"
	"weir/core/dataplane/sharedbuffer"
	"weir/core/dataplane/spray"
	"weir/core/dataplane/tm"
	"weir/core/dataplane/trimming"
	"weir/core/dataplane/wecmp"
	"weir/core/topology"
	"weir/core/transport"
	"weir/core/transport/ndp"
	"weir/core/transport/rdma"
	"weir/core/transport/tcp"
	"weir/core/transport/udp"
	"weir/core/transport/uet"
	"weir/core/transport/window"
	"weir/core/workload"
	"weir/core/workload/chakra"
	"weir/core/workload/collective"
	"weir/core/workload/goal"
	"weir/core/workload/job"
	"weir/core/workload/loggops"
	"weir/core/workload/storage"
	"weir/papers/ai"
	"weir/papers/hpcc"
	"weir/papers/ncf"
	"weir/papers/p4abc"
	"weir/papers/p4te"
	"weir/study/bench"
	"weir/study/interop/csvfiles"
	"weir/study/interop/hpccsim"
	"weir/study/measure"
	"weir/study/spec"
)

// Registry has everything that experiments of Weir's own binary can name. It is a new value each
// time, to which your program adds its own schemes.
func Registry() *spec.Registry {
	return &spec.Registry{
		Measures: measure.Kinds(),
		Programs: []dataplane.Scheme{p4abc.Scheme(), bolt.Scheme(), classify.Scheme(), codel.Scheme(), conga.Scheme(),
			csfq.Scheme(),
			drill.Scheme(), dualpi2.Scheme(), ecmp.Scheme(), ecn.Scheme(), fastcnp.Scheme(), forward.Scheme(), hula.Scheme(),
			inband.Scheme(), p4abc.ForgerScheme(),
			inputloss.Scheme(), inputring.Scheme(), letflow.Scheme(), ncf.Scheme(), ndpswitch.Scheme(), pfc.Scheme(),
			p4te.Scheme(), pie.Scheme(), red.Scheme(), sharedbuffer.Scheme(), spray.Scheme(), trimming.Scheme(), wecmp.Scheme(),
			// shares among users
			ppv.Scheme(), afq.Scheme(), fdpa.Scheme(), rainbow.Scheme(),
			plan.Scheme()},
		Schedulers: tm.Schemes(),
		Transports: []transport.Scheme{ndp.Scheme(), rdma.Scheme(), tcp.Scheme(), udp.Scheme(), udp.ControlledScheme(),
			uet.Scheme(), window.Scheme()},
		Topologies: topology.Schemes(),
		Workloads:  workload.Distributions(),
		Networks:   topology.Formats(),
		Jobs:       slices.Concat(collective.Schemes(), storage.Schemes(), []job.Scheme{chakra.Scheme(), goal.Scheme()}),
		Ideals:     []job.Model{loggops.Scheme()},
		Flows:      workload.Formats(),
		Imports:    []spec.Import{hpccsim.Importer()},
		Formats:    []spec.Format{hpccsim.Format(), csvfiles.Format()},
		Controllers: []cc.Scheme{bbr.Scheme(), boltsender.Scheme(), cubic.Scheme(), dcqcn.Scheme(), dctcp.Scheme(),
			hpcc.Scheme(),
			hpcc.PINTScheme(), hpcc.PowerScheme(),
			hpcc.RxScheme(), none.Scheme(), reno.Scheme(), swift.Scheme(), timely.Scheme()},
		Library: []spec.Library{{Name: "ai", Title: "Fabrics for training", Files: ai.Experiments},
			{Name: "bench", Title: "Benchmarks", Files: bench.Experiments, Lab: []string{"shaped", "switch"},
				Benchmark: true},
			{Name: "hpcc", Title: "HPCC++", Files: hpcc.Experiments, Lab: []string{"lab", "lab-kernel", "short-paths"}},
			{Name: "ncf", Title: "NCF: network-assisted congestion feedback", Files: ncf.Experiments, Lab: []string{"lab"}},
			{Name: "p4abc", Title: "P4-ABC", Files: p4abc.Experiments},
			{Name: "p4te", Title: "P4TE", Files: p4te.Experiments, Lab: []string{"lab", "lab-failure"}}},
		Times: times(),
	}
}
