//go:build slow

package cli

import (
	"strings"
	"testing"

	"weir/study/spec"
)

// The quick variant of every experiment of the catalogue gives the same on three threads as on one.
func TestThreadsSameEverywhere(t *testing.T) {
	r := Registry()
	for _, e := range r.Experiments() {
		t.Run(strings.ReplaceAll(e.Name, "/", " "), func(t *testing.T) {
			src, err := r.Open(e.Name)
			if err != nil {
				t.Fatal(err)
			}
			onThreads(t, r, src, spec.Options{Quick: true})
		})
	}
}
