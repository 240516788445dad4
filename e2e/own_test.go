package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"weir/internal/testkit"
)

const (
	example  = "../examples/ownscheme"
	registry = "app/internal/cli/registry.go"
	programs = "app/programs/programs.go"
)

// recipe is an extension that CONTRIBUTING explains.
type recipe struct {
	name  string
	file  string // of the example
	place string // its folder in the tree: the first of the two files that adding it there touches
	// in is replaced by with in the second file; "" if the recipe does not change that file.
	in, with string
	list     string // what weir list has then
	want     string
}

var recipes = []recipe{
	{"a controller", "aimd/aimd.go", "core/cc/aimd", "Controllers: []cc.Scheme{",
		"Controllers: []cc.Scheme{aimd.Scheme(), ", "schemes", "cc         aimd "},
	{"a switch program", "early/early.go", "core/dataplane/early", "return []dataplane.Scheme{",
		"return []dataplane.Scheme{early.Scheme(), ", "schemes", "program    early "},
	{"a measure", "slowest/slowest.go", "study/measure/slowest", "measure.Definitions(),",
		"append(measure.Definitions(), slowest.Definition()),", "measures", "slowest "},
	{"a topology family", "ring/ring.go", "core/topology/ring", "topology.Schemes(),",
		"append(topology.Schemes(), ring.Scheme()),", "topologies", "ring: {…}"},
	{"a workload", "rpc/rpc.go", "core/workload/rpc", "workload.Distributions(),",
		"append(workload.Distributions(), rpc.Sizes()),", "workloads", "sizes: rpc "},
	{"a claim", "recipes.yaml", "papers/p4abc/experiments", "", "", "experiments", "p4abc/recipes "},
	{"an export format", "flowlist/flowlist.go", "study/interop/flowlist", "[]experiment.ExportFormat{",
		"[]experiment.ExportFormat{flowlist.Format(), ", "formats", "--format flowlist "},
}

// touched returns the files of the tree that a recipe changes, without tests and docs.
func (r *recipe) touched() []string {
	files := []string{r.place + "/" + filepath.Base(r.file)}
	switch {
	case strings.Contains(r.in, "dataplane.Scheme"):
		files = append(files, programs)
	case r.in != "":
		files = append(files, registry)
	}
	return files
}

// TestRecipesShown checks that CONTRIBUTING has the example's files unchanged, with one section per recipe, and the
// files of the tree that each changes.
func TestRecipesShown(t *testing.T) {
	data, err := os.ReadFile("../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)<!-- ([a-z/.]+): begin -->\n```([a-z]+)\n.*?```\n<!-- [a-z/.]+: end -->")
	shown := map[string]bool{}
	page := block.ReplaceAllStringFunc(string(data), func(all string) string {
		m := block.FindStringSubmatch(all)
		code, err := os.ReadFile(filepath.Join(example, m[1]))
		if err != nil {
			t.Error(err)
		}
		shown[m[1]] = true
		return fmt.Sprintf("<!-- %s: begin -->\n```%s\n%s```\n<!-- %s: end -->", m[1], m[2], code, m[1])
	})
	testkit.Golden(t, "../../CONTRIBUTING.md", page)
	for _, file := range []string{"main.go", "recipes.yaml"} {
		if !shown[file] {
			t.Errorf("%s is not shown", file)
		}
	}
	for _, r := range recipes {
		t.Run(r.name, func(t *testing.T) {
			_, section, _ := strings.Cut(page, "\n### "+strings.ToUpper(r.name[:1])+r.name[1:]+"\n")
			section, _, _ = strings.Cut(section, "\n### ")
			if !shown[r.file] || !strings.Contains(section, "<!-- "+r.file+": begin -->") {
				t.Errorf("its section does not show %s", r.file)
			}
			for _, word := range []string{"Test it", "Run it"} {
				if !strings.Contains(strings.ReplaceAll(section, "\n", " "), word) {
					t.Errorf("its section lacks %q", word)
				}
			}
			if files := r.touched(); r.in != "" && !strings.Contains(page, "`"+files[0]+"`") {
				t.Errorf("the table of recipes does not have %s", files[0])
			}
		})
	}
}
