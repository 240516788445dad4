package page

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"weir/core/scheme"
	"weir/internal/document"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/study/plan"
	"weir/study/report"
)

// ownRoom is the group of experiments given as files on the command line.
const ownRoom = "yours"

// catalogueEntry is an experiment of the catalogue.
type catalogueEntry struct {
	Room, Short, Title, Figure string
}

// Path returns the path of the experiment's page.
func (c catalogueEntry) Path() string {
	return "/experiments/" + url.PathEscape(c.Room) + "/" + url.PathEscape(c.Short)
}

// listExperiments returns all experiments, the given files first, then the library by group. It reads the files'
// titles on each call.
func (s *Server) listExperiments() (list []catalogueEntry) {
	for i, f := range s.options.Files {
		c := catalogueEntry{Room: ownRoom, Short: fmt.Sprintf("%d-%s", i+1, strings.TrimSuffix(filepath.Base(f),
			filepath.Ext(f)))}
		if src, err := s.options.Registry.OpenExperiment(f); err == nil {
			for _, line := range strings.Split(string(src.Data), "\n") {
				if t, ok := strings.CutPrefix(line, "title:"); ok {
					c.Title = strings.Trim(strings.TrimSpace(t), `"'`)
					break
				}
			}
		} else {
			c.Title = "The experiment's file cannot be read."
		}
		list = append(list, c)
	}
	return append(list, s.library()...)
}

// listLibrary returns the built-in experiments.
func listLibrary(g *experiment.Registry) (list []catalogueEntry) {
	for _, e := range g.Experiments() {
		room, short, _ := strings.Cut(e.Name, "/")
		list = append(list, catalogueEntry{room, short, e.Title, e.Paper.Figure})
	}
	return list
}

// findSource returns the source and entry of the experiment that a request names. It returns a not-found error unless
// the catalogue has it. The source of a given file can open only the file's own inputs. An unreadable file is a wrong
// input.
func (s *Server) findSource(r *http.Request) (*experiment.Source, catalogueEntry, error) {
	room, short := r.PathValue("room"), r.PathValue("name")
	for i, c := range s.listExperiments() {
		if c.Room != room || c.Short != short {
			continue
		}
		if room == ownRoom {
			src, err := s.options.Registry.OpenExperiment(s.options.Files[i])
			if err != nil {
				return nil, c, wrongInput(err.Error())
			}
			return s.confineSource(src), c, nil
		}
		src, err := s.options.Registry.OpenExperiment(room + "/" + short)
		return src, c, err
	}
	return nil, catalogueEntry{}, notFound("The experiment does not exist.")
}

// confineSource returns a copy of a file's source that can open only the inputs that the file itself names, not those
// that a form adds. It loads the file to find them; if the file is invalid, the copy can open no files.
func (s *Server) confineSource(src *experiment.Source) *experiment.Source {
	named := map[string]bool{}
	if whole, err := plan.Load(s.options.Registry, src, experiment.Options{Machine: s.options.Machine}); err == nil {
		for name := range whole.Inputs() {
			named[filepath.ToSlash(name)] = true
		}
	}
	c := *src
	c.File = filepath.Base(src.File)
	c.Open = func(name string) ([]byte, error) {
		if !named[filepath.ToSlash(name)] {
			return nil, fs.ErrPermission
		}
		return src.Open(name)
	}
	return &c
}

// formInput is the user's input in the form of an experiment.
type formInput struct {
	Quick  bool
	Seed   string
	Sets   []string // key=value
	Traces string
}

// Limits of a form's input.
const (
	maxSets       = 64
	maxTextLength = 2000
)

// parseForm reads the form. Parameters are pairs of the fields key and value, and fields sweep.KEY; empty ones are
// dropped. It returns an error for too many or too long values.
func parseForm(form url.Values) (c formInput, err error) {
	c.Quick, c.Seed, c.Traces = form.Get("quick") != "", strings.TrimSpace(form.Get("seed")), form.Get("trace")
	values := form["value"]
	for i, key := range form["key"] {
		if key = strings.TrimSpace(key); key != "" && i < len(values) && strings.TrimSpace(values[i]) != "" {
			c.Sets = append(c.Sets, key+"="+strings.TrimSpace(values[i]))
		}
	}
	for _, key := range sweptKeys(form) {
		if v := form.Get("sweep." + key); v != "" {
			c.Sets = append(c.Sets, key+"="+v)
		}
	}
	if len(c.Sets) > maxSets {
		return c, wrongInput(fmt.Sprintf("The form changes %d parameters; up to %d are allowed.", len(c.Sets), maxSets))
	}
	for _, text := range append(slices.Clone(c.Sets), c.Seed, c.Traces) {
		if len(text) > maxTextLength {
			return c, wrongInput(fmt.Sprintf("A value has %d characters; up to %d are allowed.", len(text), maxTextLength))
		}
	}
	return c, nil
}

// sweptKeys returns the keys of fields sweep.KEY of a form, sorted.
func sweptKeys(form url.Values) (keys []string) {
	for name := range form {
		if key, ok := strings.CutPrefix(name, "sweep."); ok {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// loadExperiment loads an experiment with the form's input. A wrong seed has status 400, other errors of the input have
// status 422.
func (s *Server) loadExperiment(src *experiment.Source, c formInput) (*experiment.Spec, error) {
	o := experiment.Options{Quick: c.Quick, Set: c.Sets, Machine: s.options.Machine}
	if c.Seed != "" {
		n, err := strconv.ParseUint(c.Seed, 10, 64)
		if err != nil {
			return nil, wrongInput(fmt.Sprintf("%q is not a valid seed; 0 to 18446744073709551615 is allowed.", c.Seed))
		}
		o.Seed = &n
	}
	exp, err := plan.Load(s.options.Registry, src, o)
	var wrong document.InputErrors
	if errors.As(err, &wrong) {
		return nil, httpError{http.StatusUnprocessableEntity, wrong.Error()}
	}
	return exp, err
}

// runCommand returns the command line that gives the same results. It does not include traces.
func runCommand(name string, c formInput) string {
	words := []string{"weir", "run", quoteShell(name)}
	if c.Quick {
		words = append(words, "--quick")
	}
	if c.Seed != "" {
		words = append(words, "--seed", quoteShell(c.Seed))
	}
	for _, x := range c.Sets {
		words = append(words, "--set", quoteShell(x))
	}
	return strings.Join(words, " ")
}

// quoteShell quotes a word for a POSIX shell if it needs quotes.
func quoteShell(word string) string {
	const plain = "-_./=:,+%@"
	if word != "" && strings.IndexFunc(word, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && !strings.ContainsRune(plain, r)
	}) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// roomList is a group of experiments on the catalogue page.
type roomList struct {
	Name, Title string
	List        []catalogueEntry
}

// roomTitle returns the heading of a group: the title of its library, or its name if the library has no title.
func (s *Server) roomTitle(name string) string {
	if name == ownRoom {
		return "Yours"
	}
	for _, l := range s.options.Registry.Library {
		if l.Name == name {
			return cmp.Or(l.Title, name)
		}
	}
	return name
}

// serveCatalogue shows all experiments and the latest results.
func (s *Server) serveCatalogue(w http.ResponseWriter, r *http.Request) error {
	var list []roomList
	for _, c := range s.listExperiments() {
		i := slices.IndexFunc(list, func(x roomList) bool { return x.Name == c.Room })
		if i < 0 {
			i, list = len(list), append(list, roomList{Name: c.Room, Title: s.roomTitle(c.Room)})
		}
		list[i].List = append(list[i].List, c)
	}
	recent, old, err := s.index.listFolders()
	if err != nil {
		return err
	}
	return s.showPage(w, r, "catalogue", http.StatusOK, "Experiments", map[string]any{"Rooms": list,
		"Recent": s.readRows(recent[:min(len(recent), 5)]), "Results": len(recent), "Old": old})
}

// costEstimate is the estimated cost of an experiment, as text for the page.
type costEstimate struct {
	Runs, Points, AtATime int
	AtLeast               bool // the data may require more runs
	Hops, Time, Memory    string
}

// machineSpeed measures the speed of a core and returns the maximum of all measurements so far, because other programs
// slow down some of them. The speed is relative to the reference machine.
func (s *Server) machineSpeed() float64 {
	now := s.options.Speed()
	s.speedMutex.Lock()
	defer s.speedMutex.Unlock()
	s.maxSpeed = max(s.maxSpeed, now)
	return s.maxSpeed
}

// estimateCost estimates the cost of an experiment on this machine, like weir check (plan.Cost). The argument speed is
// a core's speed relative to the reference machine. It does not count runs that only the data may require.
func estimateCost(exp *experiment.Spec, speed float64) (e costEstimate) {
	runs := plan.ListRuns(exp)
	if need, byNeed := exp.Need(); byNeed {
		e.AtLeast = true
		runs = slices.DeleteFunc(runs, func(r *plan.Run) bool { return r.Seed-exp.Seed() >= uint64(need.MinSeeds) })
	}
	e.Runs, e.Points = len(runs), len(exp.Points())
	cost := plan.EstimateCost(runs)
	e.Hops, e.Memory = measure.FormatSI(cost.PacketHops), measure.FormatQuantity(cost.Memory, "bytes")
	e.AtATime = min(runtime.GOMAXPROCS(0), max(len(runs), 1))
	e.Time = plan.RoughTime(cost.Elapsed(e.AtATime, speed))
	return e
}

// sweepDimension is a key of the sweep in the form.
type sweepDimension struct {
	Key    string
	Values []string
	Chosen string
}

// serveExperiment shows an experiment with the form from the request's query.
func (s *Server) serveExperiment(w http.ResponseWriter, r *http.Request) error {
	src, c, err := s.findSource(r)
	if err != nil {
		return err
	}
	whole, err := s.loadExperiment(src, formInput{})
	if err != nil {
		return err
	}
	asked, err := parseForm(r.URL.Query())
	if err != nil {
		return err
	}
	return s.showExperiment(w, r, http.StatusOK, src, c, whole, asked, r.URL.Query())
}

// showExperiment shows an experiment with the form as filled in, and the error of that input. The argument whole is the
// experiment without the form's changes; it is shown if the input is wrong.
func (s *Server) showExperiment(w http.ResponseWriter, r *http.Request, status int, src *experiment.Source,
	c catalogueEntry,
	whole *experiment.Spec, asked formInput, form url.Values) error {
	data := map[string]any{"About": c, "Name": src.Name, "Exp": whole, "Asked": asked, "Checked": len(form) > 0}
	exp, err := s.loadExperiment(src, asked)
	if err != nil {
		data["Wrong"], exp = s.hidePaths(err.Error()), whole
	}
	data["Estimate"], data["Warnings"] = estimateCost(exp, s.machineSpeed()), exp.Warnings()
	data["Given"], data["Defaults"] = splitParameters(exp.Parameters())
	data["Command"] = runCommand(src.Name, asked)
	if c.Room == ownRoom {
		data["Command"] = runCommand(c.Short[strings.IndexByte(c.Short, '-')+1:]+".yaml", asked)
	}
	var sweep []sweepDimension
	for _, d := range whole.Sweep() {
		x := sweepDimension{Key: d.Key, Chosen: form.Get("sweep." + d.Key)}
		for _, v := range d.Values {
			x.Values = append(x.Values, v.Text)
		}
		sweep = append(sweep, x)
	}
	data["Sweep"], data["Explained"] = sweep, (&report.TableOptions{}).Explanations(exp)
	var paths []string
	for _, p := range whole.Parameters() {
		if !strings.HasPrefix(p.Path, "sweep.") {
			paths = append(paths, p.Path)
		}
	}
	data["Paths"] = paths
	type pair struct{ Key, Value string }
	var pairs []pair
	values := form["value"]
	for i, key := range form["key"] {
		if key != "" && i < len(values) {
			pairs = append(pairs, pair{key, values[i]})
		}
	}
	data["Pairs"] = append(pairs, make([]pair, max(3-len(pairs), 1))...)
	data["Claims"] = whole.JudgeClaims(nil, 1)
	return s.showPage(w, r, "experiment", status, whole.Title(), data)
}

// splitParameters separates given parameters from defaults.
func splitParameters(all []experiment.Parameter) (given, defaults []experiment.Parameter) {
	for _, p := range all {
		if strings.HasPrefix(p.Source, "default") {
			defaults = append(defaults, p)
		} else {
			given = append(given, p)
		}
	}
	return given, defaults
}

// serveExperimentFile sends the experiment's YAML.
func (s *Server) serveExperimentFile(w http.ResponseWriter, r *http.Request) error {
	src, _, err := s.findSource(r)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, err = w.Write(bytes.TrimPrefix(src.Data, []byte("\ufeff")))
	return err
}

// startRun queues the experiment with the form's input and redirects to its job. If the input is wrong or the
// experiment too large for this machine, it shows the form again. A full queue has status 503.
func (s *Server) startRun(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, 1<<18)
	if err := r.ParseForm(); err != nil {
		return wrongInput(err.Error())
	}
	src, c, err := s.findSource(r)
	if err != nil {
		return err
	}
	asked, err := parseForm(r.PostForm)
	if err != nil {
		return err
	}
	exp, err := s.loadExperiment(src, asked)
	if err == nil && s.options.Jobs != nil {
		if _, _, tooLarge := s.options.Jobs(exp); tooLarge != nil {
			err = wrongInput(tooLarge.Error())
		}
	}
	if f := (httpError{}); errors.As(err, &f) {
		whole, bad := s.loadExperiment(src, formInput{})
		if bad != nil {
			return bad
		}
		return s.showExperiment(w, r, f.status, src, c, whole, asked, r.PostForm)
	} else if err != nil {
		return err
	}
	name := src.Name
	if c.Room == ownRoom {
		name += ".yaml"
	}
	job, err := s.jobs.QueueExperiment(exp, runCommand(name, asked), parseTracePorts(asked.Traces))
	if err != nil {
		return httpError{http.StatusServiceUnavailable, err.Error()}
	}
	http.Redirect(w, r, fmt.Sprintf("/jobs/%d", job.ID), http.StatusSeeOther)
	return nil
}

// parseTracePorts splits a list of ports at commas, without empty ones.
func parseTracePorts(text string) (ports []string) {
	for _, p := range strings.Split(text, ",") {
		if p = strings.TrimSpace(p); p != "" {
			ports = append(ports, p)
		}
	}
	return ports
}

// schemeKind is the list of schemes of one kind.
type schemeKind struct {
	Name    string
	Schemes []scheme.Scheme
}

// serveSchemes shows all schemes, measures and workloads of the registry.
func (s *Server) serveSchemes(w http.ResponseWriter, r *http.Request) error {
	g := s.options.Registry
	var kinds [7]schemeKind
	for i, name := range []string{"controllers", "switch programs", "schedulers", "transports", "topologies", "jobs",
		"ideal networks"} {
		kinds[i].Name = name
	}
	for _, x := range g.Controllers {
		kinds[0].Schemes = append(kinds[0].Schemes, x.Scheme)
	}
	for _, x := range g.Programs {
		kinds[1].Schemes = append(kinds[1].Schemes, x.Scheme)
	}
	for _, x := range g.Schedulers {
		kinds[2].Schemes = append(kinds[2].Schemes, x.Scheme)
	}
	for _, x := range g.Transports {
		kinds[3].Schemes = append(kinds[3].Schemes, x.Scheme)
	}
	for _, x := range g.Topologies {
		kinds[4].Schemes = append(kinds[4].Schemes, x.Scheme)
	}
	for _, x := range g.Jobs {
		kinds[5].Schemes = append(kinds[5].Schemes, x.Scheme)
	}
	for _, x := range g.Ideals {
		kinds[6].Schemes = append(kinds[6].Schemes, x.Scheme)
	}
	for _, k := range kinds {
		slices.SortStableFunc(k.Schemes, func(a, b scheme.Scheme) int { return strings.Compare(a.Name, b.Name) })
	}
	return s.showPage(w, r, "schemes", http.StatusOK, "Schemes", map[string]any{"Kinds": kinds,
		"Measures": g.Measures, "Workloads": g.Workloads})
}
