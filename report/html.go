package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"os"
	"path/filepath"
	"strings"

	"weir/experiment"
)

//go:embed report.html.tmpl
var pageSource string

var page = template.Must(template.New("report").Parse(pageSource))

// Page is what report.html is made of besides the outcome.
type Page struct {
	Command string // that reproduces it
	Version string // of weir
}

// HTML writes the self-contained page: claims with their verdicts first, then
// plots, tables, how the runs ended, and every parameter with its source. It has
// no scripts and names nothing outside itself.
func HTML(o *experiment.Outcome, points []PointSummary, plots []Drawn, p Page) ([]byte, error) {
	keys, values := columnsOf(points)
	var head []string
	var rows [][]string
	for _, c := range append(keys, values...) {
		head = append(head, strings.TrimSpace(strings.Join(c.head, " ")))
	}
	for i := range points {
		var row []string
		for _, c := range append(append([]column{}, keys...), values...) {
			row = append(row, c.cells[i])
		}
		rows = append(rows, row)
	}
	type drops struct {
		Point string
		Seed  uint64
		Drops string
	}
	var dropped []drops
	for _, r := range o.Runs {
		var s []string
		for _, c := range r.Drops {
			s = append(s, fmt.Sprintf("%s %d", c.Name, c.Count))
		}
		dropped = append(dropped, drops{experiment.PointName(r.Point), r.Seed, strings.Join(s, ", ")})
	}
	var b bytes.Buffer
	err := page.Execute(&b, map[string]any{
		"Title": o.Spec.Title, "Name": o.Name, "World": o.World, "Paper": o.Spec.Paper.String(), "Quick": o.Spec.Quick,
		"Claims": o.Claims, "Plots": plots, "Head": head, "Keys": len(keys), "Rows": rows, "Drops": dropped,
		"Ends": Ends(o), "Parameters": o.Spec.Parameters(), "Warnings": o.Spec.Warnings,
		"Command": p.Command, "Version": p.Version,
	})
	return b.Bytes(), err
}

// Drawn is a plot as the page shows it.
type Drawn struct {
	Title string
	File  string        // of the folder plots
	SVG   template.HTML // made by SVG, which escapes its texts
}

// fileName keeps of a text what every file system takes.
func fileName(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, text)
}

// Write makes plots and page in the outcome's folder and returns the page's path.
func Write(o *experiment.Outcome, p Page) (string, error) {
	points := Summarise(o.Runs)
	dir := filepath.Join(o.Dir, "plots")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	var plots []Drawn
	for i, x := range o.Spec.Plots {
		if len(points) == 0 {
			break
		}
		svg, err := SVG(x, points)
		if err != nil {
			return "", err
		}
		if svg == nil { // no run has a value of it
			continue
		}
		name := fmt.Sprintf("%d-%s.svg", i+1, fileName(Title(x)))
		if err := os.WriteFile(filepath.Join(dir, name), svg, 0o644); err != nil {
			return "", err
		}
		if at := bytes.Index(svg, []byte("<svg")); at > 0 {
			svg = svg[at:]
		}
		plots = append(plots, Drawn{Title(x), "plots/" + name, template.HTML(svg)})
	}
	html, err := HTML(o, points, plots, p)
	if err != nil {
		return "", err
	}
	path := filepath.Join(o.Dir, "report.html")
	return path, os.WriteFile(path, html, 0o644)
}
