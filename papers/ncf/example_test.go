package ncf_test

import (
	"fmt"

	"weir/core/unit"
	"weir/papers/ncf"
)

// ExampleMemory divides 100 kB by the paper's shares: elephants without mice may fill 95 %, and a mouse that arrives
// then reclaims the memory it needs.
func ExampleMemory() {
	m, err := ncf.NewMemory(ncf.MemoryConfig{
		Size: 100_000, Reserved: [ncf.ClassCount]float64{ncf.Control: 0.05, ncf.Mice: 0.1, ncf.Elephants: 0.1},
		Limit: 0.95, Tilt: 0.5,
		Windows: 4, Duration: unit.Millisecond, Congested: 0.95, Calm: 0.5, MaxFrame: 1000, ControlFrame: 100,
		Separate: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	for m.Fits(ncf.Elephants, 1000) {
		m.Book(0, ncf.Elephants, 1000)
	}
	victim, ok := m.SelectVictim(0, ncf.Mice, 1000, false)
	fmt.Println(m.Used(ncf.Elephants), m.IsCongested(), victim, ok)
	// Output: 95000 true elephants true
}
