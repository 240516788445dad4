package faultinject_test

import (
	"fmt"

	"weir/e2e/faultinject"
)

// A mutant is the same each time, so what a test found can be made anew.
func Example() {
	for n := range uint64(3) {
		fmt.Printf("%q\n", faultinject.NewMutator("rate", n).Text([]byte("rate: 10Mbps\n")))
	}
	// Output:
	// "rate: \n"
	// "rate: 10000000000000Mbps\n"
	// "rat: \n"
}
