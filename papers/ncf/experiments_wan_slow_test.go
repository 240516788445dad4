//go:build slow

package ncf_test

import (
	"testing"

	"weir/study/experiment"
)

func TestInternet(t *testing.T) {
	quickVerdicts(t, "internet", map[string]experiment.Verdict{
		"internet.faster-than-drop":            experiment.Fails,
		"internet.faster-than-ecn":             experiment.Fails,
		"internet.faster-at-same-queue":        experiment.Fails,
		"internet.faster-at-same-queue-supply": experiment.Fails,
		"internet.faster-than-cnp":             experiment.Fails,
		"internet.spike-supply":                experiment.Fails,
		"internet.lost":                        experiment.Fails,
		"internet.throughput":                  experiment.Fails,
		"internet.short-queue":                 experiment.Fails,
		"internet.fair":                        experiment.Fails,
		"internet.fair-unequal":                experiment.Fails,
	})
}

func TestInternetLot(t *testing.T) {
	quickVerdicts(t, "internet-lot", map[string]experiment.Verdict{
		"lot.long":          experiment.Fails,
		"lot.long-supply":   experiment.Fails,
		"lot.no-starvation": experiment.Fails,
	})
}

func TestPartial(t *testing.T) {
	quickVerdicts(t, "partial", map[string]experiment.Verdict{
		"partial.knowing-loss":   experiment.Fails,
		"partial.knowing-supply": experiment.Fails,
		"partial.unmodified":     experiment.Fails,
		"partial.no-starvation":  experiment.Fails,
		"partial.fair-loss":      experiment.Fails,
		"partial.throughput":     experiment.Fails,
	})
}

func TestPartialPath(t *testing.T) {
	quickVerdicts(t, "partial-path", map[string]experiment.Verdict{
		"path.long":          experiment.Fails,
		"path.long-both":     experiment.Fails,
		"path.no-starvation": experiment.Fails,
	})
}
