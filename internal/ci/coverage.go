package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// coverageLine matches what go test prints for a package with -cover.
var coverageLine = regexp.MustCompile(`(?m)^(?:ok\s+|\s+)(\S+)\s.*coverage: ([\d.]+)% of statements`)

// maxLost limits how many percentage points of coverage a package of coveredLayers may lose.
const maxLost = 2.0

// coveredLayers are the folders with packages that must keep their coverage.
var coveredLayers = []string{"core", "papers", "study"}

// coverageCommand prints the coverage of each package by its own tests, here and in the work tree of an earlier
// commit, and the difference. It runs `go test ./...` in both trees. It fails if a package lost too much.
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
	return compareCoverage(os.Stdout, before, after, func(folder string) bool {
		_, err := os.Stat(filepath.Join(root, filepath.FromSlash(folder)))
		return err == nil
	})
}

// compareCoverage prints two coverages by package and their difference. It returns an error if a package of
// coveredLayers lost more than maxLost, or exists and has no coverage any more. The function exists reports whether the
// work tree has a folder.
func compareCoverage(out io.Writer, before, after map[string]float64, exists func(folder string) bool) error {
	var lost []string
	fmt.Fprintf(out, "%-40s %7s %7s %7s\n", "package", "before", "after", "change")
	for _, pkg := range unionOfKeys(before, after) {
		a, was := before[pkg]
		b, is := after[pkg]
		folder := packageDir(pkg)
		switch {
		case !was:
			fmt.Fprintf(out, "%-40s %7s %7.1f\n", folder, "–", b)
		case !is:
			fmt.Fprintf(out, "%-40s %7.1f %7s\n", folder, a, "–")
		default:
			fmt.Fprintf(out, "%-40s %7.1f %7.1f %+7.1f\n", folder, a, b, b-a)
		}
		const rounding = 0.01 // of differences of figures with one decimal
		layer, _, _ := strings.Cut(folder, "/")
		if was && slices.Contains(coveredLayers, layer) && (is && a-b > maxLost+rounding || !is && exists(folder)) {
			lost = append(lost, folder)
		}
	}
	if len(lost) > 0 {
		return fmt.Errorf("lost more than %g points of coverage, or has none: %s", maxLost, strings.Join(lost, ", "))
	}
	return nil
}

// coverageOf runs the tests of a work tree and returns the coverage by package, in percent. It prints failures of
// packages to standard error. An error is a result without any coverage.
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
