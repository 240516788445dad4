//go:build slow

package ncf_test

import (
	"testing"

	"weir/experiment"
)

func TestInternet(t *testing.T) {
	quickVerdicts(t, "internet", map[string]experiment.Verdict{})
}

func TestInternetLot(t *testing.T) {
	quickVerdicts(t, "internet-lot", map[string]experiment.Verdict{})
}

func TestPartial(t *testing.T) {
	quickVerdicts(t, "partial", map[string]experiment.Verdict{})
}

func TestPartialPath(t *testing.T) {
	quickVerdicts(t, "partial-path", map[string]experiment.Verdict{})
}
