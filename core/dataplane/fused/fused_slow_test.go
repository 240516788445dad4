//go:build slow

package fused_test

import "testing"

// TestEveryListFull runs every list with eight draws of parameters, ports and traffic.
func TestEveryListFull(t *testing.T) { everyList(t, 8) }
