package faultinject_test

import (
	"fmt"

	"weir/e2e/faultinject"
)

// Example shows that a seed gives the same mutant each time, so a test's finding is reproducible.
func Example() {
	for n := range uint64(3) {
		fmt.Printf("%q\n", faultinject.NewMutator("rate", n).Text([]byte("rate: 10Mbps\n")))
	}
	// Output:
	// "rate: \n"
	// "rate: 10000000000000Mbps\n"
	// "rat: \n"
}
