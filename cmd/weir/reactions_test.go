package main

import "testing"

// Every controller reacts to a congested link over every transport, with every format of telemetry and under every
// load balancer, or loading says why not. This takes every 41st combination, which has each choice
// with many others; all of them are in the slow suite.
func TestReactions(t *testing.T) {
	for i, r := range reactions() {
		if i%41 == 0 {
			t.Run(r.String(), r.check)
		}
	}
}
