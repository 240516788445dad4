package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestStartProfile_RunsOneAtATime checks that a profile is complete after it was stopped, and that only one runs at
// a time.
func TestStartProfile_RunsOneAtATime(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sim.pprof")
	stop, err := startProfile(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := startProfile(file + ".2"); err == nil {
		t.Error("a second profile at the same time")
	}
	stop()
	got, err := os.ReadFile(file)
	if err != nil || !bytes.HasPrefix(got, []byte{0x1f, 0x8b}) {
		t.Errorf("%d bytes, which gzip has not written: %v", len(got), err)
	}
	if _, err := startProfile(filepath.Join(file, "below a file")); err == nil {
		t.Error("a profile where none can be")
	}
}
