package cli

import (
	"fmt"
	"slices"
	"testing"

	"weir/study/experiment"
	"weir/study/measure"
	"weir/study/plan"
)

// identities lists the runs of an experiment in both worlds: points, seeds and ids.
func identities(s *experiment.Spec) (all []string) {
	for _, world := range []string{experiment.Sim, experiment.Lab} {
		for _, r := range plan.ListRunsOn(s, world) {
			all = append(all, fmt.Sprintf("%s %v seed %d: %s", world, r.Point, r.Seed, r.ID("")))
		}
	}
	return all
}

// reloaded loads a spec's resolved text, like that of a results folder.
func reloaded(t *testing.T, s *experiment.Spec) *experiment.Spec {
	t.Helper()
	inputs := s.Inputs()
	src := &experiment.Source{File: "spec.yaml", Name: s.Name(), Data: s.Resolved(), Open: func(name string) ([]byte,
		error) {
		data, ok := inputs[name]
		if !ok {
			return nil, fmt.Errorf("the spec does not name %s", name)
		}
		return data, nil
	}}
	r, err := experiment.Load(offline().registry, src, experiment.Options{Resolved: true}, untried{})
	if err != nil {
		t.Fatalf("%v\n%s", err, s.Resolved())
	}
	return r
}

// untried is a trial that builds no run: building takes most of the time, and changes no id.
type untried struct{}

func (untried) TryRun(*experiment.Point, bool) (samples, kept float64, err error) { return 0, 0, nil }

func (untried) ListNames(p *experiment.Point) (names measure.Values) {
	if c, err := plan.Config(p, 1); err == nil {
		names = p.Measures().ListNames(p.Measured(), &c.Load)
	}
	return names
}

// lastPoint loads the last point of an experiment's quick variant with other seeds, unless its claims are about other
// points.
func lastPoint(quick *experiment.Spec) (s *experiment.Spec, ok bool) {
	o := experiment.Options{Set: []string{"seed=7", "repeat=3", "lab_repeat=2"}}
	for _, d := range quick.Sweep() {
		o.Set = append(o.Set, d.Key+"="+d.Values[len(d.Values)-1].Text)
	}
	s, err := loadUntried(quick.Name(), o)
	return s, err == nil
}

// sameResolved compares a spec with its reloaded resolved text.
func sameResolved(t *testing.T, what string, s *experiment.Spec) {
	t.Helper()
	resolved := reloaded(t, s)
	want, got := identities(s), identities(resolved)
	if !slices.Equal(want, got) {
		t.Errorf("%s: it has %d runs, and loaded again %d; the first are %s and %s", what, len(want), len(got), want[0],
			got[0])
	}
	if text := string(resolved.Resolved()); text != string(s.Resolved()) {
		t.Errorf("%s: resolved again it is\n%s\nand was\n%s", what, text, s.Resolved())
	}
}
