//go:build system

package document

import (
	"os"
	"testing"
)

// TestFilesThatWait checks that a file of the kernel that looks regular, but waits for more data, is an error.
func TestFilesThatWait(t *testing.T) {
	if _, err := os.Open("/proc/kmsg"); err != nil {
		t.Skip(err)
	}
	_, err := ReadFile("/proc/kmsg", MaxInput)
	if err == nil || UnwrapPathError(err).Error() != "reading has not ended after 1 s; the path must name a regular file" {
		t.Error(err)
	}
}
