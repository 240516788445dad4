package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// docsTests is the prefix of tests that compare documentation and help texts with the program.
const docsTests = "TestDocs"

// lintCommand checks the source. It runs every check, prints its duration and its errors, and fails if one of them
// does.
func lintCommand(root string, args []string) error {
	if len(args) > 0 {
		return errors.New("usage: ci lint")
	}
	files, err := trackedFiles(root)
	if err != nil {
		return err
	}
	tests, err := findTests(root, files)
	if err != nil {
		return err
	}
	tags := "-tags=" + strings.Join(taggedStages, ",")
	command := func(name string, args ...string) func() error {
		return func() error { return runCommand(root, name, args...) }
	}
	checks := []struct {
		name  string
		check func() error
	}{
		{"gofmt", func() error { return checkFormat(root, files) }},
		{"test list", func() error {
			text, err := testList(root)
			if err != nil {
				return err
			}
			return checkTestList(root, text)
		}},
		{"pure tests", func() error { return checkPure(root, files) }},
		{"left out of race", func() error { return checkRaceless(root, files) }},
		{"language", func() error { return checkLanguage(root, files, os.Stdout) }},
		{"go vet", command("go", "vet", "./...")},
		{"go vet, all stages", command("go", "vet", tags, "./...")},
		{"layers, lengths and citations", func() error { return stageCommand(root, []string{"lint"}) }},
		{"golden texts", func() error { return runDocs(root, tests) }},
		{"staticcheck", command("go", "tool", "staticcheck", "./...")},
		{"staticcheck, all stages", command("go", "tool", "staticcheck", tags, "./...")},
	}
	var failed []string
	for _, c := range checks {
		start := time.Now()
		err := c.check()
		fmt.Printf("%-32s %5.1f s\n", c.name, time.Since(start).Seconds())
		if err != nil {
			fmt.Println(err)
			failed = append(failed, c.name)
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("lint fails: %s", strings.Join(failed, ", "))
	}
	return nil
}

// runCommand runs a command in a folder. The output of the command goes to this program's output.
func runCommand(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return nil
}

// checkFormat returns an error that lists the Go files among files that gofmt would change. It skips testdata. It does
// not run gofmt, because the one in PATH can be of another release than the go command's toolchain.
func checkFormat(root string, files []string) error {
	var wrong []string
	for _, name := range files {
		if !strings.HasSuffix(name, ".go") || strings.Contains(name, "testdata/") {
			continue
		}
		src, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return err
		}
		formatted, err := format.Source(src)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if !bytes.Equal(src, formatted) {
			wrong = append(wrong, name)
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("gofmt would change:\n%s", strings.Join(wrong, "\n"))
	}
	return nil
}

// runDocs runs the module's tests that compare golden texts of help and documentation with the program.
func runDocs(root string, tests []test) error {
	s := selection{stages: []string{pureStage}, tests: tests, accept: func(t test) bool {
		return strings.HasPrefix(t.name, docsTests)
	}}
	if !slices.ContainsFunc(tests, s.selects) {
		return errors.New("there is no test of golden texts")
	}
	return s.run(root, "golden texts", nil)
}
