package slowest

import (
	"fmt"

	"weir/core/unit"
	"weir/study/measure"
	"weir/worlds/sim"
)

// Three flows have received 3, 1 and 2 kB in a second.
func ExampleKind() {
	result := &sim.Result{Measured: unit.Second, Flows: make([]sim.FlowResult, 3)}
	for i, kB := range []unit.Bytes{3, 1, 2} {
		result.Flows[i].Receiver.ReceivedBytes = kB * 1000
	}
	e := &measure.Evaluation{Point: &measure.Point{Traffic: []measure.Traffic{{Name: "x"}}}, Values: &measure.Values{},
		Config: &sim.Config{Flows: make([]sim.Flow, 3)}, Result: result}
	Kind().New().Evaluate(e)
	fmt.Println(e.Values.Measures[0].Groups)
	// Output: [{x 8000}]
}
