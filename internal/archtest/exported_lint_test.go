//go:build lint

package archtest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// maxExportedExceptions limits the list of exceptions.
const maxExportedExceptions = 76

// exampleModules are separate modules whose uses of exported names count.
var exampleModules = []string{"examples/controller", "examples/ownscheme"}

// TestExportedNames checks that other packages, of this module or of the examples, use each exported name of this
// module, except for listed names.
func TestExportedNames(t *testing.T) {
	dir, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	work, patterns := fmt.Sprintf("go 1.26.0\nuse %q\n", dir), []string{"./..."}
	for _, m := range exampleModules {
		work += fmt.Sprintf("use %q\n", filepath.Join(dir, m))
		patterns = append(patterns, "./"+m+"/...")
	}
	file := filepath.Join(t.TempDir(), "go.work")
	if err := os.WriteFile(file, []byte(work), 0o666); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOWORK", file)
	all, err := loadAll(dir, patterns...)
	if err != nil {
		t.Fatal(err)
	}
	found, err := checkExported(all, module, published, exportedExceptions)
	report(t, found, err)
	if n := len(exportedExceptions); n != maxExportedExceptions {
		t.Errorf("the list has %d exceptions, not %d; lower the limit if the list became shorter", n, maxExportedExceptions)
	}
}
