package cli

import (
	"net"
	"slices"
	"strings"

	"weir/core/scheme"
	"weir/internal/bind"
	"weir/internal/command"
	"weir/internal/document"
	"weir/study/experiment"
	"weir/study/run"
	"weir/study/schemelint"
)

// Kinds of warnings that commands issue.
var (
	warnLeft = scheme.WarningKind{ID: "lab-left",
		Condition: "a killed lab left namespaces or processes that cannot be removed"}
	warnNoValue = scheme.WarningKind{ID: "plot-undefined", Condition: "a plot has no defined value"}
	warnListens = scheme.WarningKind{ID: "serve-not-loopback",
		Condition: "weir serve listens at an address that other machines can reach"}
)

// WarningKinds returns the kinds of all warnings that the program issues with a registry.
func WarningKinds(r *experiment.Registry) []scheme.WarningKind {
	return slices.Concat(r.WarningKinds(), run.WarningKinds(), schemelint.WarningKinds(), switchWarnings(),
		[]scheme.WarningKind{warnLeft, warnNoValue, warnListens, command.WarnAgentMetrics})
}

// warningKinds returns the kinds of all warnings, sorted by identifier.
func (a *app) warningKinds() []scheme.WarningKind {
	return slices.SortedFunc(slices.Values(WarningKinds(a.registry)), func(x, y scheme.WarningKind) int {
		return strings.Compare(x.ID, y.ID)
	})
}

// warn prints warnings to standard error.
func (a *app) warn(all ...document.Warning) {
	for _, w := range all {
		w.Print(a.stderr)
	}
}

// leftWarnings returns a warning if a killed lab has leftovers that cannot be removed.
func leftWarnings(left error) (all []document.Warning) {
	if left != nil {
		all = append(all, document.Warn(warnLeft, document.Position{}, "%s; this lab goes on beside it, and weir lab clean "+
			"tries again", strings.ReplaceAll(left.Error(), "\n", "; ")))
	}
	return all
}

// undefinedPlot returns a warning for a plot without a defined value.
func undefinedPlot(title string, defined bool) (all []document.Warning) {
	if !defined {
		all = append(all, document.Warn(warnNoValue, document.Position{}, "%s: no value of it is defined", title))
	}
	return all
}

// listenWarnings returns a warning for an address that other machines reach.
func listenWarnings(address string) (all []document.Warning) {
	if host, _, _ := net.SplitHostPort(address); !bind.IsLoopback(host) {
		all = append(all, document.Warn(warnListens, document.Position{},
			"beyond this machine's loopback what the page says, "+
				"and its token, can be read on the way; ssh -L 8100:127.0.0.1:8100 HOST is safer"))
	}
	return all
}
