//go:build slow

package ncf_test

import (
	"testing"

	"weir/study/claim"
)

func TestInternet(t *testing.T) {
	quickVerdicts(t, "internet", map[string]claim.Verdict{
		"internet.faster-than-drop":            claim.Fails,
		"internet.faster-than-ecn":             claim.Fails,
		"internet.faster-at-same-queue":        claim.Fails,
		"internet.faster-at-same-queue-supply": claim.Fails,
		"internet.faster-than-cnp":             claim.Fails,
		"internet.spike-supply":                claim.Fails,
		"internet.lost":                        claim.Fails,
		"internet.throughput":                  claim.Fails,
		"internet.short-queue":                 claim.Fails,
		"internet.fair":                        claim.Fails,
		"internet.fair-unequal":                claim.Fails,
	})
}

func TestInternetLot(t *testing.T) {
	quickVerdicts(t, "internet-lot", map[string]claim.Verdict{
		"lot.long":          claim.Fails,
		"lot.long-supply":   claim.Fails,
		"lot.no-starvation": claim.Fails,
	})
}

func TestPartial(t *testing.T) {
	quickVerdicts(t, "partial", map[string]claim.Verdict{
		"partial.knowing-loss":   claim.Fails,
		"partial.knowing-supply": claim.Fails,
		"partial.unmodified":     claim.Fails,
		"partial.no-starvation":  claim.Fails,
		"partial.fair-loss":      claim.Fails,
		"partial.throughput":     claim.Fails,
	})
}

func TestPartialPath(t *testing.T) {
	quickVerdicts(t, "partial-path", map[string]claim.Verdict{
		"path.long":          claim.Fails,
		"path.long-both":     claim.Fails,
		"path.no-starvation": claim.Fails,
	})
}
