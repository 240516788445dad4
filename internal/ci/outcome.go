package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"weir/internal/testutil/realtime"
)

// maxListed is how many of the most expensive tests are listed.
const maxListed = 20

// event is one line of go test -json.
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
	Elapsed float64 // seconds

	ImportPath  string // of build-output and build-fail
	FailedBuild string
}

// result is the end of one test or part of a test.
type result struct {
	pkg, test string
	seconds   float64
	reason    string // of a skip
}

func (r result) String() string { return packageDir(r.pkg) + " " + r.test }

// outcome collects the events of a run of go test.
type outcome struct {
	out io.Writer

	running map[string]*strings.Builder // output by package and test, until its end
	passed  []result
	skipped []result // those with a reason of this machine
	unknown []result // inconclusive
	failed  []string
	counts  map[string][3]int // passed, skipped, failed by package
	cpu     []usage
}

func newOutcome(out io.Writer) *outcome {
	return &outcome{out: out, running: map[string]*strings.Builder{}, counts: map[string][3]int{}}
}

// read consumes events until the end of the stream, and prints each package's result when it arrives.
func (o *outcome) read(events io.Reader) error {
	r := bufio.NewReader(events)
	for {
		line, err := r.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil {
				fmt.Fprintf(o.out, "%s", line) // a message of the go command
			} else {
				o.add(e)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// add handles one event.
func (o *outcome) add(e event) {
	key := e.Package + " " + e.Test
	text := o.running[key]
	if text == nil {
		text = &strings.Builder{}
		o.running[key] = text
	}
	n := o.counts[e.Package]
	whole := !strings.Contains(e.Test, "/")
	switch e.Action {
	case "output":
		text.WriteString(e.Output)
		return
	case "build-output":
		fmt.Fprint(o.out, e.Output)
	case "build-fail":
		o.failed = append(o.failed, e.ImportPath+" (build)")
	case "pass":
		if e.Test == "" {
			o.printPackage(e, "ok  ")
		} else if whole {
			n[0]++
			o.passed = append(o.passed, result{pkg: e.Package, test: e.Test, seconds: e.Elapsed})
		}
	case "skip":
		if e.Test == "" {
			break
		}
		r := result{e.Package, e.Test, e.Elapsed, skipReason(text.String())}
		if strings.Contains(r.reason, realtime.Inconclusive) {
			o.unknown = append(o.unknown, r)
		} else {
			o.skipped = append(o.skipped, r)
		}
		if whole {
			n[1]++
		}
	case "fail":
		o.recordFailure(e, text.String())
		if e.Test != "" && whole {
			n[2]++
		}
	default:
		return
	}
	o.counts[e.Package] = n
	delete(o.running, key)
}

// recordFailure records and prints a failed test or package.
func (o *outcome) recordFailure(e event, text string) {
	if e.Test == "" {
		for key, rest := range o.running { // what had no end: a panic or a timeout
			if strings.HasPrefix(key, e.Package+" ") {
				fmt.Fprint(o.out, rest)
			}
		}
		o.printPackage(e, "FAIL")
		if o.counts[e.Package][2] == 0 && e.FailedBuild == "" {
			o.failed = append(o.failed, packageDir(e.Package)+" (outside of a test)")
		}
		return
	}
	fmt.Fprint(o.out, text)
	o.failed = append(o.failed, packageDir(e.Package)+" "+e.Test)
}

// printPackage prints the line of a package.
func (o *outcome) printPackage(e event, word string) {
	n := o.counts[e.Package]
	fmt.Fprintf(o.out, "%s\t%s\t%.1fs\t%d passed, %d skipped, %d failed\n", word, e.Package, e.Elapsed, n[0], n[1], n[2])
}

// skipReason returns what a skipped test reported last, without its source position.
func skipReason(output string) string {
	reason := ""
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "===") && !strings.HasPrefix(line, "---") {
			if _, text, ok := strings.Cut(line, "_test.go:"); ok {
				_, line, _ = strings.Cut(text, ": ")
			} else if _, text, ok := strings.Cut(line, "realtime.go:"); ok {
				_, line, _ = strings.Cut(text, ": ")
			}
			reason = line
		}
	}
	return reason
}

// readUsage reads the processor time of the test binaries.
func (o *outcome) readUsage(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(data)) {
		var u usage
		if err := json.Unmarshal([]byte(line), &u); err != nil {
			return err
		}
		o.cpu = append(o.cpu, u)
	}
	return nil
}

// print lists the most expensive tests and packages, what was skipped, and what has no verdict.
func (o *outcome) print(title string, took time.Duration) {
	slices.SortStableFunc(o.passed, func(a, b result) int { return int(1000 * (b.seconds - a.seconds)) })
	fmt.Fprintf(o.out, "\n%s: the %d tests that took longest\n", title, min(maxListed, len(o.passed)))
	for _, r := range o.passed[:min(maxListed, len(o.passed))] {
		fmt.Fprintf(o.out, "  %7.2f s  %v\n", r.seconds, r)
	}
	slices.SortStableFunc(o.cpu, func(a, b usage) int { return int(1000 * (b.CPU - a.CPU)) })
	total := 0.0
	for _, u := range o.cpu {
		total += u.CPU
	}
	fmt.Fprintf(o.out, "%s: the %d packages with most processor time\n", title, min(maxListed/2, len(o.cpu)))
	for _, u := range o.cpu[:min(maxListed/2, len(o.cpu))] {
		fmt.Fprintf(o.out, "  %7.2f CPU-s  %s\n", u.CPU, u.Folder)
	}
	for _, list := range []struct {
		what    string
		results []result
	}{{"skipped", o.skipped}, {"inconclusive", o.unknown}} {
		if len(list.results) > 0 {
			fmt.Fprintf(o.out, "%s: %d %s\n", title, len(list.results), list.what)
		}
		for _, r := range list.results {
			fmt.Fprintf(o.out, "  %v: %s\n", r, strings.TrimPrefix(r.reason, realtime.Inconclusive))
		}
	}
	n := [3]int{}
	for _, c := range o.counts {
		for i := range n {
			n[i] += c[i]
		}
	}
	if len(o.failed) > 0 {
		fmt.Fprintf(o.out, "%s: failed\n  %s\n", title, strings.Join(o.failed, "\n  "))
	}
	fmt.Fprintf(o.out, "%s: %.0f s, %.0f CPU-s in tests\n%d passed, %d failed, %d skipped\n", title, took.Seconds(), total,
		n[0], n[2], n[1])
}

// errNonePassed is the verdict when all tests were skipped or left out by flags.
var errNonePassed = errors.New("no test passed")

// verdict returns an error if a test failed, if no test ran, or if a test was skipped that must not be.
func (o *outcome) verdict(failed error, strict func(reason string) bool) error {
	if len(o.failed) > 0 {
		return fmt.Errorf("%d failed", len(o.failed))
	}
	if failed != nil {
		return failed
	}
	if len(o.passed) == 0 {
		return errNonePassed
	}
	for _, r := range o.skipped {
		if strict != nil && strict(r.reason) {
			return fmt.Errorf("%v was skipped, and must not be: %s", r, r.reason)
		}
	}
	return nil
}
