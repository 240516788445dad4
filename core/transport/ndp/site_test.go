package ndp

import (
	"strings"
	"testing"

	"weir/core/cc"
)

// Over switches that drop and do not trim it is said that losses are found by timeouts; where nothing is lost, or what
// finds no room is trimmed, there is nothing to say.
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
