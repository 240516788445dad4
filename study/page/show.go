package page

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"math"
	"net/http"
	"path"
	"strings"
	"time"

	"weir/internal/text"
	"weir/study/claim"
	"weir/study/measure"
)

//go:embed templates
var templates embed.FS

// parsePages returns a template for each file, by the file's name without .tmpl. Each has the common frame and parts.
func parsePages() (map[string]*template.Template, error) {
	base := template.New("base").Funcs(template.FuncMap{
		"quantity": formatQuantity, "ago": formatAge, "when": formatTime, "verdictClass": verdictClass, "count": text.Count,
		"verb":    text.Verb,
		"percent": func(v float64) string { return fmt.Sprintf("%.0f", 100*v) },
		"add":     func(a, b int) int { return a + b },
		"figure":  figureName,
		"static":  staticURL,
		"lasted":  func(d time.Duration) string { return measure.FormatQuantity(d.Round(time.Millisecond).Seconds(), "s") },
		"float":   func(n int64) float64 { return float64(n) },
		"dict": func(pairs ...any) map[string]any {
			m := map[string]any{}
			for i := 0; i+1 < len(pairs); i += 2 {
				m[pairs[i].(string)] = pairs[i+1]
			}
			return m
		},
	})
	if _, err := base.ParseFS(templates, "templates/base.tmpl", "templates/parts.tmpl"); err != nil {
		return nil, err
	}
	files, err := fs.Glob(templates, "templates/*.tmpl")
	if err != nil {
		return nil, err
	}
	pages := map[string]*template.Template{}
	for _, f := range files {
		name := strings.TrimSuffix(path.Base(f), ".tmpl")
		if name == "base" || name == "parts" {
			continue
		}
		t, err := base.Clone()
		if err != nil {
			return nil, err
		}
		if pages[name], err = t.ParseFS(templates, f); err != nil {
			return nil, err
		}
	}
	return pages, nil
}

// pageFrame is the data of the common frame.
type pageFrame struct {
	Title   string
	Here    string // section: the first element of the path
	Version string
	Going   int // number of unfinished jobs
	Data    any
}

// showPage renders and sends the template page. It renders the whole page first, so that an error does not leave half a
// page. It returns errors of rendering only: a disconnected browser is no error.
func (s *Server) showPage(w http.ResponseWriter, r *http.Request, page string, status int, title string,
	data any) error {
	here, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	x := pageFrame{Title: title, Here: here, Version: s.options.Version, Data: data}
	for _, j := range s.jobs.Jobs() {
		if !j.State().Over() {
			x.Going++
		}
	}
	var b bytes.Buffer
	if err := s.pages[page].ExecuteTemplate(&b, "base", x); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	w.Write(b.Bytes())
	return nil
}

// formatQuantity returns the value with its unit; "–" if it is not defined.
func formatQuantity(v float64, unit string) string {
	if math.IsNaN(v) {
		return "–"
	}
	return measure.FormatQuantity(v, unit)
}

// formatAge returns the time since t as text: minutes or hours, and the date after a day.
func formatAge(t time.Time) string {
	switch d := time.Since(t); {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	}
	return t.Format(time.DateOnly)
}

// formatTime returns date and time of t.
func formatTime(t time.Time) string { return t.Format("2006-01-02 15:04:05") }

// verdictClass returns the CSS class of a verdict.
func verdictClass(v claim.Verdict) string {
	switch v {
	case claim.Holds:
		return "holds"
	case claim.Fails:
		return "fails"
	}
	return "undecided"
}

// figureName returns the name of a paper's figure or table; a number alone is a figure's.
func figureName(name string) string {
	if name != "" && name[0] >= '0' && name[0] <= '9' {
		return "figure " + name
	}
	return name
}
