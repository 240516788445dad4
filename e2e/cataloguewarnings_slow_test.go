//go:build slow

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"weir/app"
	"weir/internal/testkit"
	"weir/study/experiment"
	"weir/study/plan"
)

// catalogueWarnings is the list of the warnings of the shipped experiments. Each line has an experiment, a kind,
// the ports, a bar, and the reason for the experiment's choice.
const catalogueWarnings = "testdata/cataloguewarnings.txt"

// TestCatalogueWarnings checks that the experiments of the catalogue, full and quick, and those of examples/ have
// exactly the listed warnings, each with a reason. With -update the list is rewritten; new lines need a reason,
// which a person writes.
func TestCatalogueWarnings(t *testing.T) {
	text, err := os.ReadFile(catalogueWarnings)
	if err != nil && !testkit.IsUpdating() {
		t.Fatal(err)
	}
	reasons := map[string]string{}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		what, why, _ := strings.Cut(line, "|")
		reasons[strings.TrimSpace(what)] = strings.TrimSpace(why)
	}
	var lines []string
	for _, what := range issuedWarnings(t) {
		why, known := reasons[what]
		if !known && !testkit.IsUpdating() {
			t.Errorf("a new warning: %s", what)
		} else if why == "" && !testkit.IsUpdating() {
			t.Errorf("no reason is given for: %s", what)
		}
		lines = append(lines, what+" | "+why)
		delete(reasons, what)
	}
	if testkit.IsUpdating() {
		if err := os.WriteFile(catalogueWarnings, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for what := range reasons {
		t.Errorf("no longer issued: %s", what)
	}
}

// issuedWarnings returns the warnings of all experiments, sorted: experiment, kind and ports.
func issuedWarnings(t *testing.T) (all []string) {
	r := app.Registry()
	names, _ := filepath.Glob("../examples/*/*.yaml")
	names = slices.DeleteFunc(names, func(name string) bool { // schemes of their own modules
		return strings.Contains(name, "controller/") || strings.Contains(name, "ownscheme/")
	})
	for _, e := range r.Experiments() {
		names = append(names, e.Name)
	}
	for _, name := range names {
		ports := map[string][]string{}
		for _, quick := range []bool{false, true} {
			src, err := r.OpenExperiment(name)
			if err != nil {
				t.Fatal(err)
			}
			s, err := plan.Load(r, src, experiment.Options{Quick: quick})
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			for _, w := range s.Warnings() {
				port := w.Port
				if port == "" {
					port = "-"
				}
				if !slices.Contains(ports[w.Kind.ID], port) {
					ports[w.Kind.ID] = append(ports[w.Kind.ID], port)
				}
			}
		}
		for id, at := range ports {
			slices.Sort(at)
			all = append(all, fmt.Sprintf("%s %s %s", strings.TrimPrefix(name, "../"), id, strings.Join(at, ",")))
		}
	}
	slices.Sort(all)
	return all
}
