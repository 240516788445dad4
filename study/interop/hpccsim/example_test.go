package hpccsim_test

import (
	"fmt"

	"weir/study/experiment"
	"weir/study/interop/hpccsim"
)

// What is wrong with a simulator's files comes with its place.
func ExampleImport() {
	_, _, err := hpccsim.Import(&experiment.Registry{}, "none.txt", ".")
	fmt.Println(err)
	// Output:
	// none.txt:1:1: it cannot be read: no such file or directory; allowed: a config.txt of the HPCC simulator
}
