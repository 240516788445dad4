package slurm_test

import (
	"fmt"

	_ "weir/app/slurm"
	"weir/study/workers"
)

// Example shows that the import alone links the part in.
func Example() {
	fmt.Println(workers.Slurm.Linked())
	// Output: true
}
