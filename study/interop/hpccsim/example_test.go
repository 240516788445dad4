package hpccsim_test

import (
	"fmt"

	"weir/study/interop/hpccsim"
	"weir/study/spec"
)

// What is wrong with a simulator's files comes with its place.
func ExampleImport() {
	_, _, err := hpccsim.Import(&spec.Registry{}, "none.txt", ".")
	fmt.Println(err)
	// Output:
	// none.txt:1:1: it cannot be read: no such file or directory; allowed: a config.txt of the HPCC simulator
}
