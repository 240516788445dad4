package slowest

import (
	"fmt"

	"weir/core/outcome"
	"weir/core/unit"
	"weir/study/measure"
)

// ExampleDefinition: three flows have received 3, 1 and 2 kB in a second.
func ExampleDefinition() {
	result := &outcome.Result{Measured: unit.Second, Flows: make([]outcome.FlowResult, 3)}
	for i, kB := range []unit.Bytes{3, 1, 2} {
		result.Flows[i].Receiver.ReceivedBytes = kB * 1000
	}
	e := &measure.Evaluation{Point: &measure.Point{Traffic: []measure.Traffic{{Name: "x"}}}, Values: &measure.Values{},
		Load: &outcome.Load{Flows: make([]outcome.Flow, 3)}, Result: result}
	Definition().New().AddValues(e)
	fmt.Println(e.Values.Measures[0].Groups)
	// Output: [{x 8000}]
}
