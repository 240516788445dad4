package fastcnp_test

import (
	"fmt"

	"weir/core/dataplane/fastcnp"
	"weir/core/unit"
)

// The table of recent CNPs has a bound: what it has no room for waits for an interval.
func ExampleNew() {
	c := fastcnp.Config{Interval: 50 * unit.Microsecond, Flows: 1024}
	p, err := fastcnp.New(c)
	fmt.Println(p.Name(), err)
	c.Flows = 0
	_, err = fastcnp.New(c)
	fmt.Println(err)
	// Output:
	// fast_cnp <nil>
	// fast_cnp: a table of 0 flows; 1 … 1048576 are possible
}
