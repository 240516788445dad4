package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"weir/study/plan"
	"weir/study/report"
	"weir/study/results"
	"weir/study/run"
	"weir/study/spec"
)

// folders finds results: of a folder, of its report, or of an experiment as weir run
// was given it without options.
type folders struct {
	Out target `default:"results" help:"Folder in which results of experiments are looked for."`
}

func (f *folders) open(a *app, name string) (*results.Outcome, error) {
	dir, err := f.find(a, name)
	if err != nil {
		return nil, err
	}
	return results.Open(a.registry, dir)
}

// find is the results folder of that name, or of an experiment's.
func (f *folders) find(a *app, name string) (string, error) {
	dir := name
	info, err := os.Stat(name)
	if err == nil && !info.IsDir() && filepath.Base(name) == "report.html" {
		dir = filepath.Dir(name)
	} else if err != nil || !info.IsDir() {
		src, err := a.registry.Open(name)
		if err != nil {
			return "", fmt.Errorf("%s is no results folder; as an experiment: %w", name, err)
		}
		s, err := plan.Load(a.registry, src, spec.Options{})
		if err != nil {
			return "", err
		}
		dir = results.Folder(s, string(f.Out), spec.Sim)
		if _, err := os.Stat(dir); err != nil {
			return "", fmt.Errorf("%w: %s has no results in %s/ as it is now: run it, or name a folder", errInput, name,
				filepath.Base(string(f.Out)))
		}
	}
	return filepath.Abs(dir) // run prints whole paths too
}

type reportCmd struct {
	folders
	Dirs []string `arg:"" name:"dir" help:"Results folders, as weir run leaves them, or experiments that were run."`
	JSON bool     `name:"json" help:"Print one JSON document each instead of tables." xor:"format"`
	CSV  bool     `name:"csv" help:"Print one line of CSV a value instead of tables." xor:"format"`
}

func (r *reportCmd) Run(a *app) error {
	signals := listen(a.screen, grace{0, nothing, "the same command makes the rest"})
	defer signals.stop()
	for i, dir := range r.Dirs {
		o, err := r.open(a, dir)
		if err != nil {
			return err
		}
		path, err := report.Write(o, report.Page{Version: version()})
		if err != nil {
			return err
		}
		switch {
		case r.JSON:
			a.stdout.Write(o.JSON())
		case r.CSV:
			if err := o.CSV(a.stdout); err != nil {
				return err
			}
		default:
			if i > 0 {
				fmt.Fprintln(a.stdout)
			}
			o.Found = 0 // a report runs nothing, so all of them are
			a.tables(o, path)
		}
	}
	return nil
}

type resultsCmd struct {
	Merge mergeCmd `cmd:"" help:"Make one results folder of several of one experiment, as one machine would have."`
}

type mergeCmd struct {
	Dirs      []string `arg:"" name:"dir" help:"${mergeDirs}"`
	Into      target   `required:"" placeholder:"DIR" help:"${mergeInto}"`
	Revisions string   `enum:"same,any" default:"same" help:"${mergeRevisions}"`
}

func (m *mergeCmd) Run(a *app) error {
	signals := listen(a.screen, grace{0, nothing, "what was merged is kept, and the same command goes on with the rest"})
	defer signals.stop()
	path := ""
	merged, err := results.Merge(signals, a.registry, m.Dirs, results.Merging{
		Into: string(m.Into), Any: m.Revisions == "any", Generators: run.Generators(),
		OnNotice: func(text string) { fmt.Fprintln(a.stderr, "notice:", text) },
		Report: func(o *results.Outcome) (err error) {
			path, err = report.Write(o, report.Page{Version: version()})
			return err
		},
	})
	if errors.Is(err, context.Canceled) {
		fmt.Fprintln(a.stderr, "interrupted:", err)
		a.code = Interrupted
		return nil
	}
	if err != nil {
		return err
	}
	found := merged.Found
	merged.Found = 0 // what was there already is nothing to run again
	fmt.Fprintf(a.stdout, "%d of %d runs are there, of %s: %d of them new", found, found+merged.Missing,
		plural(merged.Folders, "folder"), merged.New)
	if merged.Alike > 0 {
		fmt.Fprintf(a.stdout, ", %d in several folders, with the same bytes", merged.Alike)
	}
	fmt.Fprint(a.stdout, "\n\n")
	a.tables(merged.Outcome, path)
	return nil
}
