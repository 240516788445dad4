package jetstream

import (
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// TestMetricsHandler_ExportsDocumentedFigures checks that the metrics can be parsed and have the sweep's figures,
// and that docs/sweeps.md documents exactly these metrics.
func TestMetricsHandler_ExportsDocumentedFigures(t *testing.T) {
	status := Status{Workers: []WorkerStatus{{Name: "a", Jobs: 2, Done: 3}, {Name: `b"\n`, Jobs: 1, Gone: true, Done: 1},
		{Name: "a", Jobs: 1, Done: 1}}, Queued: 7, Done: 4, Failed: 1, Checked: 2, Lost: 3, Duplicates: 5, Quarantined: 6,
		Waiting: "x"}
	h, err := NewMetricsHandler(func() Status { return status })
	if err != nil {
		t.Fatal(err)
	}
	scrape := func(accept string) (kind, text string) {
		r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
		r.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			t.Fatal(w.Code)
		}
		return w.Header().Get("Content-Type"), w.Body.String()
	}
	kind, open := scrape("application/openmetrics-text; version=1.0.0")
	if !strings.HasPrefix(kind, "application/openmetrics-text; version=1.0.0") || !strings.HasSuffix(open, "\n# EOF\n") {
		t.Errorf("%s\n%s", kind, open)
	}
	_, text := scrape("text/plain")
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	var got, names []string
	for name, f := range families {
		names = append(names, name)
		for _, m := range f.Metric {
			labels := ""
			for _, l := range m.Label {
				labels += l.GetName() + "=" + l.GetValue()
			}
			got = append(got, strings.TrimSpace(name+" "+labels)+" "+
				model.SampleValue(m.GetCounter().GetValue()+m.GetGauge().GetValue()).String())
			if strings.HasSuffix(name, "_total") != (m.Counter != nil) {
				t.Errorf("%s is of type %v", name, f.Type)
			}
		}
		if !strings.Contains(open, "# TYPE "+strings.TrimSuffix(name, "_total")+" ") {
			t.Errorf("%s is not there as OpenMetrics\n%s", name, open)
		}
	}
	slices.Sort(got)
	want := []string{"weir_sweep_checked_total 2", "weir_sweep_losses_total 3", "weir_sweep_queued 7",
		"weir_sweep_runs_total result=done 4", "weir_sweep_runs_total result=failed 1", "weir_sweep_set_aside_total 6",
		"weir_sweep_twice_total 5", "weir_sweep_waits 1", "weir_sweep_worker_jobs worker=a 3",
		"weir_sweep_worker_runs_total worker=a 4", `weir_sweep_worker_runs_total worker=b"\n 1`}
	if !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
	page, err := os.ReadFile("../../../docs/sweeps.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := regexp.MustCompile(`weir_sweep_[a-z_]+`).FindAllString(string(page), -1)
	slices.Sort(documented)
	slices.Sort(names)
	if documented = slices.Compact(documented); !slices.Equal(documented, names) {
		t.Errorf("the docs have %q, and there are %q", documented, names)
	}
}

// TestFormatShort_SummarizesStatus checks the summary that fits on a line next to the progress.
func TestFormatShort_SummarizesStatus(t *testing.T) {
	for want, s := range map[string]Status{
		"0 workers, 0 queued":           {},
		"waits":                         {Waiting: "x", Queued: 1},
		"1 workers, 2 failed, 3 queued": {Workers: []WorkerStatus{{}, {Gone: true}, {Bad: "x"}}, Failed: 2, Queued: 3},
	} {
		if got := s.FormatShort(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
