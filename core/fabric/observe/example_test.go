package observe_test

import (
	"fmt"

	"weir/core/fabric/observe"
	"weir/core/unit"
)

// Two watches, each with a period of its own.
func ExampleSchedule() {
	const ms = unit.Millisecond
	var s observe.Schedule
	s.Add(0, 10*ms, 0)
	s.Add(1, 15*ms, 0)
	for s.Next() <= 30*ms {
		now := s.Next()
		fmt.Println(now, s.Due(now))
	}
	// Output:
	// 0s [0 1]
	// 10ms [0]
	// 15ms [1]
	// 20ms [0]
	// 30ms [0 1]
}
