package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// platforms are the default platforms of a release.
var platforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"}

var (
	plainVersion  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$`)
	plainPlatform = regexp.MustCompile(`^[a-z0-9]+/[a-z0-9]+$`)
)

// source has the files of a commit and its names.
type source struct {
	dir, commit, version string
	time                 time.Time // commit's time, used for all files of the release
}

// makeRelease makes the release of a commit of the repository around a folder, and returns the sorted paths of the
// files. It writes only into the folder Out, which must be new or empty. The site is made only for this platform.
func (o *options) makeRelease(repository string) ([]string, error) {
	for _, p := range o.Platforms {
		if !plainPlatform.MatchString(p) {
			return nil, fmt.Errorf("%q is not a platform; allowed: %s", p, strings.Join(platforms, ", "))
		}
	}
	if o.Version != "" && !plainVersion.MatchString(o.Version) {
		return nil, fmt.Errorf("version %q cannot be part of a file name; a version such as v1.2.0 is allowed", o.Version)
	}
	if entries, err := os.ReadDir(o.Out); err == nil && len(entries) > 0 {
		return nil, fmt.Errorf("%s already contains files; name a new or an empty folder", o.Out)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	work, err := os.MkdirTemp("", "weir-release-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	s, err := checkOut(repository, o.Commit, o.Version, filepath.Join(work, "source"))
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, platform := range o.Platforms {
		folder := filepath.Join(work, strings.ReplaceAll(platform, "/", "-"))
		for _, program := range listPrograms(platform) {
			if err := s.build(program, platform, o.Pgo, filepath.Join(folder, program)); err != nil {
				return nil, err
			}
		}
		binary := filepath.Join(folder, mainProgram)
		if err := s.pack(files, platform, folder); err != nil {
			return nil, err
		}
		if platform == runtime.GOOS+"/"+runtime.GOARCH { // the program of this platform can make the site
			if err := s.addSite(files, binary, filepath.Join(work, "site")); err != nil {
				return nil, err
			}
		}
	}
	return publish(o.Out, files)
}

// checkOut writes the files of a commit into the folder dir with git archive: the release has no file of a work tree.
// An empty version is taken from git describe.
func checkOut(repository, commit, version, dir string) (*source, error) {
	s := &source{dir: dir, version: version}
	var err error
	if s.commit, err = runGit(repository, "rev-parse", "--verify", "--end-of-options", commit+"^{commit}"); err != nil {
		return nil, err
	}
	seconds, err := runGit(repository, "log", "-1", "--format=%ct", s.commit)
	if err != nil {
		return nil, err
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return nil, err
	}
	s.time = time.Unix(n, 0).UTC()
	if s.version == "" {
		if s.version, err = runGit(repository, "describe", "--tags", "--always", s.commit); err != nil {
			return nil, err
		}
	}
	out, err := runGit(repository, "archive", "--format=tar", s.commit)
	if err != nil {
		return nil, err
	}
	return s, unpack(strings.NewReader(out), dir)
}

// runGit runs git in a folder and returns its output without the last line end.
func runGit(dir string, args ...string) (string, error) {
	c := exec.Command("git", append([]string{"-C", dir}, args...)...)
	var failure bytes.Buffer
	c.Stderr = &failure
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(failure.String()))
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}

// unpack writes the regular files of a tar archive into a folder. It rejects paths that lead outside.
func unpack(archive io.Reader, dir string) error {
	for r := tar.NewReader(archive); ; {
		h, err := r.Next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case h.Typeflag != tar.TypeReg:
			continue
		case !filepath.IsLocal(h.Name):
			return fmt.Errorf("the path %q leads out of the archive", h.Name)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		file := filepath.Join(dir, filepath.FromSlash(h.Name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(file, data, 0o666); err != nil {
			return err
		}
	}
}

// mainProgram is the program with all parts. Its modules include those of the other programs.
const mainProgram = "weir"

// listPrograms returns the programs for a platform: the privileged ones are for Linux only.
func listPrograms(platform string) []string {
	if strings.HasPrefix(platform, "linux/") {
		return []string{mainProgram, "weir-switch", "weir-agent"}
	}
	return []string{mainProgram}
}

// build compiles a program for a platform into the file binary. pgo is the profile for the compiler, relative to the
// source, or off. It sets all that could differ between machines: paths, processor versions, C libraries.
func (s *source) build(program, platform, pgo, binary string) error {
	system, processor, _ := strings.Cut(platform, "/")
	c := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-pgo="+pgo, "-ldflags=-s -w", "-o", binary,
		"./cmd/"+program)
	c.Dir = s.dir
	c.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+processor, "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off",
		"GOEXPERIMENT=", "GOAMD64=v1", "GOARM64=v8.0")
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("go build for %s: %w\n%s", platform, err, out)
	}
	return nil
}

// pack adds a platform's archive and list of components to the files of the release, by name. The folder has the
// programs.
func (s *source) pack(files map[string][]byte, platform, folder string) error {
	name := "weir-" + s.version + "-" + strings.ReplaceAll(platform, "/", "-")
	binary := filepath.Join(folder, mainProgram)
	components, err := s.listComponents(platform, binary)
	if err != nil {
		return err
	}
	notices, err := collectLicences(s.dir, binary)
	if err != nil {
		return err
	}
	content := []entry{{"components.cdx.json", components, false}, {"NOTICES.txt", notices, false}}
	for _, program := range listPrograms(platform) {
		data, err := os.ReadFile(filepath.Join(folder, program))
		if err != nil {
			return err
		}
		content = append(content, entry{program, data, true})
	}
	for _, file := range []string{"LICENSE", "README.md", "CHANGELOG.md", "CITATION.cff", "Dockerfile"} {
		data, err := os.ReadFile(filepath.Join(s.dir, file))
		if err != nil {
			return err
		}
		content = append(content, entry{file, data, false})
	}
	archive, err := compress(name, s.time, content)
	if err != nil {
		return err
	}
	files[name+".tar.gz"], files[name+".cdx.json"] = archive, components
	return nil
}

// addSite adds an archive of the documentation site to files. The program binary itself makes the site in dir.
func (s *source) addSite(files map[string][]byte, binary, dir string) error {
	if out, err := exec.Command(binary, "docs", "--site", dir).CombinedOutput(); err != nil {
		return fmt.Errorf("weir docs: %w\n%s", err, out)
	}
	var content []entry
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, file)
		content = append(content, entry{filepath.ToSlash(name), data, false})
		return err
	})
	if err != nil {
		return err
	}
	name := "weir-" + s.version + "-docs"
	files[name+".tar.gz"], err = compress(name, s.time, content)
	return err
}

// publish writes the files of a release with their checksums into a folder, which it creates, and returns the sorted
// paths. It adds SHA256SUMS to files.
func publish(dir string, files map[string][]byte) (written []string, err error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	files["SHA256SUMS"] = listChecksums(files)
	for name, data := range files {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, data, 0o666); err != nil {
			return nil, err
		}
		written = append(written, file)
	}
	slices.Sort(written)
	return written, nil
}
