//go:build slow

package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

// A controller of one's own becomes a weir of one's own, and a figure.
func TestControllerExample(t *testing.T) {
	out, dir := task(t, "", "controller/run.sh")
	if !strings.Contains(out, "holds      gentle.fuller") || !strings.Contains(out, "keep") {
		t.Error(out)
	}
	figure(t, out, filepath.Join(dir, "gentle.pdf"))
}
