//go:build lint

package e2e

import (
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"

	"weir/internal/testkit"
)

// TestTimesAreComplete checks that times.txt has each tracked experiment. Whether its times are current is checked by
// TestDocsTimesAreCurrent.
func TestTimesAreComplete(t *testing.T) {
	times, err := os.ReadFile("../app/internal/cli/times.txt")
	if err != nil {
		t.Fatal(err)
	}
	files, err := fs.Glob(testkit.TrackedFiles(t, ".."), "*/*/experiments/[a-z]*.yaml")
	if err != nil || len(files) < 50 {
		t.Fatalf("%d experiments, %v", len(files), err)
	}
	for _, file := range files {
		name := path.Base(path.Dir(path.Dir(file))) + "/" + strings.TrimSuffix(path.Base(file), ".yaml")
		if !strings.Contains(string(times), "\n"+name+" ") {
			t.Errorf("app/internal/cli/times.txt lacks %s: go test ./app/internal/cli -run TestDocsTimesAreCurrent -update",
				name)
		}
	}
}
