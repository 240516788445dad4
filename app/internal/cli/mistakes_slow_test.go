//go:build slow

package cli

import "testing"

// TestCheck_FindsNoMistakesInCatalogue checks every experiment of the catalogue.
func TestCheck_FindsNoMistakesInCatalogue(t *testing.T) {
	var names []string
	for _, e := range Registry().Experiments() {
		names = append(names, e.Name)
	}
	checkNoMistakes(t, names...)
}
