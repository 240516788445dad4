package dataplane_test

import (
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/balance/conga"
	"weir/core/dataplane/balance/drill"
	"weir/core/dataplane/balance/ecmp"
	"weir/core/dataplane/balance/hula"
	"weir/core/dataplane/balance/letflow"
	"weir/core/dataplane/balance/spray"
)

// TestTraits_DeclareSpreading checks that programs declare before they run how they spread flows.
func TestTraits_DeclareSpreading(t *testing.T) {
	for _, x := range []struct {
		scheme dataplane.Scheme
		want   dataplane.Spreading
	}{
		{ecmp.Scheme(), dataplane.OnePath}, {letflow.Scheme(), dataplane.EachFlowlet},
		{conga.Scheme(), dataplane.EachFlowlet},
		{hula.Scheme(), dataplane.EachFlowlet}, {spray.Scheme(), dataplane.EachPacket},
		{drill.Scheme(), dataplane.EachPacket},
	} {
		t.Run(x.scheme.Name, func(t *testing.T) {
			if got := dataplane.TraitsOf(x.scheme.Config()).Spreads; got != x.want {
				t.Errorf("%d, want %d", got, x.want)
			}
		})
	}
}
