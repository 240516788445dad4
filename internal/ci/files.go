package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// trackedFiles returns the files that git tracks below root, with slashes, sorted. A tracked file that is
// deleted in the work tree is left out.
func trackedFiles(root string) ([]string, error) {
	out, err := runForOutput(root, "git", "ls-files", "-z")
	if err != nil {
		return nil, err
	}
	if out == "" {
		return nil, fmt.Errorf("git tracks no file in %s: lint and the stages need a clone of the repository", root)
	}
	var files []string
	for _, name := range strings.Split(strings.TrimSuffix(out, "\x00"), "\x00") {
		if _, err := os.Lstat(filepath.Join(root, name)); err == nil {
			files = append(files, name)
		}
	}
	return files, nil
}

// runForOutput runs a command in a folder and returns its standard output. The error has its standard error.
func runForOutput(dir, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if exit, ok := err.(*exec.ExitError); ok {
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return string(out), nil
}

// moduleRoot returns the folder with go.mod at or above the working directory.
func moduleRoot() (string, error) {
	out, err := runForOutput(".", "go", "env", "GOMOD")
	if err != nil {
		return "", err
	}
	return filepath.Dir(strings.TrimSpace(out)), nil
}

// visitTestFiles calls visit with the name and the source of each test file among the given files.
func visitTestFiles(root string, files []string, visit func(name string, src []byte) error) error {
	for _, name := range goFiles(files) {
		if !strings.HasSuffix(name, "_test.go") {
			continue
		}
		src, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return err
		}
		if err := visit(name, src); err != nil {
			return err
		}
	}
	return nil
}
