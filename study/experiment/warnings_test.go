package experiment

import (
	"testing"

	"weir/internal/document"
	"weir/internal/pcapng/pcapflows"
	"weir/internal/testkit/warntest"
)

// captured returns the warnings about a capture after set has changed it.
func captured(set func(c *captureTraffic, s *pcapflows.Source)) func(*testing.T, bool) []document.Warning {
	return func(_ *testing.T, fires bool) []document.Warning {
		c := &captureTraffic{captureDecoder: &captureDecoder{reader: &reader{Reader: document.NewReader(FileKind)}},
			tr: &Traffic{}, as: asPackets}
		node := &document.Node{Kind: document.Mapping}
		node.Set("file", &document.Node{Text: "x.pcapng"})
		c.x = c.ViewMap(node, traffic, traffic.KeyNames()...)
		source := &pcapflows.Source{Interfaces: 1, Connections: 3}
		if fires {
			set(c, source)
		}
		c.addWarnings(source)
		return c.warnings
	}
}

// TestWarnings_FireAndStayQuiet checks that each kind of warning about a capture fires for one capture and is quiet for
// another.
func TestWarnings_FireAndStayQuiet(t *testing.T) {
	warntest.Run(t, []warntest.Row{
		{ID: "capture-left", Issue: captured(func(_ *captureTraffic, s *pcapflows.Source) {
			s.Omissions = []pcapflows.Omission{{Packets: 2, Why: "without IP"}}
		})},
		{ID: "capture-interfaces", Issue: captured(func(_ *captureTraffic, s *pcapflows.Source) { s.Interfaces = 2 })},
		{ID: "capture-short", Issue: captured(func(c *captureTraffic, _ *pcapflows.Source) { c.short = 1 })},
		{ID: "capture-late", Issue: captured(func(c *captureTraffic, _ *pcapflows.Source) { c.late = 1 })},
		{ID: "capture-midway", Issue: captured(func(_ *captureTraffic, s *pcapflows.Source) { s.Unopened = 1 })},
		{ID: "capture-missing", Issue: captured(func(_ *captureTraffic, s *pcapflows.Source) { s.Missing = 1448 })},
	}, nil)
}
