//go:build slow

package fused_test

import "testing"

// Every list with eight draws of parameters, ports and traffic.
func TestEveryListFull(t *testing.T) { everyList(t, 8) }
