package bench_test

import (
	"fmt"
	"strings"

	"weir/study/bench"
)

func ExampleFigures_String() {
	f := &bench.Figures{Name: "engine", Rounds: 5, PacketHopsPerSec: 6.5e6, Best: 6.64e6, EventsPerHop: 1.35,
		PacketHops: 2904000, FCTHash: strings.Repeat("0", 64)}
	fmt.Println(strings.SplitN(f.String(), "\n", 3)[1])
	// Output:   6.50 M packet-hops/s (6.64)
}
