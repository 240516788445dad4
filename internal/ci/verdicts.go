package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
)

// verdictsFile has the verdict of each claim of the catalogue's quick variants, one a line.
const verdictsFile = "papers/verdicts.txt"

// verdictsHead explains the file to its readers.
const verdictsHead = `# The verdict of each claim of the catalogue's quick variants: experiment, claim, verdict,
# runs that it rests on, and why it last changed. .ci/slow compares it with the program, and
# .ci/verdicts -update -because "…" writes it.
`

// claimVerdict is a line of the file.
type claimVerdict struct {
	experiment, claim, verdict string
	runs                       int
	because                    string // why the verdict last changed; "": it never has
	measured                   string // what decides it; not in the file
}

// verdictsCommand runs the catalogue's quick variants with this work tree's program, and compares the verdicts of their
// claims with the file, or writes it. Runs that are there already are not repeated.
func verdictsCommand(root string, args []string) error {
	flags := flag.NewFlagSet("verdicts [PATTERN]", flag.ContinueOnError)
	update := flags.Bool("update", false, "write the verdicts into "+verdictsFile)
	because := flags.String("because", "", "with -update: why verdicts change")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 1 {
		return errors.New("usage: ci verdicts [-update [-because WHY]] [PATTERN]; PATTERN is a regular expression of names")
	}
	pattern, err := regexp.Compile(flags.Arg(0))
	if err != nil {
		return err
	}
	file := filepath.Join(root, filepath.FromSlash(verdictsFile))
	data, err := os.ReadFile(file)
	if err != nil && !(*update && errors.Is(err, os.ErrNotExist)) {
		return err
	}
	old, err := parseVerdicts(string(data))
	if err != nil {
		return err
	}
	here, err := buildHere(root)
	if err != nil {
		return err
	}
	names, err := here.listExperiments()
	if err != nil {
		return err
	}
	var found []claimVerdict
	ran := map[string]bool{}
	err = forEachExperiment(names, pattern, func(name string) error {
		o, err := here.readResults(name, false)
		if err == nil {
			ran[name], found = true, append(found, o.listVerdicts(name)...)
		}
		return err
	})
	for _, v := range old { // what the catalogue no longer has
		if pattern.MatchString(v.experiment) && !slices.Contains(names, v.experiment) {
			ran[v.experiment] = true
		}
	}
	rows := compareVerdicts(old, found, ran)
	if !*update {
		if len(rows) > 0 {
			err = errors.Join(err, fmt.Errorf("%s differs:\n%s", verdictsFile, strings.Join(rows, "\n")))
		}
		return err
	}
	text, wrong := updateVerdicts(old, found, ran, *because)
	if wrong != nil {
		return errors.Join(err, wrong)
	}
	return errors.Join(err, os.WriteFile(file, []byte(text), 0o666))
}

// listVerdicts returns the lines of an experiment, in the order of its claims.
func (o *outcomeFile) listVerdicts(name string) (all []claimVerdict) {
	for _, c := range o.Claims {
		all = append(all, claimVerdict{experiment: name, claim: c.ID, verdict: c.Verdict, runs: c.N, measured: c.Measured})
	}
	return all
}

// parseVerdicts reads the text of the file. Errors name the line.
func parseVerdicts(text string) (all []claimVerdict, err error) {
	for i, line := range strings.Split(text, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		var v claimVerdict
		line, v.because, _ = strings.Cut(line, " | ")
		fields := strings.Fields(line)
		if len(fields) != 4 {
			return nil, fmt.Errorf("%s:%d: %d columns; allowed: experiment, claim, verdict, runs", verdictsFile, i+1,
				len(fields))
		}
		v.experiment, v.claim, v.verdict = fields[0], fields[1], fields[2]
		if _, err := fmt.Sscan(fields[3], &v.runs); err != nil {
			return nil, fmt.Errorf("%s:%d: %q is no number of runs", verdictsFile, i+1, fields[3])
		}
		v.because = strings.TrimSpace(v.because)
		all = append(all, v)
	}
	return all, nil
}

// key names the claim of a line.
func (v *claimVerdict) key() string { return v.experiment + " " + v.claim }

// result is what is compared of a line.
func (v *claimVerdict) result() string { return fmt.Sprintf("%s (runs: %d)", v.verdict, v.runs) }

// compareVerdicts returns a line for each claim with a different result in old and found. It compares only experiments
// that ran.
func compareVerdicts(old, found []claimVerdict, ran map[string]bool) (rows []string) {
	before := byClaim(old)
	for _, v := range found {
		was, known := before[v.key()]
		delete(before, v.key())
		switch {
		case !known:
			rows = append(rows, fmt.Sprintf("%s: %s, and not in the file: %s", v.key(), v.result(), v.measured))
		case was.result() != v.result():
			rows = append(rows, fmt.Sprintf("%s: %s, was %s: %s", v.key(), v.result(), was.result(), v.measured))
		}
	}
	for _, v := range old {
		if _, left := before[v.key()]; left && ran[v.experiment] {
			rows = append(rows, fmt.Sprintf("%s: no such claim", v.key()))
		}
	}
	return rows
}

// updateVerdicts returns the text of the file with the found verdicts in place of its old lines about experiments that
// ran. The reason because must not be empty if a verdict changes. Other claims keep their reasons.
func updateVerdicts(old, found []claimVerdict, ran map[string]bool, because string) (string, error) {
	before := byClaim(old)
	var lines []claimVerdict
	for _, v := range old {
		if !ran[v.experiment] {
			lines = append(lines, v)
		}
	}
	var changed []string
	for _, v := range found {
		if was, known := before[v.key()]; known {
			if v.because = was.because; was.verdict != v.verdict {
				changed = append(changed, fmt.Sprintf("%s: %s, was %s: %s", v.key(), v.verdict, was.verdict, v.measured))
				v.because = because
			}
		}
		lines = append(lines, v)
	}
	if len(changed) > 0 && because == "" {
		return "", fmt.Errorf("verdicts change; give the reason with -because:\n%s", strings.Join(changed, "\n"))
	}
	slices.SortStableFunc(lines, func(a, b claimVerdict) int { return strings.Compare(a.experiment, b.experiment) })
	var b strings.Builder
	b.WriteString(verdictsHead)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, v := range lines {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d", v.experiment, v.claim, v.verdict, v.runs)
		if v.because != "" {
			fmt.Fprintf(w, "\t| %s", v.because)
		}
		fmt.Fprintln(w)
	}
	err := w.Flush()
	return b.String(), err
}

// byClaim indexes lines by their claims.
func byClaim(all []claimVerdict) map[string]claimVerdict {
	m := map[string]claimVerdict{}
	for _, v := range all {
		m[v.key()] = v
	}
	return m
}
