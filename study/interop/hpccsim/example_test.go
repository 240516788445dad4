package hpccsim_test

import (
	"fmt"

	"weir/study/experiment"
	"weir/study/interop/hpccsim"
)

// ExampleImport returns each error in a simulator's files with its place.
func ExampleImport() {
	_, _, err := hpccsim.Import(&experiment.Registry{}, "none.txt", ".")
	fmt.Println(err)
	// Output:
	// none.txt:1:1: it cannot be read: no such file or directory; allowed: a config.txt of the HPCC simulator
}
