package timerheap_test

import (
	"fmt"

	"weir/core/fabric/timerheap"
	"weir/core/unit"
)

// Example returns entries in the order of their times, and entries with equal times in the order of their keys.
func Example() {
	var h timerheap.Heap
	h.Push(timerheap.Entry{At: 3 * unit.Microsecond, Key: 1})
	h.Push(timerheap.Entry{At: unit.Microsecond, Key: 2})
	h.Push(timerheap.Entry{At: unit.Microsecond, Key: 1})
	for h.FirstTime() != unit.Never {
		e := h.Take()
		fmt.Println(e.At, e.Key)
	}
	// Output:
	// 1us 1
	// 1us 2
	// 3us 1
}
