package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"weir/core/unit"
	"weir/internal/command"
	"weir/study/interop/hpccsim"
	"weir/study/report"
	"weir/study/results"
)

type diffCmd struct {
	folders
	A     string `arg:"" help:"${diffA}"`
	B     string `arg:"" help:"${diffB}"`
	Bins  int    `default:"20" help:"With an fct.txt: number of flow size bins, each with as many flows."`
	P50   string `name:"p50" default:"5%" placeholder:"SHARE" help:"${diffTolerance}"`
	P95   string `name:"p95" default:"off" placeholder:"SHARE" help:"${diffP95}"`
	P99   string `name:"p99" default:"20%" placeholder:"SHARE" help:"${diffP99}"`
	Apart string `name:"unpaired" default:"0%" placeholder:"SHARE" help:"${diffUnpaired}"`
	Port  uint16 `placeholder:"PORT" help:"${diffPort}"`
	Of    string `name:"run" placeholder:"ID" help:"With an fct.txt: run to compare, by the beginning of its id."`
	JSON  bool   `name:"json" help:"With an fct.txt: print one JSON document instead of a table."`
	Check bool   `help:"With an fct.txt: exit with 3 if the two sides differ."`
}

// Run prints a comparison of two results. It returns an error if they have no point and measure in common. If a side is
// an fct.txt, it compares flows instead.
func (d *diffCmd) Run(a *app) error {
	if isCompletions(d.A) || isCompletions(d.B) {
		return d.compareCompletions(a)
	}
	switch {
	case d.JSON, d.Check, d.Of != "", d.Port != 0:
		return fmt.Errorf("%w: --json, --check, --run and --port are only for comparisons with an fct.txt; leave them out",
			command.ErrInput)
	}
	x, err := d.openResults(a, d.A)
	if err != nil {
		return err
	}
	y, err := d.openResults(a, d.B)
	if err != nil {
		return err
	}
	look := &report.TableOptions{Width: a.style.width, Color: a.style.color}
	text, common := look.CompareOutcomes(x, y)
	if a.writeTables(look, text); common == 0 {
		return fmt.Errorf("%w: %s and %s have no point and measure in common; compare results of similar experiments",
			command.ErrInput, d.A, d.B)
	}
	return nil
}

// isCompletions reports whether a name is an fct.txt: a regular file that is neither an experiment nor a report.
func isCompletions(name string) bool {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() || filepath.Base(name) == "report.html" {
		return false
	}
	return !strings.HasSuffix(name, ".yaml") && !strings.HasSuffix(name, ".yml")
}

// compareCompletions compares the flows of both sides by bins of size and prints the comparison. With --check, a
// difference sets the exit code.
func (d *diffCmd) compareCompletions(a *app) error {
	if d.Bins < 1 || d.Bins > 1000 {
		return fmt.Errorf("%w: --bins is %d; 1 to 1000 is allowed", command.ErrInput, d.Bins)
	}
	var t hpccsim.Tolerances
	for _, x := range []struct {
		flag, text string
		to         *float64
	}{{"p50", d.P50, &t.P50}, {"p95", d.P95, &t.P95}, {"p99", d.P99, &t.P99}} {
		if *x.to = -1; x.text == "off" {
			continue
		}
		v, err := unit.ParseShare(x.text)
		if err != nil || !(v >= 0 && v <= 10) {
			return fmt.Errorf("%w: --%s is %q; a share of 0%% to 1000%% (such as 5%%) or off is allowed",
				command.ErrInput, x.flag, x.text)
		}
		*x.to = v
	}
	var err error
	if t.Unpaired, err = unit.ParseShare(d.Apart); err != nil || !(t.Unpaired >= 0 && t.Unpaired <= 1) {
		return fmt.Errorf("%w: --unpaired is %q; a share of 0%% to 100%% is allowed", command.ErrInput, d.Apart)
	}
	x, err := d.readSide(a, d.A)
	if err != nil {
		return err
	}
	y, err := d.readSide(a, d.B)
	if err != nil {
		return err
	}
	c := hpccsim.Compare(x, y, d.Bins, t)
	if d.JSON {
		a.stdout.Write(c.JSON())
	} else {
		c.WriteTable(a.stdout)
	}
	if d.Check && !c.Agrees {
		a.code = command.ClaimFailed
	}
	return nil
}

// readSide reads the flows of one side: an fct.txt, or a run of results. With --port it keeps only flows to that
// destination port.
func (d *diffCmd) readSide(a *app, name string) (x *hpccsim.Completions, err error) {
	if isCompletions(name) {
		x, err = hpccsim.ReadCompletions(name)
	} else {
		var o *results.Outcome
		if o, err = d.openResults(a, name); err == nil {
			x, err = hpccsim.RunCompletions(o, d.Of)
		}
	}
	if err != nil || d.Port == 0 {
		return x, err
	}
	flows := x.Flows[:0]
	for _, f := range x.Flows {
		if f.DstPort == d.Port {
			flows = append(flows, f)
		}
	}
	x.Flows = flows
	return x, nil
}
