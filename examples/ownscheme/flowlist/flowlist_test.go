package flowlist

import (
	"fmt"
	"io"

	"weir/study/experiment"
)

// A folder without results is an error that names what is missing.
func ExampleFormat() {
	fmt.Println(Format().New().Write(&experiment.Registry{}, "empty", "out", io.Discard))
	// Output: empty/runs.json:1:1: this is no results folder: the file is not there
}
