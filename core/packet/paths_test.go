package packet

import (
	"fmt"
	"testing"
)

func ExamplePaths_PortsTo() {
	// Addresses 1 and 2 are at another switch, 3 and 4 at this one, 5 is out of reach.
	s := Paths{
		Class: []uint32{0, 1, 1, 2, 2, 3}, Via: []uint32{0, 1, 0, 0}, Sets: [][]PortID{{}, {6, 7}},
		OwnClass: 2, Port: []PortID{0, 0, 1, 4, 5, 0},
	}
	for a := range Addr(7) {
		fmt.Print(s.PortsTo(a), " ")
	}
	// Output: [] [6 7] [6 7] [4] [5] [] []
}

func TestNoPaths(t *testing.T) {
	var none Paths
	if to := none.PortsTo(0); len(to) > 0 {
		t.Errorf("to address 0 by %v", to)
	}
	p := Paths{Class: []uint32{0, 0}, Via: []uint32{0}, Sets: [][]PortID{nil}}
	if to := p.PortsTo(1); len(to) > 0 {
		t.Errorf("to address 1, which has no class, by %v", to)
	}
}
