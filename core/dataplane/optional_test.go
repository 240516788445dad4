package dataplane

import (
	"cmp"
	"net/netip"
	"strings"
	"testing"
)

func TestCheckMetrics(t *testing.T) {
	good := Metric{Name: "weir_x_frames_total", Help: "Frames.", Label: "port", ByPort: true, Counter: true}
	if err := CheckMetrics([]Metric{good, {Name: "_x", Help: "One value."}}); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		name   string
		change func(m *Metric)
		want   string
	}{
		{"no name", func(m *Metric) { m.Name = "" }, "a name has"},
		{"a digit first", func(m *Metric) { m.Name = "1x" }, "a name has"},
		{"a dash", func(m *Metric) { m.Name = "x-y" }, "a name has"},
		{"no help", func(m *Metric) { m.Help = "" }, "has no help"},
		{"a label with a space", func(m *Metric) { m.Label = "a port" }, "cannot be a label"},
		{"by port without label", func(m *Metric) { m.Label = "" }, "has no label"},
		{"twice", func(*Metric) {}, "a second time"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := good
			if c.name != "twice" {
				m.Name = "weir_x_bytes_total"
			}
			c.change(&m)
			if err := CheckMetrics([]Metric{good, m}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, not %q", err, c.want)
			}
		})
	}
}

func TestSampleLabel(t *testing.T) {
	for want, s := range map[string]Sample{
		"192.0.2.1":        {Prefix: netip.MustParsePrefix("192.0.2.1/32")},
		"192.0.2.0/29":     {Prefix: netip.MustParsePrefix("192.0.2.0/29")},
		"2001:db8::1":      {Prefix: netip.MustParsePrefix("2001:db8::1/128")},
		"::ffff:192.0.2.1": {Prefix: netip.PrefixFrom(netip.MustParseAddr("::ffff:192.0.2.1"), 128)},
		"2001:db8::/56":    {Prefix: netip.MustParsePrefix("2001:db8::/56")},
		"others":           {Word: "others"},
		"":                 {},
	} {
		t.Run(cmp.Or(want, "none"), func(t *testing.T) {
			if got := string(s.AppendLabel(nil)); got != want {
				t.Errorf("%q", got)
			}
			room := make([]byte, 0, 64)
			if n := testing.AllocsPerRun(10, func() { s.AppendLabel(room) }); n != 0 {
				t.Errorf("%v allocations", n)
			}
		})
	}
}
