package outcome_test

import (
	"fmt"

	"weir/core/outcome"
	"weir/core/unit"
)

// ExampleResult describes a run of two flows that ended before the second flow did.
func ExampleResult() {
	load := outcome.Load{Flows: []outcome.Flow{{Group: 0, Size: 1000}, {Group: 1, Size: 5000}}}
	result := outcome.Result{End: outcome.TimeUp, Flows: []outcome.FlowResult{{FCT: 3 * unit.Millisecond},
		{FCT: unit.Never}}, Unfinished: []int{1}, Delivered: []unit.Bytes{2000}}
	for i, f := range result.Flows {
		if f.FCT != unit.Never {
			fmt.Printf("flow %d of traffic %d: %v\n", i, load.Flows[i].Group, f.FCT)
		}
	}
	for k, i := range result.Unfinished {
		fmt.Printf("%s: flow %d has %d of %d bytes\n", result.End, i, result.Delivered[k], load.Flows[i].Size)
	}
	// Output:
	// flow 0 of traffic 0: 3ms
	// time up: flow 1 has 2000 of 5000 bytes
}
