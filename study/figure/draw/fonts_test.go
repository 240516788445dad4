package draw_test

import (
	"strings"
	"testing"

	"weir/internal/testkit/figuretest"
	"weir/study/figure"
)

// TestTextsFitOtherFonts checks that long texts anywhere in a figure stay in its picture, with any font of a viewer.
func TestTextsFitOtherFonts(t *testing.T) {
	long := "mean and 95 % interval of 3 runs; of queue only mean is shown, not max ±=+MWmw "
	for _, size := range []figure.Size{figure.ScreenSize(), figure.PrintSize(89 * 72 / 25.4)} {
		for _, title := range []string{long, strings.Repeat("m", 60), strings.Repeat("i", 150), strings.Repeat("±=", 40)} {
			f := figure.Figure{Title: title, Note: title + "; " + long, X: figure.NewAutoAxis(long),
				Y:     figure.NewAutoAxis(title),
				Names: []string{title, "b"}, Size: size}
			for i := range 2 {
				f.Panels = append(f.Panels, figure.Panel{Title: title, Marks: []figure.Mark{{Series: i,
					X: []float64{1, 2, 3}, Y: []float64{1, 5, 1e6}}}})
			}
			svg, err := f.Render("svg")
			if err != nil {
				t.Fatal(err)
			}
			problems, err := figuretest.FindProblems(svg)
			if err != nil || len(problems) > 0 {
				t.Errorf("%.20s: %v\n%s", title, err, strings.Join(problems, "\n"))
			}
		}
	}
}

// TestFindProblems_FindsCutText checks that the check itself finds a text that is cut off, and one without its length.
func TestFindProblems_FindsCutText(t *testing.T) {
	f := figure.Figure{Title: "title", X: figure.NewAutoAxis("x"), Y: figure.NewAutoAxis("y"), Names: []string{""},
		Size: figure.ScreenSize(), Panels: []figure.Panel{{Marks: []figure.Mark{{X: []float64{1, 2}, Y: []float64{1, 2}}}}}}
	svg, err := f.Render("svg")
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range []struct{ from, to, want string }{
		{">title<", ">" + strings.Repeat("title", 20) + "<", "cut off"},
		{"textLength", "length", "no textLength"},
		{"", "", ""},
	} {
		problems, err := figuretest.FindProblems([]byte(strings.Replace(string(svg), change.from, change.to, 1)))
		if got := strings.Join(problems, "; "); err != nil || !strings.Contains(got, change.want) ||
			change.want == "" && got != "" {
			t.Errorf("%q: %q, %v", change.to, got, err)
		}
	}
}
