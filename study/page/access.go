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
	session string   // the value of the cookie, which is not the token
	hosts   []string // names of the server besides its addresses and the machine's name
}

// Token returns the secret that a request has to have, once.
func (a *access) Token() string { return a.token }

// Address returns the address that a browser opens, with the token, of a server that listens there.
func (a *access) Address(listens net.Addr) string {
	return "http://" + listens.String() + "/?token=" + a.token
}

// isKnownHost reports whether the host of a request is a name of this server: an address, which no other site's name
// can be made to be, or one of its own names. Ports may differ, as behind ssh -L.
func (a *access) isKnownHost(host string) bool {
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
		slices.ContainsFunc(a.hosts, func(h string) bool { return strings.EqualFold(h, name) })
}

// isSameSite reports whether a request comes from this server's own pages, or from a program. A request that changes
// something has to show where it comes from.
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
	return site == "same-origin" || site == "" && a.hasToken(r) // a program, which has the token at hand
}

// hasToken reports whether a request has the token in its header, as a program has.
func (a *access) hasToken(r *http.Request) bool {
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return ok && equal(given, a.token)
}

// cookieName tells servers of one machine apart: browsers send cookies to all ports.
func (a *access) cookieName(r *http.Request) string {
	_, port, _ := net.SplitHostPort(r.Host)
	return "weir-" + port
}

// hasCookie reports whether a request has the cookie that a browser got for the token.
func (a *access) hasCookie(r *http.Request) bool {
	c, err := r.Cookie(a.cookieName(r))
	return err == nil && equal(c.Value, a.session)
}

// equal compares two secrets in constant time.
func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
