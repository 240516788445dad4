//go:build system

package document

import (
	"os"
	"testing"
)

// A file of the kernel that waits for input, and seems to be a regular one, is given up after a second.
func TestFilesThatWait(t *testing.T) {
	if _, err := os.Open("/proc/kmsg"); err != nil {
		t.Skip(err)
	}
	_, err := ReadFile("/proc/kmsg", LargestInput)
	if err == nil || Reason(err).Error() != "it has not ended after a second; a path names a regular file" {
		t.Error(err)
	}
}
