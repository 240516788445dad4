package storage_test

import (
	"fmt"

	"weir/core/jobs/job"
	"weir/core/jobs/loggops"
	"weir/core/jobs/storage"
	"weir/core/unit"
)

// Example lets four hosts write a checkpoint after every second iteration, which the next iteration waits for. Each
// host takes 1 ms at the server's NIC, one after the other.
func Example() {
	j, err := storage.New(storage.Config{Clients: 4, Servers: 1, Iterations: 2, Compute: unit.Millisecond, Write: 1000001,
		Every: 2})
	if err != nil {
		panic(err)
	}
	network := loggops.Model{Latency: unit.Microsecond, Costs: job.Costs{ByteGap: unit.Nanosecond, Eager: -1}}
	o, _, err := network.Run(j, job.Watch{})
	fmt.Println(o.Iterations[0].Last, o.Iterations[1].Last, err)
	// Output: 1ms 6.001ms <nil>
}
