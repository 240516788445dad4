package page

import (
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"weir/internal/document"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/study/plan"
	"weir/study/report"
	"weir/study/results"
)

// resultRow is a folder of results in a list.
type resultRow struct {
	folderEntry
	*folderSummary
	Kept int // number of finished runs, if the results are not complete
}

// readRows reads the summaries of folders in parallel, and counts the runs kept in unfinished ones.
func (s *Server) readRows(list []folderEntry) []resultRow {
	rows := make([]resultRow, len(list))
	forEachParallel(len(list), func(i int) {
		rows[i] = resultRow{folderEntry: list[i], folderSummary: s.index.loadSummary(list[i].Name)}
		if !list[i].Done {
			rows[i].Kept = countKept(filepath.Join(s.options.ResultsDir, list[i].Name))
		}
	})
	return rows
}

// rowsPerPage is the number of folders on a page of the list.
const rowsPerPage = 50

// listQuery is a request for the list of results.
type listQuery struct {
	Find, Sort, Show string
	Names            bool // show only the names, all on one page
	Page             int
}

// queryOption is a value of a query with its text.
type queryOption struct{ Value, Text string }

// sortOrders and showChoices are the allowed values; the first one is the default.
var (
	sortOrders  = []queryOption{{"", "newest first"}, {"earliest", "oldest first"}, {"name", "by name"}}
	showChoices = []queryOption{{"", "all"}, {"finished", "finished"}, {"unfinished", "not finished"},
		{"holds", "all claims hold"}, {"fails", "a claim fails"}, {"undecided", "a claim is undecided"},
		{"changed", "changed from the file"}}
)

// parseListQuery reads a request for the list. An unknown value means the default.
func parseListQuery(q url.Values) (l listQuery) {
	one := func(key string, options []queryOption) string {
		if v := q.Get(key); slices.ContainsFunc(options, func(o queryOption) bool { return o.Value == v }) {
			return v
		}
		return ""
	}
	l.Find, l.Sort, l.Show = strings.TrimSpace(q.Get("find")), one("sort", sortOrders), one("show", showChoices)
	l.Names = q.Get("as") == "names"
	page, _ := strconv.Atoi(q.Get("page"))
	l.Page = max(page, 1)
	return l
}

// Query returns the address of the same list with another page, or of the names.
func (l listQuery) Query(page int, names bool) string {
	q := url.Values{}
	for _, x := range []queryOption{{"find", l.Find}, {"sort", l.Sort}, {"show", l.Show}} {
		if x.Text != "" {
			q.Set(x.Value, x.Text)
		}
	}
	if names {
		q.Set("as", "names")
	} else if page > 1 {
		q.Set("page", strconv.Itoa(page))
	}
	return "/results?" + q.Encode()
}

// filterEntries returns the entries that match the query, in its order. The words of Find match parts of folder names,
// without regard to case. A query about contents reads the summaries of all matching folders. It modifies list.
func (s *Server) filterEntries(list []folderEntry, l listQuery) []folderEntry {
	words := strings.Fields(strings.ToLower(strings.ReplaceAll(l.Find, "/", "-")))
	list = slices.DeleteFunc(list, func(e folderEntry) bool {
		name := strings.ToLower(e.Name)
		return l.Show == "finished" && !e.Done || l.Show == "unfinished" && e.Done ||
			slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(name, w) })
	})
	var is func(a *folderSummary) bool
	switch l.Show {
	case "holds":
		is = func(a *folderSummary) bool { return a.Holds > 0 && a.Fails+a.Undecided == 0 }
	case "fails":
		is = func(a *folderSummary) bool { return a.Fails > 0 }
	case "undecided":
		is = func(a *folderSummary) bool { return a.Undecided > 0 }
	case "changed":
		is = func(a *folderSummary) bool { return len(a.Changed) > 0 }
	}
	if is != nil {
		forEachParallel(len(list), func(i int) {
			if !is(s.index.loadSummary(list[i].Name)) {
				list[i].Name = ""
			}
		})
		list = slices.DeleteFunc(list, func(e folderEntry) bool { return e.Name == "" })
	}
	switch l.Sort {
	case "earliest":
		slices.Reverse(list)
	case "name":
		slices.SortFunc(list, func(a, b folderEntry) int { return strings.Compare(a.Name, b.Name) })
	}
	return list
}

// serveResults shows the list of results.
func (s *Server) serveResults(w http.ResponseWriter, r *http.Request) error {
	list, old, err := s.index.listFolders()
	if err != nil {
		return err
	}
	l, all := parseListQuery(r.URL.Query()), len(list)
	list = s.filterEntries(list, l)
	pages := max((len(list)+rowsPerPage-1)/rowsPerPage, 1)
	l.Page = min(l.Page, pages)
	data := map[string]any{"Asked": l, "All": all, "Found": len(list), "Pages": pages, "Orders": sortOrders, "Old": old,
		"Choices": showChoices, "Narrowed": l.Find != "" || l.Show != ""}
	if l.Names {
		data["Names"] = slices.Collect(slices.Chunk(list, rowsPerPage))
	} else {
		first := (l.Page - 1) * rowsPerPage
		shown := list[first:min(first+rowsPerPage, len(list))]
		data["Rows"], data["First"], data["Last"] = s.readRows(shown), first+1, first+len(shown)
	}
	return s.showPage(w, r, "results", http.StatusOK, "Results", data)
}

// openedResults caches the results that were opened last, until their files change.
type openedResults struct {
	mu   sync.Mutex
	last []openedFolder
}

// openedFolder is a cached outcome with the versions of its files.
type openedFolder struct {
	name  string
	stamp [4]fileStamp
	out   *results.Outcome
}

// maxOpen limits the cached results.
const maxOpen = 4

// openResults returns the results of a folder, from the cache if its files are unchanged; the cache keeps the last
// maxOpen. The results are shared: the caller does not change them. Results that cannot be read have status 422.
func (s *Server) openResults(name string) (*results.Outcome, error) {
	dir, err := s.index.findFolder(name)
	if err != nil {
		return nil, err
	}
	now := s.index.loadSummary(name).stamps
	x := &s.opened
	x.mu.Lock()
	defer x.mu.Unlock()
	for i, o := range x.last {
		if o.name == name && o.stamp == now {
			x.last = append(append(slices.Clone(x.last[:i]), x.last[i+1:]...), o)
			return o.out, nil
		}
	}
	o, err := results.Open(s.options.Registry, dir)
	if err != nil {
		return nil, httpError{http.StatusUnprocessableEntity, err.Error()}
	}
	x.last = append(slices.DeleteFunc(x.last, func(o openedFolder) bool { return o.name == name }),
		openedFolder{name, now, o})
	if len(x.last) > maxOpen {
		x.last = slices.Delete(x.last, 0, len(x.last)-maxOpen)
	}
	return o, nil
}

// serveResult shows a folder of results: values, claims, plots and runs. A folder without runs.json is shown as an
// execution in progress.
func (s *Server) serveResult(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("folder")
	dir, err := s.index.findFolder(name)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(filepath.Join(dir, "runs.json")); err != nil {
		return s.serveInProgress(w, r, name, dir)
	}
	o, err := s.openResults(name)
	if err != nil {
		return err
	}
	table := newTable(report.SummarizePoints(o.Runs), o.Spec)
	data := map[string]any{"Name": name, "Out": o, "Table": table, "Claims": o.Claims, "Plots": listPlots(dir),
		"About": s.index.loadSummary(name), "Runs": newRunRows(o), "Sweeps": listExecutions(o),
		"Counts":    report.CountVerdicts(o.Claims),
		"Explained": (&report.TableOptions{}).Explanations(o.Spec), "Without": report.DescribeOmitted(o.Spec)}
	data["Given"], data["Defaults"] = splitParameters(o.Spec.Parameters())
	if room, short, ok := strings.Cut(o.Name, "/"); ok {
		q := url.Values{}
		if o.Spec.Quick() {
			q.Set("quick", "1")
		}
		for _, p := range s.index.loadSummary(name).Changed {
			if p.Source == "--seed" {
				q.Set("seed", p.Value)
			} else {
				q.Add("key", p.Path)
				q.Add("value", p.Value)
			}
		}
		data["Experiment"] = catalogueEntry{Room: room, Short: short}.Path() + "?" + q.Encode()
	}
	if _, err := os.Lstat(filepath.Join(dir, "report.html")); err == nil {
		data["Report"] = true
	}
	if u := readProgress(dir); u.Now > 0 { // an execution adds to the results
		u.All = len(plan.ListRunsOn(o.Spec, o.World))
		data["Far"] = u
		data["Goes"], _ = s.splitExecutions(dir, u)
	}
	return s.showPage(w, r, "result", http.StatusOK, o.Spec.Title(), data)
}

// valueTable is a table of points with their values.
type valueTable struct {
	Same  []string // what all points have in common; it needs no column
	Keys  []string
	Runs  string // heading of the column with the number of runs; "": equal for all points
	Heads []columnHead
	Rows  []tableRow
}

// columnHead is the heading of a column of values.
type columnHead struct {
	Measure, Group, Unit string
	Doc                  string // description of the measure
}

// keyCell is a value of the sweep.
type keyCell struct {
	Text string
	Says string // its meaning
}

// tableRow is a point with N runs.
type tableRow struct {
	Keys  []keyCell
	N     int
	Cells []string
}

// newTable returns a table with a column for each value that any point has. It omits columns without a defined value,
// and sparse measures that are 0 everywhere.
func newTable(points []report.PointSummary, spec *experiment.Spec) (t valueTable) {
	t.Keys, t.Runs, t.Same = report.TableColumns(points)
	meanings := map[string]string{}
	for _, m := range spec.Meanings() {
		meanings[m.Key+"="+m.Value] = m.Text
	}
	for _, p := range points {
		row := tableRow{N: p.N}
		for _, key := range t.Keys {
			value := coordinateText(p.Point, key)
			row.Keys = append(row.Keys, keyCell{value, meanings[key+"="+value]})
		}
		t.Rows = append(t.Rows, row)
	}
	units := report.ChooseUnits(spec, points)
	for _, v := range distinctValues(points) {
		maxMean := math.Inf(-1)
		for i := range points {
			if x := findValue(points[i].Values, v); x != nil && !math.IsNaN(x.Mean) {
				maxMean = max(maxMean, math.Abs(x.Mean))
			}
		}
		if math.IsInf(maxMean, -1) || maxMean == 0 && v.Group != "all" && spec.Kind(v.Measure).Sparse {
			continue
		}
		sc := units(v.Measure, v.Unit)
		t.Heads = append(t.Heads, columnHead{strings.ReplaceAll(v.Measure, "_", " "), v.Group, sc.Unit,
			report.MeasureDoc(spec, v.Measure)})
		for i := range points {
			cell := "–"
			if x := findValue(points[i].Values, v); x != nil {
				cell = report.FormatCell(x.Mean*sc.Factor, x.HalfInterval*sc.Factor)
			}
			t.Rows[i].Cells = append(t.Rows[i].Cells, cell)
		}
	}
	return t
}

// coordinateText returns the point's value of a sweep key; "" if the point lacks the key.
func coordinateText(point []measure.Coordinate, key string) string {
	for _, c := range point {
		if c.Key == key {
			return c.Text
		}
	}
	return ""
}

// distinctValues returns each value that any point has once, in the order of first occurrence.
func distinctValues(points []report.PointSummary) (all []report.Value) {
	for _, p := range points {
		for _, v := range p.Values {
			if findValue(all, v) == nil {
				all = append(all, v)
			}
		}
	}
	return all
}

// findValue returns the value with the measure and group of v; nil if values lacks it.
func findValue(values []report.Value, v report.Value) *report.Value {
	for i := range values {
		if values[i].Measure == v.Measure && values[i].Group == v.Group {
			return &values[i]
		}
	}
	return nil
}

// runRow is a run of a folder.
type runRow struct {
	*results.Run
	Name, Ended, Dropped string
	Stuck                bool
}

// newRunRows returns a row for each run.
func newRunRows(o *results.Outcome) (rows []runRow) {
	for _, x := range o.Runs {
		row := runRow{Run: x, Name: measure.PointName(x.Point), Stuck: x.End.Stuck(),
			Ended: report.DescribeOutcome(x.End.Reason) + ", at " + measure.FormatQuantity(x.End.TimeS, "s")}
		var drops []string
		for _, c := range x.Drops {
			drops = append(drops, fmt.Sprintf("%s %d", c.Name, c.Count))
		}
		row.Dropped = strings.Join(drops, ", ")
		rows = append(rows, row)
	}
	return rows
}

// listPlots returns the file names of a folder's plots, ordered by their number.
func listPlots(dir string) (names []string) {
	all, err := os.ReadDir(filepath.Join(dir, "plots"))
	if err != nil {
		return nil
	}
	for _, d := range all {
		if d.Type().IsRegular() && plotName.MatchString(d.Name()) {
			names = append(names, d.Name())
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return strings.Compare(fmt.Sprintf("%4s", strings.SplitN(a, "-", 2)[0]), fmt.Sprintf("%4s",
			strings.SplitN(b, "-", 2)[0]))
	})
	return names
}

// plotName matches file names of plots.
var plotName = regexp.MustCompile(`^[^./\\][^/\\]*\.svg$`)

// filePolicy is the Content-Security-Policy of a file that is shown on its own: it may only use inline styles and
// images.
const filePolicy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox; frame-ancestors 'self'"

// serveFile sends a regular file of a results folder with the content type kind; names are the elements of its path.
// Links out of the folder are not found.
func (s *Server) serveFile(w http.ResponseWriter, r *http.Request, kind string, names ...string) error {
	dir, err := s.index.findFolder(r.PathValue("folder"))
	if err != nil {
		return err
	}
	name := filepath.Join(names...)
	if !isInside(dir, name) {
		return notFound("The file does not exist.")
	}
	data, err := document.ReadFile(filepath.Join(dir, name), document.MaxResult)
	if err != nil {
		return notFound("The file does not exist.")
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Security-Policy", filePolicy)
	_, err = w.Write(data)
	return err
}

// isInside reports whether a folder has a regular file of that name. A link out of the folder does not count.
func isInside(dir, name string) bool {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return false
	}
	defer root.Close()
	info, err := root.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// serveReport sends the report of a results folder.
func (s *Server) serveReport(w http.ResponseWriter, r *http.Request) error {
	return s.serveFile(w, r, "text/html; charset=utf-8", "report.html")
}

// servePlot sends a plot of a results folder.
func (s *Server) servePlot(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("file")
	if !plotName.MatchString(name) || !filepath.IsLocal(name) {
		return notFound("The plot does not exist.")
	}
	return s.serveFile(w, r, "image/svg+xml", "plots", name)
}

// findRun returns the results and the run that a request names, or a not-found error. Both are shared: the caller does
// not change them.
func (s *Server) findRun(r *http.Request) (*results.Outcome, *results.Run, error) {
	o, err := s.openResults(r.PathValue("folder"))
	if err != nil {
		return nil, nil, err
	}
	for _, x := range o.Runs {
		if x.ID == r.PathValue("run") {
			return o, x, nil
		}
	}
	return nil, nil, notFound("These results do not contain this run.")
}

// findPlanned returns the experiment's run that produced a result, by seed and point; nil if the experiment does not
// have it.
func findPlanned(o *results.Outcome, x *results.Run) *plan.Run {
	for _, r := range plan.ListRunsOn(o.Spec, o.World) {
		if r.Seed == x.Seed && measure.PointName(r.Point) == measure.PointName(x.Point) {
			return r
		}
	}
	return nil
}

// serveRun shows one run with its values.
func (s *Server) serveRun(w http.ResponseWriter, r *http.Request) error {
	o, x, err := s.findRun(r)
	if err != nil {
		return err
	}
	type value struct{ Name, Group, Value string }
	var values []value
	for _, m := range x.AllMeasures() {
		if m.Groups == nil {
			values = append(values, value{m.Name, "", formatQuantity(m.Value, m.Unit)})
		}
		for _, g := range m.Groups {
			values = append(values, value{m.Name, g.Group, formatQuantity(g.Value, m.Unit)})
		}
	}
	traced := ""
	if _, err := os.Lstat(filepath.Join(o.Dir, "traces", x.ID+".parquet")); err == nil {
		traced = filepath.Base(o.Dir) + "/" + x.ID + ".parquet"
	}
	return s.showPage(w, r, "run", http.StatusOK, o.Spec.Title(), map[string]any{"Folder": filepath.Base(o.Dir), "Run": x,
		"Row": newRunRows(&results.Outcome{Runs: []*results.Run{x}})[0], "Values": values, "Traced": traced,
		"Sim": o.World == experiment.Sim, "Series": len(x.Series)})
}

// portSeries is a series of a run with the port that it belongs to.
type portSeries struct {
	measure.Series
	Port int `json:"port"` // 2·link + end; −1: not of a port
}

// serveRunData sends the network and the series of a run as JSON.
func (s *Server) serveRunData(w http.ResponseWriter, r *http.Request) error {
	o, x, err := s.findRun(r)
	if err != nil {
		return err
	}
	var p *experiment.Point
	for _, q := range o.Spec.Points() {
		if measure.PointName(q.Coordinates()) == measure.PointName(x.Point) {
			p = q
		}
	}
	if p == nil {
		return notFound("The experiment does not contain this point.")
	}
	ports := map[string]int{}
	for l := range p.Network().Links {
		for e := range 2 {
			ports[p.Network().PortName(l, e)] = 2*l + e
		}
	}
	list := []portSeries{}
	for _, y := range x.Series {
		at, is := ports[y.Group]
		if !is {
			at = -1
		}
		list = append(list, portSeries{y, at})
	}
	return writeJSON(w, map[string]any{"network": drawNetwork(p), "series": list})
}

// watchAgain starts a job that repeats a run of the simulator to film it, and redirects to it.
func (s *Server) watchAgain(w http.ResponseWriter, r *http.Request) error {
	o, x, err := s.findRun(r)
	if err != nil {
		return err
	}
	run := findPlanned(o, x)
	if run == nil || o.World != experiment.Sim {
		return wrongInput("Only runs of the simulator can be repeated here.")
	}
	j, err := s.jobs.QueueFilm(run)
	if err != nil {
		return httpError{http.StatusServiceUnavailable, err.Error()}
	}
	http.Redirect(w, r, fmt.Sprintf("/jobs/%d/runs/%d", j.ID, run.Number), http.StatusSeeOther)
	return nil
}

// listExecutions returns the account of runs by workers or a cluster; nil if they ran on one machine.
func listExecutions(o *results.Outcome) []results.Execution {
	if o.Hosts == nil {
		return nil
	}
	return o.Hosts.Executions
}
