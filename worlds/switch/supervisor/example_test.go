package supervisor_test

import (
	"fmt"
	"os"

	softswitch "weir/worlds/switch"
	"weir/worlds/switch/supervisor"
)

// ExampleStart shows that a start needs a readable file.
func ExampleStart() {
	fmt.Println(supervisor.Start(softswitch.Schemes{}, "/nonexistent/switch.yaml", false, nil, os.Stderr))
	// Output: the switch cannot start: /nonexistent/switch.yaml: no such file or directory
}
