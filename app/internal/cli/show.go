package cli

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"weir/internal/command"
	"weir/internal/document"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/study/report"
)

type showCmd struct {
	Name string `arg:"" help:"${showName}"`
	changes
	YAML      bool   `name:"yaml" help:"Print the experiment's file unchanged, as a template."`
	NoPaper   bool   `help:"${showNoPaper}"`
	Footprint bool   `help:"${showFootprint}"`
	Topology  string `placeholder:"NETWORK" help:"${showTopology}"`
	JSON      bool   `name:"json" help:"With --footprint: print one JSON document instead of tables."`
}

// Run prints everything that has the given name. Without such an entry, it prints the parameters of the experiment with
// that name.
func (s *showCmd) Run(a *app) error {
	switch {
	case s.Footprint:
		return s.printFootprint(a)
	case s.Topology != "" || s.JSON:
		return fmt.Errorf("%w: --topology and --json need --footprint; add it, or leave them out", command.ErrInput)
	case s.NoPaper && !s.YAML:
		return fmt.Errorf("%w: --no-paper needs --yaml; add it, or leave out --no-paper", command.ErrInput)
	}
	if s.YAML {
		return s.printFile(a)
	}
	all := a.listNames()
	shown := false
	for _, x := range all {
		if x.name != s.Name {
			continue
		}
		if shown {
			fmt.Fprintln(a.stdout)
		}
		x.show(a)
		shown = true
	}
	if shown {
		return nil
	}
	exp, err := s.loadSpec(a)
	if err != nil {
		return s.explainError(err, all)
	}
	fmt.Fprintf(a.stdout, "%s\n%s", exp.Name(), exp.Title())
	if p := exp.Paper().String(); p != "" {
		fmt.Fprintf(a.stdout, " (%s)", p)
	}
	need, byNeed := exp.Need()
	if byNeed {
		fmt.Fprintf(a.stdout, "\n%d to %d runs", need.MinSeeds*len(exp.Points()), len(plan.ListRuns(exp)))
	} else {
		fmt.Fprintf(a.stdout, "\n%d runs", len(plan.ListRuns(exp)))
	}
	if byNeed || exp.LabRepeat() != exp.Repeat() {
		fmt.Fprintf(a.stdout, ", %d in the lab", len(plan.ListRunsOn(exp, experiment.Lab)))
	}
	fmt.Fprint(a.stdout, "\n\n")
	rows := [][]string{{"parameter", "value", "source"}}
	for _, p := range exp.Parameters() {
		rows = append(rows, []string{p.Path, p.Value, p.Source})
	}
	fmt.Fprint(a.stdout, formatGrid(rows, a.lineWidth()))
	a.printTimers(exp)
	if text := report.FormatPaperValues(exp); text != "" {
		fmt.Fprintf(a.stdout, "\nvalues of the paper\n%s", text)
	}
	return nil
}

// loadSpec loads the experiment with the given name.
func (s *showCmd) loadSpec(a *app) (*experiment.Spec, error) {
	return (&selection{s.Name, s.changes}).loadSpec(a)
}

// explainError extends the error for a name that is neither an experiment nor a file: weir show accepts other names,
// too. It adds the nearest of the names in all. Other errors are returned unchanged.
func (s *showCmd) explainError(err error, all []listed) error {
	const unknown, known = "unknown experiment or file ", "; weir list shows the experiments"
	var wrong document.InputErrors
	if !errors.As(err, &wrong) || len(wrong) != 1 || wrong[0].File != s.Name || !strings.HasPrefix(wrong[0].Msg, unknown) {
		return err
	}
	e := &wrong[0]
	e.Msg = "no experiment, scheme, measure, workload, format, warning or file has the name " +
		strings.TrimSuffix(strings.TrimPrefix(e.Msg, unknown), known)
	if text := nearestListed(all, s.Name); text != "" && !strings.Contains(e.Msg, "did you mean") {
		e.Msg += "; did you mean the " + text + "?"
	}
	e.Msg += known + ", and weir list KIND the schemes, measures, workloads, formats or warnings"
	return err
}

// printFile prints the experiment's file unchanged, or without its paper. It returns an error for names of schemes and
// the like, which have no file.
func (s *showCmd) printFile(a *app) error {
	if len(s.Set) > 0 || s.Seed != nil || s.Quick {
		return fmt.Errorf("%w: --yaml prints the file unchanged and does not apply --set, --seed or --quick; after a run, "+
			"spec.yaml in the results folder has them applied",
			command.ErrInput)
	}
	for _, x := range a.listNames() {
		if x.name == s.Name {
			what := x.generalKind()
			if what != x.kind {
				what += " (" + x.kind + ")"
			}
			return fmt.Errorf("%w: %s is a %s and has no file; --yaml needs an experiment", command.ErrInput, s.Name, what)
		}
	}
	src, err := a.registry.OpenExperiment(s.Name)
	if err != nil {
		return err
	}
	data := bytes.TrimPrefix(src.Data, []byte("\ufeff")) // without the byte order mark of a file
	if s.NoPaper {
		if data, err = experiment.OmitPaper(src); err != nil {
			return err
		}
	}
	_, err = a.stdout.Write(data)
	return err
}

// showScheme prints a scheme with its parameters.
func (a *app) showScheme(k kindOf) {
	fmt.Fprintf(a.stdout, "%s\n%s\n\n", report.WrapText(k.kind+" "+k.s.Name+": "+k.s.Doc, a.lineWidth(), "    "),
		report.WrapText("source: "+k.s.Source, a.lineWidth(), "    "))
	a.showPage(k)
	params := k.s.Parameters()
	if len(params) == 0 {
		fmt.Fprintln(a.stdout, "It has no parameters.")
		return
	}
	for _, p := range params {
		value := "default " + p.Default
		switch {
		case p.Required:
			value = "required"
		case p.Default == "":
			value = "default: none"
		}
		value = p.DescribeValues() + "; " + value
		fmt.Fprintln(a.stdout, p.Name)
		for _, text := range []string{p.Doc, value, "source: " + p.Source} {
			fmt.Fprintln(a.stdout, report.WrapHanging("    ", text, "    ", a.lineWidth()))
		}
	}
}

// formatGrid formats rows of three columns within a width. If the width is too small, the first column gets up to 34 of
// 80 parts, the second up to 20, and all are wrapped.
func formatGrid(rows [][]string, width int) string {
	first, second, third := 0, 0, 0
	for _, r := range rows {
		first, second = max(first, utf8.RuneCountInString(r[0])), max(second, utf8.RuneCountInString(r[1]))
		third = max(third, utf8.RuneCountInString(r[2]))
	}
	if width < first+second+third+4 {
		first, second = min(first, width*34/80), min(second, width*20/80)
		third = max(width-first-second-4, 8)
	}
	var b strings.Builder
	for _, r := range rows {
		cells := [][]string{foldText(r[0], first), foldText(r[1], second), foldText(r[2], third)}
		for i := range max(len(cells[0]), len(cells[1]), len(cells[2])) {
			var line [3]string
			for c := range cells {
				if i < len(cells[c]) {
					line[c] = cells[c][i]
				}
			}
			b.WriteString(strings.TrimRight(fmt.Sprintf("%-*s  %-*s  %s", first, line[0], second, line[1], line[2]), " ") + "\n")
		}
	}
	return b.String()
}

// foldText breaks a text into lines of at most width characters: after spaces, else after a dot, else anywhere.
func foldText(s string, width int) []string {
	var lines []string
	for _, l := range strings.Split(report.WrapText(s, width, ""), "\n") {
		r := []rune(l)
		for len(r) > width {
			at := width
			if dot := strings.LastIndexByte(string(r[:width]), '.'); dot >= 0 {
				at = utf8.RuneCountInString(string(r[:width])[:dot+1])
			}
			lines = append(lines, string(r[:at]))
			r = r[at:]
		}
		lines = append(lines, string(r))
	}
	return lines
}
