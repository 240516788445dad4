//go:build system

package softswitch

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestDependencies_ExcludeOtherWorlds checks that the switch links no other world, no package of study or app, no
// paper, and no library that plots or evaluates.
func TestDependencies_ExcludeOtherWorlds(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	all := strings.Fields(string(out))
	if !slices.Contains(all, "weir/core/dataplane") {
		t.Fatalf("%d packages, and not the data plane", len(all))
	}
	for _, p := range all {
		for _, no := range []string{"weir/study", "weir/papers", "weir/app", "weir/cmd", "weir/worlds/sim",
			"weir/worlds/lab", "weir/worlds/agent", "gonum.org",
			"github.com/expr-lang", "github.com/parquet-go", "git.sr.ht", "codeberg.org"} {
			if p == no || strings.HasPrefix(p, no+"/") {
				t.Errorf("it links %s", p)
			}
		}
	}
}
