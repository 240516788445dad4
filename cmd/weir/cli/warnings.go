package cli

import (
	"slices"

	"weir/core/scheme"
	"weir/study/run"
	"weir/study/spec"
	"weir/study/traps"
	"weir/worlds/softswitch"
)

// Kinds of warnings that commands issue.
var (
	warnLeft = scheme.WarningKind{ID: "lab-left",
		Condition: "a lab that was killed left namespaces or processes that cannot be removed"}
	warnNoValue = scheme.WarningKind{ID: "plot-undefined", Condition: "a plot has no defined value"}
	warnListens = scheme.WarningKind{ID: "serve-not-loopback",
		Condition: "weir serve listens at an address that other machines reach"}
)

// WarningKinds returns the kinds of all warnings that the program issues with a registry.
func WarningKinds(r *spec.Registry) []scheme.WarningKind {
	return slices.Concat(r.WarningKinds(), run.WarningKinds(), traps.WarningKinds(), softswitch.WarningKinds(),
		[]scheme.WarningKind{warnLeft, warnNoValue, warnListens})
}

// warn prints warnings to the standard error output.
func (a *app) warn(all ...spec.Warning) {
	for _, w := range all {
		w.Print(a.stderr)
	}
}
