package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"weir/internal/testkit/realtime"
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

// summaryVariable names the environment variable with the file to which a stage appends what it lists at its end.
const summaryVariable = "WEIR_CI_SUMMARY"

// verdict is how a test ends.
type verdict int

const (
	passed verdict = iota
	failed
	skipped
	inconclusive
	verdictCount
)

// verdictNames are the words for verdicts.
var verdictNames = [verdictCount]string{"passed", "failed", "skipped", "inconclusive"}

// verdictCounts are numbers of tests by verdict.
type verdictCounts [verdictCount]int

// String returns all counts with their words, separated by commas.
func (c verdictCounts) String() string {
	var parts [verdictCount]string
	for v, n := range c {
		parts[v] = fmt.Sprintf("%d %s", n, verdictNames[v])
	}
	return strings.Join(parts[:], ", ")
}

// result is the end of one test or part of a test.
type result struct {
	pkg, test string
	seconds   float64
	verdict   verdict
	reason    string // of a skip
}

// String returns the folder and the name of the test.
func (r result) String() string { return packageDir(r.pkg) + " " + r.test }

// outcome collects the events of a run of go test.
type outcome struct {
	out io.Writer

	running map[string]*strings.Builder // output by package and test, until its end
	ended   []result                    // whole tests that passed, failed or are inconclusive
	skipped []result                    // tests and parts of tests
	unknown []result                    // inconclusive tests and parts of tests
	failed  []string
	counts  map[string]verdictCounts // of whole tests, by package
	cpu     []usage
}

// newOutcome returns an outcome without events, which prints to out.
func newOutcome(out io.Writer) *outcome {
	return &outcome{out: out, running: map[string]*strings.Builder{}, counts: map[string]verdictCounts{}}
}

// read consumes events until the end of the stream, and prints each package's result when it arrives. It prints lines
// that are no events as they are. An error is one of the stream.
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

// add handles one event. It prints the output of a test only if the test fails.
func (o *outcome) add(e event) {
	key := e.Package + " " + e.Test
	text := o.running[key]
	if text == nil {
		text = &strings.Builder{}
		o.running[key] = text
	}
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
		} else if o.hasInconclusivePart(e) {
			o.addResult(e, inconclusive, "")
		} else {
			o.addResult(e, passed, "")
		}
	case "skip":
		if e.Test == "" {
			break
		}
		if reason := skipReason(text.String()); strings.Contains(reason, realtime.Inconclusive) {
			o.unknown = append(o.unknown, o.addResult(e, inconclusive, reason))
		} else {
			o.skipped = append(o.skipped, o.addResult(e, skipped, reason))
		}
	case "fail":
		o.recordFailure(e, text.String())
		if e.Test != "" {
			o.addResult(e, failed, "")
		}
	default:
		return
	}
	delete(o.running, key)
}

// addResult returns the result of a test, and counts it unless it is part of another test. The reason is the text
// of a skip.
func (o *outcome) addResult(e event, v verdict, reason string) result {
	r := result{e.Package, e.Test, e.Elapsed, v, reason}
	if strings.Contains(e.Test, "/") {
		return r
	}
	n := o.counts[e.Package]
	n[v]++
	o.counts[e.Package] = n
	if v != skipped {
		o.ended = append(o.ended, r)
	}
	return r
}

// hasInconclusivePart reports whether a part of a test is inconclusive.
func (o *outcome) hasInconclusivePart(e event) bool {
	return slices.ContainsFunc(o.unknown, func(r result) bool {
		return r.pkg == e.Package && strings.HasPrefix(r.test, e.Test+"/")
	})
}

// recordFailure records and prints a failed test with its output text, or a failed package with the output of tests
// that have no end.
func (o *outcome) recordFailure(e event, text string) {
	if e.Test == "" {
		for key, rest := range o.running { // what had no end: a panic or a timeout
			if strings.HasPrefix(key, e.Package+" ") {
				fmt.Fprint(o.out, rest)
			}
		}
		o.printPackage(e, "FAIL")
		if o.counts[e.Package][failed] == 0 && e.FailedBuild == "" {
			o.failed = append(o.failed, packageDir(e.Package)+" (outside of a test)")
		}
		return
	}
	fmt.Fprint(o.out, text)
	o.failed = append(o.failed, packageDir(e.Package)+" "+e.Test)
}

// printPackage prints the line of a package with a word for its result and the counts of its tests.
func (o *outcome) printPackage(e event, word string) {
	fmt.Fprintf(o.out, "%s\t%s\t%.1fs\t%v\n", word, e.Package, e.Elapsed, o.counts[e.Package])
}

// logPosition matches what the testing package prints in front of a test's log: its source position.
var logPosition = regexp.MustCompile(`^\S+\.go:\d+: `)

// skipReason returns why a test was skipped: the line that starts with the mark of an inconclusive test if there is
// one, else the last line with a source position, else the last line.
func skipReason(output string) string {
	if i := strings.LastIndex(output, realtime.Inconclusive); i >= 0 {
		line, _, _ := strings.Cut(output[i:], "\n")
		return line
	}
	positioned, last := "", ""
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "===") || strings.HasPrefix(line, "---") {
			continue
		}
		last = line
		if position := logPosition.FindString(line); position != "" {
			positioned = line[len(position):]
		}
	}
	if positioned != "" {
		return positioned
	}
	return last
}

// readUsage adds the processor time of the test binaries from a file that appendUsage wrote.
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

// print lists the most expensive tests and packages, the tests that failed, were skipped or have no verdict, and the
// counts. The duration took is the time of the whole stage.
func (o *outcome) print(title string, took time.Duration) {
	slices.SortStableFunc(o.ended, func(a, b result) int { return int(1000 * (b.seconds - a.seconds)) })
	fmt.Fprintf(o.out, "\n%s: the %d tests that took longest\n", title, min(maxListed, len(o.ended)))
	for _, r := range o.ended[:min(maxListed, len(o.ended))] {
		word := ""
		if r.verdict != passed {
			word = " (" + verdictNames[r.verdict] + ")"
		}
		fmt.Fprintf(o.out, "  %7.2f s  %v%s\n", r.seconds, r, word)
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
	var n verdictCounts
	for _, c := range o.counts {
		for v := range n {
			n[v] += c[v]
		}
	}
	fmt.Fprintf(o.out, "%s%s: %.0f s, %.0f CPU-s in tests\n%v\n", o.formatExceptions(title), title, took.Seconds(), total,
		n)
}

// formatExceptions lists the tests that were skipped, are inconclusive or failed, under a title.
func (o *outcome) formatExceptions(title string) string {
	var b strings.Builder
	for _, list := range []struct {
		what    string
		results []result
	}{{"skipped", o.skipped}, {"inconclusive", o.unknown}} {
		if len(list.results) > 0 {
			fmt.Fprintf(&b, "%s: %d %s\n", title, len(list.results), list.what)
		}
		for _, r := range list.results {
			fmt.Fprintf(&b, "  %v: %s\n", r, strings.TrimPrefix(r.reason, realtime.Inconclusive))
		}
	}
	if len(o.failed) > 0 {
		fmt.Fprintf(&b, "%s: failed\n  %s\n", title, strings.Join(o.failed, "\n  "))
	}
	return b.String()
}

// appendSummary appends the exceptions under a title to the file that summaryVariable names.
func (o *outcome) appendSummary(title string) error { return appendSummary(o.formatExceptions(title)) }

// appendSummary appends a text to the file that summaryVariable names. It has no effect if the variable is not set.
func appendSummary(text string) error {
	name := os.Getenv(summaryVariable)
	if name == "" {
		return nil
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// judge returns an error if a test failed, if no test ran, or if a test was skipped that must not be. The argument exit
// is the error of go test. The function strict reports whether a skip with this reason is an error; nil: no skip is.
func (o *outcome) judge(exit error, strict func(reason string) bool) error {
	if len(o.failed) > 0 {
		return fmt.Errorf("%d failed", len(o.failed))
	}
	if exit != nil {
		return exit
	}
	if len(o.ended) == 0 {
		return errNoTest
	}
	for _, r := range o.skipped {
		if strict != nil && strict(r.reason) {
			return fmt.Errorf("%v was skipped, and must not be: %s", r, r.reason)
		}
	}
	return nil
}
