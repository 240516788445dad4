package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/command"
	"weir/study/results"
)

const notebooks = "../../../examples/notebooks"

// notebook is a notebook of Jupyter.
type notebook struct {
	Cells []struct {
		Type    string   `json:"cell_type"`
		Source  []string `json:"source"`
		Outputs []any    `json:"outputs"`
		Count   *int     `json:"execution_count"`
	} `json:"cells"`
}

// readNotebook reads one of the examples, which must not contain outputs of an earlier run.
func readNotebook(t *testing.T, name string) *notebook {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(notebooks, name))
	if err != nil {
		t.Fatal(err)
	}
	n := &notebook{}
	if err := json.Unmarshal(data, n); err != nil {
		t.Fatal(err)
	}
	for _, c := range n.Cells {
		if len(c.Outputs) > 0 || c.Count != nil {
			t.Errorf("%s has been run: clear its outputs", name)
		}
	}
	return n
}

// commands returns the commands of weir in the text, in its order.
func (n *notebook) commands() (all [][]string) {
	for _, c := range n.Cells {
		for _, line := range c.Source {
			if args, ok := strings.CutPrefix(line, "    weir "); ok && c.Type == "markdown" {
				all = append(all, strings.Fields(args))
			}
		}
	}
	return all
}

// TestNotebookCommands checks that the notebooks store no outputs, and the commands in their texts work.
func TestNotebookCommands(t *testing.T) {
	if _, _, o := prepared(t); len(o.Runs) < 2 {
		t.Errorf("%d runs", len(o.Runs))
	}
}

// prepared changes to a new folder and runs the commands in the notebooks' texts. It returns the notebooks' folder.
func prepared(t *testing.T) (from string, books map[string]*notebook, o *results.Outcome) {
	t.Helper()
	dir := t.TempDir()
	data, err := os.ReadFile(filepath.Join(notebooks, "aqm.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "aqm.yaml"), data, 0o666); err != nil {
		t.Fatal(err)
	}
	from, err = filepath.Abs(notebooks)
	if err != nil {
		t.Fatal(err)
	}
	books = map[string]*notebook{}
	done := map[string]bool{}
	for _, name := range []string{"pandas.ipynb", "r.ipynb", "duckdb.ipynb"} {
		books[name] = readNotebook(t, name)
	}
	t.Chdir(dir)
	for _, name := range []string{"pandas.ipynb", "r.ipynb", "duckdb.ipynb"} {
		for _, args := range books[name].commands() {
			if line := strings.Join(args, " "); !done[line] {
				done[line] = true
				var out, errs bytes.Buffer
				if code := Run(Registry(), args, &out, &errs, false); code != command.Done {
					t.Fatalf("weir %s: exit code %d\n%s", line, code, &errs)
				}
			}
		}
	}
	if len(done) != 2 {
		t.Fatalf("the notebooks ask for %v", done)
	}
	folders, _ := filepath.Glob("results/aqm-*")
	o, err = results.Open(Registry(), folders[0])
	if err != nil {
		t.Fatal(err)
	}
	return from, books, o
}
