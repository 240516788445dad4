// Package programs lists Weir's switch programs, for the simulator's registry and for switches of real interfaces.
package programs

import (
	"weir/core/dataplane"
	"weir/core/dataplane/aqm/codel"
	"weir/core/dataplane/aqm/dualpi2"
	"weir/core/dataplane/aqm/ecn"
	"weir/core/dataplane/aqm/pie"
	"weir/core/dataplane/aqm/red"
	"weir/core/dataplane/balance/conga"
	"weir/core/dataplane/balance/drill"
	"weir/core/dataplane/balance/ecmp"
	"weir/core/dataplane/balance/hula"
	"weir/core/dataplane/balance/letflow"
	"weir/core/dataplane/balance/spray"
	"weir/core/dataplane/balance/wecmp"
	"weir/core/dataplane/buffer/inputloss"
	"weir/core/dataplane/buffer/inputring"
	ndpswitch "weir/core/dataplane/buffer/ndp"
	"weir/core/dataplane/buffer/pfc"
	"weir/core/dataplane/buffer/sharedbuffer"
	"weir/core/dataplane/buffer/trimming"
	"weir/core/dataplane/classify"
	"weir/core/dataplane/fairqueue/afq"
	"weir/core/dataplane/fairqueue/csfq"
	"weir/core/dataplane/fairqueue/fdpa"
	"weir/core/dataplane/fairqueue/ppv"
	"weir/core/dataplane/fairqueue/rainbow"
	"weir/core/dataplane/feedback/bolt"
	"weir/core/dataplane/feedback/fastcnp"
	"weir/core/dataplane/feedback/inband"
	"weir/core/dataplane/forward"
	"weir/core/dataplane/plan"
	"weir/papers/ncf"
	"weir/papers/p4abc"
	"weir/papers/p4te"
)

// ListPrograms returns all switch programs that files can name.
func ListPrograms() []dataplane.Scheme {
	return []dataplane.Scheme{
		p4abc.Scheme(), bolt.Scheme(), classify.Scheme(), codel.Scheme(), conga.Scheme(), csfq.Scheme(),
		drill.Scheme(), dualpi2.Scheme(), ecmp.Scheme(), ecn.Scheme(), fastcnp.Scheme(), forward.Scheme(),
		hula.Scheme(), inband.Scheme(), p4abc.ForgerScheme(), inputloss.Scheme(), inputring.Scheme(),
		letflow.Scheme(), ncf.Scheme(), ndpswitch.Scheme(), pfc.Scheme(), p4te.Scheme(), pie.Scheme(),
		red.Scheme(), sharedbuffer.Scheme(), spray.Scheme(), trimming.Scheme(), wecmp.Scheme(), ppv.Scheme(),
		afq.Scheme(), fdpa.Scheme(), rainbow.Scheme(), plan.Scheme(),
	}
}
