package command

import (
	"net"

	"weir/core/scheme"
	"weir/internal/bind"
	"weir/internal/document"
)

// WarnAgentMetrics is the kind of the warning of MetricsWarnings.
var WarnAgentMetrics = scheme.WarningKind{ID: "agent-metrics-open",
	Condition: "--metrics of weir agent is an address that other machines can reach"}

// MetricsWarnings returns a warning if metrics of an agent are at an address (HOST:PORT) that other machines reach. An
// address of another form gets it, too.
func MetricsWarnings(address string) (all []document.Warning) {
	if host, _, _ := net.SplitHostPort(address); !bind.IsLoopback(host) {
		all = append(all, document.Warn(WarnAgentMetrics, document.Position{}, "metrics are at %s, for all who can reach it",
			address))
	}
	return all
}
