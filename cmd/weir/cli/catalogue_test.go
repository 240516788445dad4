package cli

import (
	"io"
	"testing"

	"weir/study/spec"
)

// eachExperiment is a subtest for every experiment of the catalogue, several at a time; load gives its variants.
func eachExperiment(t *testing.T, do func(t *testing.T, a *app, load func(o spec.Options) *spec.Spec)) {
	a := &app{registry: Registry(), stdout: io.Discard, stderr: io.Discard}
	for _, x := range a.registry.Experiments() {
		t.Run(x.Name, func(t *testing.T) {
			t.Parallel()
			src, err := a.registry.Open(x.Name)
			if err != nil {
				t.Fatal(err)
			}
			do(t, a, func(o spec.Options) *spec.Spec {
				t.Helper()
				s, err := spec.Load(a.registry, src, o, untried{})
				if err != nil {
					t.Fatalf("%+v: %v", o, err)
				}
				return s
			})
		})
	}
}
