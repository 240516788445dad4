//go:build lint

package archtest

import "testing"

// maxExportedExceptions limits the list of exceptions.
const maxExportedExceptions = 171

// TestExportedNames checks that other packages use each exported name of this module, except those of the list.
func TestExportedNames(t *testing.T) {
	all, err := loadAll(root, "./...")
	if err != nil {
		t.Fatal(err)
	}
	found, err := checkExported(all, module, published, exportedExceptions)
	report(t, found, err)
	if n := len(exportedExceptions); n != maxExportedExceptions {
		t.Errorf("the list has %d exceptions, not %d; lower the limit if the list became shorter", n, maxExportedExceptions)
	}
}
