//go:build slow

package e2e

import (
	"strings"
	"testing"
)

// TestTutorialsAsPrinted runs each tutorial separately, from an empty folder, exactly as it is printed.
func TestTutorialsAsPrinted(t *testing.T) {
	for _, page := range pages(t) {
		t.Run(page, func(t *testing.T) {
			dir := emptyFolder(t)
			carryOut(t, dir, steps(t, page), strings.NewReplacer())
			plotted(t, dir, page)
		})
	}
}
