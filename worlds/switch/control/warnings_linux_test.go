package control

import (
	"errors"
	"testing"

	"weir/internal/document"
	"weir/internal/testkit/warntest"
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

// warned are the kinds of warnings about the processes of a switch.
var warned = []warntest.Row{
	{ID: "switch-no-seccomp", Issue: when(FilterWarnings("supervisor", errors.New("function not implemented")),
		FilterWarnings("supervisor", nil))},
}

// TestWarnings_FireAndStayQuiet checks that each kind of warning fires in one case and is quiet in another.
func TestWarnings_FireAndStayQuiet(t *testing.T) { warntest.Run(t, warned, nil) }
