package slurm_test

import (
	"fmt"

	"weir/study/run/slurm"
	"weir/study/workers"
	cluster "weir/study/workers/slurm"
)

// ExampleCluster_Check checks options before a folder is written.
func ExampleCluster_Check() {
	o := workers.ClusterOptions{Task: workers.DefaultTaskTime, Tasks: workers.DefaultMaxTasks, Threads: 1}
	fmt.Println(slurm.Options(o).Task == slurm.DefaultOptions.Task, o.Tasks == slurm.DefaultOptions.Tasks,
		cluster.Cluster{}.Check(o))
	o.Tasks = 0
	fmt.Println(cluster.Cluster{}.Check(o))
	// Output:
	// true true <nil>
	// the number of tasks is 0; 1 to 1000000 is allowed
}
