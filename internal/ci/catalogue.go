package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

const (
	// catalogueFolder holds the results of the programs that are compared, by program. Git ignores it.
	catalogueFolder = "results/catalogue"
	// movedShare is the relative difference of a measure from which on it is listed.
	movedShare = 0.01
)

// realTime matches experiments with results that depend on the machine: they are not compared.
var realTime = regexp.MustCompile(`^bench/`)

// catalogueCommand runs the catalogue's quick variants with the program of another commit, args[0], and with this work
// tree's program, and prints what differs. Experiments with finished results are not repeated.
func catalogueCommand(root string, args []string) error {
	flags := flag.NewFlagSet("catalogue BASE [PATTERN]", flag.ContinueOnError)
	full := flags.Bool("full", false, "run the experiments in full, not their quick variants")
	var positional []string
	for len(args) > 0 {
		if err := flags.Parse(args); err != nil {
			return err
		}
		if args = flags.Args(); len(args) > 0 {
			positional, args = append(positional, args[0]), args[1:]
		}
	}
	if len(positional) == 0 || len(positional) > 2 {
		return errors.New("usage: ci catalogue BASE [-full] [PATTERN]; PATTERN is a regular expression of names")
	}
	pattern, err := regexp.Compile(strings.Join(positional[1:], ""))
	if err != nil {
		return err
	}
	base, err := buildCommit(root, positional[0])
	if err != nil {
		return err
	}
	here, err := buildHere(root)
	if err != nil {
		return err
	}
	before, err := base.listExperiments()
	if err != nil {
		return err
	}
	after, err := here.listExperiments()
	if err != nil {
		return err
	}
	names := slices.Compact(slices.Sorted(slices.Values(slices.Concat(before, after))))
	var rows []difference
	failed := forEachExperiment(names, pattern, func(name string) error {
		found, err := compareExperiment(base, here, name, *full, slices.Contains(before, name), slices.Contains(after, name))
		if err == nil {
			rows = append(rows, found...)
			fmt.Fprintf(os.Stderr, "%s: %d differ\n", name, len(found))
		}
		return err
	})
	if isInterrupted(failed) {
		return failed
	}
	if err := printChanges(os.Stdout, rows); err != nil {
		return err
	}
	return failed
}

// forEachExperiment calls do for each of the named experiments that matches the pattern and does not depend on the
// machine. After an error, which it prints, it continues, unless that is an interrupt. It returns all errors, of an
// interrupt only that one.
func forEachExperiment(names []string, pattern *regexp.Regexp, do func(name string) error) error {
	var failed []error
	for _, name := range names {
		if !pattern.MatchString(name) || realTime.MatchString(name) {
			continue
		}
		if err := do(name); err != nil {
			err = fmt.Errorf("%s: %w", name, err)
			if isInterrupted(err) {
				return err
			}
			fmt.Fprintln(os.Stderr, err)
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// program is one of the two programs that are compared.
type program struct {
	binary string
	folder string // of its results
}

// buildCommit builds the program of a commit in a temporary work tree, unless the program is there already. It removes
// the work tree.
func buildCommit(root, commit string) (program, error) {
	id, err := runForOutput(root, "git", "rev-parse", "--verify", commit+"^{commit}")
	if err != nil {
		return program{}, err
	}
	id = strings.TrimSpace(id)
	folder := filepath.Join(root, catalogueFolder, id)
	p := program{filepath.Join(folder, "weir"), folder}
	if _, err := os.Stat(p.binary); err == nil {
		return p, nil
	}
	dir, err := os.MkdirTemp("", "weir-catalogue-")
	if err != nil {
		return program{}, err
	}
	defer os.RemoveAll(dir)
	tree := filepath.Join(dir, "tree")
	if _, err := runForOutput(root, "git", "worktree", "add", "--detach", tree, id); err != nil {
		return program{}, err
	}
	defer runForOutput(root, "git", "worktree", "remove", "--force", tree)
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return program{}, err
	}
	_, err = runForOutput(tree, "go", "build", "-buildvcs=false", "-o", p.binary, "./cmd/weir")
	return p, err
}

// buildHere builds the program of this work tree. Its results are kept by the digest of the binary.
func buildHere(root string) (program, error) {
	keep := filepath.Join(root, catalogueFolder)
	if err := os.MkdirAll(keep, 0o777); err != nil {
		return program{}, err
	}
	built := filepath.Join(keep, fmt.Sprintf("weir.%d", os.Getpid()))
	if _, err := runForOutput(root, "go", "build", "-buildvcs=false", "-o", built, "./cmd/weir"); err != nil {
		return program{}, err
	}
	data, err := os.ReadFile(built)
	if err != nil {
		return program{}, err
	}
	folder := filepath.Join(keep, fmt.Sprintf("%x", sha256.Sum256(data))[:12])
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return program{}, err
	}
	binary := filepath.Join(folder, "weir")
	return program{binary, folder}, os.Rename(built, binary)
}

// listExperiments returns the names of the experiments in the program's catalogue.
func (p program) listExperiments() ([]string, error) {
	out, err := runForOutput(p.folder, p.binary, "list")
	if err != nil {
		return nil, err
	}
	return regexp.MustCompile(`(?m)^[\w-]+/[\w-]+`).FindAllString(out, -1), nil
}

// outcomeFile is what is read of a results folder's runs.json.
type outcomeFile struct {
	Runs []struct {
		Point    map[string]string
		End      struct{ Reason string }
		Measures map[string]json.RawMessage
	}
	Claims []struct {
		ID, Says, Verdict, Measured string
		N                           int
	}
}

// readResults runs an experiment, in full or its quick variant, unless its results are there, and reads them.
func (p program) readResults(name string, full bool) (*outcomeFile, error) {
	variant := "quick"
	if full {
		variant = "full"
	}
	return p.readFolder(name, filepath.Join(p.folder, variant, filepath.FromSlash(name)), full)
}

// readFolder reads the results of an experiment below out. Unless out has the file finished, it runs the experiment
// first and then makes that file.
func (p program) readFolder(name, out string, full bool) (*outcomeFile, error) {
	finished := filepath.Join(out, "finished")
	if _, err := os.Stat(finished); err != nil {
		args := []string{"run", name, "--out", out}
		if !full {
			args = append(args, "--quick")
		}
		if text, err := exec.Command(p.binary, args...).CombinedOutput(); err != nil { // some runs are missing
			return nil, fmt.Errorf("%w\n%s", err, text)
		}
		if err := os.WriteFile(finished, nil, 0o666); err != nil {
			return nil, err
		}
	}
	o := &outcomeFile{}
	return o, readResult(out, "runs.json", o)
}

// readResult reads the JSON file of this name in the one results folder in out. It stores the value in into, as
// json.Unmarshal does.
func readResult(out, name string, into any) error {
	files, err := filepath.Glob(filepath.Join(out, "*", name))
	if err != nil || len(files) != 1 {
		return fmt.Errorf("%d files %s in %s (%v)", len(files), name, out, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// isInterrupted reports whether a program was interrupted or killed.
func isInterrupted(err error) bool {
	exit, ok := errors.AsType[*exec.ExitError](err)
	return ok && (exit.ExitCode() == 130 || exit.ExitCode() < 0)
}

// difference is one row of the table: a verdict that changed or a measure that moved.
type difference struct{ experiment, what, before, after, note string }

// compareExperiment runs an experiment with both programs and returns the differences. The argument old reports whether
// base has the experiment, now whether here has it. If one lacks it, that is the only difference.
func compareExperiment(base, here program, name string, full, old, now bool) ([]difference, error) {
	if !old || !now {
		word := map[bool]string{true: "yes", false: "no"}
		return []difference{{name, "in the catalogue", word[old], word[now], ""}}, nil
	}
	a, err := base.readResults(name, full)
	if err != nil {
		return nil, fmt.Errorf("base: %w", err)
	}
	b, err := here.readResults(name, full)
	if err != nil {
		return nil, err
	}
	return append(changedVerdicts(name, a, b), movedMeasures(name, a, b)...), nil
}

// changedVerdicts returns the claims of an experiment with different verdicts, or on one side only.
func changedVerdicts(name string, a, b *outcomeFile) (rows []difference) {
	verdicts := func(o *outcomeFile) map[string]string {
		v := map[string]string{}
		for _, c := range o.Claims {
			v[c.ID] = c.Verdict
		}
		return v
	}
	before, after := verdicts(a), verdicts(b)
	for _, id := range unionOfKeys(before, after) {
		if before[id] != after[id] {
			rows = append(rows, difference{name, "claim " + id, orDash(before[id]), orDash(after[id]), ""})
		}
	}
	return rows
}

// movedMeasures returns a row for each measure that moved by more than movedShare at some point: the point where it
// moved most.
func movedMeasures(name string, a, b *outcomeFile) (rows []difference) {
	before, after := a.meansByMeasure(), b.meansByMeasure()
	for _, measure := range unionOfKeys(before, after) {
		moved, points := 0, unionOfKeys(before[measure], after[measure])
		largest := difference{}
		most := 0.0
		for _, point := range points {
			x, inA := before[measure][point]
			y, inB := after[measure][point]
			share := relativeDifference(x, y)
			if inA != inB {
				share = math.Inf(1)
			}
			if share <= movedShare {
				continue
			}
			moved++
			if share > most {
				most = share
				largest = difference{name, measure, formatMean(x, inA), formatMean(y, inB), point}
			}
		}
		if moved > 0 {
			largest.note = fmt.Sprintf("%d of %d points, most at %s", moved, len(points), largest.note)
			rows = append(rows, largest)
		}
	}
	return rows
}

// meansByMeasure returns the mean over seeds of each number, by measure and point. Each element of an array is a point.
func (o *outcomeFile) meansByMeasure() map[string]map[string]float64 {
	type sum struct {
		total float64
		n     int
	}
	sums := map[string]map[string]sum{}
	for _, r := range o.Runs {
		point := ""
		for _, key := range unionOfKeys(r.Point, nil) {
			point += " " + key + "=" + r.Point[key]
		}
		for measure, raw := range r.Measures {
			addNumbers(measure, "", raw, func(leaf, element string, x float64) {
				if sums[leaf] == nil {
					sums[leaf] = map[string]sum{}
				}
				s := sums[leaf][point+element]
				sums[leaf][point+element] = sum{s.total + x, s.n + 1}
			})
		}
	}
	means := map[string]map[string]float64{}
	for measure, points := range sums {
		means[measure] = map[string]float64{}
		for point, s := range points {
			means[measure][strings.TrimSpace(point)] = s.total / float64(s.n)
		}
	}
	return means
}

// addNumbers calls add for each number of a measure's JSON, with its dotted name and, in an array, the indices of its
// element. It leaves out null and other values. The order of an object's numbers is random.
func addNumbers(name, element string, raw json.RawMessage, add func(leaf, element string, x float64)) {
	var x float64
	var groups map[string]json.RawMessage
	var elements []json.RawMessage
	switch {
	case string(raw) == "null":
	case json.Unmarshal(raw, &x) == nil:
		add(name, element, x)
	case json.Unmarshal(raw, &groups) == nil:
		for group, raw := range groups {
			addNumbers(name+"."+group, element, raw, add)
		}
	case json.Unmarshal(raw, &elements) == nil:
		for i, raw := range elements {
			addNumbers(name, fmt.Sprintf("%s [%d]", element, i), raw, add)
		}
	}
}

// relativeDifference returns the distance between x and y, relative to the larger of the two. It returns 0 if they are
// equal.
func relativeDifference(x, y float64) float64 {
	if x == y {
		return 0
	}
	return math.Abs(y-x) / max(math.Abs(x), math.Abs(y))
}

// formatMean returns a mean as a text of four digits, or a dash if it is not there.
func formatMean(x float64, there bool) string {
	if !there {
		return "–"
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}

// orDash returns s, or a dash if s is empty.
func orDash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

// unionOfKeys returns the keys of two maps, sorted.
func unionOfKeys[V any](a, b map[string]V) []string {
	var keys []string
	for _, m := range []map[string]V{a, b} {
		for k := range m {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// printChanges prints the table of differences, or that there are no differences.
func printChanges(out io.Writer, rows []difference) error {
	if len(rows) == 0 {
		_, err := fmt.Fprintln(out, "no verdict changed, and no measure moved by more than 1 %")
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "experiment\twhat\tbase\there\twhere")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", r.experiment, r.what, r.before, r.after, r.note)
	}
	return w.Flush()
}
