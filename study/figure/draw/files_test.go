package draw

import (
	"bytes"
	"encoding/binary"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"weir/study/figure"
)

// look is a folder for pictures of the samples, to be looked at: LOOK=/tmp/pictures go test -run TestEveryKind
var look = os.Getenv("LOOK")

// TestEveryKind checks that every kind of figure is drawn on a screen and at the widths of journals, in the same bytes
// each time, on a background that is whole.
func TestEveryKind(t *testing.T) {
	for name, f := range samples() {
		for _, size := range []struct {
			name string
			figure.Size
		}{{"screen", figure.ScreenSize()}, {"89 mm", figure.PrintSize(89 * mm)}, {"183 mm", figure.PrintSize(183 * mm)}} {
			t.Run(name+" "+size.name, func(t *testing.T) {
				f.Size = size.Size
				a, err := f.Render("svg")
				if err != nil {
					t.Fatal(err)
				}
				if b, _ := f.Render("svg"); !bytes.Equal(a, b) {
					t.Error("two drawings differ")
				}
				svg := string(a)
				first := regexp.MustCompile(`<path d="([^"]*)"[^>]*fill:#FFFFFF`).FindStringSubmatch(svg)
				box := regexp.MustCompile(`viewBox="0 0 (\S+) (\S+)"`).FindStringSubmatch(svg)
				if first == nil || box == nil || !covers(first[1], box[1], box[2]) {
					t.Errorf("the background is %v of %v", first, box)
				}
				if look != "" {
					os.WriteFile(filepath.Join(look, strings.ReplaceAll(name+"-"+size.name, " ", "-")+".svg"), a, 0o666)
				}
			})
		}
	}
}

// covers reports whether a path goes to the corners of a page.
func covers(path, w, h string) bool {
	var x, y float64
	for _, m := range regexp.MustCompile(`(-?[\d.]+),(-?[\d.]+)`).FindAllStringSubmatch(path, -1) {
		a, _ := strconv.ParseFloat(m[1], 64)
		b, _ := strconv.ParseFloat(m[2], 64)
		x, y = max(x, a), max(y, b)
	}
	wide, _ := strconv.ParseFloat(w, 64)
	high, _ := strconv.ParseFloat(h, 64)
	return math.Abs(x-wide) < 0.01*wide && math.Abs(y-high) < 0.01*high
}

// TestTextSizes checks that no text is smaller than 7 points in print, for any size of labels. On a screen of 390 px,
// on which a report leaves 350 for a plot, none is smaller than 10 px.
func TestTextSizes(t *testing.T) {
	least := func(t *testing.T, f figure.Figure) (smallest, wide float64) {
		svg, err := f.Render("svg")
		if err != nil {
			t.Fatal(err)
		}
		smallest = math.Inf(1)
		for _, m := range regexp.MustCompile(`font-size:([\d.]+)px`).FindAllStringSubmatch(string(svg), -1) {
			v, _ := strconv.ParseFloat(m[1], 64)
			smallest = min(smallest, v)
		}
		box := regexp.MustCompile(`viewBox="0 0 (\S+) `).FindStringSubmatch(string(svg))
		wide, _ = strconv.ParseFloat(box[1], 64)
		return smallest, wide
	}
	for _, text := range []float64{7, 7.5, 8, 12} {
		for _, width := range []float64{89, 183} {
			f := curves(16)
			f.Size = figure.PrintSize(width * mm)
			f.Size.Text = text
			if got, wide := least(t, f); !(got >= 7) || math.Abs(wide-width*72/25.4) > 0.1 {
				t.Errorf("labels of %v at %v mm: %.2f pt at a width of %.2f pt", text, width, got, wide)
			}
		}
	}
	for name, f := range samples() {
		if name != "many words" { // forty words take the width that they need
			if got, wide := least(t, f); got*350/wide < 10 {
				t.Errorf("%s: %.1f px", name, got*350/wide)
			}
		}
	}
}

// TestRender_PDFHasGivenSize checks that a PDF has the given size, and the same bytes each time.
func TestRender_PDFHasGivenSize(t *testing.T) {
	for name, f := range samples() {
		t.Run(name, func(t *testing.T) {
			f.Title = "queue ≤ 5 µs → α"
			f.Size = figure.PrintSize(89 * mm)
			data, err := f.Render("pdf")
			if err != nil {
				t.Fatal(err)
			}
			if again, _ := f.Render("pdf"); !bytes.Equal(data, again) {
				t.Error("two drawings differ")
			}
			if !bytes.HasPrefix(data, []byte("%PDF-")) || !regexp.MustCompile(`/MediaBox \[0 0 252\.28`).Match(data) {
				t.Errorf("it begins with %q, or has another size", data[:8])
			}
		})
	}
}

// TestRender_PNGHas600DotsPerInch checks that a PNG has 600 dots an inch, and declares it.
func TestRender_PNGHas600DotsPerInch(t *testing.T) {
	for _, width := range []float64{89, 183} {
		f := curves(3)
		f.Size = figure.PrintSize(width * mm)
		data, err := f.Render("png")
		if err != nil {
			t.Fatal(err)
		}
		c, err := png.DecodeConfig(bytes.NewReader(data))
		if want := width / 25.4 * 600; err != nil || math.Abs(float64(c.Width)-want) > 2 {
			t.Errorf("%v mm: %d pixels, want %.0f: %v", width, c.Width, want, err)
		}
		at := bytes.Index(data, []byte("pHYs"))
		if at < 0 || binary.BigEndian.Uint32(data[at+4:]) != 23622 || data[at+12] != 1 {
			t.Error("it does not say 23622 pixels a metre")
		}
		if _, err := png.Decode(bytes.NewReader(data)); err != nil {
			t.Error(err)
		}
	}
	f := curves(1)
	f.Size = figure.PrintSize(1000 * mm)
	f.Size.Height = 1000 * mm
	if _, err := f.Render("png"); err == nil || !strings.Contains(err.Error(), "million") {
		t.Errorf("a square metre: %v", err)
	}
}

// TestFigure_ExportsNumbersAndScripts checks that a figure's numbers and its scripts are written for every kind, with
// any names.
func TestFigure_ExportsNumbersAndScripts(t *testing.T) {
	for name, f := range samples() {
		t.Run(name, func(t *testing.T) {
			for file, data := range exportedFiles(t, f) {
				if len(data) == 0 {
					t.Errorf("%s is empty", file)
				}
			}
		})
	}
}

// exportedFiles returns a figure's numbers and scripts by the names of their files. A name of the figure has
// characters that mean something in the scripts' languages.
func exportedFiles(t *testing.T, f figure.Figure) map[string][]byte {
	t.Helper()
	f.Names = append([]string{}, f.Names...)
	if len(f.Names) > 1 {
		f.Names[1] = `it's "1,5" \ $x$ """ =1+1`
	}
	csv, err := f.CSV()
	if err != nil {
		t.Fatal(err)
	}
	gp, err1 := f.GnuplotScript("f.csv", "g.svg")
	py, err2 := f.MatplotlibScript("f.csv")
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	return map[string][]byte{"f.csv": csv, "f.gp": gp, "f.py": py}
}
