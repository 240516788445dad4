package cli

import (
	"errors"
	"testing"

	"weir/internal/command"
	"weir/internal/document"
	"weir/internal/testkit/warntest"
)

// TestWarnings_FireAndStayQuiet checks that each kind of warning of a command fires in one case and not in another.
func TestWarnings_FireAndStayQuiet(t *testing.T) {
	warntest.Run(t, []warntest.Row{
		{ID: "lab-left", Issue: func(_ *testing.T, fires bool) []document.Warning {
			if fires {
				return leftWarnings(errors.New("namespace weir-1 cannot be removed"))
			}
			return leftWarnings(nil)
		}},
		{ID: "plot-undefined", Issue: func(_ *testing.T, fires bool) []document.Warning {
			return undefinedPlot("goodput over rate", !fires)
		}},
		{ID: "agent-metrics-open", Issue: func(_ *testing.T, fires bool) []document.Warning {
			if fires {
				return command.MetricsWarnings("[::ffff:192.0.2.1]:9470")
			}
			return command.MetricsWarnings("[::1]:9470")
		}},
		{ID: "serve-not-loopback", Issue: func(_ *testing.T, fires bool) []document.Warning {
			if fires {
				return listenWarnings("192.0.2.1:8100")
			}
			return listenWarnings("127.0.0.1:8100")
		}},
	}, nil)
}
