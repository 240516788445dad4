//go:build lab || slow || system

package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"weir/internal/testkit/await"
)

// killpointsProgram builds weir with the tag killpoints.
func killpointsProgram(t *testing.T) string {
	t.Helper()
	return await.RequireProgram(t, "cmd/weir", "-tags", "killpoints")
}

// killpoints is the folder of package killpoint with the plan and the log of a process.
type killpoints struct{ folder string }

// planKillpoints makes a folder with a plan, such as "hold before rename runs/*.json 1". An empty plan logs only.
func planKillpoints(t *testing.T, plan string) killpoints {
	t.Helper()
	k := killpoints{t.TempDir()}
	if plan != "" {
		if err := os.WriteFile(filepath.Join(k.folder, "plan"), []byte(plan), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return k
}

// environ returns the environment of a process that obeys the plan.
func (k killpoints) environ(more ...string) []string {
	return append(append(os.Environ(), "WEIR_KILLPOINTS="+k.folder), more...)
}
