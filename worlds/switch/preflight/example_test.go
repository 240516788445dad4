package preflight_test

import (
	"fmt"
	"os"
	"strings"

	"weir/core/dataplane"
	"weir/core/dataplane/forward"
	"weir/core/dataplane/tm"
	softswitch "weir/worlds/switch"
	"weir/worlds/switch/preflight"
)

// ExampleCheckFile reports the problems that prevent the start of a switch.
func ExampleCheckFile() {
	file, err := os.CreateTemp("", "switch")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.Remove(file.Name())
	file.WriteString("ports: {a: {interface: nosuch1}, b: {interface: nosuch2}}\nswitch: [forward]\nmetrics: none\n")
	known := softswitch.Schemes{Programs: []dataplane.Scheme{forward.Scheme()}, Schedulers: tm.Schemes()}
	err = preflight.CheckFile(known, file.Name(), false, os.Stdout)
	for line := range strings.Lines(err.Error()) {
		if strings.Contains(line, "interface") {
			fmt.Print(line)
		}
	}
	fmt.Println()
	// Output:
	// the switch cannot start: port a: there is no interface nosuch1
	// the switch cannot start: port b: there is no interface nosuch2
}
