//go:build slow

package p4te

import "testing"

// TestWireModeFull runs wire mode for longer, with every program over IPv4 and IPv6.
func TestWireModeFull(t *testing.T) { wireMode(t, "25ms", []int{4, 6}, []int{4, 6}) }

// TestThreeTiersFull runs three tiers with longer flows.
func TestThreeTiersFull(t *testing.T) { threeTiers(t, "200KB", "50KB") }
