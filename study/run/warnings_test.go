package run

import (
	"testing"

	"weir/internal/document"
	"weir/internal/testkit/plantest"
	"weir/internal/testkit/warntest"
	"weir/study/experiment"
)

// TestWarnings_FireAndStayQuiet checks that each kind of warning about the lab fires in one experiment and not in
// another.
func TestWarnings_FireAndStayQuiet(t *testing.T) {
	warntest.Run(t, []warntest.Row{
		{ID: "lab-stalls", Text: twoHosts + "switch: [forward]\n#traffic:\n  - {name: x, from: a, to: b, transport: tcp}\n" +
			"measure: [goodput]\n", Fires: "stalls: {every: 1s, length: 1ms}\n"},
		{ID: "lab-timeout", Text: twoHosts + "switch: [forward]\ntraffic:\n  - ¦{name: x, from: a, to: b, transport: " +
			"{rdma: " +
			"{rto_min: #}}, cc: dctcp}\nmeasure: [goodput]\n", Fires: "9.5ms", Quiet: "10.5ms"},
	}, func(t *testing.T, text string) []document.Warning {
		return LabWarnings(plantest.Load(t, room(), text, experiment.Options{}))
	})
}
