//go:build slow || system

package e2e

import (
	"os"
	"os/exec"
	"testing"
)

// runResults runs an experiment with a program, and returns every result file but host.json and host.html.
func runResults(t *testing.T, program string, env []string, args ...string) map[string]string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command(program, append([]string{"run", "p4abc/fig4", "--quick", "--set", "duration=3s", "--trace",
		"s1->server", "--out", dir}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v %v: %v\n%s", env, args, err, out)
	}
	return tree(dir)
}
