package page

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"html/template"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
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
	token   string
	session string // the value of the cookie, which is not the token
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
	s := &Server{options: o, token: rand.Text(), session: rand.Text(), mux: http.NewServeMux(),
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

// Token lets in who has it.
func (s *Server) Token() string { return s.token }

// Address is what a browser opens, of a server that listens there.
func (s *Server) Address(listens net.Addr) string {
	return "http://" + listens.String() + "/?token=" + s.token
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
	case !s.known(r.Host):
		closeAfter(w)
		http.Error(w, "This server is not asked for by that name. Use the address that weir serve has printed, or start it "+
			"with --host.", http.StatusMisdirectedRequest)
	case !s.sameSite(r):
		closeAfter(w)
		http.Error(w, "A page of another site has asked for this.", http.StatusForbidden)
	case s.bearer(r) || s.cookie(r):
		s.mux.ServeHTTP(w, r)
	case r.Method == http.MethodGet && r.URL.Path == "/" && s.is(r.URL.Query().Get("token"), s.token):
		s.letIn(w, r)
	default:
		closeAfter(w)
		h.Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(http.StatusUnauthorized)
		s.alone(w, "locked")
	}
}

// closeAfter has the connection of a refused request end with the response, without waiting for the rest of its body.
func closeAfter(w http.ResponseWriter) {
	w.Header().Set("Connection", "close")
	http.NewResponseController(w).SetReadDeadline(time.Now()) // a recorder of tests has no connection
}

// known reports whether the host of a request is a name of this server: an address, which no other site's name can be
// made to be, or a name that is ours. Ports may differ, as behind ssh -L.
func (s *Server) known(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	own, _ := os.Hostname()
	return name == "localhost" || name != "" && name == strings.ToLower(own) ||
		slices.ContainsFunc(s.options.Hosts, func(h string) bool { return strings.EqualFold(h, name) })
}

// sameSite reports whether a request comes from this server's own pages, or from nobody's. A change has to say so.
func (s *Server) sameSite(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	changes := r.Method != http.MethodGet && r.Method != http.MethodHead
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		return err == nil && u.Scheme == "http" && u.Host == r.Host
	}
	if !changes {
		return site == "" || site == "same-origin" || site == "none" || r.Header.Get("Sec-Fetch-Mode") == "navigate"
	}
	return site == "same-origin" || site == "" && s.bearer(r) // a program, which has the token at hand
}

func (s *Server) is(given, want string) bool {
	return subtle.ConstantTimeCompare([]byte(given), []byte(want)) == 1
}

func (s *Server) bearer(r *http.Request) bool {
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return ok && s.is(given, s.token)
}

// cookieName tells servers of one machine apart: browsers send cookies to all ports.
func (s *Server) cookieName(r *http.Request) string {
	_, port, _ := net.SplitHostPort(r.Host)
	return "weir-" + port
}

func (s *Server) cookie(r *http.Request) bool {
	c, err := r.Cookie(s.cookieName(r))
	return err == nil && s.is(c.Value, s.session)
}

// letIn gives a browser the cookie for the token, and takes the token out of its address.
func (s *Server) letIn(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, &http.Cookie{Name: s.cookieName(r), Value: s.session, Path: "/", HttpOnly: true,
		SameSite: http.SameSiteStrictMode})
	s.alone(w, "enter")
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

// alone shows a page without the frame around all.
func (s *Server) alone(w http.ResponseWriter, page string) {
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
