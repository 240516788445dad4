//go:build slow

package ncf_test

import (
	"testing"

	"weir/study/claim"
	"weir/study/run/runtest"
	"weir/study/spec"
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

// Who heeds NACKs has at least 0.9 of its half beside senders that do not know them, whose half is whole, too; without
// trimming first, and with notices to all of the heaviest, it has less.
func TestPartial(t *testing.T) {
	held := 0
	for _, c := range runtest.CarryOut(t, library(), "ncf/partial", spec.Options{Set: []string{"cc=[cubic, reno]",
		"who=[half_loss, half_loss_literal]"}}).Claims {
		switch c.ID {
		case "partial.knowing-loss", "partial.unmodified", "partial.trimmed-first":
			if held++; c.Verdict != claim.Holds {
				t.Errorf("%s %s: %s", c.ID, c.Verdict, c.Measured)
			}
		}
	}
	if held != 3 {
		t.Errorf("%d claims", held)
	}
}

func TestPartialPath(t *testing.T) {
	quickVerdicts(t, "partial-path", map[string]claim.Verdict{
		"path.long":          claim.Fails,
		"path.long-both":     claim.Fails,
		"path.no-starvation": claim.Fails,
	})
}
