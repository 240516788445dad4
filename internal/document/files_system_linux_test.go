//go:build system

package document

import (
	"os"
	"testing"
)

// TestFilesThatWait: a file of the kernel that seems to be a regular one, and waits for more, is given up.
func TestFilesThatWait(t *testing.T) {
	if _, err := os.Open("/proc/kmsg"); err != nil {
		t.Skip(err)
	}
	_, err := ReadFile("/proc/kmsg", MaxInput)
	if err == nil || UnwrapPathError(err).Error() != "reading has not ended after 1 s; the path must name a regular file" {
		t.Error(err)
	}
}
