//go:build system

package document

import (
	"os"
	"testing"
)

// A file of the kernel that seems to be a regular one, and waits for more, is given up.
func TestFilesThatWait(t *testing.T) {
	if _, err := os.Open("/proc/kmsg"); err != nil {
		t.Skip(err)
	}
	_, err := ReadFile("/proc/kmsg", MaxInput)
	if err == nil || UnwrapPathError(err).Error() != "it has not ended after a second; a path names a regular file" {
		t.Error(err)
	}
}
