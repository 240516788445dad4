//go:build lint

package archtest

import (
	"testing"

	"weir/internal/testkit"
)

// mentionsAllowed are the names in comments that the module does not declare, with their reasons.
var mentionsAllowed = map[string]string{}

// TestMentions holds comments to names that exist.
func TestMentions(t *testing.T) {
	found, err := CheckMentions(testkit.TrackedFiles(t, root), module, mentionsAllowed)
	report(t, found, err)
}
