//go:build system

package bench_test

import (
	"errors"
	"strings"
	"testing"

	"weir/app"
	"weir/internal/testkit"
	"weir/study/bench"
)

// TestPage_MeasuresFirstPaints checks that the page is measured in a browser: each round has a first paint of each
// page.
func TestPage_MeasuresFirstPaints(t *testing.T) {
	f, err := bench.Page(t.Context(), app.Registry(), bench.PageOptions{Results: 60, Rounds: 1})
	if errors.Is(err, bench.ErrNoBrowser) {
		testkit.SkipMissing(t, "chromium", "chromium")
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]bench.PagePaints{"list": f.List, "again": f.Again, "found": f.Found,
		"catalogue": f.Home} {
		t.Run(name, func(t *testing.T) {
			if len(x.First) != 1 || !(x.First[0] > 1 && x.First[0] < 30_000) {
				t.Errorf("first paint: %v", x.First)
			}
			sum := x.Server[0] + x.Sent[0]
			if !(x.Server[0] > 0 && x.Sent[0] >= 0 && sum < x.First[0]) || x.Bytes[0] < 1000 {
				t.Errorf("the parts are not those of the whole: %+v", x)
			}
		})
	}
	for _, want := range []string{"with 60 results", "list of results, again", " ms (",
		": server ", ", transfer ", " kB"} {
		if !strings.Contains(f.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, f)
		}
	}
	if !strings.Contains(string(f.JSON()), `"results": 60`) {
		t.Errorf("JSON: %s", f.JSON())
	}
}
