package hostagents_test

import (
	"fmt"

	"weir/study/run"
	"weir/study/run/hostagents"
)

// A program that has agents links them in.
func Example() {
	run.Agents.Link(hostagents.Driver{})
	fmt.Println(run.Agents.Linked())
	// Output: true
}
