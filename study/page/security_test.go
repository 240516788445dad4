package page_test

import (
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/app"
	"weir/study/page"
	"weir/study/page/live"
)

// paths has one path of each kind that the server has.
var paths = []string{"/", "/experiments/p4abc/fig5", "/experiments/p4abc/fig5/yaml", "/experiments/p4abc/fig5/network",
	"/schemes", "/jobs", "/jobs/1", "/jobs/1/events", "/jobs/1/runs/0", "/jobs/1/runs/0/network",
	"/jobs/1/runs/0/frames", "/results", "/results/x", "/results/x/report", "/results/x/plots/1-x.svg",
	"/results/x/runs/0123456789abcdef", "/results/x/runs/0123456789abcdef/data", "/compare?r=a&r=b", "/traces",
	"/docs", "/docs/README.md", page.Static("page.css")}

// changes are all paths that change state.
var changes = []string{"/experiments/p4abc/fig5/run", "/jobs/1/stop", "/results/x/runs/0123456789abcdef/show"}

// TestServer_RequiresToken checks that no request is served without the token, on loopback either.
func TestServer_RequiresToken(t *testing.T) {
	s := serve(t, t.TempDir())
	none := func(r *http.Request) { r.Header.Del("Cookie") }
	for _, path := range paths {
		t.Run("without "+path, func(t *testing.T) {
			if status, body, _ := s.ask(http.MethodGet, path, nil, none); status != http.StatusUnauthorized ||
				strings.Contains(body, s.Token()) {
				t.Errorf("it says %d", status)
			}
		})
	}
	for _, path := range changes {
		t.Run("without "+path, func(t *testing.T) {
			if status, _, _ := s.ask(http.MethodPost, path, url.Values{}, none); status != http.StatusUnauthorized {
				t.Errorf("it says %d", status)
			}
		})
	}
	for _, c := range []struct {
		name, path string
		change     func(r *http.Request)
		want       int
	}{
		{"the token", "/?token=" + s.Token(), none, 200},
		{"a wrong token", "/?token=" + s.Token()[1:] + "A", none, 401},
		{"an empty token", "/?token=", none, 401},
		{"the token elsewhere", "/results?token=" + s.Token(), none, 401},
		{"the session as token", "/?token=" + s.Session(), none, 401},
		{"the token as cookie", "/", func(r *http.Request) {
			none(r)
			r.AddCookie(&http.Cookie{Name: s.CookieName(r), Value: s.Token()})
		}, 401},
		{"a wrong cookie", "/", func(r *http.Request) {
			none(r)
			r.AddCookie(&http.Cookie{Name: s.CookieName(r), Value: strings.ToLower(s.Session())})
		}, 401},
		{"another server's cookie", "/", func(r *http.Request) {
			none(r)
			r.AddCookie(&http.Cookie{Name: "weir-1", Value: s.Session()})
		}, 401},
		{"bearer", "/jobs", func(r *http.Request) {
			none(r)
			r.Header.Set("Authorization", "Bearer "+s.Token())
		}, 200},
		{"a wrong bearer", "/jobs", func(r *http.Request) {
			none(r)
			r.Header.Set("Authorization", "Bearer x")
		}, 401},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, body, header := s.ask(http.MethodGet, c.path, nil, c.change)
			if status != c.want {
				t.Errorf("it says %d", status)
			}
			cookie := header.Get("Set-Cookie")
			if c.name == "the token" {
				has(t, "the cookie", cookie, "HttpOnly", "SameSite=Strict", s.Session())
				has(t, "the page", body, "url=/")
			} else if cookie != "" {
				t.Errorf("it gives the cookie %s", cookie)
			}
		})
	}
	if another := serve(t, t.TempDir()); another.Token() == s.Token() || another.Session() == s.Session() ||
		len(s.Token()) < 26 {
		t.Error("two starts have the same token, or a short one")
	}
}

// TestRefusedEnds checks that the connection of a refused request ends, although its body is not finished.
func TestRefusedEnds(t *testing.T) {
	s := serve(t, t.TempDir())
	address := strings.TrimPrefix(s.url, "http://")
	for name, lines := range map[string]string{
		"no token":          "Host: " + address + "\r\nContent-Length: 200000\r\n\r\nx",
		"no token, chunked": "Host: " + address + "\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n",
		"another host":      "Host: example.org\r\nContent-Length: 200000\r\n\r\nx",
		"another site":      "Host: " + address + "\r\nOrigin: http://example.org\r\nContent-Length: 200000\r\n\r\nx",
	} {
		t.Run(name, func(t *testing.T) {
			c, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			io.WriteString(c, "POST /jobs/1/stop HTTP/1.1\r\n"+lines)
			if answer, err := io.ReadAll(c); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 4") {
				t.Errorf("%q, %v", answer, err)
			}
		})
	}
}

// TestServer_RejectsForeignHostNames checks that other host names than the server's are refused: another site's name
// can lead to this address.
func TestServer_RejectsForeignHostNames(t *testing.T) {
	s := serve(t, t.TempDir())
	s.SetHosts("lab.example.org")
	own, _ := os.Hostname()
	for host, known := range map[string]bool{
		"127.0.0.1:8100": true, "localhost:9000": true, "LOCALHOST": true, "[::1]:8100": true, "10.1.2.3:80": true,
		"lab.example.org": true, own + ":1": true,
		"evil.example": false, "evil.example:8100": false, "127.0.0.1.evil.example": false, "localhost.evil.example": false,
		"lab.example.org.evil.example": false,
	} {
		t.Run(host, func(t *testing.T) {
			status, _, _ := s.ask(http.MethodGet, "/jobs", nil, func(r *http.Request) {
				r.Host = host
				r.Header.Del("Cookie")
				r.Header.Set("Authorization", "Bearer "+s.Token())
			})
			if known && status != http.StatusOK || !known && status != http.StatusMisdirectedRequest {
				t.Errorf("it says %d", status)
			}
		})
	}
}

// TestServer_RejectsForeignOrigins checks that changes are accepted only from this server's pages, as a POST.
func TestServer_RejectsForeignOrigins(t *testing.T) {
	s := serve(t, t.TempDir())
	set := func(pairs ...string) func(*http.Request) {
		return func(r *http.Request) {
			r.Header.Del("Origin")
			for i := 0; i < len(pairs); i += 2 {
				r.Header.Set(pairs[i], pairs[i+1])
			}
		}
	}
	for _, c := range []struct {
		name   string
		change func(*http.Request)
		want   int
	}{
		{"another site", set("Origin", "http://evil.example"), 403},
		{"another port", set("Origin", "http://127.0.0.1:1"), 403},
		{"another scheme", set("Origin", strings.Replace(s.url, "http:", "https:", 1)), 403},
		{"null", set("Origin", "null"), 403},
		{"nothing said", set(), 403},
		{"another site, without Origin", set("Sec-Fetch-Site", "cross-site"), 403},
		{"another port, without Origin", set("Sec-Fetch-Site", "same-site"), 403},
		{"its own page", set("Origin", s.url), 404},
		{"its own page, without Origin", set("Sec-Fetch-Site", "same-origin"), 404},
		{"a program", set("Authorization", "Bearer "+s.Token()), 404},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, path := range changes[1:] { // there is no such job, and no such run
				if status, _, _ := s.ask(http.MethodPost, path, url.Values{}, c.change); status != c.want {
					t.Errorf("%s says %d", path, status)
				}
			}
		})
	}
	status, _, _ := s.ask(http.MethodGet, "/results", nil, set("Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode",
		"no-cors"))
	if status != http.StatusForbidden {
		t.Errorf("a page of another site embeds this one: %d", status)
	}
}

// TestServer_RejectsWrongMethods checks that a GET changes no state, and a POST shows no page.
func TestServer_RejectsWrongMethods(t *testing.T) {
	s := serve(t, t.TempDir())
	for _, path := range changes {
		t.Run(path, func(t *testing.T) {
			for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete} {
				status, _, _ := s.ask(method, path+"?quick=1", nil, func(r *http.Request) { r.Header.Set("Origin", s.url) })
				if status != http.StatusMethodNotAllowed {
					t.Errorf("%s says %d", method, status)
				}
			}
		})
	}
	for _, path := range paths {
		status, _, header := s.ask(http.MethodPost, path, url.Values{}, nil)
		if status != http.StatusMethodNotAllowed || !strings.Contains(header.Get("Allow"), "GET") {
			t.Errorf("POST of %s says %d", path, status)
		}
	}
	if len(s.Jobs()) != 0 {
		t.Error("something has begun")
	}
	big := url.Values{"key": {strings.Repeat("x", 1<<19)}}
	if status, _, _ := s.ask(http.MethodPost, changes[0], big, nil); status != http.StatusBadRequest {
		t.Errorf("half a megabyte of form: %d", status)
	}
}

// TestServer_ServesOnlyFilesOfResults checks that no parameter leads out of the folder of results, nor to files in it
// that are not Weir's.
func TestServer_ServesOnlyFilesOfResults(t *testing.T) {
	dir, names := copied(t)
	const secret = "what nobody may read"
	base := filepath.Dir(dir)
	for _, name := range []string{"secret", "spec.yaml", "runs.json", "secret.svg", "report.html"} {
		if err := os.WriteFile(filepath.Join(base, name), []byte(secret), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"linked": base, names[0] + "/plots/out.svg": filepath.Join(base, "secret.svg"),
		names[0] + "/traces/0000000000000000.txt": filepath.Join(base, "secret")} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	s := serve(t, dir)
	odd := []string{"..", "%2e%2e", "..%2f", "..%2f..%2fetc", "%2fetc%2fpasswd", "..%5c..", "%00", ".hidden", ".",
		"linked", names[0] + "%2f..%2f..", names[0] + "%00", strings.Repeat("x", 5000)}
	for _, x := range odd {
		for _, form := range []string{"/results/%", "/results/%/report", "/results/%/plots/secret.svg",
			"/results/" + names[0] + "/plots/%", "/results/" + names[0] + "/plots/%2fsecret.svg",
			"/results/" + names[0] + "/runs/%", "/results/" + names[0] + "/runs/%/data", "/experiments/%/fig5",
			"/experiments/p4abc/%", "/experiments/yours/%/yaml", "/jobs/%", "/jobs/%/runs/%", "/docs/%", "/docs/docs/%",
			"/static/%", "/static/%/page.css", page.Static("%"),
			"/traces?trace=%", "/traces?trace=%/secret", "/traces?trace=" + names[0] + "/%",
			"/compare?r=%&r=" + names[1]} {
			path := strings.ReplaceAll(form, "%", "\x00")
			path = strings.ReplaceAll(path, "\x002f", "%2f")
			path = strings.ReplaceAll(path, "\x00", x)
			status, body, _ := s.get(path)
			if status == http.StatusOK || status >= 500 || strings.Contains(body, secret) {
				t.Errorf("%.200s: %d", path, status)
			}
		}
	}
	for _, path := range []string{"/results/" + names[0] + "/plots/out.svg",
		"/traces?trace=" + names[0] + "/0000000000000000.txt"} {
		if _, body, _ := s.get(path); strings.Contains(body, secret) {
			t.Errorf("%s leads out by a link", path)
		}
	}
}

// TestNoPaths checks that the form accepts no paths: neither a file of the library nor a user's own opens more than it
// names itself.
func TestNoPaths(t *testing.T) {
	dir := t.TempDir()
	const secret = "what-nobody-may-read"
	for _, name := range []string{"secret.cdf", "secret.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(secret+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "mine.yaml")
	src, err := app.Registry().OpenExperiment("p4abc/fig5")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, src.Data, 0o666); err != nil {
		t.Fatal(err)
	}
	s := serve(t, filepath.Join(dir, "results"), file)
	for _, at := range []string{"/experiments/p4abc/fig5/run", "/experiments/yours/1-mine/run"} {
		for _, c := range []struct{ name, key, value string }{
			{"sizes beside it", "traffic.client0.sizes", "{file: secret.cdf}"},
			{"sizes by a path", "traffic.client0.sizes", "{file: " + dir + "/secret.cdf}"},
			{"a topology", "topology", "{file: " + dir + "/secret.txt, format: hpcc-sim}"},
			{"upwards", "traffic.client0.sizes", "{file: ../../../../../../../etc/passwd}"},
			{"flows", "traffic.client0", "{name: client0, file: " + dir + "/secret.txt, format: hpcc-sim}"},
		} {
			t.Run(at+" "+c.name, func(t *testing.T) {
				status, body, _ := s.ask(http.MethodPost, at, url.Values{"key": {c.key}, "value": {c.value}}, nil)
				if status != http.StatusUnprocessableEntity || strings.Contains(body, secret) ||
					strings.Contains(body, "root:") {
					t.Errorf("it says %d", status)
				}
			})
		}
	}
	if len(s.Jobs()) != 0 {
		t.Error("something has begun")
	}
}

// TestServer_EscapesScriptInNames checks that names, titles and labels with script in them are text everywhere. A
// report or a plot with script cannot act.
func TestServer_EscapesScriptInNames(t *testing.T) {
	const script = "<script>alert(1)</script>"
	dir := t.TempDir()
	out := filepath.Join(dir, "results")
	file := filepath.Join(dir, "<img src=x onerror=alert(1)>.yaml")
	src, err := app.Registry().OpenExperiment("p4abc/fig5")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("P4-ABC figure 5, TCP against TCP", `"`+script+`"`, "with ABC both clients get",
		"with ABC "+script+" both clients get").Replace(string(src.Data))
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	s := serve(t, out, file)
	check := func(path string) (body string) {
		t.Helper()
		status, body, header := s.get(path)
		if status >= 500 {
			t.Errorf("%s says %d", path, status)
		}
		if !strings.Contains(header.Get("Content-Security-Policy"), "default-src 'none'") ||
			header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s may do more than it should: %s", path, header.Get("Content-Security-Policy"))
		}
		if strings.Contains(header.Get("Content-Type"), "html") && (strings.Contains(body, script) ||
			strings.Contains(body, "<img src=x")) {
			t.Errorf("%s has the script", path)
		}
		return body
	}
	home := check("/")
	at := home[strings.Index(home, "/experiments/yours/"):]
	at = at[:strings.IndexByte(at, '"')]
	has(t, "the experiment", check(at), "&lt;script&gt;")
	check(at + "?key=%3Cscript%3Ealert(1)%3C/script%3E&value=%22%3E%3Cscript%3Ealert(1)%3C/script%3E")
	check("/results?find=%3Cscript%3Ealert(1)%3C/script%3E")
	check("/docs?find=%3Cscript%3Ealert(1)%3C/script%3E")
	status, _, header := s.ask(http.MethodPost, at+"/run", url.Values{"quick": {"1"}, "sweep.n": {"1"},
		"key": {"duration"}, "value": {"5s"}}, nil)
	if status != http.StatusSeeOther {
		t.Fatalf("it says %d", status)
	}
	job := header.Get("Location")
	x := s.over(job)
	if x.State != live.Done {
		t.Fatalf("%+v", x)
	}
	folder := filepath.Base(x.Outcome.Dir)
	if err := os.CopyFS(filepath.Join(out, "<b>"+folder), os.DirFS(x.Outcome.Dir)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/jobs", job, job + "/runs/0", job + "/runs/0/network", "/results",
		"/results/" + url.PathEscape(folder), "/results/" + url.PathEscape("<b>"+folder),
		"/compare?r=" + url.QueryEscape(folder) + "&r=" + url.QueryEscape("<b>"+folder)} {
		check(path)
	}
	for _, f := range []string{"report.html", "plots/9-x.svg"} {
		if err := os.WriteFile(filepath.Join(x.Outcome.Dir, f), []byte("<svg>"+script+"</svg>"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"/report", "/plots/9-x.svg"} {
		_, _, header := s.get("/results/" + url.PathEscape(folder) + path)
		if p := header.Get("Content-Security-Policy"); !strings.Contains(p, "sandbox") || strings.Contains(p, "script-src") {
			t.Errorf("%s may act: %s", path, p)
		}
	}
}
