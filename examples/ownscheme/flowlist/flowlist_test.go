package flowlist

import (
	"fmt"
	"io"

	"weir/study/experiment"
)

// ExampleFormat shows that a folder without results is an error that names the missing file.
func ExampleFormat() {
	fmt.Println(Format().New().Write(&experiment.Registry{}, "empty", "out", io.Discard))
	// Output: empty/runs.json:1:1: the file is missing, so this is not a results folder
}
