package ring

import (
	"fmt"
	"testing"

	"weir/core/topology"
)

// TestBuildRing_RoutesTheShorterWay checks that paths take the shorter way round: at most 4 of 8 switches apart,
// plus both hosts' links.
func TestBuildRing_RoutesTheShorterWay(t *testing.T) {
	n := buildRing(8, 2, topology.Link{})
	if len(n.Nodes) != 24 || len(n.Links) != 24 {
		t.Errorf("%d nodes and %d links", len(n.Nodes), len(n.Links))
	}
	r := n.Routes()
	for to, want := range map[int]int{1: 2, 2: 3, 8: 6, 14: 3} {
		t.Run(n.Nodes[to].Name, func(t *testing.T) {
			if links, ok := r.FindPath(0, to); !ok || len(links) != want {
				t.Errorf("%d links, want %d", len(links), want)
			}
		})
	}
}

func ExampleScheme() {
	n := buildRing(3, 1, topology.Link{})
	for l := range n.Links {
		fmt.Println(n.PortName(l, 0))
	}
	// Output:
	// h0->s0
	// h1->s1
	// h2->s2
	// s0->s1
	// s1->s2
	// s2->s0
}
