package experiment_test

import (
	"errors"
	"fmt"

	"weir/internal/document"
	"weir/study/experiment"
	"weir/study/plan"
)

// ExampleLoad returns all errors of a file together, each with its place.
func ExampleLoad() {
	_, err := plan.Load(&experiment.Registry{}, &experiment.Source{Name: "x", File: "x.yaml",
		Data: []byte("duraton: 1s\n")},
		experiment.Options{})
	var wrong document.InputErrors
	errors.As(err, &wrong)
	for _, e := range wrong {
		fmt.Printf("%s:%d:%d: %s\n", e.File, e.Line, e.Column, e.Msg)
	}
	// Output:
	// x.yaml:1:1: unknown key "duraton"; did you mean "duration"?
	// x.yaml:1:1: the key "topology" is missing
	// x.yaml:1:1: the key "traffic" is missing
}
