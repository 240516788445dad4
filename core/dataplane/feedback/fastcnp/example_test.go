package fastcnp_test

import (
	"fmt"

	"weir/core/dataplane/feedback/fastcnp"
	"weir/core/scheme"
	"weir/core/unit"
)

// ExampleNew bounds the table of recent CNPs. A flow without an entry waits for an interval.
func ExampleNew() {
	c := fastcnp.Config{Interval: 50 * unit.Microsecond, Flows: 1024}
	fmt.Println(fastcnp.New(c).Name())

	o := scheme.Defaults[fastcnp.Options]()
	o.Flows = 0
	fmt.Println(scheme.Validate(&o))
	// Output:
	// fast_cnp
	// flows is 0; allowed: at least 1
}
