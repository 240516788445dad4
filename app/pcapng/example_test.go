package pcapng_test

import (
	"fmt"

	_ "weir/app/pcapng"
	"weir/study/results"
)

// Example shows that the import alone links the part in.
func Example() {
	fmt.Println(results.PcapngFiles.Linked())
	// Output: true
}
