package cubic_test

import (
	"fmt"
	"testing"

	"weir/core/cc"
	"weir/core/cc/cctest"
	"weir/core/cc/cubic"
	"weir/core/scheme"
)

// TestCubic_WarningKeeps85Percent checks RFC 8511 §3.1: a notice without loss keeps 0.85 of CUBIC's window. The result
// is not below the network's offer, and not below the window after a loss.
func TestCubic_WarningKeeps85Percent(t *testing.T) {
	for _, x := range []struct {
		beta    float64
		offered int
		want    int64
	}{
		{0.7, 0, 85}, {0.7, 80, 85}, {0.7, 92, 92}, {0.7, 120, 100}, {0.9, 0, 90},
	} {
		t.Run(fmt.Sprint(x), func(t *testing.T) {
			config := scheme.Defaults[cubic.Config]()
			config.Beta = x.beta
			c := cubic.New(cctest.NewFlow(1, cctest.SetInitialWindow(100)), config)
			c.OnLoss(0, cc.Loss{Kind: cc.Warned, Window: x.offered})
			if got := int64(c.Decision().Window) / 1000; got != x.want {
				t.Errorf("%d packets, want %d", got, x.want)
			}
		})
	}
}
