package measure

import "testing"

// TestFormatQuantity_AddsPrefixAndUnit checks that a number has its measure's unit, with a prefix.
func TestFormatQuantity_AddsPrefixAndUnit(t *testing.T) {
	for want, got := range map[string]string{"21.37 Mb/s": FormatQuantity(21.37e6, "bps"), "5 ms": FormatQuantity(5e-3,
		"s"),
		"5 b/s": FormatQuantity(5, "bps"), "12 packets": FormatQuantity(12, "packets"),
		"1.5 k packets": FormatQuantity(1500, "packets"), "2 MB": FormatQuantity(2e6, "bytes"), "0.5": FormatQuantity(0.5,
			""),
		"0 s": FormatQuantity(0, "s")} {
		t.Run(want, func(t *testing.T) {
			if got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}
