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

// Server serves the page. It implements http.Handler and live.Server.
type Server struct {
	options live.Options
	access
	mux        *http.ServeMux
	jobs       *live.Manager
	index      *index
	docs       *docSet
	pages      map[string]*template.Template
	library    func() []catalogueEntry
	opened     openedResults
	streams    chan struct{} // one element for each open event stream
	speedMutex sync.Mutex
	maxSpeed   float64 // maximum of the measured speeds of this machine
}

// New returns a server with a new token and starts its queue of jobs. It starts reading the list of results. It returns
// an error if the documentation or a template cannot be read. The caller calls Close.
func New(o live.Options) (*Server, error) {
	if o.Speed == nil {
		o.Speed = plan.MachineSpeed
	}
	s := &Server{options: o, access: access{rand.Text(), rand.Text(), o.Hosts}, mux: http.NewServeMux(),
		streams: make(chan struct{}, maxStreams)}
	s.library = sync.OnceValue(func() []catalogueEntry { return listLibrary(o.Registry) })
	s.index = newIndex(o.ResultsDir)
	var err error
	if s.docs, err = newDocs(o.Docs); err != nil {
		return nil, err
	}
	if s.pages, err = parsePages(); err != nil {
		return nil, err
	}
	s.jobs = live.New(live.Config{Dir: o.ResultsDir, Executable: o.Executable, Jobs: o.Jobs, Report: o.Report,
		Runner: o.Runner})
	s.addRoutes()
	go func() { // so that the first request need not wait
		if list, _, err := s.index.listFolders(); err == nil {
			s.readRows(list[:min(len(list), rowsPerPage)])
		}
	}()
	return s, nil
}

// Close stops the job in progress and keeps finished runs.
func (s *Server) Close() { s.jobs.Close() }

// Serve answers the connections of a listener until ctx ends. It then closes the listener, and gives requests in flight
// a second to end.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	server := webserver.New(s)
	server.BaseContext = func(net.Listener) context.Context { return ctx }
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(webserver.LimitConnections(l, webserver.MaxConnections)) }()
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

// addRoutes registers the handlers. Only POST requests change something.
func (s *Server) addRoutes() {
	for pattern, f := range map[string]func(http.ResponseWriter, *http.Request) error{
		"GET /{$}":                               s.serveCatalogue,
		"GET /":                                  s.serveNotFound,
		"GET /experiments/{room}/{name}":         s.serveExperiment,
		"GET /experiments/{room}/{name}/yaml":    s.serveExperimentFile,
		"GET /experiments/{room}/{name}/network": s.serveExperimentNetwork,
		"POST /experiments/{room}/{name}/run":    s.startRun,
		"GET /schemes":                           s.serveSchemes,
		"GET /jobs":                              s.serveJobList,
		"GET /jobs/{job}":                        s.serveJob,
		"POST /jobs/{job}/stop":                  s.stopJob,
		"GET /jobs/{job}/events":                 s.serveEvents,
		"GET /jobs/{job}/runs/{run}":             s.serveFilm,
		"GET /jobs/{job}/runs/{run}/network":     s.serveFilmNetwork,
		"GET /jobs/{job}/runs/{run}/frames":      s.serveFrames,
		"GET /results":                           s.serveResults,
		"GET /results/{folder}":                  s.serveResult,
		"GET /results/{folder}/report":           s.serveReport,
		"GET /results/{folder}/plots/{file}":     s.servePlot,
		"GET /results/{folder}/runs/{run}":       s.serveRun,
		"GET /results/{folder}/runs/{run}/data":  s.serveRunData,
		"POST /results/{folder}/runs/{run}/show": s.watchAgain,
		"GET /compare":                           s.serveComparison,
		"GET /traces":                            s.serveTraces,
		"GET /docs":                              s.serveDocList,
		"GET /docs/{page...}":                    s.serveDocPage,
		"GET /static/{edition}/{file}":           s.serveStatic,
	} {
		s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := f(w, r); err != nil {
				s.showError(w, r, err)
			}
		})
	}
	s.mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, r *http.Request) {
		http.ServeFileFS(w, r, static, "static/icon.svg") // for reports and figures, which do not name it
	})
}

// pagePolicy is the Content-Security-Policy of pages: they load embedded files and connect to this server.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src " +
	"'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// ServeHTTP answers requests that have the token or its cookie, use a known name of this server, and come from its
// own pages if they change something.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin") // with no-referrer browsers send Origin: null, also to their own site
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	switch {
	case !s.isKnownHost(r.Host):
		closeAfter(w)
		http.Error(w, "This server does not accept that host name. Use the address that weir serve printed, or start weir "+
			"serve with --host.", http.StatusMisdirectedRequest)
	case !s.isSameSite(r):
		closeAfter(w)
		http.Error(w, "The request came from a page of another site and is refused.", http.StatusForbidden)
	case s.hasToken(r) || s.hasCookie(r):
		s.mux.ServeHTTP(w, r)
	case r.Method == http.MethodGet && r.URL.Path == "/" && equalSecrets(r.URL.Query().Get("token"), s.token):
		s.grantAccess(w, r)
	default:
		closeAfter(w)
		h.Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(http.StatusUnauthorized)
		s.showBare(w, "locked")
	}
}

// closeAfter closes the connection of a refused request after the response, without waiting for the rest of the
// request's body.
func closeAfter(w http.ResponseWriter) {
	w.Header().Set("Connection", "close")
	http.NewResponseController(w).SetReadDeadline(time.Now()) // a recorder of tests has no connection
}

// grantAccess gives a browser the cookie in exchange for the token. The page that it shows continues at an address
// without the token.
func (s *Server) grantAccess(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, &http.Cookie{Name: s.cookieName(r), Value: s.session, Path: "/", HttpOnly: true,
		SameSite: http.SameSiteStrictMode})
	s.showBare(w, "enter")
}

// serveNotFound returns a not-found error; a method error for a GET to an address that only accepts POST.
func (s *Server) serveNotFound(w http.ResponseWriter, r *http.Request) error {
	other := r.Clone(r.Context())
	other.Method = http.MethodPost
	if _, pattern := s.mux.Handler(other); strings.HasPrefix(pattern, "POST ") {
		w.Header().Set("Allow", http.MethodPost)
		return httpError{http.StatusMethodNotAllowed, "This action needs a form of the page; use its buttons."}
	}
	return notFound("The page does not exist.")
}

// showBare writes a page without the common frame.
func (s *Server) showBare(w http.ResponseWriter, page string) {
	s.pages[page].ExecuteTemplate(w, page+".tmpl", nil) // the page has no data; a write error means a disconnected browser
}

// httpError is an error with its HTTP status and a text for the user.
type httpError struct {
	status int
	text   string
}

func (f httpError) Error() string { return f.text }

// notFound returns an error with status 404.
func notFound(text string) error { return httpError{http.StatusNotFound, text} }

// wrongInput returns an error with status 400.
func wrongInput(text string) error { return httpError{http.StatusBadRequest, text} }

// showError shows an error as a page or as plain text, as the browser accepts it. An error that is not an httpError has
// status 500. It sends no response if the request's context has ended.
func (s *Server) showError(w http.ResponseWriter, r *http.Request, err error) {
	f := httpError{http.StatusInternalServerError, err.Error()}
	if errors.As(err, &f); r.Context().Err() != nil {
		return
	}
	if strings.Contains(r.Header.Get("Accept"), "text/html") {
		s.showPage(w, r, "error", f.status, "", map[string]any{"Status": f.status, "Text": s.hidePaths(f.text)})
		return
	}
	http.Error(w, s.hidePaths(f.text), f.status)
}

// hidePaths removes the results' path from a message: the page names results by their folders.
func (s *Server) hidePaths(text string) string {
	return strings.ReplaceAll(text, strings.TrimSuffix(s.options.ResultsDir, "/")+"/", "")
}
