//go:build !race

// Left out of race: long simulations that start no goroutines of their own.

package run

import (
	"fmt"
	"slices"
	"testing"

	"weir/internal/testkit"
)

// TestBalance_IsIndexOfUpwardPorts checks that the balance of a leaf is the index of its upward ports' packets,
// (Σx)²/(4·Σx²). All through two of four ports is an index of 0.5. A spine has no upward ports.
func TestBalance_IsIndexOfUpwardPorts(t *testing.T) {
	r := first(t, `title: t
duration: 50ms
topology: {leaf_spine: {leaves: 2, spines: 4, hosts: 4, rate: 1Gbps, delay: 1us}}
switch: [ecmp]
traffic: [{name: x, from: h0, to: h4, flows: 40, size: 100kB, transport: tcp, start: 0s..10ms}]
measure: [{balance: {every: 5ms}}]
`)
	sum, squares, bytes := 0.0, 0.0, 0.0
	for k := range 4 {
		name := fmt.Sprintf("leaf0->spine%d", k)
		n := valueOf(r, t, "port_packets", name)
		sum, squares = sum+n, squares+n*n
		over := floats(overOf(r, t, "port_packets", name))
		if over[0] != 0 || !slices.IsSorted(over) || over[len(over)-1] > n {
			t.Errorf("%s has sent %v packets over time, %g in all", name, over, n)
		}
		bytes += n
	}
	testkit.CheckNear(t, "balance", valueOf(r, t, "balance", "leaf0"), sum*sum/4/squares, rounding)
	if bytes < 40*100e3/1448 {
		t.Errorf("%g packets went up", bytes)
	}
	for _, m := range r.Measures {
		if m.Name == "balance" && len(m.Groups) != 2 || m.Name == "port_packets" && len(m.Groups) != 8 {
			t.Errorf("%s of %v", m.Name, m.Groups)
		}
	}
}
