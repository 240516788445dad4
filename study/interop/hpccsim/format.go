package hpccsim

import (
	"fmt"
	"io"
	"slices"

	"weir/core/scheme"
	"weir/core/unit"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/study/report"
	"weir/study/results"
)

// Format returns the format of weir export --format hpcc.
func Format() experiment.ExportFormat {
	return experiment.ExportFormat{Name: "hpcc",
		Doc: "files of the HPCC simulator, one folder per run: fct.txt, flow.txt, topology.txt, qlen.txt, pfc.txt; and " +
			"the slowdowns of its analysis",
		New: func() experiment.Export { return &exporter{} }}
}

// Importer returns the format of weir import --format hpcc.
func Importer() experiment.Import {
	return experiment.Import{Name: "hpcc", Doc: "config.txt of the HPCC simulator, with its topology and flow files",
		Make: Import, Warnings: []scheme.WarningKind{warnKey, warnAck, warnPriority, warnLeftOut}}
}

// exporter implements experiment.Export with the options of the command line.
type exporter struct {
	Offset string `default:"2s" help:"hpcc: time at which the simulator's flows begin, added to all times."`
	Bins   int    `default:"20" help:"hpcc: rows of the table of slowdowns."`
}

// Check returns an error if an option is out of range.
func (x *exporter) Check() error {
	if offset, err := unit.ParseTime(x.Offset); err != nil || offset < 0 || offset > 1000*unit.Second {
		return fmt.Errorf("--offset is %q; a time from 0s to 1000s is allowed", x.Offset)
	}
	if x.Bins < 1 || x.Bins > 1000 {
		return fmt.Errorf("--bins is %d; 1 … 1000 are allowed", x.Bins)
	}
	return nil
}

// Write writes the files of every run below into and prints to out a summary with the slowdowns of the simulator's
// analysis. After an error it prints the runs that are written.
func (x *exporter) Write(r *experiment.Registry, dir, into string, out io.Writer) error {
	offset, err := unit.ParseTime(x.Offset)
	if err != nil {
		return err
	}
	o, err := results.Open(r, dir)
	if err != nil {
		return err
	}
	exports, err := exportRuns(o, into, offset)
	all := takeCommonNotes(exports)
	for i := range exports {
		if i > 0 {
			fmt.Fprintln(out)
		}
		exports[i].printSummary(out, x.Bins)
	}
	for i, f := range all {
		if i == 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintln(out, report.WrapText(fmt.Sprintf("of all %d runs: %s", len(exports), f), report.DefaultWidth, ""))
	}
	return err
}

// takeCommonNotes removes the notes that all runs share from each run and returns them. With a single run it returns
// nil.
func takeCommonNotes(exports []exportedRun) (all []string) {
	if len(exports) < 2 {
		return nil
	}
	for _, f := range exports[0].Omitted {
		if !slices.ContainsFunc(exports, func(x exportedRun) bool { return !slices.Contains(x.Omitted, f) }) {
			all = append(all, f)
		}
	}
	for i := range exports {
		exports[i].Omitted = slices.DeleteFunc(slices.Clone(exports[i].Omitted), func(f string) bool {
			return slices.Contains(all, f)
		})
	}
	return all
}

// printSummary prints what was written of a run, what was left out, and its slowdowns in the given number of bins.
func (x *exportedRun) printSummary(out io.Writer, bins int) {
	name := measure.PointName(x.Run.Point)
	if name != "" {
		name += " "
	}
	fmt.Fprintf(out, "%sseed %d: %s\n", name, x.Run.Seed, x.Folder)
	if x.Unfinished > 0 {
		fmt.Fprintf(out, "%d flows are not finished, and not in fct.txt\n", x.Unfinished)
	}
	for _, f := range x.Omitted {
		fmt.Fprintln(out, report.WrapText(f, report.DefaultWidth, ""))
	}
	for _, t := range x.Slowdowns(bins) {
		fmt.Fprintf(out, "\n%d flows to port %d\n%10s %12s %10s %10s %10s\n", t.Flows, t.Port, "share", "up to bytes",
			"p50", "p95", "p99")
		for _, r := range t.Rows {
			fmt.Fprintf(out, "%10.3f %12d %10.3f %10.3f %10.3f\n", r.Share, r.Size, r.P50, r.P95, r.P99)
		}
	}
}
