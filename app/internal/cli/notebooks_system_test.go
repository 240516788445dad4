//go:build system && !race

// Left out of race: what is tested are programs that the detector cannot watch.

package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"weir/internal/testkit"
	"weir/study/results"
)

// TestNotebooks_PrintNumbersOfResults checks that each notebook runs on the results of its own commands, and prints
// the numbers in these results. It skips a program that is not installed; .ci/system installs them.
func TestNotebooks_PrintNumbersOfResults(t *testing.T) {
	from, books, o := prepared(t)
	queue, goodput := notebookNumbers(o)

	for _, x := range []struct {
		name, figure string
		command      []string // that is given the code
		debian       string   // the package of the command
		module       string   // that must be there
		want         func(aqm string) string
	}{
		{"pandas.ipynb", "queue.pdf", []string{"/usr/bin/python3", "-"}, "python3", "import pandas, matplotlib",
			func(aqm string) string {
				return fmt.Sprintf("%s: %.3f packets, %.3f Mb/s", aqm, queue[aqm], goodput[aqm])
			}},
		{"r.ipynb", "fct.pdf", []string{"Rscript", "-"}, "r-base-core", "", func(aqm string) string {
			return fmt.Sprintf("%s: %.3f packets, %.3f Mb/s", aqm, queue[aqm], goodput[aqm])
		}},
		{"duckdb.ipynb", "", []string{"node", filepath.Join(from, "query.mjs"), filepath.Join(from, "duckdb.ipynb")},
			"nodejs", "",
			func(aqm string) string { return fmt.Sprintf("%s\t%v", aqm, rounded(queue[aqm])) }},
	} {
		t.Run(x.name, func(t *testing.T) {
			if _, err := exec.LookPath("node"); err != nil && x.command[0] == "node" {
				t.Skip("DuckDB needs Node.js, which .ci/system does not install")
			}
			testkit.RequireProgram(t, x.command[0], x.debian)
			if x.module != "" && exec.Command(x.command[0], "-c", x.module).Run() != nil {
				testkit.SkipMissing(t, x.module, "python3-pandas python3-matplotlib")
			}
			cmd := exec.Command(x.command[0], x.command[1:]...)
			cmd.Stdin = strings.NewReader(books[x.name].code())
			cmd.Env = append(os.Environ(), "MPLBACKEND=Agg", "LC_ALL=C.UTF-8")
			if x.command[0] == "node" {
				home, _ := os.UserHomeDir()
				module := filepath.Join(home, ".cache", "weir", "node_modules")
				if _, err := os.Stat(filepath.Join(module, "@duckdb", "node-api")); err != nil {
					t.Skip("DuckDB is not installed; .ci/system installs it with npm")
				}
				cmd.Env = append(cmd.Env, "NODE_PATH="+module)
			}
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			lines := strings.Split(string(out), "\n")
			for aqm := range queue {
				if want := x.want(aqm); !slices.Contains(lines, want) {
					t.Errorf("it does not print %q\n%s", want, out)
				}
			}
			if info, err := os.Stat(x.figure); x.figure != "" && (err != nil || info.Size() < 2000) {
				t.Errorf("its figure: %v", err)
			}
		})
	}
}

// code returns the code cells of a notebook as one program.
func (n *notebook) code() string {
	var b strings.Builder
	for _, c := range n.Cells {
		if c.Type == "code" {
			b.WriteString(strings.Join(c.Source, "") + "\n\n")
		}
	}
	return b.String()
}

// rounded formats a number with three decimals, as SQL prints it.
func rounded(v float64) string {
	return strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.3f", v), "0"), ".")
}

// notebookNumbers returns, by AQM, the mean queue of all samples in packets, and the long flows' goodput in Mb/s.
func notebookNumbers(o *results.Outcome) (queue, goodput map[string]float64) {
	queue, goodput = map[string]float64{}, map[string]float64{}
	samples, runs := map[string]float64{}, map[string]float64{}
	for _, r := range o.Runs {
		aqm := r.Point[0].Text
		runs[aqm]++
		for _, g := range r.FindMeasure("goodput").Groups {
			if g.Group == "long" {
				goodput[aqm] += g.Value / 1e6
			}
		}
		for i := range r.Series {
			for _, v := range r.Series[i].Values {
				if r.Series[i].Name == "queue" {
					queue[aqm] += float64(v)
					samples[aqm]++
				}
			}
		}
	}
	for aqm, n := range runs {
		queue[aqm], goodput[aqm] = queue[aqm]/samples[aqm], goodput[aqm]/n
	}
	return queue, goodput
}
