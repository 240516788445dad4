//go:build system

package bench_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"weir/study/bench"
)

// The same flows over the same paths take the same time in ns-3, whose code is not ours: with DCTCP, and with CUBIC
// without HyStart, in a fat tree of 16 hosts.
func TestPeers(t *testing.T) {
	f, err := bench.Peers(context.Background(), registry(), 4, bench.TurnOptions{Rounds: 1})
	if errors.Is(err, bench.ErrNoPeer) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range f.Rows {
		hystart := r.CC == "cubic" && r.Note == ""
		t.Logf("%s %s: %.0f times as many packet-hops a CPU second; median ratio %.3f, a factor of %.3f apart", r.CC, r.Note,
			r.Ratio, r.Median, math.Exp2(r.Apart))
		if len(r.Weir.FCT) != 16 || len(r.NS3.FCT) != 16 {
			t.Fatalf("%s: %d and %d flows", r.CC, len(r.Weir.FCT), len(r.NS3.FCT))
		}
		if off := math.Abs(float64(r.NS3.PacketHops)/float64(r.Weir.PacketHops) - 1); off > 0.02 {
			t.Errorf("%s: %d packet-hops, ns-3 has %d", r.CC, r.Weir.PacketHops, r.NS3.PacketHops)
		}
		if !hystart && (math.Abs(r.Median-1) > 0.03 || r.Apart > 0.06) {
			t.Errorf("%s: ns-3's times are %.3f of ours for the median flow, a factor of %.3f apart", r.CC, r.Median,
				math.Exp2(r.Apart))
		}
	}
	for _, text := range []string{f.String(), f.Markdown(), string(f.JSON())} {
		if !strings.Contains(text, "cubic") || !strings.Contains(text, f.Version) {
			t.Error(text)
		}
	}
	for _, l := range strings.Split(f.String(), "\n") {
		if len(l) > 80 {
			t.Errorf("%d columns: %s", len(l), l)
		}
	}
}
