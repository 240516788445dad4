package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/text"
	"weir/study/results"
)

// TestForeignNames checks that names in results from elsewhere, for which no specification was read, do not act either.
// Documents stay documents, and control characters of a terminal are escaped in them.
func TestForeignNames(t *testing.T) {
	const hostile = "\x1b]0;x\a\u202e<b>&\"\x9b\ufffe"
	o := outcome(t)
	for _, r := range o.Runs {
		r.Point[0].Text += hostile
		r.ID = "=" + hostile + r.ID
		r.End.Reason += hostile
		for i := range r.Measures {
			for k := range r.Measures[i].Groups {
				r.Measures[i].Groups[k].Group += hostile
			}
		}
		for i := range r.Drops {
			r.Drops[i].Name += hostile
		}
	}
	o.Name, o.Command, o.Claims[0].Says, o.Claims[1].ID = "@"+hostile, hostile, hostile, hostile
	o.Dir = t.TempDir()
	if _, err := WriteReport(o, Page{Version: hostile}); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(o.Dir, "plots", "*.svg"))
	if len(files) == 0 {
		t.Error("there is no plot")
	}
	for _, file := range append(files, filepath.Join(o.Dir, "report.html")) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if text.EscapeLines(string(data)) != string(data) {
			t.Errorf("%s would act on a terminal", file)
		}
		if filepath.Ext(file) == ".svg" {
			wellFormed(t, file, data)
		}
		if bytes.Contains(data, []byte("\"<b>")) || bytes.Contains(data, []byte("202e<b>")) {
			t.Errorf("%s has a name as markup", file)
		}
	}
	foreignTable(t, o)
	if data := o.JSON(); !json.Valid(data) || text.EscapeLines(string(data)) != string(data) {
		t.Error("the document would act on a terminal")
	}
}

func wellFormed(t *testing.T, file string, data []byte) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(data))
	for {
		if _, err := d.Token(); err == io.EOF {
			return
		} else if err != nil {
			t.Errorf("%s: %v", file, err)
			return
		}
	}
}

func foreignTable(t *testing.T, o *results.Outcome) {
	t.Helper()
	var b strings.Builder
	if err := o.CSV(&b); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(b.String())).ReadAll()
	if err != nil || text.EscapeLines(b.String()) != b.String() || !strings.HasPrefix(rows[1][0],
		`'=\u001b]0;x\u0007\u202e`) {
		t.Errorf("%v: %q", err, rows[1])
	}
}
