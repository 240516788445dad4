package slurm_test

import (
	"fmt"

	"weir/study/run/slurm"
)

// ExampleOptions shows the default: tasks take about ten minutes.
func ExampleOptions() {
	o := slurm.DefaultOptions
	o.Sbatch = []string{"partition=short", "-A me"}
	fmt.Println(o.Task, o.Check())
	// Output: 10m0s "-A me" is not an option of sbatch; options such as partition=short or exclusive are allowed
}
