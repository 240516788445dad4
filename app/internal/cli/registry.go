package cli

import (
	"slices"

	"weir/app/programs"
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
	"weir/core/dataplane/tm"
	"weir/core/jobs/chakra"
	"weir/core/jobs/collective"
	"weir/core/jobs/goal"
	"weir/core/jobs/job"
	"weir/core/jobs/loggops"
	"weir/core/jobs/storage"
	"weir/core/topology"
	"weir/core/transport"
	"weir/core/transport/ndp"
	"weir/core/transport/rdma"
	"weir/core/transport/tcp"
	"weir/core/transport/udp"
	"weir/core/transport/uet"
	"weir/core/transport/window"
	"weir/core/workload"
	"weir/papers/ai"
	"weir/papers/hpcc"
	"weir/papers/ncf"
	"weir/papers/p4abc"
	"weir/papers/p4te"
	"weir/study/bench"
	"weir/study/experiment"
	"weir/study/interop/csvfiles"
	"weir/study/interop/hpccsim"
	"weir/study/measure"
)

// Registry returns a new registry of all names that experiments of Weir's own program can use. Other programs add
// their schemes to it.
func Registry() *experiment.Registry {
	return &experiment.Registry{
		Measures:   measure.Definitions(),
		Programs:   programs.ListPrograms(),
		Schedulers: tm.Schemes(),
		Transports: []transport.Scheme{ndp.Scheme(), rdma.Scheme(), tcp.Scheme(), udp.Scheme(), udp.ControlledScheme(),
			uet.Scheme(), window.Scheme()},
		Topologies: topology.Schemes(),
		Workloads:  workload.Distributions(),
		Networks:   topology.Formats(),
		Jobs:       slices.Concat(collective.Schemes(), storage.Schemes(), []job.Scheme{chakra.Scheme(), goal.Scheme()}),
		Ideals:     []job.Model{loggops.Scheme()},
		Flows:      workload.Formats(),
		Imports:    []experiment.Import{hpccsim.Importer()},
		Formats:    []experiment.ExportFormat{hpccsim.Format(), csvfiles.Format()},
		Controllers: []cc.Scheme{bbr.Scheme(), boltsender.Scheme(), cubic.Scheme(), dcqcn.Scheme(), dctcp.Scheme(),
			hpcc.Scheme(),
			hpcc.PINTScheme(), hpcc.PowerScheme(),
			hpcc.RxScheme(), none.Scheme(), reno.Scheme(), swift.Scheme(), timely.Scheme()},
		Library: []experiment.Library{{Name: "ai", Title: "Fabrics for training", Files: ai.Experiments},
			{Name: "bench", Title: "Benchmarks", Files: bench.Experiments, Lab: []string{"shaped", "switch"},
				Benchmark: true},
			{Name: "hpcc", Title: "HPCC++", Files: hpcc.Experiments, Lab: []string{"lab", "lab-kernel", "short-paths"}},
			{Name: "ncf", Title: "NCF: network-assisted congestion feedback", Files: ncf.Experiments, Lab: []string{"lab"}},
			{Name: "p4abc", Title: "P4-ABC", Files: p4abc.Experiments},
			{Name: "p4te", Title: "P4TE", Files: p4te.Experiments, Lab: []string{"lab", "lab-failure"}}},
		Times: times(),
	}
}
