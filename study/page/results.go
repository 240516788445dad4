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
	entry
	*about
	Kept int // runs, of one that is not done
}

// rows reads what lists show of some folders.
func (s *Server) rows(list []entry) []resultRow {
	rows := make([]resultRow, len(list))
	each(len(list), func(i int) {
		rows[i] = resultRow{entry: list[i], about: s.index.of(list[i].Name)}
		if !list[i].Done {
			rows[i].Kept = kept(filepath.Join(s.options.Out, list[i].Name))
		}
	})
	return rows
}

// mostListed is how many folders a page of the list has.
const mostListed = 50

// listed is what a list of results is asked for.
type listed struct {
	Find, Sort, Show string
	Names            bool // their names alone, all on one page
	Page             int
}

// option is one of a choice.
type option struct{ Value, Text string }

// orders and choices are what a list can be asked for; the first is what it is else.
var (
	orders  = []option{{"", "latest first"}, {"earliest", "earliest first"}, {"name", "by name"}}
	choices = []option{{"", "all"}, {"finished", "finished"}, {"unfinished", "not finished"},
		{"holds", "all claims hold"}, {"fails", "a claim fails"}, {"undecided", "a claim is undecided"},
		{"changed", "changed from the file"}}
)

// asks reads a request for the list. What it does not know it takes for what it is else.
func asks(q url.Values) (l listed) {
	one := func(key string, of []option) string {
		if v := q.Get(key); slices.ContainsFunc(of, func(o option) bool { return o.Value == v }) {
			return v
		}
		return ""
	}
	l.Find, l.Sort, l.Show = strings.TrimSpace(q.Get("find")), one("sort", orders), one("show", choices)
	l.Names = q.Get("as") == "names"
	page, _ := strconv.Atoi(q.Get("page"))
	l.Page = max(page, 1)
	return l
}

// Query is an address of the same list, of another page or as names.
func (l listed) Query(page int, names bool) string {
	q := url.Values{}
	for _, x := range []option{{"find", l.Find}, {"sort", l.Sort}, {"show", l.Show}} {
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

// picked are the entries that a list is asked for, in its order. Of those of which it is asked what they hold, all have
// to be read, which is kept.
func (s *Server) picked(list []entry, l listed) []entry {
	words := strings.Fields(strings.ToLower(strings.ReplaceAll(l.Find, "/", "-")))
	list = slices.DeleteFunc(list, func(e entry) bool {
		name := strings.ToLower(e.Name)
		return l.Show == "finished" && !e.Done || l.Show == "unfinished" && e.Done ||
			slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(name, w) })
	})
	var is func(a *about) bool
	switch l.Show {
	case "holds":
		is = func(a *about) bool { return a.Holds > 0 && a.Fails+a.Undecided == 0 }
	case "fails":
		is = func(a *about) bool { return a.Fails > 0 }
	case "undecided":
		is = func(a *about) bool { return a.Undecided > 0 }
	case "changed":
		is = func(a *about) bool { return len(a.Changed) > 0 }
	}
	if is != nil {
		each(len(list), func(i int) {
			if !is(s.index.of(list[i].Name)) {
				list[i].Name = ""
			}
		})
		list = slices.DeleteFunc(list, func(e entry) bool { return e.Name == "" })
	}
	switch l.Sort {
	case "earliest":
		slices.Reverse(list)
	case "name":
		slices.SortFunc(list, func(a, b entry) int { return strings.Compare(a.Name, b.Name) })
	}
	return list
}

func (s *Server) results(w http.ResponseWriter, r *http.Request) error {
	list, old, err := s.index.list()
	if err != nil {
		return err
	}
	l, all := asks(r.URL.Query()), len(list)
	list = s.picked(list, l)
	pages := max((len(list)+mostListed-1)/mostListed, 1)
	l.Page = min(l.Page, pages)
	data := map[string]any{"Asked": l, "All": all, "Found": len(list), "Pages": pages, "Orders": orders, "Old": old,
		"Choices": choices, "Narrowed": l.Find != "" || l.Show != ""}
	if l.Names {
		data["Names"] = slices.Collect(slices.Chunk(list, mostListed))
	} else {
		first := (l.Page - 1) * mostListed
		shown := list[first:min(first+mostListed, len(list))]
		data["Rows"], data["First"], data["Last"] = s.rows(shown), first+1, first+len(shown)
	}
	return s.show(w, r, "results", http.StatusOK, "Results", data)
}

// opened keeps the results that were looked at last, as long as their files are the same.
type opened struct {
	mu   sync.Mutex
	last []openedFolder
}

type openedFolder struct {
	name  string
	stamp [4]stamp
	out   *results.Outcome
}

// mostOpen is how many are kept.
const mostOpen = 4

// open reads a folder of results.
func (s *Server) open(name string) (*results.Outcome, error) {
	dir, err := s.index.folder(name)
	if err != nil {
		return nil, err
	}
	now := s.index.of(name).stamp
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
		return nil, failure{http.StatusUnprocessableEntity, err.Error()}
	}
	x.last = append(slices.DeleteFunc(x.last, func(o openedFolder) bool { return o.name == name }),
		openedFolder{name, now, o})
	if len(x.last) > mostOpen {
		x.last = slices.Delete(x.last, 0, len(x.last)-mostOpen)
	}
	return o, nil
}

func (s *Server) result(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("folder")
	dir, err := s.index.folder(name)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(filepath.Join(dir, "runs.json")); err != nil {
		return s.serveInProgress(w, r, name, dir)
	}
	o, err := s.open(name)
	if err != nil {
		return err
	}
	table := tableOf(report.Summarise(o.Runs), o.Spec)
	data := map[string]any{"Name": name, "Out": o, "Table": table, "Claims": o.Claims, "Plots": plotFiles(dir),
		"About": s.index.of(name), "Runs": runRows(o), "Sweeps": sweepsOf(o), "Counts": report.Verdicts(o.Claims),
		"Explained": (&report.TableOptions{}).Explained(o.Spec), "Without": report.Without(o.Spec)}
	data["Given"], data["Defaults"] = parted(o.Spec.Parameters())
	if room, short, ok := strings.Cut(o.Name, "/"); ok {
		q := url.Values{}
		if o.Spec.Quick() {
			q.Set("quick", "1")
		}
		for _, p := range s.index.of(name).Changed {
			if p.Source == "--seed" {
				q.Set("seed", p.Value)
			} else {
				q.Add("key", p.Path)
				q.Add("value", p.Value)
			}
		}
		data["Experiment"] = catalogued{Room: room, Short: short}.Path() + "?" + q.Encode()
	}
	if _, err := os.Lstat(filepath.Join(dir, "report.html")); err == nil {
		data["Report"] = true
	}
	if u := farUnder(dir); u.Now > 0 { // more of it is carried out
		u.All = len(plan.RunsOn(o.Spec, o.World))
		data["Far"] = u
		data["Goes"], _ = s.sweeps(dir, u)
	}
	return s.show(w, r, "result", http.StatusOK, o.Spec.Title(), data)
}

// table is points with their values.
type table struct {
	Same  []string // what all points have in common: it has no column
	Keys  []string
	Runs  string // head of the column with the number of runs; "": all points have the same
	Heads []head
	Rows  []tableRow
}

type head struct {
	Measure, Group, Unit string
	Doc                  string // what the measure is
}

// keyCell is a value of the sweep.
type keyCell struct {
	Text string
	Says string // what it stands for
}

type tableRow struct {
	Keys  []keyCell
	N     int
	Cells []string
}

// tableOf makes a column of each value that any point has; what is not defined anywhere has none.
func tableOf(points []report.PointSummary, of *experiment.Spec) (t table) {
	t.Keys, t.Runs, t.Same = report.Columns(points)
	meanings := map[string]string{}
	for _, m := range of.Meanings() {
		meanings[m.Key+"="+m.Value] = m.Text
	}
	for _, p := range points {
		row := tableRow{N: p.N}
		for _, key := range t.Keys {
			value := coordinate(p.Point, key)
			row.Keys = append(row.Keys, keyCell{value, meanings[key+"="+value]})
		}
		t.Rows = append(t.Rows, row)
	}
	units := report.Units(of, points)
	for _, v := range valuesOf(points) {
		most := math.Inf(-1)
		for i := range points {
			if x := find(points[i].Values, v); x != nil && !math.IsNaN(x.Mean) {
				most = max(most, math.Abs(x.Mean))
			}
		}
		if math.IsInf(most, -1) || most == 0 && v.Group != "all" && of.Kind(v.Measure).Sparse {
			continue
		}
		sc := units(v.Measure, v.Unit)
		t.Heads = append(t.Heads, head{strings.ReplaceAll(v.Measure, "_", " "), v.Group, sc.Unit,
			report.MeasureDoc(of, v.Measure)})
		for i := range points {
			cell := "–"
			if x := find(points[i].Values, v); x != nil {
				cell = report.Cell(x.Mean*sc.Factor, x.Half*sc.Factor)
			}
			t.Rows[i].Cells = append(t.Rows[i].Cells, cell)
		}
	}
	return t
}

func coordinate(point []measure.Coordinate, key string) string {
	for _, c := range point {
		if c.Key == key {
			return c.Text
		}
	}
	return ""
}

// valuesOf are what any of the points has, in the order in which it is met.
func valuesOf(points []report.PointSummary) (all []report.Value) {
	for _, p := range points {
		for _, v := range p.Values {
			if find(all, v) == nil {
				all = append(all, v)
			}
		}
	}
	return all
}

func find(values []report.Value, v report.Value) *report.Value {
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

func runRows(o *results.Outcome) (rows []runRow) {
	for _, x := range o.Runs {
		row := runRow{Run: x, Name: measure.PointName(x.Point), Stuck: x.End.Stuck(),
			Ended: x.End.Reason + " at " + measure.Quantity(x.End.TimeS, "s")}
		var drops []string
		for _, c := range x.Drops {
			drops = append(drops, fmt.Sprintf("%s %d", c.Name, c.Count))
		}
		row.Dropped = strings.Join(drops, ", ")
		rows = append(rows, row)
	}
	return rows
}

// plotFiles are the names of the plots that a folder has.
func plotFiles(dir string) (names []string) {
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

var plotName = regexp.MustCompile(`^[^./\\][^/\\]*\.svg$`)

// apart is what a file of a folder may do that is shown on its own: nothing but look as it does.
const apart = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox; frame-ancestors 'self'"

// file shows a regular file of a folder of results as it is.
func (s *Server) file(w http.ResponseWriter, r *http.Request, kind string, names ...string) error {
	dir, err := s.index.folder(r.PathValue("folder"))
	if err != nil {
		return err
	}
	name := filepath.Join(names...)
	if !inside(dir, name) {
		return missing("There is no such file.")
	}
	data, err := document.ReadFile(filepath.Join(dir, name), document.LargestResult)
	if err != nil {
		return missing("There is no such file.")
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Security-Policy", apart)
	_, err = w.Write(data)
	return err
}

// inside reports whether a folder has a file, and not only a link that leads out of it.
func inside(dir, name string) bool {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return false
	}
	defer root.Close()
	info, err := root.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

func (s *Server) reportFile(w http.ResponseWriter, r *http.Request) error {
	return s.file(w, r, "text/html; charset=utf-8", "report.html")
}

func (s *Server) plotFile(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("file")
	if !plotName.MatchString(name) || !filepath.IsLocal(name) {
		return missing("There is no such plot.")
	}
	return s.file(w, r, "image/svg+xml", "plots", name)
}

// runNamed finds a run of a folder.
func (s *Server) runNamed(r *http.Request) (*results.Outcome, *results.Run, error) {
	o, err := s.open(r.PathValue("folder"))
	if err != nil {
		return nil, nil, err
	}
	for _, x := range o.Runs {
		if x.ID == r.PathValue("run") {
			return o, x, nil
		}
	}
	return nil, nil, missing("These results have no such run.")
}

// planned is the run of the experiment that a result is of; nil if there is none.
func planned(o *results.Outcome, x *results.Run) *plan.Run {
	for _, r := range plan.RunsOn(o.Spec, o.World) {
		if r.Seed == x.Seed && measure.PointName(r.Point) == measure.PointName(x.Point) {
			return r
		}
	}
	return nil
}

func (s *Server) oneRun(w http.ResponseWriter, r *http.Request) error {
	o, x, err := s.runNamed(r)
	if err != nil {
		return err
	}
	type value struct{ Name, Group, Value string }
	var values []value
	for _, m := range x.Listed() {
		if m.Groups == nil {
			values = append(values, value{m.Name, "", quantity(m.Value, m.Unit)})
		}
		for _, g := range m.Groups {
			values = append(values, value{m.Name, g.Group, quantity(g.Value, m.Unit)})
		}
	}
	traced := ""
	if _, err := os.Lstat(filepath.Join(o.Dir, "traces", x.ID+".parquet")); err == nil {
		traced = filepath.Base(o.Dir) + "/" + x.ID + ".parquet"
	}
	return s.show(w, r, "run", http.StatusOK, o.Spec.Title(), map[string]any{"Folder": filepath.Base(o.Dir), "Run": x,
		"Row": runRows(&results.Outcome{Runs: []*results.Run{x}})[0], "Values": values, "Traced": traced,
		"Sim": o.World == experiment.Sim, "Series": len(x.Series)})
}

// seriesOf is what a run has measured over time, with the port of each, if it is of one.
type seriesOf struct {
	measure.Series
	Port int `json:"port"` // 2·link + end; −1: of none
}

func (s *Server) oneRunData(w http.ResponseWriter, r *http.Request) error {
	o, x, err := s.runNamed(r)
	if err != nil {
		return err
	}
	var p *experiment.Point
	for _, q := range o.Spec.Points() {
		if measure.PointName(q.At()) == measure.PointName(x.Point) {
			p = q
		}
	}
	if p == nil {
		return missing("The experiment has no such point.")
	}
	ports := map[string]int{}
	for l := range p.Network().Links {
		for e := range 2 {
			ports[p.Network().PortName(l, e)] = 2*l + e
		}
	}
	list := []seriesOf{}
	for _, y := range x.Series {
		at, is := ports[y.Group]
		if !is {
			at = -1
		}
		list = append(list, seriesOf{y, at})
	}
	return writeJSON(w, map[string]any{"network": draw(p), "series": list})
}

// again carries out a run once more, to be looked at.
func (s *Server) again(w http.ResponseWriter, r *http.Request) error {
	o, x, err := s.runNamed(r)
	if err != nil {
		return err
	}
	run := planned(o, x)
	if run == nil || o.World != experiment.Sim {
		return wrongInput("Only runs of the simulator can be carried out again here.")
	}
	j, err := s.jobs.Watch(run)
	if err != nil {
		return failure{http.StatusServiceUnavailable, err.Error()}
	}
	http.Redirect(w, r, fmt.Sprintf("/jobs/%d/runs/%d", j.ID, run.Number), http.StatusSeeOther)
	return nil
}

// sweepsOf is what happened while workers or a cluster carried out the runs.
func sweepsOf(o *results.Outcome) []results.Execution {
	if o.Hosts == nil {
		return nil
	}
	return o.Hosts.Executions
}
