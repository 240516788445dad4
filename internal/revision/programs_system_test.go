//go:build system

package revision

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The digest is that of the file: a change of one byte behind the program gives another.
func TestExecutable(t *testing.T) {
	if os.Getenv("WEIR_TEST_REVISION") != "" {
		os.Stdout.WriteString(Executable())
		os.Exit(0)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	same, other := filepath.Join(t.TempDir(), "same"), filepath.Join(t.TempDir(), "other")
	write(t, same, data)
	write(t, other, append(data, 0))
	if digestOf(t, same) != Executable() || digestOf(t, other) == Executable() {
		t.Errorf("%s, a copy %s, and with a byte more %s", Executable(), digestOf(t, same), digestOf(t, other))
	}
}

func write(t *testing.T, name string, program []byte) {
	t.Helper()
	if err := os.WriteFile(name, program, 0o700); err != nil {
		t.Fatal(err)
	}
}

// digestOf is what a program says of itself.
func digestOf(t *testing.T, program string) string {
	t.Helper()
	c := exec.Command(program, "-test.run=^TestExecutable$")
	c.Env = append(os.Environ(), "WEIR_TEST_REVISION=1")
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// git archive fills in the stamp.
func TestArchiveHasStamp(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
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
	c := exec.Command("tar", "-xOf", "a.tar", name)
	c.Dir = dir
	out, err := c.Output()
	if err != nil {
		t.Skipf("tar: %v", err)
	}
	if !regexp.MustCompile(`^`+commit+` \d{4}-\d\d-\d\d\n$`).Match(out) || !isHash(commit) {
		t.Errorf("the archive has %q", out)
	}
	if isHash(strings.Fields(stamp)[0]) == strings.HasPrefix(stamp, "$Format:") {
		t.Errorf("the stamp here is %q", stamp)
	}
}
