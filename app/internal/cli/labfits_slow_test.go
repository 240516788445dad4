//go:build slow

package cli

import (
	"os"
	"strings"
	"testing"
)

// TestCatalogueInTheLab checks that the lab refuses experiments of the catalogue with the errors in
// testdata/labfits.txt, which docs/lab.md groups. A new experiment need not be listed. With all settings that its
// errors name, it must fit or report the obstacle.
func TestCatalogueInTheLab(t *testing.T) {
	text, err := os.ReadFile("testdata/labfits.txt")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, _, _ := strings.Cut(line, ":")
		listed[name] = strings.TrimSuffix(line, "\n")
	}
	for _, e := range Registry().Experiments() {
		got := labLine(t, e.Name)
		if want, held := listed[e.Name]; held && got != want || !held && strings.Contains(got, "is still too large") {
			t.Errorf("%s, want %s", got, want)
		}
		delete(listed, e.Name)
	}
	for name := range listed {
		t.Errorf("there is no experiment %s", name)
	}
}
