package supervisor

import (
	"testing"

	"weir/internal/document"
	"weir/internal/testkit/warntest"
	softswitch "weir/worlds/switch"
)

// when returns the warnings of one of two cases.
func when(fires, quiet []document.Warning) func(*testing.T, bool) []document.Warning {
	return func(_ *testing.T, now bool) []document.Warning {
		if now {
			return fires
		}
		return quiet
	}
}

// warned are the kinds of warnings about a running switch.
var warned = []warntest.Row{
	{ID: "switch-checksums", Issue: when(partialWarnings(eth0, 1, "ethtool"), partialWarnings(eth0, 0, "ethtool")),
		Port: "a"},
}

var eth0 = softswitch.Port{Name: "a", Interface: "eth0"}

// TestWarnings_FireAndStayQuiet checks that each kind of warning fires in one case and is quiet in another.
func TestWarnings_FireAndStayQuiet(t *testing.T) { warntest.Run(t, warned, nil) }
