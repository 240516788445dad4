//go:build lint

package archtest

import (
	"testing"

	"weir/internal/testkit"
)

// mentionsAllowed are the names in comments that the module does not declare, with their reasons.
var mentionsAllowed = map[string]string{
	"e2e/testcommands_lint_test.go: TestY":          "any test",
	"internal/ci/tests_test.go: TestC":              "a test of the test's tree",
	"internal/linked/linked.go: Drawer":             "the type parameter of an example",
	"papers/ncf/program_test.go: NACKs":             "a word added to a quotation",
	"study/bench/browser_test.go: Runtime.evaluate": "a method of the protocol of DevTools",
}

// TestMentions holds comments to names that exist.
func TestMentions(t *testing.T) {
	found, err := checkMentions(testkit.TrackedFiles(t, root), module, mentionsAllowed)
	report(t, found, err)
}
