//go:build slow

package ncf_test

import (
	"testing"

	"weir/study/experiment"
)

func TestHonestMiceFull(t *testing.T) {
	mechanisms(t, "honest-mice", experiment.Options{Quick: true}, "honest.mean", "honest.p99", "honest.timeouts",
		"honest.rest", "honest.rest-supply", "honest.needed")
}

func TestOverloadFull(t *testing.T) {
	mechanisms(t, "overload", experiment.Options{Quick: true}, "overload.half", "overload.worst", "overload.flood",
		"overload.flood-supply", "overload.fq", "overload.cost")
}
