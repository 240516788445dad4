package page

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"weir/internal/text"
	"weir/study/measure"
	"weir/study/page/live"
	"weir/study/plan"
)

// findJob returns the job that a request names, or a not-found error.
func (s *Server) findJob(r *http.Request) (*live.Job, error) {
	id, err := strconv.Atoi(r.PathValue("job"))
	if err == nil {
		if j := s.jobs.Job(id); j != nil {
			return j, nil
		}
	}
	return nil, notFound("The job does not exist. The server forgets its jobs when it stops; results are kept.")
}

// jobRow is a job in the list.
type jobRow struct {
	*live.Job
	Status live.Status
}

// serveJobList shows all jobs.
func (s *Server) serveJobList(w http.ResponseWriter, r *http.Request) error {
	var list []jobRow
	for _, j := range s.jobs.Jobs() {
		list = append(list, jobRow{j, j.Status()})
	}
	return s.showPage(w, r, "jobs", http.StatusOK, "Runs", map[string]any{"Jobs": list, "Join": s.options.Join})
}

// jobNews is the state of a job as its page shows it. The server sends it to the page while the job runs.
type jobNews struct {
	State   live.JobState       `json:"state"`
	Share   float64             `json:"share"`
	Line    string              `json:"line"`
	Runs    []runNews           `json:"runs"`
	Notices []string            `json:"notices"`
	Workers *live.WorkersStatus `json:"workers"`
	Queue   string              `json:"queue"` // state of the workers' queue as text
	Error   string              `json:"error"`
	Folder  string              `json:"folder"` // folder of the results, when they exist
	Over    bool                `json:"over"`
	Films   map[int]bool        `json:"films"`
	// number of the run to watch: in progress, or the latest one; −1: none has a film
	Watch int `json:"watch"`
}

// runNews is the state of a run that has begun.
type runNews struct {
	Number int     `json:"n"`
	State  string  `json:"state"`
	Share  float64 `json:"share"`
	Text   string  `json:"text"`
}

// describeJob returns the current state of a job, without paths of this machine. It lists only runs that have begun.
func (s *Server) describeJob(j *live.Job) jobNews {
	x := j.Status()
	t := jobNews{State: x.State, Share: x.Far.Share, Notices: x.Notices, Workers: x.Workers, Error: s.hidePaths(x.Error),
		Over: x.State.Over(), Films: map[int]bool{}, Watch: -1}
	if x.Workers != nil {
		if t.Queue = queueText(x.Workers); t.Over {
			t.Queue = "Final state: " + t.Queue
		}
	} else if j.Elsewhere {
		t.Queue = "No run has been sent to a worker yet."
	}
	if t.Notices == nil {
		t.Notices = []string{}
	}
	for i, n := range t.Notices {
		t.Notices[i] = s.hidePaths(n)
	}
	going := map[int]live.RunProgress{}
	for _, g := range x.Going {
		going[g.Number] = g
	}
	runs := j.Runs()
	for i, state := range x.RunStates {
		if state == live.RunWaiting {
			continue
		}
		run := runNews{Number: runs[i].Number, State: string(state)}
		if g, is := going[runs[i].Number]; is {
			if run.Share, run.Text = g.Share, measure.FormatQuantity(g.Seconds, "s"); g.Seconds == 0 {
				run.Text = fmt.Sprintf("%.0f %%", 100*g.Share)
			}
		}
		t.Runs = append(t.Runs, run)
	}
	for _, n := range x.HasFilms {
		t.Films[n] = true
		if t.Watch < 0 || going[t.Watch].Seconds == 0 || going[n].Seconds > 0 {
			t.Watch = n
		}
	}
	if x.Outcome != nil && x.Outcome.Dir != "" {
		t.Folder = filepath.Base(x.Outcome.Dir)
	}
	t.Line = jobText(j, x)
	if t.Over && x.State == live.Done {
		t.Share = 1
	}
	if j.Single != nil && len(x.Going) > 0 {
		t.Share = x.Going[0].Share
	}
	return t
}

// jobText returns a description of the job's state.
func jobText(j *live.Job, x live.Status) string {
	all := len(j.Runs())
	switch x.State {
	case live.Waiting:
		return "Waiting for earlier jobs."
	case live.Running:
		text := fmt.Sprintf("%d of %s done", x.Far.Done, text.Count(max(x.Far.Runs, all), "run"))
		if j.Single != nil {
			text = "one run; only this film of it is kept"
		}
		if x.Far.PacketHops > 0 {
			took := time.Since(x.Begun).Seconds()
			text += fmt.Sprintf(", %s packet-hops, %s per second", measure.FormatSI(float64(x.Far.PacketHops)),
				measure.FormatSI(float64(x.Far.PacketHops)/max(took, 1e-3)))
			if left := took * (1 - x.Far.Share) / max(x.Far.Share, 1e-9); x.Far.Share > 0.02 {
				text += ", about " + (time.Duration(left * 1e9)).Round(time.Second).String() + " left"
			}
		}
		return text
	}
	text := string(x.State)
	if !x.Begun.IsZero() {
		text += fmt.Sprintf(" after %.3g s", x.Ended.Sub(x.Begun).Seconds())
	}
	if x.Outcome != nil {
		text += ": " + x.Outcome.DescribeKept()
	}
	return text
}

// queueText returns a description of the workers' queue.
func queueText(w *live.WorkersStatus) string {
	line := fmt.Sprintf("%d queued or running, %d done, %d failed", w.Queued, w.Done, w.Failed)
	for _, x := range []struct {
		n    int
		what string
	}{{w.Checked, "repeated and compared"}, {w.Lost, "lost with a worker and sent to another"},
		{w.Aside, text.Plural(w.Aside, "worker") + " excluded for wrong results"}} {
		if x.n > 0 {
			line += fmt.Sprintf("; %d %s", x.n, x.what)
		}
	}
	if w.Waiting != "" {
		line += ". All runs wait: " + w.Waiting
	}
	return line
}

// serveJob shows a job with its runs.
func (s *Server) serveJob(w http.ResponseWriter, r *http.Request) error {
	j, err := s.findJob(r)
	if err != nil {
		return err
	}
	type row struct {
		*plan.Run
		Name  string
		State live.RunState
	}
	var rows []row
	status := j.Status()
	for i, x := range j.Runs() {
		rows = append(rows, row{x, measure.PointName(x.Point), status.RunStates[i]})
	}
	const most = 2000
	more := len(rows) - most
	return s.showPage(w, r, "job", http.StatusOK, j.Spec.Title(), map[string]any{"Job": j, "Told": s.describeJob(j),
		"Rows": rows[:min(len(rows), most)], "More": more, "Join": s.options.Join, "NoFilm": noFilmText})
}

// stopJob stops a job and redirects to its page.
func (s *Server) stopJob(w http.ResponseWriter, r *http.Request) error {
	j, err := s.findJob(r)
	if err != nil {
		return err
	}
	j.Stop()
	http.Redirect(w, r, fmt.Sprintf("/jobs/%d", j.ID), http.StatusSeeOther)
	return nil
}

// minNewsWait and maxNewsWait bound the time between two news of a job. With a film the page gets news every
// minNewsWait.
const (
	maxNewsWait = 10 * time.Second
	minNewsWait = 250 * time.Millisecond
)

// maxStreams limits the number of open event streams, and streamTimeout the time in which a client must accept an
// event.
const (
	maxStreams    = 64
	streamTimeout = 10 * time.Second
)

// serveEvents sends news of a job as server-sent events until the job ends. With film=N it also sends the new frames of
// run N. News have only runs that changed or are in progress. Beyond maxStreams it returns status 503.
func (s *Server) serveEvents(w http.ResponseWriter, r *http.Request) error {
	j, err := s.findJob(r)
	if err != nil {
		return err
	}
	h := w.Header()
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		h.Set("Retry-After", "10")
		return httpError{http.StatusServiceUnavailable, fmt.Sprintf("%d pages follow jobs, which is the maximum; close "+
			"some of them.", maxStreams)}
	}
	h.Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	defer control.SetWriteDeadline(time.Time{}) // the next request may use the connection
	number, filmed := -1, false
	if text := r.URL.Query().Get("film"); text != "" {
		if number, err = strconv.Atoi(text); err != nil {
			return wrongInput("film must be the number of a run")
		}
		filmed = true
	}
	send := func(event string, v any) error {
		data, err := json.Marshal(v)
		if err != nil {
			return err
		}
		control.SetWriteDeadline(time.Now().Add(streamTimeout)) // fails with the recorders of tests
		if _, err := fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event, data); err != nil {
			return err
		}
		return control.Flush()
	}
	epoch, from, ended := -1, 0, !filmed
	known := map[int]string{} // state of each run that the page has received
	for {
		changed := j.Changed()
		t := s.describeJob(j)
		t.Runs = slices.DeleteFunc(t.Runs, func(r runNews) bool {
			old := known[r.Number] == r.State && r.State != string(live.RunGoing)
			known[r.Number] = r.State
			return old
		})
		if err := send("job", t); err != nil {
			return nil // the browser has disconnected
		}
		if !ended {
			if film, is := j.Film(number, epoch, from); is {
				if len(film.Frames) > 0 || film.Ended {
					if send("film", film) != nil {
						return nil
					}
				}
				epoch, from, ended = film.Epoch, film.From+len(film.Frames), film.Ended
			}
		}
		if t.Over {
			send("over", t.State)
			return nil
		}
		wait := maxNewsWait
		if filmed && !ended {
			wait = minNewsWait
			changed = nil
		}
		select {
		case <-r.Context().Done():
			return nil
		case <-changed:
		case <-time.After(wait):
		}
		select { // limit the rate
		case <-r.Context().Done():
			return nil
		case <-time.After(minNewsWait):
		}
	}
}

// noFilmText explains why runs of workers have no film.
const noFilmText = "Workers execute the runs of this job. They send results and progress but no frames, so there is " +
	"no film. The page of a finished run (in the results) can repeat it on this machine to show it."

// hasResult reports whether the results include a run.
func (t *jobNews) hasResult(j *live.Job, run *plan.Run) bool {
	each := j.Status().RunStates
	i := slices.IndexFunc(j.Runs(), func(x *plan.Run) bool { return x == run })
	return j.Single == nil && i >= 0 && (each[i] == live.RunFinished || each[i] == live.RunExisting)
}

// findFilm returns the job and run that a request names, or a not-found error. The run need not have a film.
func (s *Server) findFilm(r *http.Request) (*live.Job, *plan.Run, error) {
	j, err := s.findJob(r)
	if err != nil {
		return nil, nil, err
	}
	n, err := strconv.Atoi(r.PathValue("run"))
	runs := j.Runs()
	i := slices.IndexFunc(runs, func(x *plan.Run) bool { return x.Number == n })
	if err != nil || i < 0 {
		return nil, nil, notFound("The job does not contain this run.")
	}
	return j, runs[i], nil
}

// serveFilm shows the film of a run, or why there is no film.
func (s *Server) serveFilm(w http.ResponseWriter, r *http.Request) error {
	j, run, err := s.findFilm(r)
	if err != nil {
		return err
	}
	news := s.describeJob(j)
	data := map[string]any{"Job": j, "Run": run, "Name": measure.PointName(run.Point), "Told": news}
	switch {
	case news.Films[run.Number]:
	case j.Elsewhere:
		data["None"] = noFilmText
	case news.Over:
		data["None"] = "There is no film of this run. The server keeps films of the last runs of a job, but not of runs " +
			"that were reused."
	}
	if data["None"] != nil && news.Folder != "" && news.hasResult(j, run) {
		data["Kept"] = fmt.Sprintf("/results/%s/runs/%s", url.PathEscape(news.Folder), run.ID(s.options.Executable))
	}
	return s.showPage(w, r, "film", http.StatusOK, j.Spec.Title(), data)
}

// serveFilmNetwork sends the network of a run as JSON.
func (s *Server) serveFilmNetwork(w http.ResponseWriter, r *http.Request) error {
	_, run, err := s.findFilm(r)
	if err != nil {
		return err
	}
	return writeJSON(w, drawNetwork(run.SpecPoint))
}

// serveFrames sends all frames of a run's film as JSON.
func (s *Server) serveFrames(w http.ResponseWriter, r *http.Request) error {
	j, run, err := s.findFilm(r)
	if err != nil {
		return err
	}
	film, is := j.Film(run.Number, -1, 0)
	if !is {
		return notFound("There is no film of this run. The server keeps films of the last runs of a job.")
	}
	return writeJSON(w, film)
}
