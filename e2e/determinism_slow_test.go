//go:build slow

package e2e

import (
	"encoding/json"
	"fmt"
	"testing"

	"weir/internal/testkit/await"
)

// TestSameMeasuresWithRaceDetector checks that a build with the race detector gives the same measures. It is
// another executable, so its runs have other ids.
func TestSameMeasuresWithRaceDetector(t *testing.T) {
	measures := func(files map[string]string) string {
		for name, data := range files {
			if len(name) < 9 || name[len(name)-9:] != "runs.json" {
				continue
			}
			var doc struct {
				Runs []struct {
					Seed     uint64          `json:"seed"`
					Point    json.RawMessage `json:"point"`
					Measures json.RawMessage `json:"measures"`
					Events   uint64          `json:"events"`
				} `json:"runs"`
				Claims json.RawMessage `json:"claims"`
			}
			if err := json.Unmarshal([]byte(data), &doc); err != nil {
				t.Fatal(err)
			}
			return fmt.Sprintf("%+v", doc)
		}
		t.Fatal("there is no runs.json")
		return ""
	}
	a := measures(runResults(t, await.RequireProgram(t, "cmd/weir"), nil))
	b := measures(runResults(t, await.RequireProgram(t, "cmd/weir", "-race"), nil))
	if a != b {
		t.Errorf("the race build measures\n%s\nthe other\n%s", b, a)
	}
}
