package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"weir/core/unit"
	"weir/study/interop/hpccsim"
	"weir/study/measure"
	"weir/study/report"
)

type importCmd struct {
	Config string `arg:"" help:"${importConfig}"`
	Out    string `short:"o" help:"File that the experiment is written to, instead of standard output; it must not exist."`
}

func (i *importCmd) Run(a *app) error {
	folder := "."
	if i.Out != "" {
		folder = filepath.Dir(i.Out)
	}
	data, left, err := hpccsim.Import(a.registry, i.Config, folder)
	if err != nil {
		return err
	}
	for _, l := range left {
		fmt.Fprintln(a.stderr, "warning: left out:", l)
	}
	if i.Out == "" {
		_, err = a.stdout.Write(data)
		return err
	}
	f, err := os.OpenFile(i.Out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		if os.IsExist(err) {
			return fmt.Errorf("%w: %s is there already", errInput, i.Out)
		}
		return err
	}
	_, err = f.Write(data)
	if err2 := f.Close(); err == nil {
		err = err2
	}
	return err
}

type exportCmd struct {
	folders
	Dir    string `arg:"" name:"dir" help:"Results folder, or an experiment that was run."`
	Into   string `help:"Folder that gets a folder for each run; by default hpcc/ in the results folder."`
	Offset string `default:"2s" help:"Added to all times: when the simulator's flows begin."`
	Bins   int    `default:"20" help:"Rows of the table of slowdowns."`
}

func (e *exportCmd) Run(a *app) error {
	offset, err := unit.ParseTime(e.Offset)
	if err != nil || offset < 0 || offset > 1000*unit.Second {
		return fmt.Errorf("%w: --offset is %q; a time from 0s to 1000s is allowed", errInput, e.Offset)
	}
	if e.Bins < 1 || e.Bins > 1000 {
		return fmt.Errorf("%w: --bins is %d; 1 … 1000 are allowed", errInput, e.Bins)
	}
	o, err := e.open(a, e.Dir)
	if err != nil {
		return err
	}
	into := e.Into
	if into == "" {
		into = filepath.Join(o.Dir, "hpcc")
	}
	exports, err := hpccsim.Export(o, into, offset)
	for i, x := range exports {
		if i > 0 {
			fmt.Fprintln(a.stdout)
		}
		a.exported(x, e.Bins)
	}
	return err
}

// exported says what was written of a run, with its slowdowns as the simulator's analysis
// has them.
func (a *app) exported(x hpccsim.Exported, bins int) {
	name := measure.PointName(x.Run.Point)
	if name != "" {
		name += " "
	}
	fmt.Fprintf(a.stdout, "%sseed %d: %s\n", name, x.Run.Seed, x.Folder)
	if x.Unfinished > 0 {
		fmt.Fprintf(a.stdout, "%d flows are not finished, and not in fct.txt\n", x.Unfinished)
	}
	for _, f := range x.Left {
		fmt.Fprintln(a.stdout, report.Wrap(f, report.Width, ""))
	}
	for _, t := range x.Slowdowns(bins) {
		fmt.Fprintf(a.stdout, "\n%d flows to port %d\n%10s %12s %10s %10s %10s\n", t.Flows, t.Port, "share", "up to bytes",
			"p50", "p95", "p99")
		for _, r := range t.Rows {
			fmt.Fprintf(a.stdout, "%10.3f %12d %10.3f %10.3f %10.3f\n", r.Share, r.Size, r.P50, r.P95, r.P99)
		}
	}
}
