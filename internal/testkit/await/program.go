package await

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// ProgramsVariable names the environment variable with the folder in which a stage keeps the programs under
// test. Test binaries that share the folder build each program once.
const ProgramsVariable = "WEIR_PROGRAMS"

// RequireProgram returns the path of a program of this module, built with the given flags of go build. The package is
// named by its folder, such as cmd/weir. It is built at most once per stage, or per test binary without a stage.
func RequireProgram(t testing.TB, folder string, flags ...string) string {
	t.Helper()
	path, err := BuildProgram(folder, flags...)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// BuildProgram works as RequireProgram and returns errors, for callers that are not tests.
func BuildProgram(folder string, flags ...string) (path string, err error) {
	into, err := programsDir()
	if err != nil {
		return "", err
	}
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	id := sha256.Sum256([]byte(strings.Join(append([]string{folder}, flags...), "\x00")))
	path = filepath.Join(into, fmt.Sprintf("%x", id[:6]), filepath.Base(folder))
	unlock, err := lockFile(path+".lock", true)
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	cmd := exec.Command("go", append(append([]string{"build", "-buildvcs=false", "-o", path + ".new"}, flags...),
		"./"+folder)...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", folder, err, out)
	}
	return path, os.Rename(path+".new", path)
}

// ownPrograms returns the folder of a test binary without a stage. A package cannot run code at the end of a test
// binary, so a later binary removes the folder.
var ownPrograms = sync.OnceValues(NewProgramDir)

// NewProgramDir creates a folder for programs under test, and removes the folders of processes that have ended.
func NewProgramDir() (string, error) { return newProgramDir(os.TempDir()) }

// newProgramDir works as NewProgramDir below the folder parent.
func newProgramDir(parent string) (string, error) {
	const prefix, lock = "weir-programs-", "in-use.lock"
	old, err := filepath.Glob(filepath.Join(parent, prefix+"*", lock))
	if err != nil {
		return "", err
	}
	for _, name := range old {
		if unlock, err := lockFile(name, false); err == nil {
			os.RemoveAll(filepath.Dir(name)) // fails for another user's folder
			unlock()
		}
	}
	// A folder gets its name after it is locked, so that no other process removes it first.
	unlocked, err := os.MkdirTemp(parent, "weir-new-programs-")
	if err != nil {
		return "", err
	}
	unlock, err := lockFile(filepath.Join(unlocked, lock), true)
	if err != nil {
		return "", err
	}
	folder := filepath.Join(parent, prefix+strings.TrimPrefix(filepath.Base(unlocked), "weir-new-programs-"))
	if err := os.Rename(unlocked, folder); err != nil {
		unlock()
		return "", err
	}
	programsInUse = append(programsInUse, unlock)
	return folder, nil
}

// programsInUse keeps the locks of this process's folders.
var programsInUse []func()

// programsDir returns the folder of the stage's programs, or of this test binary's programs without a stage.
func programsDir() (string, error) {
	if dir := os.Getenv(ProgramsVariable); dir != "" {
		return dir, nil
	}
	return ownPrograms()
}

// moduleRoot returns the folder of go.mod, searched from the working directory upwards.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("no go.mod above the working directory")
		}
		dir = up
	}
}
