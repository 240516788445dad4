//go:build system

package cli

import (
	"context"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/transport"
	"weir/core/unit"
	"weir/internal/revision"
	"weir/internal/testkit/await"
	"weir/internal/testkit/runtest"
	"weir/study/experiment"
	"weir/study/page"
	"weir/study/page/live"
	"weir/study/results"
	"weir/study/run"
	"weir/study/run/jetstream"
	"weir/study/workers"
)

// twenty is an experiment of twenty runs.
var twenty = strings.Replace(small, "duration: 200ms", "duration: 200ms\nrepeat: 10", 1)

// watchedSweep is weir serve with workers, and a client that reads its page.
type watchedSweep struct {
	t    *testing.T
	out  string
	join string // the file
	page *page.Server
	url  string
	ctx  context.Context
	gate chan struct{} // each run of a worker receives from it when its first packet arrives; nil: runs do not wait
	open func()        // closes the gate's channel: no run waits any more
}

// holdRuns makes the runs of workers that join later wait at their first packet, so that the test can look at pages
// during a run. Sending to the gate lets one run continue.
func (w *watchedSweep) holdRuns() {
	w.gate = make(chan struct{}, 1)
	w.open = sync.OnceFunc(func() { close(w.gate) })
}

// registry returns the registry of a worker. If there is a gate, the receivers of its transports wait at it.
func (w *watchedSweep) registry() *experiment.Registry {
	r := registry()
	gate := w.gate
	if gate == nil {
		return r
	}
	for i := range r.Transports {
		build := r.Transports[i].Build
		r.Transports[i].Rebuild = nil
		r.Transports[i].Build = func(f transport.Flow, c scheme.Config) (sender, receiver transport.Endpoint, err error) {
			if sender, receiver, err = build(f, c); err == nil {
				receiver = &heldReceiver{receiver, sync.OnceFunc(func() { <-gate })}
			}
			return sender, receiver, err
		}
	}
	return r
}

// heldReceiver is a receiver that waits when its first packet arrives. A sender could not wait: loading an experiment
// already makes it send its first packet.
type heldReceiver struct {
	transport.Endpoint
	wait func()
}

func (r *heldReceiver) Receive(now unit.Time, p *packet.Packet) (reply bool) {
	r.wait()
	return r.Endpoint.Receive(now, p)
}

// watchSweeps starts weir serve with --workers and without local workers.
func watchSweeps(t *testing.T, file string) *watchedSweep {
	t.Helper()
	w := &watchedSweep{t: t, out: filepath.Join(t.TempDir(), "results")}
	var said strings.Builder
	a := &app{registry: registry(), stderr: &said, screen: io.Discard}
	o := live.Options{Registry: a.registry, Files: []string{file}, ResultsDir: w.out, Executable: "0123", Version: "test",
		Jobs: func(*experiment.Spec) (int, string, error) { return 1, "", nil }}
	f := workerFlags{Flags: workers.Flags{Workers: "127.0.0.1:0", NoOwn: true}}
	if err := f.setUpPage(a, &o, w.out); err != nil {
		t.Fatal(err)
	}
	w.join = filepath.Join(w.out, ".workers", "join.json")
	if want := "to join workers, run: weir worker --join " + quoteWord(w.join); !strings.Contains(said.String(), want) {
		t.Errorf("it says %q, and not %q", said.String(), want)
	}
	var err error
	if w.page, err = page.New(o); err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(w.page)
	w.url = h.URL
	var group sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	w.ctx = ctx
	t.Cleanup(func() {
		cancel()
		group.Wait()
		h.CloseClientConnections()
		h.Close()
		w.page.Close()
	})
	return w
}

// worker starts a worker that joins, as weir worker --join does. The returned function ends it.
func (w *watchedSweep) worker(name string, longest time.Duration) (end func()) {
	w.t.Helper()
	j, err := jetstream.ReadJoin(w.join)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(w.ctx)
	ended := make(chan error, 1)
	x := jetstream.Worker{Registry: w.registry(), Revision: revision.This(), Name: name, Jobs: 1, MaxTime: longest}
	go func() { ended <- x.ExecuteRuns(ctx, j) }()
	end = sync.OnceFunc(func() {
		stop()
		if w.gate != nil {
			w.open()
		}
		if err := <-ended; err != nil {
			w.t.Errorf("%s: %v", name, err)
		}
	})
	w.t.Cleanup(end)
	return end
}

// ask requests a page, or posts a form.
func (w *watchedSweep) ask(path string, form url.Values) (body, location string) {
	w.t.Helper()
	method := http.MethodGet
	if form != nil {
		method = http.MethodPost
	}
	r, err := http.NewRequest(method, w.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+w.page.Token())
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode >= 400 {
		w.t.Fatalf("%s: %s, %v\n%s", path, answer.Status, err, data)
	}
	return string(data), answer.Header.Get("Location")
}

var tags = regexp.MustCompile(`<[^>]*>|\s+`)

// until waits until a page has all of these texts, and returns the page's text.
func (w *watchedSweep) until(path string, texts ...string) (text string) {
	w.t.Helper()
	lacks := ""
	defer func() {
		if w.t.Failed() {
			w.t.Logf("%s lacks %q:\n%s", path, lacks, text)
		}
	}()
	await.AwaitCondition(w.t, fmt.Sprintf("%s with %q", path, texts), func() bool {
		body, _ := w.ask(path, nil)
		text = html.UnescapeString(strings.Join(strings.Fields(tags.ReplaceAllString(body, " ")), " "))
		lacks = ""
		for _, x := range texts {
			if !strings.Contains(text, x) {
				lacks = x
			}
		}
		return lacks == ""
	})
	return text
}

// TestServeWithWorkers checks that workers execute the runs that the page of weir serve starts. The page shows the
// number of queued runs, the connected workers with their finished runs, failures, and why there is no film. The
// same workers take the next job.
func TestServeWithWorkers(t *testing.T) {
	w := watchSweeps(t, write(t, twenty))
	w.until("/jobs", "Workers on other machines join with weir worker --join "+quoteWord(w.join))
	start := func(set ...string) string {
		t.Helper()
		form := url.Values{}
		for i := 0; i < len(set); i += 2 {
			form.Add("key", set[i])
			form.Add("value", set[i+1])
		}
		_, job := w.ask("/experiments/yours/1-small/run", form)
		return job
	}
	job := start()
	w.until(job, "running", "20 queued or running, 0 done, 0 failed", "0 of 20 runs done", "Workers execute the runs")
	w.holdRuns()
	end := w.worker("first", 0)
	w.until(job, "first 1 1 0 ", "connected", "running")
	w.worker("second", 0)
	w.until(job, "first 1 1 0 ", "second 1 1 0 ")
	w.open()
	text := w.until(job, "done after", "Final state: 0 queued or running, 20 done, 0 failed", "repeated and compared")
	if n := strings.Count(text, " finished"); n < 20 {
		t.Errorf("%d of 20 runs are said to be finished:\n%s", n, text)
	}
	made := regexp.MustCompile(`(first|second) 1 0 (\d+) `).FindAllStringSubmatch(text, -1)
	sum := 0
	for _, m := range made {
		n := 0
		fmt.Sscan(m[2], &n)
		sum += n
	}
	if len(made) != 2 || sum != 20 {
		t.Errorf("workers have made %v", made)
	}
	text = w.until(job+"/runs/0", "Workers execute the runs of this job", "Open the run in the results")
	if strings.Contains(text, "The network over time") {
		t.Error("a film is shown of a run that workers have carried out")
	}
	body, _ := w.ask(job+"/runs/0", nil)
	run := regexp.MustCompile(`/results/[^"/]+/runs/[0-9a-f]{16}`).FindString(body)
	w.until(run, "Repeat this run")
	w.until(run[:strings.Index(run, "/runs/")], "Workers", "20 runs returned by workers", "first", "second")

	// The remaining workers take the next job; the first worker leaves.
	end()
	w.until(start("duration", "21s"), "done after", "20 done", "second 1 0 20 ")
}

// TestServeWorkersFail checks that a run that no worker can execute is reported as failed, with the reason, and the
// others finish.
func TestServeWorkersFail(t *testing.T) {
	w := watchSweeps(t, write(t, strings.Replace(twenty, "repeat: 10", "repeat: 1", 1)))
	w.worker("hasty", time.Nanosecond)
	_, job := w.ask("/experiments/yours/1-small/run", url.Values{"sweep.rate": {"1Mbps"}})
	w.until(job, "failed after", "0 queued or running, 0 done, 1 failed",
		"rate=1Mbps seed 1: it did not end within 1ns")
	_, job = w.ask("/experiments/yours/1-small/run", url.Values{})
	w.until(job, "failed after", "2 runs have failed; the first of them is rate=", "0 done, 2 failed")
}

// TestServe_ShowsSweepOfOtherProcess checks that the page shows the progress and the workers of a sweep that another
// weir run executes into the folder: while it runs, when it was ended, and when it is finished.
func TestServe_ShowsSweepOfOtherProcess(t *testing.T) {
	file := write(t, twenty)
	w := watchSweeps(t, file)
	s := runtest.Load(t, registry(), file, experiment.Options{})
	folder := filepath.Base(results.FolderPath(s, w.out, experiment.Sim))
	keys := t.TempDir()
	var err error
	var listens string
	if w.join, listens, err = jetstream.WriteJoinFile("127.0.0.1:0", keys); err != nil {
		t.Fatal(err)
	}
	sweep := func(ctx context.Context) <-chan error {
		ended := make(chan error, 1)
		c := jetstream.New(jetstream.Config{Registry: registry(), Revision: revision.This(), Listen: listens, Keys: keys,
			Jobs: -1})
		go func() {
			_, err := run.Execute(ctx, s, run.Options{Dir: w.out, Executable: "0123", Command: "weir run small.yaml --workers",
				Runner: c})
			ended <- err
		}()
		return ended
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := sweep(ctx)
	await.AwaitCondition(t, "20 runs that are handed out", func() bool {
		all, _ := filepath.Glob(filepath.Join(w.out, folder, "runs", ".new-*"))
		return len(all) == 20
	})
	w.until("/results/"+folder, "small", "running", "0 of 20 runs kept; 20 runs queued or running now",
		"Started by weir run small.yaml --workers", "Workers now", "still running: 0 runs returned")
	w.until("/results", folder, "0 not finished")
	w.holdRuns()
	end := w.worker("guest", 0)
	w.gate <- struct{}{} // one run
	w.until("/results/"+folder, "finished in the last minute", "running", "guest", "still running")
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	end()
	w.until("/results/"+folder, "returned by workers", "interrupted", "guest", "missing")
	ended = sweep(t.Context())
	w.until("/results/"+folder, "More runs are being executed", "of 20 runs kept", "Workers now")
	w.worker("again", 0)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	w.until("/results/"+folder, "20 runs", "interrupted", "guest", "again")
}
