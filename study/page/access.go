package page

import (
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
)

// access decides which requests a server answers.
type access struct {
	token   string
	session string   // value of the cookie; it differs from the token
	hosts   []string // names of the server, apart from its addresses and the machine's name
}

// Token returns the secret that the first request needs.
func (a *access) Token() string { return a.token }

// Address returns the URL with the token to open in a browser, for a server that listens at the given address.
func (a *access) Address(listens net.Addr) string {
	return "http://" + listens.String() + "/?token=" + a.token
}

// isKnownHost reports whether the host of a request is a name of this server: an IP address, which no other site can
// take as its name, localhost, the machine's name or one of hosts. It ignores the port, which may differ behind ssh
// -L.
func (a *access) isKnownHost(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	hostname, _ := os.Hostname()
	return name == "localhost" || name != "" && name == strings.ToLower(hostname) ||
		slices.ContainsFunc(a.hosts, func(h string) bool { return strings.EqualFold(h, name) })
}

// isSameSite reports whether a request comes from this server's own pages or from a program. A GET or HEAD may also be
// a navigation from another site. A request that changes something must prove its origin, by the browser's headers or a
// program's token.
func (a *access) isSameSite(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	changes := r.Method != http.MethodGet && r.Method != http.MethodHead
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		return err == nil && u.Scheme == "http" && u.Host == r.Host
	}
	if !changes {
		return site == "" || site == "same-origin" || site == "none" || r.Header.Get("Sec-Fetch-Mode") == "navigate"
	}
	return site == "same-origin" || site == "" && a.hasToken(r) // a program sends the token
}

// hasToken reports whether the request's Authorization header has the token, as programs send it.
func (a *access) hasToken(r *http.Request) bool {
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return ok && equalSecrets(given, a.token)
}

// cookieName returns the cookie's name, which includes the port: browsers send the cookies of one machine to all
// ports.
func (a *access) cookieName(r *http.Request) string {
	_, port, _ := net.SplitHostPort(r.Host)
	return "weir-" + port
}

// hasCookie reports whether the request has the cookie that replaces the token in browsers.
func (a *access) hasCookie(r *http.Request) bool {
	c, err := r.Cookie(a.cookieName(r))
	return err == nil && equalSecrets(c.Value, a.session)
}

// equalSecrets compares two secrets in constant time.
func equalSecrets(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
