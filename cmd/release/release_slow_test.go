//go:build slow

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"weir/internal/testkit"
)

// TestMakeRelease_IsReproducibleAndRuns checks that releases from two folders have the same bytes and correct
// checksums. The unpacked program runs an experiment, an image is built from it, and each other platform compiles.
func TestMakeRelease_IsReproducibleAndRuns(t *testing.T) {
	here := runtime.GOOS + "/" + runtime.GOARCH
	clone := filepath.Join(t.TempDir(), "another", "clone")
	if _, err := runGit("../..", "clone", "--quiet", "--no-hardlinks", ".", clone); err != nil {
		t.Fatal(err)
	}
	first, second := filepath.Join(t.TempDir(), "first"), filepath.Join(t.TempDir(), "second")
	for dir, repository := range map[string]string{first: "../..", second: clone} {
		o := options{Commit: "HEAD", Version: "v0.0.1", Out: dir, Platforms: []string{here}, Pgo: "profiles/weir.pgo"}
		if files, err := o.makeRelease(repository); err != nil || len(files) != 4 {
			t.Fatalf("%v: %v", files, err)
		}
	}
	files, err := os.ReadDir(first)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		one, err := os.ReadFile(filepath.Join(first, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if two, err := os.ReadFile(filepath.Join(second, f.Name())); err != nil || !bytes.Equal(one, two) {
			t.Errorf("%s has other bytes the second time: %v", f.Name(), err)
		}
	}
	in := func(dir, name string, args ...string) string {
		t.Helper()
		c := exec.Command(name, args...)
		c.Dir = dir
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	in(first, "sha256sum", "-c", "SHA256SUMS")
	name := "weir-v0.0.1-" + strings.ReplaceAll(here, "/", "-")
	in(first, "tar", "xzf", name+".tar.gz")
	unpacked := filepath.Join(first, name)
	if out := in(unpacked, "./weir", "run", "p4abc/fig5", "--quick", "--out", t.TempDir()); !strings.Contains(out,
		"report.html") {
		t.Errorf("weir run: %s", out)
	}
	t.Run("image", func(t *testing.T) { image(t, unpacked, in) })
	for _, platform := range platforms {
		if platform == here {
			continue
		}
		t.Run(platform, func(t *testing.T) {
			s, err := checkOut("../..", "HEAD", "v0.0.1", filepath.Join(t.TempDir(), "source"))
			if err != nil {
				t.Fatal(err)
			}
			if err := s.build(mainProgram, platform, "off", filepath.Join(t.TempDir(), "weir")); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// image builds an image from the unpacked release, and looks for its files.
func image(t *testing.T, unpacked string, in func(dir, name string, args ...string) string) {
	testkit.RequireProgram(t, "buildah", "buildah")
	if out, err := exec.Command("buildah", "info").CombinedOutput(); err != nil {
		t.Skipf("buildah does not run here: %v\n%s", err, out)
	}
	tag := "weir-test-" + strings.ToLower(filepath.Base(t.TempDir()))
	in(unpacked, "buildah", "build", "--isolation", "chroot", "--tag", tag, ".")
	defer func() { _ = exec.Command("buildah", "rmi", tag).Run() }()
	container := strings.TrimSpace(in(unpacked, "buildah", "from", tag))
	defer func() { _ = exec.Command("buildah", "rm", container).Run() }()
	if out := in(unpacked, "buildah", "run", "--isolation", "chroot", container, "--", "/weir", "list"); !strings.Contains(
		out, "p4abc/fig5") {
		t.Errorf("weir list in the image: %s", out)
	}
}
