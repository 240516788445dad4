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

// ErrNoBrowser says what Page needs and the machine does not have.
var ErrNoBrowser = errors.New("there is no chromium; on Debian: apt-get install chromium")

// PageOptions say how the page is measured.
type PageOptions struct {
	Results  int // folders; 0: 10,000
	Rounds   int
	Progress func(doing string) // may be nil

	// open starts a browser that keeps its files in the folder profile; nil: Chromium.
	open func(ctx context.Context, profile string) (*driven, error)
}

// PageFigures are when a browser has painted first, and what it waited for until then.
type PageFigures struct {
	Name    string     `json:"benchmark"`
	Machine Machine    `json:"machine"`
	Load    string     `json:"load_average,omitempty"` // of the machine before: over 1, 5 and 15 minutes
	Results int        `json:"results"`
	Rounds  int        `json:"rounds"`
	List    PagePaints `json:"list"`      // the list of results, of a server that has just begun
	Again   PagePaints `json:"again"`     // the list once more
	Found   PagePaints `json:"found"`     // one of them, by the page's find field
	Home    PagePaints `json:"catalogue"` // the catalogue, with the latest results

	last string // of the names
}

// PagePaints are times of a page, by round.
type PagePaints struct {
	First  []float64 `json:"first_paint_ms"` // after the browser was told to open it
	Server []float64 `json:"server_ms"`      // from the question to the beginning of the answer
	Sent   []float64 `json:"transfer_ms"`    // until all of it is there
	Bytes  []float64 `json:"bytes"`
}

func (x *PagePaints) add(p painted) {
	x.First, x.Server = append(x.First, p.First), append(x.Server, p.Begun-p.Asked)
	x.Sent, x.Bytes = append(x.Sent, p.There-p.Begun), append(x.Bytes, p.Bytes)
}

// JSON is the figures as a document.
func (f *PageFigures) JSON() []byte {
	data, _ := json.MarshalIndent(f, "", "  ") // of numbers and texts
	return append(data, '\n')
}

func (f *PageFigures) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "weir serve with %d results: first paint, median of %d rounds (slowest)\n", f.Results, f.Rounds)
	for _, row := range []struct {
		name string
		*PagePaints
	}{{"list of results, server just begun", &f.List}, {"list of results, once more", &f.Again},
		{"one of them found by name", &f.Found}, {"catalogue", &f.Home}} {
		fmt.Fprintf(&b, "  %-34s %4.0f ms (%.0f): server %.0f, transfer %.0f ms; %.0f kB\n", row.name, median(row.First),
			slices.Max(row.First), median(row.Server), median(row.Sent), median(row.Bytes)/1e3)
	}
	if f.Load != "" {
		fmt.Fprintf(&b, "load average before: %s\n", f.Load)
	}
	fmt.Fprintln(&b, f.Machine)
	return b.String()
}

// loadAverage is how many processes want a core, over 1, 5 and 15 minutes; "" where the system does not say.
func loadAverage() string {
	data, err := os.ReadFile("/proc/loadavg")
	if words := strings.Fields(string(data)); err == nil && len(words) > 3 {
		return strings.Join(words[:3], " ")
	}
	return ""
}

// Page measures how long a browser waits for the first paint of the list of many results.
func Page(ctx context.Context, r *experiment.Registry, o PageOptions) (*PageFigures, error) {
	if o.open == nil {
		program, err := exec.LookPath("chromium")
		if err != nil {
			return nil, ErrNoBrowser
		}
		o.open = func(ctx context.Context, profile string) (*driven, error) { return startBrowser(ctx, program, profile) }
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
	last, err := manyResults(ctx, r, out, o.Results)
	if err != nil {
		return nil, err
	}
	b, err := o.open(ctx, filepath.Join(dir, "profile"))
	if err != nil {
		return nil, err
	}
	defer b.end()
	f := &PageFigures{Name: "page", Machine: thisMachine(), Load: loadAverage(), Results: o.Results, Rounds: o.Rounds,
		last: last}
	for i := range o.Rounds {
		o.Progress(fmt.Sprintf("round %d of %d", i+1, o.Rounds))
		if err := f.round(ctx, b, r, out); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// round measures with a server of its own.
func (f *PageFigures) round(ctx context.Context, b *driven, r *experiment.Registry, out string) error {
	page, err := live.Page.Get()
	if err != nil {
		return err
	}
	s, err := page(live.Options{Registry: r, Out: out, Version: "bench"})
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
	if _, err := b.paint(s.Address(l.Addr())); err != nil { // lets the browser in
		return err
	}
	for _, x := range []struct {
		path string
		to   *PagePaints
	}{{"/results", &f.List}, {"/results", &f.Again}, {"/results?find=" + f.last, &f.Found}, {"/", &f.Home}} {
		p, err := b.paint("http://" + l.Addr().String() + x.path)
		if err != nil {
			return err
		}
		x.to.add(p)
	}
	return nil
}

// manyResults makes a folder of results, and as many with the same files under other names, and returns the last name.
func manyResults(ctx context.Context, r *experiment.Registry, out string, n int) (last string, err error) {
	names := r.Experiments()
	if len(names) == 0 {
		return "", errors.New("the registry has no experiments")
	}
	name := names[0].Name
	if slices.ContainsFunc(names, func(e experiment.LibraryEntry) bool { return e.Name == "p4abc/fig5" }) {
		name = "p4abc/fig5"
	}
	src, err := r.Open(name)
	if err != nil {
		return "", err
	}
	s, err := plan.Load(r, src, experiment.Options{Quick: true})
	if err != nil {
		return "", err
	}
	o, err := run.Execute(ctx, s, run.Options{Dir: out, Command: "weir run " + name + " --quick",
		Report: func(o *results.Outcome) error { _, err := report.Write(o, report.Page{}); return err }})
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
