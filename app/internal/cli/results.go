package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"weir/internal/command"
	"weir/internal/text"
	"weir/study/report"
	"weir/study/results"
	"weir/study/run"
)

// folders finds results by their folder, their report, or the name of an experiment.
type folders struct {
	Out command.Target `default:"results" help:"Folder that contains the results folders of named experiments."`
}

// openResults reads the results with the given name, as findFolder finds them.
func (f *folders) openResults(a *app, name string) (*results.Outcome, error) {
	dir, err := f.findFolder(a, name)
	if err != nil {
		return nil, err
	}
	return results.Open(a.registry, dir)
}

// findFolder returns the absolute path of the results folder with the given name, of the folder of a named report.html,
// or of the best one of an experiment.
func (f *folders) findFolder(a *app, name string) (string, error) {
	dir := name
	info, err := os.Stat(name)
	if err == nil && !info.IsDir() && filepath.Base(name) == "report.html" {
		dir = filepath.Dir(name)
	} else if err != nil || !info.IsDir() {
		if dir, err = f.choose(a, name); err != nil {
			return "", err
		}
	}
	return filepath.Abs(dir) // as weir run prints it
}

type reportCmd struct {
	folders
	Dirs []string `arg:"" name:"dir" help:"Results folders, or names of experiments that were run."`
	tableFlags
}

// Run rewrites the report of each results folder and prints its tables.
func (r *reportCmd) Run(a *app) error {
	signals := handleSignals(a.screen, grace{0, 0, cutNothing, "the same command writes the remaining reports"})
	defer signals.stop()
	if _, err := r.tableOptions(a); err != nil {
		return err
	}
	for i, dir := range r.Dirs {
		o, err := r.openResults(a, dir)
		if err != nil {
			return err
		}
		path, err := report.WriteReport(o, report.Page{Version: version()})
		if err != nil {
			return err
		}
		if i > 0 && !r.JSON && !r.CSV {
			fmt.Fprintln(a.stdout)
		}
		o.Found = 0 // a report runs no run, so all results count as its own
		if err := r.tableFlags.printOutcome(a, o, path); err != nil {
			return err
		}
		if what := (&report.TableOptions{Width: a.style.width}).Account(o); what != "" && !r.JSON && !r.CSV && r.asText() {
			fmt.Fprintf(a.stdout, "\n%s", what)
		}
	}
	return nil
}

type resultsCmd struct {
	List   listResultsCmd `cmd:"" default:"withargs" help:"${resultsList}"`
	Remove removeCmd      `cmd:"" help:"Remove results folders after asking; files that weir did not write stay."`
	Bundle bundleCmd      `cmd:"" help:"Write results folders into one archive, for another machine or for storage."`
	Open   openCmd        `cmd:"" help:"${resultsOpen}"`
	Merge  mergeCmd       `cmd:"" help:"Merge results folders of one experiment into one, as if one machine had run all."`
}

type mergeCmd struct {
	Dirs      []string       `arg:"" name:"dir" help:"${mergeDirs}"`
	Into      command.Target `required:"" placeholder:"DIR" help:"${mergeInto}"`
	Revisions string         `enum:"same,any" default:"same" help:"${mergeRevisions}"`
}

// Run merges results folders into one in the folder --into, and prints its tables. An interrupt sets the exit code and
// is not an error; merged runs are kept.
func (m *mergeCmd) Run(a *app) error {
	signals := handleSignals(a.screen, grace{0, 0, cutNothing,
		"merged runs are kept, and the same command continues with the rest"})
	defer signals.stop()
	path := ""
	merged, err := results.MergeFolders(signals, a.registry, m.Dirs, results.MergeOptions{
		Parent: string(m.Into), AnyProgram: m.Revisions == "any", Generators: run.GeneratorNames(),
		OnNotice: func(text string) { fmt.Fprintln(a.stderr, "notice:", text) },
		Report: func(o *results.Outcome) (err error) {
			path, err = report.WriteReport(o, report.Page{Version: version()})
			return err
		},
	})
	if errors.Is(err, context.Canceled) {
		fmt.Fprintln(a.stderr, "interrupted:", err)
		a.code = command.Interrupted
		return nil
	}
	if err != nil {
		return err
	}
	found := merged.Found
	merged.Found = 0 // existing results are not mentioned as found
	fmt.Fprintf(a.stdout, "%d of %d runs are present, merged from %s; %d are new", found, found+merged.Missing,
		text.Count(merged.Folders, "folder"), merged.New)
	if merged.Duplicates > 0 {
		fmt.Fprintf(a.stdout, "; %d occur in several folders with identical bytes", merged.Duplicates)
	}
	fmt.Fprint(a.stdout, "\n\n")
	return a.printTables(merged.Outcome, path)
}
