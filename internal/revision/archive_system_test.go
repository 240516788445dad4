//go:build system

package revision

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"weir/internal/testkit"
)

// TestArchiveHasStamp checks that git archive fills in the commit and the day of the stamp.
func TestArchiveHasStamp(t *testing.T) {
	testkit.RequireProgram(t, "git", "git")
	dir := t.TempDir()
	attributes, err := os.ReadFile("../../.gitattributes")
	if err != nil {
		t.Fatal(err)
	}
	const name = "internal/revision/stamp.txt"
	os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700)
	write(t, filepath.Join(dir, ".gitattributes"), attributes)
	write(t, filepath.Join(dir, name), []byte("$Format:%H %cs$\n"))
	git := func(args ...string) string {
		c := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=x"},
			args...)...)
		c.Dir, c.Env = dir, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	git("init")
	git("add", "-f", ".gitattributes", name)
	git("commit", "-m", "a")
	commit := strings.TrimSpace(git("rev-parse", "HEAD"))
	git("archive", "-o", "a.tar", "HEAD")
	testkit.RequireProgram(t, "tar", "tar")
	c := exec.Command("tar", "-xOf", "a.tar", name)
	c.Dir = dir
	out, err := c.Output()
	if err != nil {
		t.Fatalf("tar: %v", err)
	}
	if !regexp.MustCompile(`^`+commit+` \d{4}-\d\d-\d\d\n$`).Match(out) || !isHash(commit) {
		t.Errorf("the archive has %q", out)
	}
}
