package scheme_test

import (
	"testing"

	"weir/core/scheme"
	"weir/core/unit"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		kind  scheme.Kind
		text  string
		value any // nil: an error
	}{
		{scheme.Int, "3", 3},
		{scheme.Int, "3.5", nil},
		{scheme.Float, "0.95", 0.95},
		{scheme.Float, "much", nil},
		{scheme.Bool, "true", true},
		{scheme.Bool, "1", nil}, // YAML's booleans only
		{scheme.Duration, "13us", 13 * unit.Microsecond},
		{scheme.Duration, "13", nil},
		{scheme.Rate, "40Gbps", 40 * unit.Gbps},
		{scheme.Rate, "fast", nil},
		{scheme.LinkRate, "40pps", unit.LinkRate{Packets: 40}},
		{scheme.LinkRate, "40Gbps", unit.LinkRate{Bits: 40 * unit.Gbps}},
		{scheme.LinkRate, "0bps", unit.LinkRate{}},
		{scheme.LinkRate, "40", nil},
		{scheme.Size, "1KB", 1 * unit.KB},
		{scheme.Packets, "5 packets", 5},
		{scheme.Packets, "1KB", nil},
		{scheme.Length, "1KB", unit.Length{Bytes: unit.KB}},
		{scheme.Text, "any", "any"},
	} {
		v, err := scheme.Parse(c.kind, c.text)
		if (c.value == nil) != (err != nil) || err == nil && v != c.value {
			t.Errorf("%v %q: %v (%T), %v; want %v", c.kind, c.text, v, v, err, c.value)
		}
	}
}
