package csvfiles

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"weir/study/experiment"
	"weir/study/results"
)

// Format returns the format of weir export results DIR --format csv.
func Format() experiment.ExportFormat {
	return experiment.ExportFormat{Name: "csv",
		Doc: "tables of all runs: values.csv, series.csv (over time), flows.csv, " +
			"distributions.csv (docs/data.md)", New: func() experiment.Export { return &exporter{} }}
}

// exporter implements experiment.Export. It has no options.
type exporter struct{}

// Write writes values.csv and the tables over time into the folder into, and prints the name of each file to out. It
// creates the folder and replaces existing files.
func (*exporter) Write(r *experiment.Registry, dir, into string, out io.Writer) error {
	o, err := results.Open(r, dir)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(into, 0o777); err != nil {
		return err
	}
	write := func(name string, fill func(w io.Writer) error) error {
		var b bytes.Buffer
		if err := fill(&b); err != nil {
			return err
		}
		file := filepath.Join(into, name+".csv")
		fmt.Fprintln(out, file)
		return results.WriteFile(file, b.Bytes())
	}
	if err := write("values", o.CSV); err != nil {
		return err
	}
	for _, s := range results.Sheets() {
		if err := write(s.Name, func(w io.Writer) error { return s.WriteCSV(o, w) }); err != nil {
			return err
		}
	}
	return nil
}
