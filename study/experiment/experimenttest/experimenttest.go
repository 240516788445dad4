// Package experimenttest carries out a room's experiments in its tests.
package experimenttest

import (
	"context"
	"testing"

	"weir/study/experiment"
)

// Load validates an experiment of a registry's library.
func Load(t testing.TB, r *experiment.Registry, name string, o experiment.Options) *experiment.Spec {
	t.Helper()
	src, err := r.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := experiment.Load(r, src, o)
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// CarryOut runs all of an experiment, without leaving results. A run that fails or is
// missing ends the test.
func CarryOut(t testing.TB, r *experiment.Registry, name string, o experiment.Options) *experiment.Outcome {
	t.Helper()
	out, err := experiment.Execute(context.Background(), Load(t, r, name, o), experiment.ExecOptions{})
	if err != nil || len(out.Failed) > 0 || out.Missing > 0 {
		t.Fatal(err, out.Failed, out.Missing)
	}
	return out
}
