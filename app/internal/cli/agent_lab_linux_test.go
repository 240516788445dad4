//go:build lab

package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/command"
	"weir/worlds/agent"
)

// TestAgentInterface checks that an interface that does not exist is wrong input.
func TestAgentInterface(t *testing.T) {
	if err := agent.ProbeMachine().Check(); err != nil {
		t.Skip(err)
	}
	var errs bytes.Buffer
	code := Run(Registry(), []string{"agent", "--interface", "no-such-one"}, &errs, &errs, false)
	if code != command.WrongInput || !strings.Contains(errs.String(), "there is no interface no-such-one") {
		t.Errorf("exit code %d: %s", code, &errs)
	}
}

// TestAgentCgroup checks that weir agent --cgroup refuses a missing path, a file, a folder that is not a cgroup, an
// empty path and a cgroup of version 1, each with its own message. An unknown interface is reported in the same
// run.
func TestAgentCgroup(t *testing.T) {
	if err := agent.ProbeMachine().Check(); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	file, fake := filepath.Join(dir, "file"), filepath.Join(dir, "cgroup.procs")
	for _, name := range []string{file, fake} {
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	below := "below " + agent.ProbeMachine().Cgroup
	type row struct{ path, says string }
	rows := []row{{filepath.Join(dir, "none"), "is not a folder; cgroups are " + below}, {file, "is not a folder; "},
		{dir, "is not a cgroup; cgroups are " + below}, {"", "--interface NAME or --cgroup PATH is missing"}}
	if v1 := version1(t); v1 != "" {
		rows = append(rows, row{v1, "is of version 1, which does not support programs of sockets; cgroups of version 2 are " +
			below})
	} else {
		t.Log("no cgroup of version 1 is mounted here")
	}
	for _, x := range rows {
		var out, errs bytes.Buffer
		code := Run(Registry(), []string{"agent", "--cgroup", x.path}, &out, &errs, false)
		if code != command.WrongInput || !strings.Contains(errs.String(), x.says) || out.Len() > 0 {
			t.Errorf("weir agent --cgroup %s: %d, %s%s, want %q", x.path, code, &out, &errs, x.says)
		}
	}
	var errs bytes.Buffer
	code := Run(Registry(), []string{"agent", "--cgroup", file, "--interface", "no-such-one"}, &errs, &errs, false)
	if said := errs.String(); code != command.WrongInput || !strings.Contains(said, "is not a folder") ||
		!strings.Contains(said, "there is no interface no-such-one") {
		t.Errorf("both: %d, %s", code, said)
	}
}

// version1 returns the mount point of a cgroup hierarchy of version 1, or "" on a machine without one.
func version1(t *testing.T) string {
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if x := strings.Fields(line); len(x) > 2 && x[2] == "cgroup" {
			return x[1]
		}
	}
	return ""
}
