package cli

import (
	"io"
	"os"
	"strings"
	"testing"

	"weir/internal/cite"
)

// Every source that weir show prints says who has the value: a work of docs/sources.md, the
// experiment's file, or us.
func TestShownSources(t *testing.T) {
	tree, err := cite.Open(os.DirFS("../../.."))
	if err != nil {
		t.Fatal(err)
	}
	a := &app{registry: Registry(), stdout: io.Discard, stderr: io.Discard}
	for _, k := range a.schemes() {
		t.Run(k.kind+" "+k.s.Name, func(t *testing.T) {
			if err := tree.Source(k.s.Source, ""); err != nil {
				t.Error(err)
			}
			for _, p := range k.s.Parameters() {
				if err := tree.Source(p.Source, ""); err != nil {
					t.Errorf("%s: %v", p.Name, err)
				}
			}
		})
	}
	for _, x := range a.registry.Experiments() {
		t.Run(x.Name, func(t *testing.T) {
			spec, err := (&selection{Name: x.Name}).load(a)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range spec.Parameters() {
				source, isDefault := strings.CutPrefix(p.Source, "default: ")
				if !isDefault {
					if !strings.Contains(source, ".yaml:") {
						t.Errorf("%s: %q is neither a place in the file nor a default", p.Path, p.Source)
					}
					continue
				}
				if err := tree.Source(source, ""); err != nil {
					t.Errorf("%s: %v", p.Path, err)
				}
			}
			paper := tree.Works.Key(spec.Paper().Name)
			if spec.Paper().Name != "" && paper == "" {
				t.Errorf("docs/sources.md has no paper %s", spec.Paper().Name)
			}
			for _, v := range spec.PaperValues() {
				if err := tree.Source(v.Source, paper); err != nil {
					t.Errorf("%s: %v", v.Name(), err)
				}
			}
		})
	}
}
