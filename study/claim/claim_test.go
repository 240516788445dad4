package claim

import (
	"testing"

	"github.com/expr-lang/expr/parser"

	"weir/study/measure"
)

// TestExpressionUnit_FollowsMeasures checks that an expression has the unit of its measures, as far as they show it.
func TestExpressionUnit_FollowsMeasures(t *testing.T) {
	shape := &measure.Values{Measures: []measure.Measured{{Name: "goodput", Unit: "bps"}, {Name: "jain"},
		{Name: "queue", Unit: "packets"}, {Name: "delay", Unit: "s"}, {Name: "delay_max", Unit: "s"}}}
	v := &View{Shape: func() *measure.Values { return shape }}
	for text, want := range map[string]string{"goodput.a": "bps", "abs(goodput.a - 5)": "bps", "2 * queue.mean": "packets",
		"goodput.a / goodput.b": "", "jain": "", "delay.a + 1": "s",
		"next.goodput.a - goodput.a": "bps", "3": "", "max(1, delay.b) ": "", "min(delay_max.a, 2)": "s"} {
		t.Run(text, func(t *testing.T) {
			node, err := parser.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			if got, _ := v.expressionUnit(node.Node); got != want {
				t.Errorf("the unit is %q, want %q", got, want)
			}
		})
	}
}
