package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// testListFile names every test of the module with its stage, one a line.
const testListFile = "internal/testlist.txt"

// listCommand compares the list of tests with the source, or writes it with -update.
func listCommand(root string, args []string) error {
	text, err := testList(root)
	if err != nil {
		return err
	}
	if slices.Equal(args, []string{"-update"}) {
		return os.WriteFile(filepath.Join(root, testListFile), []byte(text), 0o644)
	}
	return checkTestList(root, text)
}

// testList returns the correct text of testListFile: all tests with their stages.
func testList(root string) (string, error) {
	files, err := trackedFiles(root)
	if err != nil {
		return "", err
	}
	tests, err := findTests(root, files)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, t := range tests {
		fmt.Fprintln(&b, t)
	}
	return b.String(), nil
}

// checkTestList returns an error with the differences between testListFile and the text want.
func checkTestList(root, want string) error {
	data, err := os.ReadFile(filepath.Join(root, testListFile))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	listed, there := strings.Split(string(data), "\n"), strings.Split(want, "\n")
	var wrong []string
	for _, line := range there {
		if !slices.Contains(listed, line) {
			wrong = append(wrong, "missing: "+line)
		}
	}
	for _, line := range listed {
		if !slices.Contains(there, line) {
			wrong = append(wrong, "no such test: "+line)
		}
	}
	if len(wrong) == 0 && string(data) != want {
		wrong = append(wrong, "the order differs")
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%s differs from the tests; `go run ./internal/ci list -update` writes it:\n%s", testListFile,
			strings.Join(wrong, "\n"))
	}
	return nil
}
