package p4te

import (
	"testing"

	"weir/internal/testkit"
)

// TestDoc_NamesExist checks that every test that doc.go names exists.
func TestDoc_NamesExist(t *testing.T) {
	testkit.CheckDocTests(t, 40, "../../worlds/switch", "../../e2e")
}
