package jetstream_test

import (
	"fmt"

	_ "weir/app/jetstream"
	"weir/study/workers"
)

// Example shows that the import alone links the part in.
func Example() {
	fmt.Println(workers.Remote.Linked())
	// Output: true
}
