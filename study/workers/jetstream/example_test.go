package jetstream_test

import (
	"fmt"

	"weir/study/workers"
	"weir/study/workers/jetstream"
)

// ExampleDriver_Runner checks flags before a server starts.
func ExampleDriver_Runner() {
	f := workers.Flags{Workers: "127.0.0.1:4222", ServerFlags: workers.ServerFlags{NATS: "nats://127.0.0.1"}}
	_, _, err := jetstream.Driver{}.Runner(&f, &workers.Machine{}, 1)
	fmt.Println(err)
	// Output: invalid input: --workers starts a server, but --nats names an existing one; only one of them is allowed
}
