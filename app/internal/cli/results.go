package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"weir/internal/text"
	"weir/study/report"
	"weir/study/results"
	"weir/study/run"
)

// folders finds results: of a folder, of its report, or of an experiment that was run, be it with options.
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
		if dir, err = f.chosen(a, name); err != nil {
			return "", err
		}
	}
	return filepath.Abs(dir) // run prints whole paths too
}

type reportCmd struct {
	folders
	Dirs []string `arg:"" name:"dir" help:"Results folders, as weir run leaves them, or experiments that were run."`
	tableFlags
}

func (r *reportCmd) Run(a *app) error {
	signals := listen(a.screen, grace{0, 0, nothing, "the same command makes the rest"})
	defer signals.stop()
	if _, err := r.tableOptions(a); err != nil {
		return err
	}
	for i, dir := range r.Dirs {
		o, err := r.open(a, dir)
		if err != nil {
			return err
		}
		path, err := report.Write(o, report.Page{Version: version()})
		if err != nil {
			return err
		}
		if i > 0 && !r.JSON && !r.CSV {
			fmt.Fprintln(a.stdout)
		}
		o.Found = 0 // a report runs nothing, so all of them are
		if err := r.tableFlags.print(a, o, path); err != nil {
			return err
		}
		if what := (&report.TableOptions{Width: a.style.width}).Account(o); what != "" && !r.JSON && !r.CSV && r.asText() {
			fmt.Fprintf(a.stdout, "\n%s", what)
		}
	}
	return nil
}

type resultsCmd struct {
	List   shelfCmd  `cmd:"" default:"withargs" help:"${resultsList}"`
	Remove removeCmd `cmd:"" help:"Remove results folders, after asking; nothing but what weir has written."`
	Bundle bundleCmd `cmd:"" help:"Put results folders into one archive, for another machine or for good."`
	Open   openCmd   `cmd:"" help:"Open an archive of weir results bundle, whoever it is from."`
	Merge  mergeCmd  `cmd:"" help:"Merge results folders of one experiment into one, as if one machine had run all."`
}

type mergeCmd struct {
	Dirs      []string `arg:"" name:"dir" help:"${mergeDirs}"`
	Into      target   `required:"" placeholder:"DIR" help:"${mergeInto}"`
	Revisions string   `enum:"same,any" default:"same" help:"${mergeRevisions}"`
}

func (m *mergeCmd) Run(a *app) error {
	signals := listen(a.screen, grace{0, 0, nothing,
		"what was merged is kept, and the same command goes on with the rest"})
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
		a.code = exitInterrupted
		return nil
	}
	if err != nil {
		return err
	}
	found := merged.Found
	merged.Found = 0 // what was there already is nothing to run again
	fmt.Fprintf(a.stdout, "%d of %d runs are there, of %s: %d of them new", found, found+merged.Missing,
		text.Count(merged.Folders, "folder"), merged.New)
	if merged.Alike > 0 {
		fmt.Fprintf(a.stdout, ", %d in several folders, with the same bytes", merged.Alike)
	}
	fmt.Fprint(a.stdout, "\n\n")
	return a.tables(merged.Outcome, path)
}
