package workers_test

import (
	"fmt"

	"weir/study/workers"
)

// Example shows the error of a program without workers, which names the package to import.
func Example() {
	f := workers.Flags{Workers: "127.0.0.1:4222"}
	_, err := workers.Remote.Get()
	fmt.Println(f.UsesWorkers(), err)
	// Output: true JetStream is not part of this program; to add it, import _ "weir/app/jetstream" in package main
}
