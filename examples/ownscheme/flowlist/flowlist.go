// Package flowlist is an export format: one line of CSV for each flow of each run, as input of a spreadsheet or a
// script.
package flowlist

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"weir/study/experiment"
	"weir/study/measure"
	"weir/study/results"
)

// Format returns the format for the command: weir export DIR --format flowlist.
func Format() experiment.ExportFormat {
	return experiment.ExportFormat{Name: "flowlist", Doc: "flows.csv: one line per flow of each run",
		New: func() experiment.Export { return &flowlist{} }}
}

// flowlist has the format's options: fields with tags become flags of the command.
type flowlist struct {
	Finished bool `help:"flowlist: leave out flows that are not finished."`
}

// Write writes the flows of the results in dir as flows.csv into the folder into, which it makes if needed, and prints
// the file's name to out.
func (x *flowlist) Write(r *experiment.Registry, dir, into string, out io.Writer) error {
	o, err := results.Open(r, dir)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	w := results.NewTable(&b)
	w.Row("point", "seed", "traffic", "src", "dst", "size_bytes", "start_s", "fct_s")
	for _, run := range o.Runs {
		f := run.Flows
		for i := range f.Traffic {
			fct := measure.FormatJSON(float64(f.FCTS[i])) // null: not finished
			if x.Finished && fct == "null" {
				continue
			}
			w.Row(measure.PointName(run.Point), fmt.Sprint(run.Seed), f.Names[f.Traffic[i]], f.Names[f.Src[i]],
				f.Names[f.Dst[i]], fmt.Sprint(f.SizeBytes[i]), measure.FormatJSON(float64(f.StartS[i])), fct)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := os.MkdirAll(into, 0o777); err != nil {
		return err
	}
	file := filepath.Join(into, "flows.csv")
	fmt.Fprintln(out, file)
	return results.WriteFile(file, b.Bytes())
}
