package ndp

import (
	"strings"
	"testing"

	"weir/core/cc"
)

// TestConfig_CheckRemarksDropsWithoutTrimming checks the warning about switches that drop without trimming: only
// timeouts find those losses. There is no warning where no packet is lost, or where packets without room are trimmed.
func TestConfig_CheckRemarksDropsWithoutTrimming(t *testing.T) {
	c := &Config{}
	if all := c.Check(&cc.FlowContext{Paths: []cc.FlowPath{{Name: "a->b"}}}); len(all) != 1 ||
		!strings.Contains(all[0].Text, "no switch trims packets (program ndp or trimming) of a->b") {
		t.Errorf("%+v", all)
	}
	for _, p := range []cc.FlowPath{{Trims: true}, {WhyLossless: "pfc"}} {
		if all := c.Check(&cc.FlowContext{Paths: []cc.FlowPath{p}}); len(all) != 0 {
			t.Errorf("%+v", all)
		}
	}
}
