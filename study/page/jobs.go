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

// job finds the job that a request names.
func (s *Server) named(r *http.Request) (*live.Job, error) {
	id, err := strconv.Atoi(r.PathValue("job"))
	if err == nil {
		if j := s.jobs.Job(id); j != nil {
			return j, nil
		}
	}
	return nil, missing("There is no such job. Jobs are forgotten when the server ends; results are kept.")
}

// jobRow is a job in the list.
type jobRow struct {
	*live.Job
	Status live.Status
}

func (s *Server) jobList(w http.ResponseWriter, r *http.Request) error {
	var list []jobRow
	for _, j := range s.jobs.Jobs() {
		list = append(list, jobRow{j, j.Status()})
	}
	return s.show(w, r, "jobs", http.StatusOK, "Runs", map[string]any{"Jobs": list, "Join": s.options.Join})
}

// told is a job as its page shows it, which is told of it as long as it goes on.
type told struct {
	State   live.JobState `json:"state"`
	Share   float64       `json:"share"`
	Line    string        `json:"line"`
	Runs    []toldRun     `json:"runs"`
	Notices []string      `json:"notices"`
	Workers *live.Sweep   `json:"workers"`
	Queue   string        `json:"queue"` // of workers, in words
	Error   string        `json:"error"`
	Folder  string        `json:"folder"` // of the results, when they are there
	Over    bool          `json:"over"`
	Films   map[int]bool  `json:"films"`
	Watch   int           `json:"watch"` // number of a run that goes on, or has gone on last; −1: none
}

// toldRun is a run of it that has begun.
type toldRun struct {
	Number int     `json:"n"`
	State  string  `json:"state"`
	Share  float64 `json:"share"`
	Text   string  `json:"text"`
}

// tell is a job as it is.
func (s *Server) tell(j *live.Job) told {
	x := j.Status()
	t := told{State: x.State, Share: x.Far.Share, Notices: x.Notices, Workers: x.Workers, Error: s.clean(x.Error),
		Over: x.State.Over(), Films: map[int]bool{}, Watch: -1}
	if x.Workers != nil {
		if t.Queue = queueLine(x.Workers); t.Over {
			t.Queue = "At the end: " + t.Queue
		}
	} else if j.Elsewhere {
		t.Queue = "Nothing has been handed out yet."
	}
	if t.Notices == nil {
		t.Notices = []string{}
	}
	for i, n := range t.Notices {
		t.Notices[i] = s.clean(n)
	}
	going := map[int]live.Going{}
	for _, g := range x.Going {
		going[g.Number] = g
	}
	runs := j.Runs()
	for i, state := range x.Each {
		if state == live.RunWaiting {
			continue
		}
		run := toldRun{Number: runs[i].Number, State: string(state)}
		if g, is := going[runs[i].Number]; is {
			if run.Share, run.Text = g.Share, measure.Quantity(g.Seconds, "s"); g.Seconds == 0 {
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
	t.Line = line(j, x)
	if t.Over && x.State == live.Done {
		t.Share = 1
	}
	if j.Single != nil && len(x.Going) > 0 {
		t.Share = x.Going[0].Share
	}
	return t
}

// line says how a job is, for people.
func line(j *live.Job, x live.Status) string {
	all := len(j.Runs())
	switch x.State {
	case live.Waiting:
		return "It waits for its turn."
	case live.Running:
		text := fmt.Sprintf("%d of %s done", x.Far.Done, text.Count(max(x.Far.Runs, all), "run"))
		if j.Single != nil {
			text = "one run, of which only this film is kept"
		}
		if x.Far.PacketHops > 0 {
			took := time.Since(x.Begun).Seconds()
			text += fmt.Sprintf(", %s packet-hops, %s a second", measure.SI(float64(x.Far.PacketHops)),
				measure.SI(float64(x.Far.PacketHops)/max(took, 1e-3)))
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
		text += ": " + x.Outcome.Kept()
	}
	return text
}

// queueLine says how a sweep is.
func queueLine(w *live.Sweep) string {
	line := fmt.Sprintf("%d queued or under way, %d done, %d failed", w.Queued, w.Done, w.Failed)
	for _, x := range []struct {
		n    int
		what string
	}{{w.Checked, "made twice and compared"}, {w.Lost, "lost with a worker, and handed out again"},
		{w.Aside, text.Plural(w.Aside, "worker") + " set aside for wrong results"}} {
		if x.n > 0 {
			line += fmt.Sprintf("; %d %s", x.n, x.what)
		}
	}
	if w.Waiting != "" {
		line += ". It waits: " + w.Waiting
	}
	return line
}

func (s *Server) job(w http.ResponseWriter, r *http.Request) error {
	j, err := s.named(r)
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
		rows = append(rows, row{x, measure.PointName(x.Point), status.Each[i]})
	}
	const most = 2000
	more := len(rows) - most
	return s.show(w, r, "job", http.StatusOK, j.Spec.Title(), map[string]any{"Job": j, "Told": s.tell(j),
		"Rows": rows[:min(len(rows), most)], "More": more, "Join": s.options.Join, "NoFilm": noFilm})
}

func (s *Server) stop(w http.ResponseWriter, r *http.Request) error {
	j, err := s.named(r)
	if err != nil {
		return err
	}
	j.Stop()
	http.Redirect(w, r, fmt.Sprintf("/jobs/%d", j.ID), http.StatusSeeOther)
	return nil
}

// often is how long a page waits for news at most, and at least.
const (
	seldom = 10 * time.Second
	often  = 250 * time.Millisecond
)

// maxStreams limits the streams of events that are open at a time, and streamTimeout the time in which a reader takes
// one event.
const (
	maxStreams    = 64
	streamTimeout = 10 * time.Second
)

// events are news of a job as server-sent events, until it is over. With film=N also the frames of run N, as they come.
func (s *Server) events(w http.ResponseWriter, r *http.Request) error {
	j, err := s.named(r)
	if err != nil {
		return err
	}
	h := w.Header()
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		h.Set("Retry-After", "10")
		return failure{http.StatusServiceUnavailable, fmt.Sprintf("%d pages follow jobs, which is the limit; close some of "+
			"them.", maxStreams)}
	}
	h.Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	defer control.SetWriteDeadline(time.Time{}) // of the connection, which the next request may use
	number, filmed := -1, false
	if text := r.URL.Query().Get("film"); text != "" {
		if number, err = strconv.Atoi(text); err != nil {
			return wrongInput("film is the number of a run")
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
	known := map[int]string{} // what the page has been told of runs
	for {
		changed := j.Changed()
		t := s.tell(j)
		t.Runs = slices.DeleteFunc(t.Runs, func(r toldRun) bool {
			old := known[r.Number] == r.State && r.State != string(live.RunGoing)
			known[r.Number] = r.State
			return old
		})
		if err := send("job", t); err != nil {
			return nil // the browser has gone
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
		wait := seldom
		if filmed && !ended {
			wait = often
			changed = nil
		}
		select {
		case <-r.Context().Done():
			return nil
		case <-changed:
		case <-time.After(wait):
		}
		select { // no more often than a reader can see
		case <-r.Context().Done():
			return nil
		case <-time.After(often):
		}
	}
}

// noFilm is why runs that workers carry out have none.
const noFilm = "Workers carry out the runs of this job. They send results and how far they are, and no pictures, so " +
	"that there is no film. The page of a finished run, among the results, carries it out again here, to be watched."

// kept reports whether a run is among the results.
func (t *told) kept(j *live.Job, run *plan.Run) bool {
	each := j.Status().Each
	i := slices.IndexFunc(j.Runs(), func(x *plan.Run) bool { return x == run })
	return j.Single == nil && i >= 0 && (each[i] == live.RunFinished || each[i] == live.RunThere)
}

// filmed finds a run of a job that there is, or will be, a film of.
func (s *Server) filmed(r *http.Request) (*live.Job, *plan.Run, error) {
	j, err := s.named(r)
	if err != nil {
		return nil, nil, err
	}
	n, err := strconv.Atoi(r.PathValue("run"))
	runs := j.Runs()
	i := slices.IndexFunc(runs, func(x *plan.Run) bool { return x.Number == n })
	if err != nil || i < 0 {
		return nil, nil, missing("The job has no such run.")
	}
	return j, runs[i], nil
}

func (s *Server) film(w http.ResponseWriter, r *http.Request) error {
	j, run, err := s.filmed(r)
	if err != nil {
		return err
	}
	told := s.tell(j)
	data := map[string]any{"Job": j, "Run": run, "Name": measure.PointName(run.Point), "Told": told}
	switch {
	case told.Films[run.Number]:
	case j.Elsewhere:
		data["None"] = noFilm
	case told.Over:
		data["None"] = "There is no film of this run. Films are kept of the last runs of a job, and of runs that were " +
			"carried out for it: not of those that were there already."
	}
	if data["None"] != nil && told.Folder != "" && told.kept(j, run) {
		data["Kept"] = fmt.Sprintf("/results/%s/runs/%s", url.PathEscape(told.Folder), run.ID(s.options.Executable))
	}
	return s.show(w, r, "film", http.StatusOK, j.Spec.Title(), data)
}

func (s *Server) filmNetwork(w http.ResponseWriter, r *http.Request) error {
	_, run, err := s.filmed(r)
	if err != nil {
		return err
	}
	return writeJSON(w, draw(run.Of))
}

func (s *Server) frames(w http.ResponseWriter, r *http.Request) error {
	j, run, err := s.filmed(r)
	if err != nil {
		return err
	}
	film, is := j.Film(run.Number, -1, 0)
	if !is {
		return missing("There is no film of this run: films are kept of the last runs of a job.")
	}
	return writeJSON(w, film)
}
