//go:build slow

package tcp

import (
	"testing"

	"weir/core/unit"
)

func init() { checkAlways = true }

// TestRenoUnderLossSlow runs the rest of TestRenoUnderLoss: at 10⁻⁴ 2,000 losses are twenty million packets.
func TestRenoUnderLossSlow(t *testing.T) { underLoss(t, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3) }

// TestFullLonger runs each controller for a minute.
func TestFullLonger(t *testing.T) { fillsTheLink(t, 60) }

// TestNackOfDeliveredFull runs attacks of ten seconds.
func TestNackOfDeliveredFull(t *testing.T) { nacksOfDelivered(t, 10, 1, 10, 100, 1000) }

// TestInjectedDuplicatesFull sends copies of ACKs for 0.8 s.
func TestInjectedDuplicatesFull(t *testing.T) { injectedDuplicates(t, unit.Second) }
