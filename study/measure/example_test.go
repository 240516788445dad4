package measure_test

import (
	"fmt"

	"weir/core/outcome"
	"weir/core/unit"
	"weir/internal/document"
	"weir/study/measure"
)

// hops is a measure of another binary: the number of links that packets have crossed.
type hops struct{ measure.Plain }

// AddValues adds the number.
func (hops) AddValues(e *measure.Evaluation) {
	e.Add(measure.Measured{Name: "hops", Unit: "packets", Value: float64(e.Result.PacketHops)})
}

// Example defines a measure by its differences from a plain one, and uses it alongside the built-in ones.
func Example() {
	kinds := append(measure.Definitions(), measure.Definition{Name: "hops", Doc: "links that packets have crossed",
		New: func() measure.Measure { return hops{} }})
	r := document.NewReader(document.FileKind{Name: "experiment", Whole: "an experiment", First: "title, …"})
	list := measure.DecodeList(r, kinds, document.Parse(r, "x.yaml", []byte("[drops, hops]")), &measure.Point{})
	v := list.Evaluate(&measure.Point{}, &outcome.Load{}, &outcome.Result{PacketHops: 42, Measured: unit.Second})
	for _, m := range v.Measures {
		fmt.Println(m.JSONName(), m.Value)
	}
	// Output:
	// drops_packets 0
	// hops_packets 42
}
