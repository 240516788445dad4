//go:build system

package cli

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// bench switch needs root.
func TestBenchSwitchNeedsRoot(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("this is root")
	}
	var out, errs bytes.Buffer
	if code := Run(Registry(), []string{"bench", "switch"}, &out, &errs, false); code != WrongInput ||
		!strings.Contains(errs.String(), "the lab needs root") {
		t.Errorf("exit code %d, %s", code, &errs)
	}
}
