package p4te

import (
	"testing"

	"weir/internal/testkit/testutil"
)

// Every test that doc.go names exists.
func TestDoc(t *testing.T) {
	testutil.CheckDocTests(t, 40, "../../worlds/switch", "../../e2e")
}
