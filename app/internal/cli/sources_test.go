//go:build !race

// Left out of race: the whole catalogue is loaded, without goroutines.

package cli

import (
	"strings"
	"testing"

	pages "weir"
	"weir/internal/cite"
)

// TestDocsShownSources checks that every source that weir show prints names the origin of the value: a work of
// docs/sources.md, the experiment's file, or Weir.
func TestDocsShownSources(t *testing.T) {
	tree, err := cite.Open(pages.Files)
	if err != nil {
		t.Fatal(err)
	}
	type cited struct{ source, home string }
	checked := map[cited]error{}
	source := func(source, home string) error {
		err, done := checked[cited{source, home}]
		if !done {
			err = tree.CheckSource(source, home)
			checked[cited{source, home}] = err
		}
		return err
	}
	for _, k := range offline().listSchemes() {
		t.Run(k.kind+" "+k.s.Name, func(t *testing.T) {
			if err := source(k.s.Source, ""); err != nil {
				t.Error(err)
			}
			for _, p := range k.s.Parameters() {
				if err := source(p.Source, ""); err != nil {
					t.Errorf("%s: %v", p.Name, err)
				}
			}
		})
	}
	for _, x := range catalogue() {
		t.Run(x.name, func(t *testing.T) {
			full := x.mustFull(t)
			for _, p := range full.parameters {
				text, isDefault := strings.CutPrefix(p.Source, "default: ")
				if !isDefault {
					if !strings.Contains(text, ".yaml:") {
						t.Errorf("%s: %q is neither a place in the file nor a default", p.Path, p.Source)
					}
					continue
				}
				if err := source(text, ""); err != nil {
					t.Errorf("%s: %v", p.Path, err)
				}
			}
			paper := tree.Works.Key(full.paper)
			if full.paper != "" && paper == "" {
				t.Errorf("docs/sources.md has no paper %s", full.paper)
			}
			for _, v := range full.values {
				if err := source(v.Source, paper); err != nil {
					t.Errorf("%s: %v", v.Name(), err)
				}
			}
		})
	}
}
