//go:build slow

package page_test

import (
	"context"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"weir/app"
	"weir/internal/atomicfile"
	"weir/internal/revision"
	"weir/internal/testkit/await"
	"weir/study/page"
	"weir/study/page/live"
	"weir/study/run"
	"weir/study/run/jetstream"
)

var pictures = flag.String("pictures", "", "folder that TestPages_FitWidthsAndThemes leaves a picture of each page in")

// looked is a server with one of each page.
type looked struct {
	*served
	pages []string
	live  string // a job that goes on
}

// toLookAt makes all that pages show: results, a film, jobs of each kind, a running sweep, errors.
func toLookAt(t *testing.T) *looked {
	t.Helper()
	dir, names := copied(t)
	s := serve(t, dir)
	_, body, _ := s.get("/results/" + names[0])
	run := runID.FindStringSubmatch(body)[1]
	status, _, header := s.ask("POST", "/results/"+names[0]+"/runs/"+run+"/show", nil, nil)
	if status != 303 {
		t.Fatal(status)
	}
	film := header.Get("Location")
	s.over(film)
	job := func(path string, form url.Values) string {
		status, body, header := s.ask("POST", path+"/run", form, nil)
		if status != 303 {
			t.Fatalf("%d\n%s", status, body)
		}
		return header.Get("Location")
	}
	done := job("/experiments/p4abc/fig5", url.Values{"quick": {"1"}, "sweep.n": {"1"}, "key": {"duration"},
		"value": {"5s"}})
	s.over(done)
	for i := range 120 { // the list has pages
		link(t, dir, names[0], fmt.Sprintf("p4abc-fig5-%012x", i))
	}
	begun := filepath.Join(dir, "p4abc-fig5-under-way")
	if err := os.CopyFS(begun, os.DirFS(filepath.Join(dir, names[0]))); err != nil {
		t.Fatal(err)
	}
	os.Remove(filepath.Join(begun, "runs.json"))
	claim, err := atomicfile.Claim(filepath.Join(begun, "runs", "0123456789abcdef.json"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(claim.Discard)
	damaged := filepath.Join(dir, "damaged-1")
	if err := os.Mkdir(damaged, 0o777); err != nil {
		t.Fatal(err)
	}
	os.WriteFile(filepath.Join(damaged, "runs.json"), []byte("{"), 0o666)
	os.WriteFile(filepath.Join(damaged, "spec.yaml"), []byte("title: x\n"), 0o666)
	return &looked{s, []string{"/", "/experiments/p4abc/fig5", "/experiments/p4te/gains",
		"/experiments/p4abc/fig5?quick=1&key=duration&value=soon", "/experiments/p4abc/fig5?quick=1", "/schemes", "/jobs",
		film[:strings.Index(film, "/runs/")], film, done, "/results",
		"/results?find=fig5&sort=name&page=2", "/results?as=names", "/results?find=nowhere", "/results/" + names[0],
		"/results/p4abc-fig5-under-way", "/results/damaged-1", "/results/" + names[0] + "/runs/" + run,
		"/compare?r=" + names[0] + "&r=" + names[1], "/compare?r=" + names[0] + "&r=" + single(t, dir, "one", "goodput"),
		"/compare?r=" + names[0], "/traces", "/traces?trace=" + names[0] + "/" + run + ".parquet",
		"/traces?trace=" + names[0] + "/" + run + ".parquet&kind=explode", "/docs", "/docs/docs/results.md",
		"/docs?find=queue", "/none"}, ""}
}

// going starts a job, and another one that waits for it, and returns their pages.
func (x *looked) going() []string {
	for i, form := range []url.Values{{"key": {"duration"}, "value": {"300s"}, "sweep.n": {"1"}}, {"quick": {"1"}}} {
		_, _, header := x.ask("POST", "/experiments/p4abc/fig5/run", form, nil)
		if i == 0 {
			x.live = header.Get("Location")
		}
	}
	waits := fmt.Sprintf("/jobs/%d", jobNumber(x.t, x.live)+1)
	return []string{"/jobs", x.live, x.live + "/runs/0", waits}
}

// link makes results with the files of others.
func link(t *testing.T, dir, from, to string) {
	t.Helper()
	if err := os.Mkdir(filepath.Join(dir, to), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, f := range page.Files() {
		if err := os.Link(filepath.Join(dir, from, f), filepath.Join(dir, to, f)); err != nil {
			t.Fatal(err)
		}
	}
}

// swept is a server with a job that waits for workers. One worker is there.
func swept(t *testing.T) *looked {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "results")
	file, listens, err := jetstream.WriteJoinFile("127.0.0.1:0", filepath.Join(dir, ".workers"))
	if err != nil {
		t.Fatal(err)
	}
	s := serveAs(t, dir, func(o *live.Options) {
		o.Join, o.Account = "weir worker --join results/.workers/join.json", jetstream.ReadAccounts
		o.Runner = func(jobs int, tell func(live.WorkersStatus), notice func(string)) (run.Runner, func() error, error) {
			return jetstream.New(jetstream.Config{Registry: app.Registry(), Revision: revision.This(), Listen: listens,
				Keys: filepath.Join(dir, ".workers"), Jobs: -1, OnNotice: notice, OnStatus: func(s jetstream.Status) {
					x := live.WorkersStatus{Queued: s.Queued, Done: s.Done, Failed: s.Failed, Checked: s.Checked, Lost: s.Lost}
					for _, w := range s.Workers {
						x.Workers = append(x.Workers, live.Worker{Name: w.Name, Jobs: w.Jobs, Hand: w.Hand, Done: w.Done,
							State: "is there"})
					}
					tell(x)
				}}), func() error { return nil }, nil
		}
	})
	j, err := jetstream.ReadJoin(file)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	x := jetstream.Worker{Registry: app.Registry(), Revision: revision.This(), Name: "rack1/4711", Jobs: 1}
	go func() { ended <- x.ExecuteRuns(ctx, j) }()
	t.Cleanup(func() { stop(); <-ended })
	status, body, header := s.ask("POST", "/experiments/hpcc/incast16/run", url.Values{"key": {"duration"},
		"value": {"100ms"}}, nil)
	if status != 303 {
		t.Fatalf("%d\n%s", status, body)
	}
	job := header.Get("Location")
	return &looked{s, []string{"/jobs", job, job + "/runs/0", "/results"}, job}
}

// TestPages_FitWidthsAndThemes checks that every page looks right in three widths and two themes, and can be used with
// a keyboard and a screen reader.
func TestPages_FitWidthsAndThemes(t *testing.T) {
	looks, err := os.ReadFile("testdata/looks.js")
	if err != nil {
		t.Fatal(err)
	}
	x := toLookAt(t)
	b := open(t, x.served)
	b.look(x.pages, string(looks), "")
	b.keyboard(x.pages)
	b.look(x.going(), string(looks), "going")
	x.Job(jobNumber(t, x.live)).Stop()
	if _, err := chromedp.Call(b.Context, network.ClearBrowserCookies, cdp.Empty{}); err != nil {
		t.Fatal(err)
	}
	b.look([]string{"/"}, string(looks), "locked")
}

// TestSweepLooks checks that the page of a sweep with workers looks right, too.
func TestSweepLooks(t *testing.T) {
	looks, err := os.ReadFile("testdata/looks.js")
	if err != nil {
		t.Fatal(err)
	}
	x := swept(t)
	b := open(t, x.served)
	b.do(chromedp.Navigate(b.url + x.live))
	b.until(`document.querySelector("#worker-rows tr th")?.textContent === "rack1/4711"`)
	b.look(x.pages, string(looks), "sweep")
	x.Job(jobNumber(t, x.live)).Stop()
}

func jobNumber(t *testing.T, path string) (n int) {
	t.Helper()
	if _, err := fmt.Sscanf(path, "/jobs/%d", &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// drawn reports whether a page has drawn what it has to draw.
const drawn = `document.readyState === "complete" && document.querySelector("#preview-text")?.textContent !== "" &&
	[...document.querySelectorAll("img")].every((x) => x.loading === "lazy" || x.complete) &&
	[...document.querySelectorAll(".plot")].every((x) => x.querySelector("canvas"))`

// redrawn reports whether the browser has drawn two frames since it was first evaluated with a name. Plots follow the
// size of the window in the frame after it changes.
const redrawn = `((name) => {
	const drawn = (window.redrawn ??= {});
	if (!(name in drawn)) {
		drawn[name] = false;
		requestAnimationFrame(() => requestAnimationFrame(() => { drawn[name] = true; }));
	}
	return drawn[name];
})(%q)`

// look looks at pages in all widths and themes.
func (b *browser) look(pages []string, looks, name string) {
	b.t.Helper()
	for i, path := range pages {
		b.do(chromedp.Navigate(b.url + path))
		b.until(drawn)
		for _, width := range []int64{390, 800, 1920} {
			b.do(chromedp.EmulateViewport(width, 900))
			for _, theme := range []string{"light", "dark"} {
				media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme",
					Value: theme}}}
				if _, err := chromedp.Call(b.Context, emulation.SetEmulatedMedia, media); err != nil {
					b.t.Fatal(err)
				}
				b.until(fmt.Sprintf(`innerWidth === %d && matchMedia("(prefers-color-scheme: %s)").matches`, width, theme))
				b.until(fmt.Sprintf(redrawn, fmt.Sprint(width, theme)))
				b.picture(fmt.Sprintf("%s%02d-%d-%s", name, i, width, theme))
				for _, w := range b.wrong(looks) {
					b.t.Errorf("%d %s %s: %s", width, theme, path, w)
				}
			}
		}
	}
}

// wrong returns the mistakes found on a page. It looks again if the page has just reloaded itself.
func (b *browser) wrong(looks string) (list []string) {
	b.t.Helper()
	await.AwaitCondition(b.t, "a look at the page", func() (done bool) {
		var err error
		list, err = chromedp.Run(b.Context, chromedp.Evaluate[[]string](looks))
		return err == nil
	})
	return list
}

// picture writes a picture of the page, if pictures are requested.
func (b *browser) picture(name string) {
	if *pictures == "" {
		return
	}
	b.t.Helper()
	var png []byte
	await.AwaitCondition(b.t, "a picture of "+name, func() bool { // the page may be looking again by itself
		var err error
		png, err = chromedp.Run(b.Context, chromedp.FullScreenshot(100))
		return err == nil
	})
	if err := os.WriteFile(filepath.Join(*pictures, name+".png"), png, 0o666); err != nil {
		b.t.Fatal(err)
	}
}

// maxTabs is how often the tab key is pressed on a page.
const maxTabs = 25

// keyboard moves through pages with keys. The content is first, then all in its order, and the focus is visible.
func (b *browser) keyboard(pages []string) {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(800, 900))
	for _, path := range pages {
		b.do(chromedp.Navigate(b.url + path))
		last := -1
		for range maxTabs {
			b.do(chromedp.KeyEvent("\t"))
			where := eval[[]any](b, `(() => {
				const e = document.activeElement, s = getComputedStyle(e);
				const seen = e === document.body || s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2;
				return [[...document.querySelectorAll("*")].indexOf(e), seen, e.outerHTML.slice(0, 100)];
			})()`)
			at, seen := int(where[0].(float64)), where[1].(bool)
			if strings.HasPrefix(where[2].(string), "<body") || at < last { // it begins anew
				break
			}
			if !seen {
				b.t.Errorf("%s: one does not see that the keyboard is at %s", path, where[2])
			}
			last = at
		}
		if last < 0 {
			b.t.Errorf("%s: the keyboard comes to nothing", path)
		}
	}
	b.do(chromedp.Navigate(b.url+"/"), chromedp.KeyEvent("\t"))
	b.until(`document.activeElement.className === "skip"`)
	b.until(`getComputedStyle(document.activeElement).outlineStyle !== "none"`)
	b.do(chromedp.KeyEvent("\r"))
	b.until(`document.activeElement.id === "main"`)
	b.click("#theme")
	b.until(`document.documentElement.dataset.theme === "light"`)
	b.do(chromedp.Navigate(b.url + "/docs"))
	b.until(`getComputedStyle(document.documentElement).backgroundColor === "rgb(255, 255, 255)"`)
	b.until(`localStorage.clear() === undefined`) // what is looked at next has the theme that is emulated
}
