package cli

import (
	"weir/bench"
	"weir/cc"
	"weir/cc/bbr"
	"weir/cc/cubic"
	"weir/cc/dcqcn"
	"weir/cc/dctcp"
	"weir/cc/none"
	"weir/cc/reno"
	"weir/cc/swift"
	"weir/cc/timely"
	"weir/dataplane"
	"weir/dataplane/classify"
	"weir/dataplane/conga"
	"weir/dataplane/drill"
	"weir/dataplane/ecmp"
	"weir/dataplane/ecn"
	"weir/dataplane/fastcnp"
	"weir/dataplane/forward"
	"weir/dataplane/hula"
	"weir/dataplane/inband"
	"weir/dataplane/inputloss"
	"weir/dataplane/letflow"
	ndpswitch "weir/dataplane/ndp"
	"weir/dataplane/pfc"
	"weir/dataplane/sharedbuffer"
	"weir/dataplane/spray"
	"weir/dataplane/tm"
	"weir/dataplane/wecmp"
	"weir/experiment"
	"weir/hpcc"
	"weir/ncf"
	"weir/p4abc"
	"weir/p4te"
	"weir/topology"
	"weir/transport"
	"weir/transport/ndp"
	"weir/transport/rdma"
	"weir/transport/tcp"
	"weir/transport/udp"
	"weir/transport/window"
)

// Registry is all that Weir itself has: what the experiments of its binary can name. It
// is a new value each time, to which a program of yours adds its own schemes.
func Registry() *experiment.Registry {
	return &experiment.Registry{
		Programs: []dataplane.Scheme{p4abc.Scheme(), classify.Scheme(), conga.Scheme(), drill.Scheme(), ecmp.Scheme(), ecn.Scheme(), fastcnp.Scheme(), forward.Scheme(), hula.Scheme(), inband.Scheme(), inputloss.Scheme(),
			letflow.Scheme(), ncf.Scheme(), ndpswitch.Scheme(), pfc.Scheme(), p4te.Scheme(), sharedbuffer.Scheme(), spray.Scheme(), wecmp.Scheme()},
		Schedulers: tm.Schemes(),
		Transports: []transport.Scheme{ndp.Scheme(), rdma.Scheme(), tcp.Scheme(), udp.Scheme(), udp.ControlledScheme(), window.Scheme()},
		Topologies: topology.Schemes(),
		Controllers: []cc.Scheme{bbr.Scheme(), cubic.Scheme(), dcqcn.Scheme(), dctcp.Scheme(), hpcc.Scheme(), hpcc.PINTScheme(), hpcc.PowerScheme(),
			hpcc.RxScheme(), none.Scheme(), reno.Scheme(), swift.Scheme(), timely.Scheme()},
		Library: []experiment.Library{{Name: "bench", Files: bench.Experiments}, {Name: "hpcc", Files: hpcc.Experiments}, {Name: "ncf", Files: ncf.Experiments}, {Name: "p4abc", Files: p4abc.Experiments},
			{Name: "p4te", Files: p4te.Experiments}},
	}
}
