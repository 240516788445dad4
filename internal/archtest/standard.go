package archtest

import (
	"fmt"
	"go/build"
	"go/importer"
	"go/token"
	"go/types"
	"os/exec"
	"strings"
	"sync"
)

// standard is the standard library, type-checked from its sources once for all checks.
var standard = &library{}

// library imports packages from their sources, for one caller at a time.
type library struct {
	mu      sync.Mutex
	sources types.Importer // nil before open
}

// open prepares l for Import; later calls have no effect. It changes build.Default: without cgo, and with the GOROOT of
// the go command if this program does not know it, as one that was built with -trimpath does not. Without sources each
// type of the library would be unknown, and the checks that need types would be empty.
func (l *library) open() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sources != nil {
		return nil
	}
	if build.Default.GOROOT == "" {
		out, err := exec.Command("go", "env", "GOROOT").Output()
		if err != nil {
			return fmt.Errorf("go env GOROOT: %w", err)
		}
		build.Default.GOROOT = strings.TrimSpace(string(out))
	}
	// With cgo the importer runs a C compiler, which a machine that has only Go lacks, and
	// leaves object files in the folder for temporary files.
	build.Default.CgoEnabled = false
	l.sources = importer.ForCompiler(token.NewFileSet(), "source", nil)
	return nil
}

// Import type-checks a package of the standard library. The caller calls open first.
func (l *library) Import(path string) (*types.Package, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sources.Import(path)
}
