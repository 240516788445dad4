//go:build lint

package archtest

import (
	"strings"
	"testing"

	"weir/internal/testkit"
)

// root is the module's folder.
const root = "../.."

// TestModule_FollowsLayers holds this module to the order of its layers.
func TestModule_FollowsLayers(t *testing.T) {
	found, err := Check(testkit.TrackedFiles(t, root), module, layers)
	report(t, found, err)
}

// TestModule_KeepsSizeLimits holds this module to the limits of lines, functions and files.
func TestModule_KeepsSizeLimits(t *testing.T) {
	found, err := CheckSizes(testkit.TrackedFiles(t, root), nil)
	report(t, found, err)
}

// TestModule_KeepsTypeLimits holds this module to the limits of methods and fields.
func TestModule_KeepsTypeLimits(t *testing.T) {
	found, err := CheckTypes(testkit.TrackedFiles(t, root), typeExceptions)
	report(t, found, err)
}

// reexportsAllowed are the second names that packages may have, with their reasons.
var reexportsAllowed = map[string]string{
	"app/internal/cli.benchMeters": "a variable that tests replace",
	"core/packet.never":            "a variable, since ports point to it",
	"study/experiment.Warning":     "modules of others register imports, and cannot import internal/document",
	"study/measure.Form":           "modules of others declare options of measures, and cannot import internal/document",
	"study/measure.Key":            "modules of others declare options of measures, and cannot import internal/document",
}

// TestModule_HasOneNamePerDeclaration holds this module to one name for each declaration.
func TestModule_HasOneNamePerDeclaration(t *testing.T) {
	found, err := CheckReexports(testkit.TrackedFiles(t, root), module, reexportsAllowed)
	report(t, found, err)
}

// TestModule_HasExamplePerPackage checks that every public package of this module has an Example.
func TestModule_HasExamplePerPackage(t *testing.T) {
	found, err := CheckExamples(testkit.TrackedFiles(t, root))
	report(t, found, err)
}

// TestModule_NamesTypesByTable holds the names of types in this module to the table of docs/design.md.
func TestModule_NamesTypesByTable(t *testing.T) {
	found, err := checkTypeNames(testkit.TrackedFiles(t, root), "docs/design.md")
	report(t, found, err)
}

// TestOptionalInterfaces compares the optional interfaces of this module with their table in docs/design.md.
func TestOptionalInterfaces(t *testing.T) {
	found, err := checkOptional(testkit.TrackedFiles(t, root), module, "docs/design.md")
	report(t, found, err)
}

// report fails the test for each violation.
func report(t *testing.T, found []Violation, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range found {
		t.Error(v)
	}
}

// TestAliasesNameFields holds the packages that others write controllers, programs and measures with. The aliases of
// worlds are for Weir itself.
func TestAliasesNameFields(t *testing.T) {
	for _, lacks := range aliases(t, testkit.TrackedFiles(t, root)) {
		if !strings.HasPrefix(lacks, "worlds/") {
			t.Error(lacks)
		}
	}
}
