package main

import (
	"testing"

	"weir/cmd/weir/cli"
	"weir/study/plan"
	"weir/study/run"
	"weir/study/spec"
)

// Whoever unpacks a parcel of an experiment has runs with the same ids, of each of the catalogue.
func TestParcels(t *testing.T) {
	r := cli.Registry()
	for _, e := range r.Experiments() {
		src, err := r.Open(e.Name)
		if err != nil {
			t.Fatal(err)
		}
		s, err := plan.Load(r, src, spec.Options{Quick: true})
		if err != nil {
			t.Fatal(err)
		}
		manifest, files := run.Pack(s)
		u, err := run.Unpack(r, manifest, func(digest string) ([]byte, error) { return files[digest], nil })
		if err != nil {
			t.Errorf("%s: %v", e.Name, err)
			continue
		}
		a, b := plan.Runs(s), plan.Runs(u)
		same := len(a) == len(b)
		for i := 0; same && i < len(a); i++ {
			same = a[i].ID("e") == b[i].ID("e")
		}
		if !same {
			t.Errorf("%s: other runs", e.Name)
		}
	}
}
