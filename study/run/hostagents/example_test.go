package hostagents_test

import (
	"fmt"

	"weir/study/run"
	"weir/study/run/hostagents"
)

// Example links agents into a program.
func Example() {
	run.Agents.Link(hostagents.Driver{})
	fmt.Println(run.Agents.Linked())
	// Output: true
}
