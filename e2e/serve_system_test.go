//go:build system

package e2e

import (
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestServe_RequiresTokenAndKeepsFinishedRuns checks that the server prints an address with the token, starts runs
// for requests that have it, and keeps the finished ones when it is interrupted.
func TestServe_RequiresTokenAndKeepsFinishedRuns(t *testing.T) {
	out, k := filepath.Join(t.TempDir(), "results"), planKillpoints(t, "hold before rename runs/*.json 2")
	p := startPatient(t, k, "serve", "--out", out, "--listen", "127.0.0.1:0")
	address, err := url.Parse(p.AwaitLine("http://"))
	if err != nil {
		t.Fatal(err)
	}
	token := address.Query().Get("token")
	address.RawQuery = ""
	if address.Hostname() != "127.0.0.1" || len(token) < 26 {
		t.Errorf("the address is %s with a token of %d characters", address, len(token))
	}
	request := func(method, path, token string, form url.Values) (int, string) {
		r, err := http.NewRequest(method, address.JoinPath(path).String(), strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Authorization", "Bearer "+token)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, _ := io.ReadAll(answer.Body)
		return answer.StatusCode, string(body)
	}
	if code, _ := request(http.MethodGet, "/", "guessed", nil); code != http.StatusUnauthorized {
		t.Errorf("without the token the status is %d", code)
	}
	code, body := request(http.MethodPost, "/experiments/p4abc/fig5/run", token, url.Values{"quick": {"1"},
		"key": {"duration"}, "value": {"90s"}})
	if code != http.StatusOK || !strings.Contains(body, "weir run p4abc/fig5 --quick --set duration=90s") {
		t.Fatalf("the status is %d\n%s", code, body)
	}
	finished := func() int {
		runs, _ := filepath.Glob(filepath.Join(out, "*", "runs", "*.json"))
		return len(runs)
	}
	p.AwaitCondition("a finished run and a second one, which is held", k.reached("held before rename runs/*.json"))
	p.Signal(syscall.SIGINT)
	k.release(t)
	if code := p.AwaitExit(); code != 0 {
		t.Errorf("it ends with exit code %d: %s", code, p.Output())
	}
	whole, _ := filepath.Glob(filepath.Join(out, "*", "runs.json"))
	if len(whole) != 1 || finished() == 0 || finished() == 4 {
		t.Errorf("it leaves %v, and %d runs", whole, finished())
	}
}
