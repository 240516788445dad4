//go:build system

package report

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestDependencies_ExcludeLabAndRunner checks that a report needs only results: no lab, no switch, and no package that
// runs experiments.
func TestDependencies_ExcludeLabAndRunner(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	all := strings.Fields(string(out))
	if !slices.Contains(all, "weir/study/results") {
		t.Fatalf("%d packages, and not the results", len(all))
	}
	for _, p := range all {
		for _, no := range []string{"weir/worlds/lab", "weir/worlds/switch", "weir/study/run", "weir/internal/netns",
			"weir/internal/ring", "weir/internal/rtnl", "weir/internal/sockdiag"} {
			if p == no || strings.HasPrefix(p, no+"/") {
				t.Errorf("it links %s", p)
			}
		}
	}
}
