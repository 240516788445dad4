// Package app is the interface for other programs: a weir with schemes of their own, and experiments run from Go.
//
// A program adds its schemes to the registry and has the whole command line:
//
//	func main() {
//		r := app.Registry()
//		r.Controllers = append(r.Controllers, gentle.Scheme())
//		os.Exit(app.Main(r))
//	}
//
// It includes the parts that need few modules: the simulator, the lab, tables and reports. Imports link in the other
// parts, like drivers of database/sql:
//
//	import _ "weir/app/figure"     // plots, as SVG, PDF and PNG
//	import _ "weir/app/parquet"    // tables and traces as Parquet
//	import _ "weir/app/pcapng"     // traces as pcapng, for Wireshark
//	import _ "weir/app/page"       // weir serve, weir docs, and the documentation
//	import _ "weir/app/jetstream"  // workers on other machines
//	import _ "weir/app/slurm"      // runs on a cluster
//	import _ "weir/app/softswitch" // weir switch
//	import _ "weir/app/agent"      // weir agent, and agents of a lab's hosts
//	import _ "weir/app/all"        // all of these
//
// A command without its part returns an error that names the import.
package app

import (
	"context"
	"io"

	"weir/app/internal/cli"
	"weir/core/scheme"
	"weir/internal/revision"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/study/report"
	"weir/study/results"
	"weir/study/run"
)

// Registry returns a new registry of all names that experiments of the program weir can use. A program adds its own
// schemes to it; other registries do not change.
func Registry() *experiment.Registry { return cli.Registry() }

// Main runs the command line of this process with a registry and returns the exit code (docs/commands.md). It returns
// and does not end the process.
func Main(r *experiment.Registry) int { return cli.Main(r) }

// Command works as Main with the words of a command line, without the program's name, for programs that run commands in
// their own process. It formats its output for files, not for a terminal.
func Command(r *experiment.Registry, stdout, stderr io.Writer, words ...string) int {
	return cli.Run(r, words, stdout, stderr, false)
}

// WarningKinds returns the kinds of all warnings that the program issues with a registry.
func WarningKinds(r *experiment.Registry) []scheme.WarningKind { return cli.WarningKinds(r) }

// Load reads and checks an experiment: one of the registry's library by its name (p4abc/fig5), or a file. Changes have
// the form of weir run --set: "duration=300s". The caller should show the experiment's Warnings. An InputErrors has all
// mistakes of the file and the changes.
func Load(r *experiment.Registry, name string, changes ...string) (*experiment.Spec, error) {
	src, err := r.OpenExperiment(name)
	if err != nil {
		return nil, err
	}
	return plan.Load(r, src, experiment.Options{Set: changes})
}

// Options configure Run. The zero value runs on all cores and writes no files.
type Options struct {
	Dir    string            // parent of the results folder; "": write no files
	Jobs   int               // concurrent runs; 0: one per core
	Fresh  bool              // run again what Dir has already
	Notice func(text string) // receives notices, such as a damaged file that is computed again; nil: drop them
}

// Run runs an experiment in the simulator until it is finished or ctx ends, and judges its claims. It writes a report
// into the results folder, if there is one. Failed runs are part of the outcome. An error with an outcome means that
// results could not be written.
func Run(ctx context.Context, s *experiment.Spec, o Options) (*results.Outcome, error) {
	x := run.Options{Dir: o.Dir, Jobs: o.Jobs, Fresh: o.Fresh, OnNotice: o.Notice, Executable: revision.Executable()}
	if o.Dir != "" {
		x.Report = func(o *results.Outcome) error {
			_, err := report.WriteReport(o, report.Page{Version: revision.Version()})
			return err
		}
	}
	return run.Execute(ctx, s, x)
}
