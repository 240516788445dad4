package slurm_test

import (
	"fmt"

	"weir/study/run/slurm"
)

// Without a wish, tasks take about ten minutes.
func ExampleOptions() {
	o := slurm.DefaultOptions
	o.Sbatch = []string{"partition=short", "-A me"}
	fmt.Println(o.Task, o.Check())
	// Output: 10m0s "-A me" is no option of sbatch; say it as partition=short or exclusive
}
