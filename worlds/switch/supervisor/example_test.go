package supervisor_test

import (
	"fmt"
	"os"

	softswitch "weir/worlds/switch"
	"weir/worlds/switch/supervisor"
)

// A start needs a file that can be read.
func ExampleStart() {
	fmt.Println(supervisor.Start(softswitch.Schemes{}, "/nonexistent/switch.yaml", false, nil, os.Stderr))
	// Output: the switch cannot start: /nonexistent/switch.yaml: no such file or directory
}
