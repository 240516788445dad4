package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

// coverageLine matches what go test prints for a package with -cover.
var coverageLine = regexp.MustCompile(`(?m)^(?:ok\s+|\s+)(\S+)\s.*coverage: ([\d.]+)% of statements`)

// coverageCommand prints the coverage of each package by its own tests, here and in the work tree of an earlier
// commit, and the difference. It runs `go test ./...` in both trees.
func coverageCommand(root string, args []string) error {
	if len(args) != 1 {
		return errors.New("usage: ci coverage DIR, the work tree of an earlier commit")
	}
	before, err := coverageOf(args[0])
	if err != nil {
		return err
	}
	after, err := coverageOf(root)
	if err != nil {
		return err
	}
	fmt.Printf("%-40s %7s %7s %7s\n", "package", "before", "after", "change")
	for _, pkg := range unionOfKeys(before, after) {
		a, was := before[pkg]
		b, is := after[pkg]
		switch {
		case !was:
			fmt.Printf("%-40s %7s %7.1f\n", packageDir(pkg), "–", b)
		case !is:
			fmt.Printf("%-40s %7.1f %7s\n", packageDir(pkg), a, "–")
		default:
			fmt.Printf("%-40s %7.1f %7.1f %+7.1f\n", packageDir(pkg), a, b, b-a)
		}
	}
	return nil
}

// coverageOf runs the tests of a work tree and returns the coverage by package, in percent.
func coverageOf(dir string) (map[string]float64, error) {
	cmd := exec.Command("go", "test", "-pgo=off", "-vet=off", "-cover", "./...")
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output() // a failing test still has a coverage
	coverage := map[string]float64{}
	for _, m := range coverageLine.FindAllStringSubmatch(string(out), -1) {
		share, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			return nil, err
		}
		coverage[m[1]] = share
	}
	if len(coverage) == 0 {
		return nil, fmt.Errorf("go test: %w\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "FAIL") {
			fmt.Fprint(os.Stderr, line)
		}
	}
	return coverage, nil
}
