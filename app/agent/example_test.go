package agent_test

import (
	"fmt"

	_ "weir/app/agent"
	"weir/study/run"
)

// Example shows that the import alone links the part in.
func Example() {
	fmt.Println(run.Agents.Linked())
	// Output: true
}
