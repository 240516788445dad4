package agent_test

import (
	"fmt"

	"weir/worlds/agent"
)

// Example checks a machine before anything is loaded.
func Example() {
	m := agent.Machine{Release: "6.1.0-13-amd64"}
	fmt.Println(m.Check())
	// Output:
	// agent: unsupported machine: the kernel is Linux 6.1.0-13-amd64; 6.6 or later is required for BPF programs at TCX
}
