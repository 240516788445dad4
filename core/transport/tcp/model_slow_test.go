//go:build slow

package tcp

import "testing"

// The rest of TestRenoUnderLoss: at 10⁻⁴ 2,000 losses are twenty million packets.
func TestRenoUnderLossSlow(t *testing.T) { underLoss(t, 1e-4, 2e-4, 5e-4) }
