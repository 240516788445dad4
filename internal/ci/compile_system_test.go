//go:build system

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCompilesForOtherSystems checks that the program and the tests of all stages compile for other systems.
func TestCompilesForOtherSystems(t *testing.T) {
	for _, platform := range []string{"darwin/arm64", "linux/arm64"} {
		t.Run(platform, func(t *testing.T) {
			system, processor, _ := strings.Cut(platform, "/")
			cmd := exec.Command("go", "vet", "-tags="+strings.Join(taggedStages, ","), "./...")
			cmd.Dir = filepath.Join("..", "..")
			cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+processor)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
