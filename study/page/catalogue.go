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

// own is the room of experiments that are files of the one who has started the server.
const own = "yours"

// catalogued is an experiment of the catalogue.
type catalogued struct {
	Room, Short, Title, Figure string
}

// Path is that of its page.
func (c catalogued) Path() string {
	return "/experiments/" + url.PathEscape(c.Room) + "/" + url.PathEscape(c.Short)
}

// experiments are all that there are, by room.
func (s *Server) experiments() (list []catalogued) {
	for i, f := range s.options.Files {
		c := catalogued{Room: own, Short: fmt.Sprintf("%d-%s", i+1, strings.TrimSuffix(filepath.Base(f), filepath.Ext(f)))}
		if src, err := s.options.Registry.Open(f); err == nil {
			for _, line := range strings.Split(string(src.Data), "\n") {
				if t, ok := strings.CutPrefix(line, "title:"); ok {
					c.Title = strings.Trim(strings.TrimSpace(t), `"'`)
					break
				}
			}
		} else {
			c.Title = "It cannot be read now."
		}
		list = append(list, c)
	}
	return append(list, s.library()...)
}

// libraryOf are the experiments that the program has, which are read once.
func libraryOf(g *experiment.Registry) (list []catalogued) {
	for _, e := range g.Experiments() {
		room, short, _ := strings.Cut(e.Name, "/")
		list = append(list, catalogued{room, short, e.Title, e.Paper.Figure})
	}
	return list
}

// source finds an experiment that a request names: one of the catalogue, and nothing else.
func (s *Server) source(r *http.Request) (*experiment.Source, catalogued, error) {
	room, short := r.PathValue("room"), r.PathValue("name")
	for i, c := range s.experiments() {
		if c.Room != room || c.Short != short {
			continue
		}
		if room == own {
			src, err := s.options.Registry.Open(s.options.Files[i])
			if err != nil {
				return nil, c, wrongInput(err.Error())
			}
			return s.confined(src), c, nil
		}
		src, err := s.options.Registry.Open(room + "/" + short)
		return src, c, err
	}
	return nil, catalogued{}, missing("There is no such experiment.")
}

// confined is a file's source that opens what the file itself names, and nothing that a form adds.
func (s *Server) confined(src *experiment.Source) *experiment.Source {
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

// choice is what the form says.
type choice struct {
	Quick  bool
	Seed   string
	Sets   []string // key=value
	Traces string
}

// Bounds of what a form may say.
const (
	mostSets = 64
	mostText = 2000
)

// chosen reads the form. Of parameters there are pairs of key and value, and lines of key=value.
func chosen(form url.Values) (c choice, err error) {
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
	if len(c.Sets) > mostSets {
		return c, wrongInput(fmt.Sprintf("%d parameters are changed; up to %d are allowed.", len(c.Sets), mostSets))
	}
	for _, text := range append(slices.Clone(c.Sets), c.Seed, c.Traces) {
		if len(text) > mostText {
			return c, wrongInput(fmt.Sprintf("a value has %d characters; up to %d are allowed.", len(text), mostText))
		}
	}
	return c, nil
}

// sweptKeys are keys of the sweep that a form has, in order.
func sweptKeys(form url.Values) (keys []string) {
	for name := range form {
		if key, ok := strings.CutPrefix(name, "sweep."); ok {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// load reads an experiment as the form has it.
func (s *Server) load(src *experiment.Source, c choice) (*experiment.Spec, error) {
	o := experiment.Options{Quick: c.Quick, Set: c.Sets, Machine: s.options.Machine}
	if c.Seed != "" {
		n, err := strconv.ParseUint(c.Seed, 10, 64)
		if err != nil {
			return nil, wrongInput(fmt.Sprintf("%q is not a seed; 0 to 18446744073709551615 is allowed.", c.Seed))
		}
		o.Seed = &n
	}
	exp, err := plan.Load(s.options.Registry, src, o)
	var wrong document.InputErrors
	if errors.As(err, &wrong) {
		return nil, failure{http.StatusUnprocessableEntity, wrong.Error()}
	}
	return exp, err
}

// command is what gives the same on a command line.
func command(name string, c choice) string {
	words := []string{"weir", "run", quoted(name)}
	if c.Quick {
		words = append(words, "--quick")
	}
	if c.Seed != "" {
		words = append(words, "--seed", quoted(c.Seed))
	}
	for _, x := range c.Sets {
		words = append(words, "--set", quoted(x))
	}
	return strings.Join(words, " ")
}

// quoted is a word as a shell needs it.
func quoted(word string) string {
	const plain = "-_./=:,+%@"
	if word != "" && strings.IndexFunc(word, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && !strings.ContainsRune(plain, r)
	}) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// room is experiments that stand together.
type room struct {
	Name, Title string
	List        []catalogued
}

// roomTitle returns the heading of a room: the title of its library, or its name if the library has no title.
func (s *Server) roomTitle(name string) string {
	if name == own {
		return "Yours"
	}
	for _, l := range s.options.Registry.Library {
		if l.Name == name {
			return cmp.Or(l.Title, name)
		}
	}
	return name
}

func (s *Server) catalogue(w http.ResponseWriter, r *http.Request) error {
	var list []room
	for _, c := range s.experiments() {
		i := slices.IndexFunc(list, func(x room) bool { return x.Name == c.Room })
		if i < 0 {
			i, list = len(list), append(list, room{Name: c.Room, Title: s.roomTitle(c.Room)})
		}
		list[i].List = append(list[i].List, c)
	}
	recent, old, err := s.index.list()
	if err != nil {
		return err
	}
	return s.show(w, r, "catalogue", http.StatusOK, "Experiments", map[string]any{"Rooms": list,
		"Recent": s.rows(recent[:min(len(recent), 5)]), "Results": len(recent), "Old": old})
}

// estimate is what an experiment would take.
type estimate struct {
	Runs, Points, AtATime int
	AtLeast               bool // the data may ask for more runs
	Hops, Time, Memory    string
}

// speed is the speed of a core of this machine: the best of all measurements, as other programs slow some of them.
func (s *Server) speed() float64 {
	now := s.options.Speed()
	s.speeds.Lock()
	defer s.speeds.Unlock()
	s.fastest = max(s.fastest, now)
	return s.fastest
}

// estimated estimates the cost of an experiment on a machine of a speed, by the rule of weir check (plan.Cost): runs
// that only the data ask for are not counted.
func estimated(exp *experiment.Spec, speed float64) (e estimate) {
	runs := plan.Runs(exp)
	if need, byNeed := exp.Need(); byNeed {
		e.AtLeast = true
		runs = slices.DeleteFunc(runs, func(r *plan.Run) bool { return r.Seed-exp.Seed() >= uint64(need.Least) })
	}
	e.Runs, e.Points = len(runs), len(exp.Points())
	cost := plan.EstimateCost(runs)
	e.Hops, e.Memory = measure.SI(cost.PacketHops), measure.Quantity(cost.Memory, "bytes")
	e.AtATime = min(runtime.GOMAXPROCS(0), max(len(runs), 1))
	e.Time = plan.RoughTime(cost.Elapsed(e.AtATime, speed))
	return e
}

// dimension is a key of the sweep, as the form has it.
type dimension struct {
	Key    string
	Values []string
	Chosen string
}

func (s *Server) experiment(w http.ResponseWriter, r *http.Request) error {
	src, c, err := s.source(r)
	if err != nil {
		return err
	}
	whole, err := s.load(src, choice{})
	if err != nil {
		return err
	}
	asked, err := chosen(r.URL.Query())
	if err != nil {
		return err
	}
	return s.showExperiment(w, r, http.StatusOK, src, c, whole, asked, r.URL.Query())
}

// showExperiment shows an experiment with the form as it was filled in, and what is wrong with that.
func (s *Server) showExperiment(w http.ResponseWriter, r *http.Request, status int, src *experiment.Source,
	c catalogued,
	whole *experiment.Spec, asked choice, form url.Values) error {
	data := map[string]any{"About": c, "Name": src.Name, "Exp": whole, "Asked": asked, "Checked": len(form) > 0}
	exp, err := s.load(src, asked)
	if err != nil {
		data["Wrong"], exp = s.clean(err.Error()), whole
	}
	data["Estimate"], data["Warnings"] = estimated(exp, s.speed()), exp.Warnings()
	data["Given"], data["Defaults"] = parted(exp.Parameters())
	data["Command"] = command(src.Name, asked)
	if c.Room == own {
		data["Command"] = command(c.Short[strings.IndexByte(c.Short, '-')+1:]+".yaml", asked)
	}
	var sweep []dimension
	for _, d := range whole.Sweep() {
		x := dimension{Key: d.Key, Chosen: form.Get("sweep." + d.Key)}
		for _, v := range d.Values {
			x.Values = append(x.Values, v.Text)
		}
		sweep = append(sweep, x)
	}
	data["Sweep"], data["Explained"] = sweep, (&report.TableOptions{}).Explained(exp)
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
	data["Claims"] = whole.Judge(nil, 1)
	return s.show(w, r, "experiment", status, whole.Title(), data)
}

// parted are the parameters that somebody has given, and those that are defaults.
func parted(all []experiment.Parameter) (given, defaults []experiment.Parameter) {
	for _, p := range all {
		if strings.HasPrefix(p.Source, "default") {
			defaults = append(defaults, p)
		} else {
			given = append(given, p)
		}
	}
	return given, defaults
}

func (s *Server) experimentFile(w http.ResponseWriter, r *http.Request) error {
	src, _, err := s.source(r)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, err = w.Write(bytes.TrimPrefix(src.Data, []byte("\ufeff")))
	return err
}

// start puts the experiment into the queue, as the form has it.
func (s *Server) start(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, 1<<18)
	if err := r.ParseForm(); err != nil {
		return wrongInput(err.Error())
	}
	src, c, err := s.source(r)
	if err != nil {
		return err
	}
	asked, err := chosen(r.PostForm)
	if err != nil {
		return err
	}
	exp, err := s.load(src, asked)
	if err == nil && s.options.Jobs != nil {
		if _, _, tooLarge := s.options.Jobs(exp); tooLarge != nil {
			err = wrongInput(tooLarge.Error())
		}
	}
	if f := (failure{}); errors.As(err, &f) {
		whole, bad := s.load(src, choice{})
		if bad != nil {
			return bad
		}
		return s.showExperiment(w, r, f.status, src, c, whole, asked, r.PostForm)
	} else if err != nil {
		return err
	}
	name := src.Name
	if c.Room == own {
		name += ".yaml"
	}
	job, err := s.jobs.Start(exp, command(name, asked), tracePorts(asked.Traces))
	if err != nil {
		return failure{http.StatusServiceUnavailable, err.Error()}
	}
	http.Redirect(w, r, fmt.Sprintf("/jobs/%d", job.ID), http.StatusSeeOther)
	return nil
}

// tracePorts are the ports that a form names, separated by commas.
func tracePorts(text string) (ports []string) {
	for _, p := range strings.Split(text, ",") {
		if p = strings.TrimSpace(p); p != "" {
			ports = append(ports, p)
		}
	}
	return ports
}

// kind is schemes of one kind.
type kind struct {
	Name    string
	Schemes []scheme.Scheme
}

func (s *Server) schemes(w http.ResponseWriter, r *http.Request) error {
	g := s.options.Registry
	var kinds [7]kind
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
	return s.show(w, r, "schemes", http.StatusOK, "Schemes", map[string]any{"Kinds": kinds,
		"Measures": g.Measures, "Workloads": g.Workloads})
}
