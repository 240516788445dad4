package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"weir/internal/bind"
	"weir/study/experiment"
	"weir/study/page/live"
	"weir/study/plan"
	"weir/study/report"
	"weir/study/results"
	"weir/study/run"
)

// ErrNoBrowser is the error of Page if the machine has no Chromium.
var ErrNoBrowser = errors.New("no Chromium is installed; on Debian: apt-get install chromium")

// PageOptions are the options of Page.
type PageOptions struct {
	Results  int // number of results folders; 0: 10,000
	Rounds   int
	Progress func(doing string) // may be nil

	// open starts a browser that keeps its files in the profile folder; nil: Chromium.
	open func(ctx context.Context, profile string) (*driver, error)
}

// PageFigures has the times until a browser's first paint, and their parts.
type PageFigures struct {
	Name    string     `json:"benchmark"`
	Machine Machine    `json:"machine"`
	Load    string     `json:"load_average,omitempty"` // of the machine before the benchmark: over 1, 5 and 15 minutes
	Results int        `json:"results"`
	Rounds  int        `json:"rounds"`
	List    PagePaints `json:"list"`      // the list of results, from a server that has just started
	Again   PagePaints `json:"again"`     // the list for the second time
	Found   PagePaints `json:"found"`     // one result, by the page's find field
	Home    PagePaints `json:"catalogue"` // the catalogue, with the latest results

	lastName string // the last result's name
}

// PagePaints has the times of a page, by round.
type PagePaints struct {
	First  []float64 `json:"first_paint_ms"` // from opening the page
	Server []float64 `json:"server_ms"`      // from the request to the beginning of the response
	Sent   []float64 `json:"transfer_ms"`    // until the response is complete
	Bytes  []float64 `json:"bytes"`
}

// addPaint appends the times of one round.
func (x *PagePaints) addPaint(p paintTimes) {
	x.First, x.Server = append(x.First, p.FirstPaint), append(x.Server, p.ResponseStart-p.RequestSent)
	x.Sent, x.Bytes = append(x.Sent, p.ResponseEnd-p.ResponseStart), append(x.Bytes, p.Bytes)
}

// JSON returns the figures as a document.
func (f *PageFigures) JSON() []byte {
	data, _ := json.MarshalIndent(f, "", "  ") // cannot fail on numbers and strings
	return append(data, '\n')
}

// String returns the figures as text.
func (f *PageFigures) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "weir serve with %d results: first paint, median of %d rounds (slowest)\n", f.Results, f.Rounds)
	for _, row := range []struct {
		name string
		*PagePaints
	}{{"list of results, server just started", &f.List}, {"list of results, again", &f.Again},
		{"search for one result by name", &f.Found}, {"catalogue", &f.Home}} {
		fmt.Fprintf(&b, "  %-34s %4.0f ms (%.0f): server %.0f, transfer %.0f ms; %.0f kB\n", row.name, median(row.First),
			slices.Max(row.First), median(row.Server), median(row.Sent), median(row.Bytes)/1e3)
	}
	if f.Load != "" {
		fmt.Fprintf(&b, "load average before: %s\n", f.Load)
	}
	fmt.Fprintln(&b, f.Machine)
	return b.String()
}

// loadAverage returns the load of the system as text, over 1, 5 and 15 minutes; "" if the system does not report it.
func loadAverage() string {
	data, err := os.ReadFile("/proc/loadavg")
	if words := strings.Fields(string(data)); err == nil && len(words) > 3 {
		return strings.Join(words[:3], " ")
	}
	return ""
}

// Page measures how long a browser takes until the first paint of the list of many results, and of other pages, in
// o.Rounds rounds (1 or more). It makes the results in a temporary folder. It returns ErrNoBrowser without Chromium.
func Page(ctx context.Context, r *experiment.Registry, o PageOptions) (*PageFigures, error) {
	if o.open == nil {
		program, err := exec.LookPath("chromium")
		if err != nil {
			return nil, ErrNoBrowser
		}
		o.open = func(ctx context.Context, profile string) (*driver, error) { return startBrowser(ctx, program, profile) }
	}
	if o.Results == 0 {
		o.Results = 10_000
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	dir, err := os.MkdirTemp("", "weir-bench-page")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	o.Progress(fmt.Sprintf("making %d results", o.Results))
	out := filepath.Join(dir, "results")
	last, err := makeResults(ctx, r, out, o.Results)
	if err != nil {
		return nil, err
	}
	b, err := o.open(ctx, filepath.Join(dir, "profile"))
	if err != nil {
		return nil, err
	}
	defer b.end()
	f := &PageFigures{Name: "page", Machine: thisMachine(), Load: loadAverage(), Results: o.Results, Rounds: o.Rounds,
		lastName: last}
	for i := range o.Rounds {
		o.Progress(fmt.Sprintf("round %d of %d", i+1, o.Rounds))
		if err := f.runRound(ctx, b, r, out); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// runRound measures each page once, with a new server, and adds the times to f. The folder out has the results.
func (f *PageFigures) runRound(ctx context.Context, b *driver, r *experiment.Registry, out string) error {
	page, err := live.Page.Get()
	if err != nil {
		return err
	}
	s, err := page(live.Options{Registry: r, ResultsDir: out, Version: "bench"})
	if err != nil {
		return err
	}
	defer s.Close()
	l, err := bind.Listen("127.0.0.1:0")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()
	defer func() {
		cancel()
		<-served
	}()
	if _, err := b.paint(s.Address(l.Addr())); err != nil { // passes the access token to the browser
		return err
	}
	for _, x := range []struct {
		path string
		to   *PagePaints
	}{{"/results", &f.List}, {"/results", &f.Again}, {"/results?find=" + f.lastName, &f.Found}, {"/", &f.Home}} {
		p, err := b.paint("http://" + l.Addr().String() + x.path)
		if err != nil {
			return err
		}
		x.to.addPaint(p)
	}
	return nil
}

// makeResults runs an experiment and makes n results folders (1 or more) below out, which have the same files under
// different names: links to the first one's. It returns the last name.
func makeResults(ctx context.Context, r *experiment.Registry, out string, n int) (last string, err error) {
	names := r.Experiments()
	if len(names) == 0 {
		return "", errors.New("the registry has no experiments")
	}
	name := names[0].Name
	if slices.ContainsFunc(names, func(e experiment.LibraryEntry) bool { return e.Name == "p4abc/fig5" }) {
		name = "p4abc/fig5"
	}
	src, err := r.OpenExperiment(name)
	if err != nil {
		return "", err
	}
	s, err := plan.Load(r, src, experiment.Options{Quick: true})
	if err != nil {
		return "", err
	}
	o, err := run.Execute(ctx, s, run.Options{Dir: out, Command: "weir run " + name + " --quick",
		Report: func(o *results.Outcome) error { _, err := report.WriteReport(o, report.Page{}); return err }})
	if err != nil {
		return "", err
	}
	last = filepath.Base(o.Dir)
	var files []string
	for _, x := range []string{"runs.json", "spec.yaml", "host.json", "origin.json", "report.html"} {
		if _, err := os.Stat(filepath.Join(o.Dir, x)); err == nil {
			files = append(files, x)
		}
	}
	for i := range n - 1 {
		last = fmt.Sprintf("%s-%012x", strings.ReplaceAll(name, "/", "-"), i)
		to := filepath.Join(out, last)
		if err := os.Mkdir(to, 0o777); err != nil {
			return "", err
		}
		for _, x := range files {
			if err := os.Link(filepath.Join(o.Dir, x), filepath.Join(to, x)); err != nil {
				return "", err
			}
		}
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
	}
	return last, nil
}
