package bolt_test

import (
	"fmt"

	"weir/core/dataplane/feedback/bolt"
)

// ExampleScheme sets the threshold to a depth of the queue: in packets, bytes, or time.
func ExampleScheme() {
	s := bolt.Scheme()
	_, err := s.Configure("threshold", "240ns")
	fmt.Println(s.Name, err)
	_, err = s.Configure("threshold", "0 B")
	fmt.Println(err)
	// Output:
	// bolt <nil>
	// bolt: threshold is 0 B; allowed: at least 1 B
}
