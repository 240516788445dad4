package measure

import "testing"

// A number has its measure's unit, with a prefix.
func TestQuantity(t *testing.T) {
	for want, got := range map[string]string{"21.37 Mb/s": Quantity(21.37e6, "bps"), "5 ms": Quantity(5e-3, "s"),
		"5 b/s": Quantity(5, "bps"), "12 packets": Quantity(12, "packets"),
		"1.5 k packets": Quantity(1500, "packets"), "2 MB": Quantity(2e6, "bytes"), "0.5": Quantity(0.5, ""),
		"0 s": Quantity(0, "s")} {
		t.Run(want, func(t *testing.T) {
			if got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}
