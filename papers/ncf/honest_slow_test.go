//go:build slow

package ncf_test

import (
	"testing"

	"weir/study/spec"
)

func TestHonestMiceFull(t *testing.T) {
	mechanisms(t, "honest-mice", spec.Options{Quick: true}, "honest.mean", "honest.p99", "honest.timeouts",
		"honest.rest", "honest.rest-supply", "honest.needed")
}

func TestOverloadFull(t *testing.T) {
	mechanisms(t, "overload", spec.Options{Quick: true}, "overload.half", "overload.worst", "overload.flood",
		"overload.flood-supply", "overload.fq", "overload.cost")
}
