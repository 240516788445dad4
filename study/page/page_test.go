package page_test

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	pages "weir"
	"weir/app"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/page"
	"weir/study/page/live"
	"weir/study/plan"
	"weir/study/report"
	"weir/study/results"
	"weir/study/run"
)

// made are results of fig5 with CUBIC and with BBR, and a trace, which are made once.
var made = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "weir-page")
	if err != nil {
		return "", err
	}
	for i, set := range [][]string{{"n=1", "duration=6s"}, {"n=1", "duration=6s", "traffic.client0.cc=bbr"}} {
		src, err := app.Registry().OpenExperiment("p4abc/fig5")
		if err != nil {
			return "", err
		}
		s, err := plan.Load(app.Registry(), src, experiment.Options{Quick: true, Set: set})
		if err != nil {
			return "", err
		}
		o := run.Options{Dir: dir, Executable: "0123", Command: "weir run p4abc/fig5 --quick", Report: writeReport}
		if i == 0 {
			o.Trace = []string{"s1->server"}
		}
		if _, err := run.Execute(context.Background(), s, o); err != nil {
			return "", err
		}
	}
	return dir, nil
})

func writeReport(o *results.Outcome) error {
	_, err := report.WriteReport(o, report.Page{Version: "test"})
	return err
}

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, err := made(); err == nil {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// copied are the results in a folder of the test's own, and the names of the two.
func copied(t *testing.T) (dir string, names []string) {
	from, err := made()
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(t.TempDir(), "results")
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	all, _ := os.ReadDir(dir)
	for _, d := range all {
		names = append(names, d.Name())
		if _, err := os.Stat(filepath.Join(dir, d.Name(), "traces")); err == nil && len(names) == 2 {
			names[0], names[1] = names[1], names[0]
		}
	}
	return dir, names
}

// served is a server with its page.
type served struct {
	*page.Server
	t   *testing.T
	url string
}

func serve(t *testing.T, out string, files ...string) *served {
	return serveAs(t, out, func(o *live.Options) { o.Files = files })
}

// serveAs serves with changed options.
func serveAs(t *testing.T, out string, change func(o *live.Options)) *served {
	o := live.Options{Registry: app.Registry(), ResultsDir: out, Executable: "0123", Version: "test", Docs: pages.Files,
		Report: writeReport, Jobs: func(*experiment.Spec) (int, string, error) { return 2, "", nil },
		Speed: func() float64 { return 1 }}
	change(&o)
	s, err := page.New(o)
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		h.CloseClientConnections()
		h.Close()
		s.Close()
	})
	return &served{s, t, h.URL}
}

// get asks for a page as a browser that was let in does.
func (s *served) get(path string) (status int, body string, header http.Header) {
	s.t.Helper()
	return s.ask(http.MethodGet, path, nil, nil)
}

// ask asks with a form, and changes of the request.
func (s *served) ask(method, path string, form url.Values, change func(*http.Request)) (int, string, http.Header) {
	s.t.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	r, err := http.NewRequest(method, s.url+path, body)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Accept", "text/html")
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if method == http.MethodPost {
		r.Header.Set("Origin", s.url)
	}
	r.AddCookie(&http.Cookie{Name: s.CookieName(r), Value: s.Session()})
	if change != nil {
		change(r)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer.StatusCode, string(data), answer.Header
}

// over waits for the end of a job.
func (s *served) over(location string) live.Status {
	s.t.Helper()
	var id int
	if _, err := fmt.Sscanf(location, "/jobs/%d", &id); err != nil {
		s.t.Fatalf("%q is no job", location)
	}
	j := s.Job(id)
	for {
		changed := j.Changed()
		if x := j.Status(); x.State.Over() {
			return x
		}
		<-changed
	}
}

// has checks that a page has texts.
func has(t *testing.T, what, body string, texts ...string) {
	t.Helper()
	for _, x := range texts {
		if !strings.Contains(body, x) {
			t.Errorf("%s does not have %q", what, x)
		}
	}
}

var runID = regexp.MustCompile(`/runs/([0-9a-f]{16})"`)

// TestServer_ServesEachPage checks that each page exists with its content.
func TestServer_ServesEachPage(t *testing.T) {
	dir, names := copied(t)
	s := serve(t, dir)
	_, first, _ := s.get("/results/" + names[0])
	m := runID.FindStringSubmatch(first)
	if m == nil {
		t.Fatal("the page of the results has no run")
	}
	one := "/results/" + names[0] + "/runs/" + m[1]
	for _, c := range []struct {
		name, path string
		texts      []string
	}{
		{"catalogue", "/", []string{"p4abc/fig5", "P4-ABC figure 5, TCP against TCP", "figure 5", names[1], "1 holds"}},
		{"experiment", "/experiments/p4abc/fig5", []string{"traffic.client0.cc", "cubic", "fig5.yaml:21", `name="quick"`,
			`name="sweep.scheme"`, "10 points, 30 runs", "with ABC both clients get"}},
		{"check", "/experiments/p4abc/fig5?quick=1&key=duration&value=2s", []string{"the experiment is valid",
			"4 points, 4 runs",
			"--set duration=2s"}},
		{"file", "/experiments/p4abc/fig5/yaml", []string{"title: P4-ABC figure 5"}},
		{"network", "/experiments/p4abc/fig5/network", []string{`"name":"client0"`, `"rate":50000000`}},
		{"schemes", "/schemes", []string{"cubic", "fast_convergence", "abc", "goodput"}},
		{"jobs", "/jobs", []string{"No jobs have been started yet"}},
		{"list", "/results", []string{names[0], names[1], "quick", "duration=6s", "traffic.client0.cc=bbr"}},
		{"found", "/results?find=fig5", []string{names[0], "2 of 2 results"}},
		{"not found", "/results?find=fig6", []string{"None of the 2 results matches this name"}},
		{"earliest", "/results?sort=earliest", []string{names[0], "2 results", `value="earliest" selected`}},
		{"changed", "/results?show=changed", []string{names[0], names[1], "2 of 2 results"}},
		{"none fails", "/results?show=fails&find=fig6", []string{"None of the 2 results matches this name and this filter"}},
		{"names", "/results?as=names&find=fig5", []string{`<li><a href="/results/` + names[0] + `">`, "2 of 2 results"}},
		{"result", "/results/" + names[0], []string{"fig5.abc.fair", "holds", "goodput", "client0", "Mb/s",
			"Reproduce with", "weir run p4abc/fig5 --quick", "ran for the full duration, at 10 s", "/plots/1-goodput"}},
		{"report", "/results/" + names[0] + "/report", []string{"P4-ABC figure 5"}},
		{"run", one, []string{"Repeat this run and show every port", "/traces?trace="}},
		{"series", one + "/data", []string{`"name":"queue"`, `"group":"s1-\u003eserver"`, `"port":4`}},
		{"compare", "/compare?r=" + names[0] + "&r=" + names[1], []string{"traffic.client0.cc", "cubic", "bbr",
			"scheme=abc n=1", "goodput client0 [Mb/s]", " %", "with ABC both clients get"}},
		{"traces", "/traces", []string{names[0], ".parquet"}},
		{"trace", "/traces?trace=" + names[0] + "/" + m[1] + ".parquet&kind=drop,lost", []string{"events match",
			"Summary"}},
		{"trace by flow", "/traces?trace=" + names[0] + "/" + m[1] + ".parquet&flow=0&to=1s", []string{
			"s1-&gt;server", "enqueue"}},
		{"wrong flow", "/traces?trace=" + names[0] + "/" + m[1] + ".parquet&flow=-1", []string{"is not a flow number"}},
		{"wrong time", "/traces?trace=" + names[0] + "/" + m[1] + ".parquet&from=soon", []string{"soon"}},
		{"time that ends first", "/traces?trace=" + names[0] + "/" + m[1] + ".parquet&from=2s&to=1s", []string{
			"The end 1s is not after the start"}},
		{"style", page.Static("page.css"), []string{"body {"}},
		{"icon", "/favicon.ico", []string{"<svg"}},
		{"wrong trace search", "/traces?trace=" + names[0] + "/" + m[1] + ".parquet&kind=explode", []string{
			"is not a kind of event", "transmit"}},
		{"docs", "/docs", []string{"docs/spec.md", "Traces"}},
		{"doc", "/docs/README.md", []string{`href="/docs/docs/spec.md"`, `src="/docs/docs/fig5.svg"`}},
		{"docs found", "/docs?find=snap+length", []string{"docs/traces.md"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, body, _ := s.get(c.path)
			if status != http.StatusOK {
				t.Fatalf("%s: %d\n%s", c.path, status, body)
			}
			has(t, c.path, body, c.texts...)
		})
	}
}

// TestForm_StartsSimulation checks that the form starts a simulation, and its results are the next page. Errors are
// shown on the form.
func TestForm_StartsSimulation(t *testing.T) {
	out := filepath.Join(t.TempDir(), "results")
	s := serve(t, out)
	const run = "/experiments/p4abc/fig5/run"
	for _, c := range []struct {
		name string
		form url.Values
		want string
	}{
		{"unknown key", url.Values{"key": {"traffic.client0.zz"}, "value": {"3"}}, "zz"},
		{"wrong value", url.Values{"key": {"duration"}, "value": {"soon"}}, "soon"},
		{"wrong seed", url.Values{"seed": {"-1"}}, "is not a valid seed"},
		{"unknown point", url.Values{"sweep.scheme": {"nonsense"}}, "nonsense"},
		{"too many", url.Values{"key": make65("duration"), "value": make65("1s")}, "up to 64"},
		{"too long", url.Values{"key": {"duration"}, "value": {strings.Repeat("1", 3000)}}, "up to 2000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, body, _ := s.ask(http.MethodPost, run, c.form, nil)
			if status != http.StatusBadRequest && status != http.StatusUnprocessableEntity {
				t.Errorf("it says %d", status)
			}
			has(t, "the page", body, c.want)
		})
	}
	if len(s.Jobs()) != 0 {
		t.Fatal("a wrong form has started something")
	}
	status, _, header := s.ask(http.MethodPost, run, url.Values{"quick": {"1"}, "sweep.n": {"1"}, "seed": {"7"},
		"key": {"duration", ""}, "value": {"5s", ""}}, nil)
	if status != http.StatusSeeOther {
		t.Fatalf("it says %d", status)
	}
	job := header.Get("Location")
	x := s.over(job)
	if x.State != live.Done {
		t.Fatalf("%+v", x)
	}
	_, body, _ := s.get(job)
	folder := filepath.Base(x.Outcome.Dir)
	has(t, "the job", body, "/results/"+folder, "finished", "--seed 7 --set duration=5s --set n=1")
	_, body, _ = s.get("/results/" + folder)
	has(t, "the result", body, "2 runs", "seed=7&amp;value=5s", "report")
	_, news, header := s.get(job + "/events?film=0")
	if header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("events are %s", header.Get("Content-Type"))
	}
	has(t, "the events", news, "event: job\n", "event: film\n", `"ended":true`, "event: over\n")
	empty := s.FillStreams()
	if status, _, header := s.get(job + "/events"); status != http.StatusServiceUnavailable ||
		header.Get("Retry-After") == "" {
		t.Errorf("one stream of events too many: %d, %v", status, header)
	}
	empty()
	if status, _, _ := s.get(job + "/events"); status != http.StatusOK {
		t.Errorf("a stream of events after others have ended: %d", status)
	}
	m := runID.FindStringSubmatch(body)
	status, _, header = s.ask(http.MethodPost, "/results/"+folder+"/runs/"+m[1]+"/show", url.Values{}, nil)
	if status != http.StatusSeeOther || s.over(header.Get("Location")).State != live.Done {
		t.Errorf("once more: %d", status)
	}
	_, body, _ = s.get(header.Get("Location"))
	has(t, "the film", body, `data-kind="film"`)
	_, body, _ = s.get(header.Get("Location") + "/frames")
	has(t, "the frames", body, `"frames":[{"t":`)
}

func make65(text string) (list []string) {
	for range 65 {
		list = append(list, text)
	}
	return list
}

// TestOwnFile checks that the files that the server was started with are in the catalogue, in their present state.
func TestOwnFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "mine.yaml")
	src, err := app.Registry().OpenExperiment("p4abc/fig5")
	if err != nil {
		t.Fatal(err)
	}
	write := func(title string) {
		text := strings.Replace(string(src.Data), "title: P4-ABC figure 5, TCP against TCP", "title: "+title, 1)
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("Mine, first")
	s := serve(t, filepath.Join(dir, "results"), file)
	_, body, _ := s.get("/")
	has(t, "the catalogue", body, "Mine, first", "/experiments/yours/1-mine")
	write("Mine, second")
	_, body, _ = s.get("/experiments/yours/1-mine")
	has(t, "the experiment", body, "Mine, second")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if status, _, _ := s.get("/experiments/yours/1-mine"); status != http.StatusBadRequest {
		t.Errorf("without the file it says %d", status)
	}
}

// TestManyResults checks that of many results only the shown ones are read, and each again only when it has changed.
func TestManyResults(t *testing.T) {
	dir, names := copied(t)
	const many = 1000
	for i := range many {
		to := filepath.Join(dir, fmt.Sprintf("p4abc-many%04d-0123", i))
		if err := os.Mkdir(to, 0o777); err != nil {
			t.Fatal(err)
		}
		for _, f := range page.Files() {
			if err := os.Link(filepath.Join(dir, names[0], f), filepath.Join(to, f)); err != nil {
				t.Fatal(err)
			}
		}
	}
	s := serve(t, dir)
	_, body, _ := s.get("/results")
	has(t, "the list", body, "1002 results", "1 to 50", "page 1 of 21")
	if n := s.Read(); n != page.MaxListed {
		t.Errorf("%d folders were read, and %d are shown", n, page.MaxListed)
	}
	_, body, _ = s.get("/results?find=many0123")
	has(t, "the list", body, "p4abc-many0123-0123", "1 of 1002 results")
	_, body, _ = s.get("/results?sort=name&page=21")
	has(t, "the last page by name", body, "p4abc-many0999-0123", "1001 to 1002", "/results?page=20&amp;sort=name")
	_, body, _ = s.get("/results?as=names")
	if n := strings.Count(body, `<li><a href="/results/`); n != many+2 {
		t.Errorf("of %d results the list of names has %d", many+2, n)
	}
	if n := s.Read(); n > 2*page.MaxListed+1 {
		t.Errorf("%d folders were read for the names", n)
	}
	_, body, _ = s.get("/results?show=changed")
	has(t, "the list of those that change something", body, "1002 of 1002 results, 1 to 50", "page=2&amp;show=changed")
	_, body, _ = s.get("/results?show=fails")
	has(t, "the list of those that fail", body, "None of the 1002 results matches this filter")
	before, _ := s.About(names[0])
	if again, _ := s.About(names[0]); again != before {
		t.Error("a folder that has not changed is read again")
	}
	file := filepath.Join(dir, names[0], "runs.json")
	if err := os.WriteFile(file+"2", []byte(`{"format":2,"experiment":"x","world":"sim","runs":[],"claims":[]}`),
		0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+"2", file); err != nil {
		t.Fatal(err)
	}
	if after, experiment := s.About(names[0]); after == before || experiment != "x" {
		t.Error("a folder that has changed is not read again")
	}
}

// TestListIsNow checks that the list shows additions, removals and changes at once, also a folder made in the second of
// the last read.
func TestListIsNow(t *testing.T) {
	dir, names := copied(t)
	s := serve(t, dir)
	list := func(what string, has, not []string) {
		t.Helper()
		_, body, _ := s.get("/results")
		for strings.Contains(body, "This machine is busy") { // it says so
			_, body, _ = s.get("/results")
		}
		for _, name := range has {
			if !strings.Contains(body, `href="/results/`+name+`"`) {
				t.Errorf("%s: %s is not in the list", what, name)
			}
		}
		for _, name := range not {
			if strings.Contains(body, `href="/results/`+name+`"`) {
				t.Errorf("%s: %s is in the list", what, name)
			}
		}
	}
	// A change in the future counts as one of this moment.
	past, future := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2037, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, changed := range []time.Time{future, past} {
		if err := os.Chtimes(dir, changed, changed); err != nil {
			t.Fatal(err)
		}
		list("as it is", names, []string{"new"})
		if err := os.CopyFS(filepath.Join(dir, "new"), os.DirFS(filepath.Join(dir, names[0]))); err != nil {
			t.Fatal(err)
		}
		list("one more", append(names, "new"), nil)
		if err := os.RemoveAll(filepath.Join(dir, "new")); err != nil {
			t.Fatal(err)
		}
		list("without it again", names, []string{"new"})
	}
	empty := filepath.Join(dir, "begun") // a folder that has nothing yet, and results a moment later
	if err := os.Mkdir(empty, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(dir, past, past); err != nil {
		t.Fatal(err)
	}
	list("an empty folder", names, []string{"begun"})
	if err := os.WriteFile(filepath.Join(empty, "spec.yaml"), []byte("title: x\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	list("it begins", append(names, "begun"), nil)
}

// TestOddResults checks that folders that are damaged, unfinished or of others are in the list, and do not keep others
// from being shown.
func TestOddResults(t *testing.T) {
	dir, names := copied(t)
	write := func(folder, file, text string) {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, folder, file), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("damaged-1", "runs.json", "{")
	write("damaged-1", "spec.yaml", "title: x")
	write("begun-1", "spec.yaml", "title: Under way\n")
	write("begun-1/runs", "0123456789abcdef.json", "{}")
	write("foreign", "notes.txt", "nothing of Weir's")
	s := serve(t, dir)
	_, body, _ := s.get("/results")
	has(t, "the list", body, names[0], "damaged-1", "runs.json: ", "begun-1", "not finished")
	if strings.Contains(body, "foreign") {
		t.Error("a folder of somebody else is in the list")
	}
	_, body, _ = s.get("/results/begun-1")
	has(t, "the page", body, "not finished", "1 run kept", "Under way", "It is not running.")
	if status, body, _ := s.get("/results/damaged-1"); status != http.StatusUnprocessableEntity ||
		strings.Contains(body, dir) {
		t.Errorf("damaged: %d\n%s", status, body)
	}
	empty := serve(t, filepath.Join(t.TempDir(), "none"))
	_, body, _ = empty.get("/results")
	has(t, "the list of none", body, "There are no results yet")
}

// TestResultPage_ShowsWorkersAndLosses checks that the events of a sweep are shown with its results: workers, and
// losses.
func TestResultPage_ShowsWorkersAndLosses(t *testing.T) {
	dir, names := copied(t)
	h := results.NewHosts(results.Machine{Host: "desk"}, []results.Execution{{ID: "a", By: results.ByWorkers, Host: "desk",
		Begun: time.Unix(1e9, 0), Ended: time.Unix(1e9+60, 0), Runs: 4, Lost: 1,
		Workers: []results.Worker{{Name: "rack1-77", Host: "rack1", Jobs: 2, Runs: 3}},
		Failed:  []results.FailedRun{{Run: "n=1 seed 2", Error: "it has no memory"}}}})
	if err := results.WriteHosts(filepath.Join(dir, names[0]), h); err != nil {
		t.Fatal(err)
	}
	_, body, _ := serve(t, dir).get("/results/" + names[0])
	has(t, "the result", body, "Workers", "rack1-77", "1 lost", "n=1 seed 2: it has no memory")
}

// TestDocs_LinkToServedPages checks that the documentation links only to served pages.
func TestDocs_LinkToServedPages(t *testing.T) {
	s := serve(t, t.TempDir())
	link := regexp.MustCompile(`(?:href|src)="(/docs/[^"#]*)`)
	for _, file := range s.DocFiles() {
		t.Run(file, func(t *testing.T) {
			status, body, _ := s.get("/docs/" + file)
			if status != http.StatusOK || !strings.Contains(body, "<h1") {
				t.Fatalf("it says %d", status)
			}
			for _, m := range link.FindAllStringSubmatch(body, -1) {
				name := strings.TrimPrefix(m[1], "/docs/")
				if info, err := fs.Stat(pages.Files, name); err != nil || info.IsDir() {
					continue // a folder, or code
				}
				if !strings.HasSuffix(name, ".md") && !page.Picture(name) {
					continue
				}
				if status, _, _ := s.get(m[1]); status != http.StatusOK {
					t.Errorf("%s: %d", m[1], status)
				}
			}
		})
	}
	html, err := page.Rendered(fstest.MapFS{"README.md": {Data: []byte(
		"# T\n\n<script>alert(1)</script> [x](javascript:alert(1))")}})
	if err != nil || strings.Contains(html, "<script") || strings.Contains(html, "javascript:") {
		t.Errorf("HTML of a page is not left out: %s, %v", html, err)
	}
}

// TestDrawNetwork_PutsHostsBelowSwitches checks that networks are drawn with hosts below, each switch above its
// neighbours, and no two nodes in one place.
func TestDrawNetwork_PutsHostsBelowSwitches(t *testing.T) {
	for _, name := range []string{"p4abc/fig5", "hpcc/incast16", "hpcc/websearch-30", "ncf/incast-fabric", "p4te/gains"} {
		t.Run(name, func(t *testing.T) {
			src, err := app.Registry().OpenExperiment(name)
			if err != nil {
				t.Fatal(err)
			}
			s := plantest.LoadSource(t, app.Registry(), src, experiment.Options{Quick: true})
			p := s.Points()[0]
			nodes, links, rows := page.Draw(p)
			if len(nodes) != len(p.Network().Nodes) || links != len(p.Network().Links) || rows < 2 {
				t.Fatalf("%d nodes, %d links in %d rows", len(nodes), links, rows)
			}
			at := map[[2]float64]string{}
			for _, n := range nodes {
				place := [2]float64{n.X, n.Y}
				if n.X <= 0 || n.X >= 1 || n.Y <= 0 || n.Y >= 1 || at[place] != "" {
					t.Fatalf("%s is at %v, as %q", n.Name, place, at[place])
				}
				if at[place] = n.Name; !n.Switch && n.Y < 0.5 {
					t.Errorf("the host %s is above the middle", n.Name)
				}
			}
		})
	}
}
