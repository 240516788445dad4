package swift_test

import (
	"strings"
	"testing"

	"weir/core/cc"
	"weir/core/cc/swift"
	"weir/core/unit"
)

// TestTargetOfPaths checks that of the paths that exceed the target without queues, the warning names the one that
// exceeds it by most.
func TestTargetOfPaths(t *testing.T) {
	c := swift.Defaults()
	c.BaseTarget, c.HopDelay = 20*unit.Microsecond, 0
	s := &cc.FlowContext{MSS: 1000}
	for i, trip := range []unit.Time{24_527_998, 20 * unit.Millisecond} {
		p := cc.FlowPath{Name: []string{"a->b", "c->b"}[i]}
		p.BaseRTT, p.Hops = trip, 1
		s.Paths = append(s.Paths, p)
	}
	all := c.Check(s)
	if len(all) == 0 || !strings.Contains(all[0].Text, "not above 20ms, the round trip of a path of 1 switches "+
		"without queues (c->b)") {
		t.Errorf("%v", all)
	}
}
