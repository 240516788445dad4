package page

import (
	"context"
	"crypto/rand"
	"errors"
	"html/template"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"weir/internal/webserver"
	"weir/study/page/live"
	"weir/study/plan"
)

// Server is the page.
type Server struct {
	options live.Options
	access
	mux     *http.ServeMux
	jobs    *live.Manager
	index   *index
	docs    *docs
	pages   map[string]*template.Template
	library func() []catalogued
	opened  opened
	streams chan struct{} // streams of events that are open
	speeds  sync.Mutex
	fastest float64 // the best speed of this machine so far
}

// New makes a server, with a token of its own.
func New(o live.Options) (*Server, error) {
	if o.Speed == nil {
		o.Speed = plan.MachineSpeed
	}
	s := &Server{options: o, access: access{rand.Text(), rand.Text(), o.Hosts}, mux: http.NewServeMux(),
		streams: make(chan struct{}, maxStreams)}
	s.library = sync.OnceValue(func() []catalogued { return libraryOf(o.Registry) })
	s.jobs = live.New(live.Config{Dir: o.Out, Executable: o.Executable, Jobs: o.Jobs, Report: o.Report, Runner: o.Runner})
	s.index = newIndex(o.Out)
	var err error
	if s.docs, err = newDocs(o.Docs); err != nil {
		return nil, err
	}
	if s.pages, err = parsePages(); err != nil {
		return nil, err
	}
	s.routes()
	go func() { // so that the first who asks need not wait
		if list, _, err := s.index.list(); err == nil {
			s.rows(list[:min(len(list), mostListed)])
		}
	}()
	return s, nil
}

// Close stops what is under way, and keeps what is finished.
func (s *Server) Close() { s.jobs.Close() }

// Serve answers the connections of a listener until ctx ends.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	server := webserver.New(s)
	server.BaseContext = func(net.Listener) context.Context { return ctx }
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(webserver.Limit(l, webserver.MaxConnections)) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	short, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := server.Shutdown(short); errors.Is(err, context.DeadlineExceeded) {
		return server.Close()
	}
	return nil
}

// routes are all that can be asked for. What changes something is a POST, and nothing else is.
func (s *Server) routes() {
	for pattern, f := range map[string]func(http.ResponseWriter, *http.Request) error{
		"GET /{$}":                               s.catalogue,
		"GET /":                                  s.nothing,
		"GET /experiments/{room}/{name}":         s.experiment,
		"GET /experiments/{room}/{name}/yaml":    s.experimentFile,
		"GET /experiments/{room}/{name}/network": s.experimentNetwork,
		"POST /experiments/{room}/{name}/run":    s.start,
		"GET /schemes":                           s.schemes,
		"GET /jobs":                              s.jobList,
		"GET /jobs/{job}":                        s.job,
		"POST /jobs/{job}/stop":                  s.stop,
		"GET /jobs/{job}/events":                 s.events,
		"GET /jobs/{job}/runs/{run}":             s.film,
		"GET /jobs/{job}/runs/{run}/network":     s.filmNetwork,
		"GET /jobs/{job}/runs/{run}/frames":      s.frames,
		"GET /results":                           s.results,
		"GET /results/{folder}":                  s.result,
		"GET /results/{folder}/report":           s.reportFile,
		"GET /results/{folder}/plots/{file}":     s.plotFile,
		"GET /results/{folder}/runs/{run}":       s.oneRun,
		"GET /results/{folder}/runs/{run}/data":  s.oneRunData,
		"POST /results/{folder}/runs/{run}/show": s.again,
		"GET /compare":                           s.compare,
		"GET /traces":                            s.traces,
		"GET /docs":                              s.docList,
		"GET /docs/{page...}":                    s.docPage,
		"GET /static/{edition}/{file}":           s.staticFile,
	} {
		s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := f(w, r); err != nil {
				s.fail(w, r, err)
			}
		})
	}
	s.mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, r *http.Request) {
		http.ServeFileFS(w, r, static, "static/icon.svg") // of reports and figures, which do not name it
	})
}

// policy is what pages may do: load what this server has embedded, and talk to it.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// ServeHTTP lets in who has the token, asks for this server by a name that is its own, and, to change something, comes
// from one of its pages.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin") // with no-referrer browsers say Origin: null, also to their own site
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	switch {
	case !s.isKnownHost(r.Host):
		closeAfter(w)
		http.Error(w, "This server is not asked for by that name. Use the address that weir serve has printed, or start it "+
			"with --host.", http.StatusMisdirectedRequest)
	case !s.isSameSite(r):
		closeAfter(w)
		http.Error(w, "A page of another site has asked for this.", http.StatusForbidden)
	case s.hasToken(r) || s.hasCookie(r):
		s.mux.ServeHTTP(w, r)
	case r.Method == http.MethodGet && r.URL.Path == "/" && equal(r.URL.Query().Get("token"), s.token):
		s.letIn(w, r)
	default:
		closeAfter(w)
		h.Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(http.StatusUnauthorized)
		s.writeBarePage(w, "locked")
	}
}

// closeAfter has the connection of a refused request end with the response, without waiting for the rest of its body.
func closeAfter(w http.ResponseWriter) {
	w.Header().Set("Connection", "close")
	http.NewResponseController(w).SetReadDeadline(time.Now()) // a recorder of tests has no connection
}

// letIn gives a browser the cookie for the token, and takes the token out of its address.
func (s *Server) letIn(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, &http.Cookie{Name: s.cookieName(r), Value: s.session, Path: "/", HttpOnly: true,
		SameSite: http.SameSiteStrictMode})
	s.writeBarePage(w, "enter")
}

// nothing is there for a GET; what is a POST's is another method's.
func (s *Server) nothing(w http.ResponseWriter, r *http.Request) error {
	other := r.Clone(r.Context())
	other.Method = http.MethodPost
	if _, pattern := s.mux.Handler(other); strings.HasPrefix(pattern, "POST ") {
		w.Header().Set("Allow", http.MethodPost)
		return failure{http.StatusMethodNotAllowed, "This changes something, and is for the forms of the page."}
	}
	return missing("There is no such page.")
}

// writeBarePage writes a page without the header and footer of the others.
func (s *Server) writeBarePage(w http.ResponseWriter, page string) {
	s.pages[page].ExecuteTemplate(w, page+".tmpl", nil) // it has no data, and the browser may have gone
}

// failure is an error with its status, for people.
type failure struct {
	status int
	text   string
}

func (f failure) Error() string { return f.text }

func missing(text string) error { return failure{http.StatusNotFound, text} }

func wrongInput(text string) error { return failure{http.StatusBadRequest, text} }

// fail shows an error.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	f := failure{http.StatusInternalServerError, err.Error()}
	if errors.As(err, &f); r.Context().Err() != nil {
		return
	}
	if strings.Contains(r.Header.Get("Accept"), "text/html") {
		s.show(w, r, "error", f.status, "", map[string]any{"Status": f.status, "Text": s.clean(f.text)})
		return
	}
	http.Error(w, s.clean(f.text), f.status)
}

// clean is a message without this machine's paths: results are named by their folders.
func (s *Server) clean(text string) string {
	return strings.ReplaceAll(text, strings.TrimSuffix(s.options.Out, "/")+"/", "")
}
